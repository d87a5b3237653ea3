package config

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Listener is one entry of `listeners` with what belongs to it.
type Listener struct {
	Name             string // in upper case, as Kafka compares names
	SecurityProtocol string // PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL
	Host             string // to bind; "" is every address; IPv6 without brackets
	Port             int    // to bind; 0 lets the system choose
	Controller       bool   // named by controller.listener.names
	// Advertised is false for a listener that advertised.listeners leaves out: it serves, but nobody is told of it.
	Advertised bool
	// AdvertisedHost "" is the name of this machine, AdvertisedPort 0 the port that was bound.
	AdvertisedHost string
	AdvertisedPort int
}

// endpoint is NAME://host:port.
type endpoint struct {
	name string
	host string
	port int
}

// anyAddress binds every IPv4 address and reaches none.
const anyAddress = "0.0.0.0"

// parseEndpoint reads NAME://host:port; the host may be empty and, for IPv6, in brackets.
func parseEndpoint(text string) (endpoint, error) {
	name, rest, ok := strings.Cut(text, "://")
	host, port, ok2 := cutLast(rest, ':')
	n, err := strconv.Atoi(port)
	if !ok || !ok2 || name == "" || err != nil || n < 0 || n > 65535 || !hostAllowed(unbracket(host)) {
		return endpoint{}, fmt.Errorf("%s is not NAME://host:port", text)
	}
	return endpoint{strings.ToUpper(name), unbracket(host), n}, nil
}

func cutLast(s string, sep byte) (before, after string, ok bool) {
	i := strings.LastIndexByte(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+1:], true
}

func unbracket(host string) string {
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// hostAllowed accepts the characters of names and addresses, IPv6 zones among them.
func hostAllowed(host string) bool {
	for i := range len(host) {
		c := host[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-%._:", c) >= 0) {
			return false
		}
	}
	return true
}

// splitHostPort reads host:port with a host that is not empty and, for IPv6, in brackets.
func splitHostPort(text string) (host string, port int, ok bool) {
	host, p, ok := cutLast(text, ':')
	port, err := strconv.Atoi(p)
	if strings.HasPrefix(host, "[") != strings.HasSuffix(host, "]") {
		return "", 0, false
	}
	host = unbracket(host)
	return host, port, ok && err == nil && port >= 0 && port <= 65535 && host != "" && hostAllowed(host)
}

// parseEndpoints reads the list that key was set to.
func parseEndpoints(key, text string) ([]endpoint, error) {
	var out []endpoint
	for _, s := range unique(splitList(text)) {
		e, err := parseEndpoint(s)
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %w, with a port from 0 to 65535", key, text, err)
		}
		if slices.ContainsFunc(out, func(have endpoint) bool { return have.name == e.name }) {
			return nil, fmt.Errorf("%s=%s: the listener %s occurs twice; each needs its own name", key, text, e.name)
		}
		out = append(out, e)
	}
	return out, nil
}

// checkPorts refuses listeners that would bind one port twice. One IPv4 and one IPv6 address may share it.
func checkPorts(text string, list []endpoint) error {
	for i, e := range list {
		if e.port == 0 {
			continue
		}
		same := 1
		for _, other := range list[i+1:] {
			if other.port != e.port {
				continue
			}
			same++
			a, errA := netip.ParseAddr(e.host)
			b, errB := netip.ParseAddr(other.host)
			if errA != nil || errB != nil || a.Is4() == b.Is4() || same > 2 {
				return fmt.Errorf("listeners=%s: %s and %s have port %d in common; each needs its own, unless one is an IPv4 and the other an IPv6 address",
					text, e.name, other.name, e.port)
			}
		}
	}
	return nil
}

// protocolMap is listener.security.protocol.map.
type protocolMap map[string]string

var securityProtocols = []string{"PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"}

// protocols reads listener.security.protocol.map. Unless it is set, and unless a listener is named after a
// protocol with TLS or SASL, controller listeners are PLAINTEXT (KIP-1151).
func (l *loader) protocols(controllers []string, listeners string) (protocolMap, error) {
	const key = "listener.security.protocol.map"
	text, set := l.set[key]
	if !set {
		text = Find(ScopeBroker, key).Default
	}
	m := protocolMap{}
	for _, pair := range splitList(text) {
		name, protocol, ok := cutLast(pair, ':')
		protocol = strings.ToUpper(strings.TrimSpace(protocol))
		if !ok || !slices.Contains(securityProtocols, protocol) {
			return nil, fmt.Errorf("%s=%s: %s is not NAME:PROTOCOL with one of %s", key, text, pair, strings.Join(securityProtocols, ", "))
		}
		m[strings.ToUpper(strings.TrimSpace(name))] = protocol
	}
	if set || slices.ContainsFunc(controllers, secureName) {
		return m, nil
	}
	for _, s := range splitList(listeners) {
		if name, _, _ := strings.Cut(s, "://"); secureName(name) {
			return m, nil
		}
	}
	for _, name := range controllers {
		if name != "PLAINTEXT" {
			m[name] = "PLAINTEXT"
		}
	}
	return m, nil
}

func secureName(name string) bool {
	return strings.EqualFold(name, "SSL") || strings.EqualFold(name, "SASL_PLAINTEXT") || strings.EqualFold(name, "SASL_SSL")
}

// listeners reads everything about listeners into the static configuration.
func (l *loader) listeners() error {
	s := l.static
	s.ControllerListeners = unique(splitList(l.set["controller.listener.names"]))
	text := l.text("listeners")
	m, err := l.protocols(s.ControllerListeners, text)
	if err != nil {
		return err
	}
	bound, err := parseEndpoints("listeners", text)
	if err != nil {
		return err
	}
	if err := checkPorts(text, bound); err != nil {
		return err
	}
	for _, e := range bound {
		protocol, ok := m[e.name]
		if !ok {
			return fmt.Errorf("listeners=%s: the listener %s has no entry in listener.security.protocol.map; add %s:PLAINTEXT to it, for example", text, e.name, e.name)
		}
		s.Listeners = append(s.Listeners, Listener{Name: e.name, SecurityProtocol: protocol, Host: e.host, Port: e.port,
			Controller: slices.Contains(s.ControllerListeners, e.name)})
	}
	if err := l.advertise(m); err != nil {
		return err
	}
	for _, name := range splitList(l.set["early.start.listeners"]) {
		if s.Listener(strings.ToUpper(name)) == nil && !slices.Contains(s.ControllerListeners, name) {
			return fmt.Errorf("early.start.listeners=%s: %s is neither in listeners=%s nor in controller.listener.names", l.set["early.start.listeners"], name, text)
		}
	}
	if err := l.roleListeners(); err != nil {
		return err
	}
	return l.interBroker(m)
}

// advertise fills in what other machines are told of each listener.
func (l *loader) advertise(m protocolMap) error {
	const key = "advertised.listeners"
	text, set := l.set[key]
	told, err := parseEndpoints(key, text)
	if err != nil {
		return err
	}
	for _, e := range told {
		if e.host == anyAddress {
			return fmt.Errorf("%s=%s: nobody can connect to %s; name an address of this machine", key, text, anyAddress)
		}
		if _, ok := m[e.name]; !ok || l.static.Listener(e.name) == nil {
			return fmt.Errorf("%s=%s: %s is not a listener; listeners=%s", key, text, e.name, l.text("listeners"))
		}
	}
	for i := range l.static.Listeners {
		to := &l.static.Listeners[i]
		j := slices.IndexFunc(told, func(e endpoint) bool { return e.name == to.Name })
		switch {
		case j >= 0:
			to.Advertised, to.AdvertisedHost, to.AdvertisedPort = true, told[j].host, told[j].port
		case to.Controller:
			l.advertiseController(to)
		case !set && to.Host == anyAddress:
			return fmt.Errorf("listeners=%s: %s binds %s, which nobody can connect to; set %s to an address of this machine, or leave the host empty",
				l.text("listeners"), to.Name, anyAddress, key)
		case !set:
			to.Advertised, to.AdvertisedHost, to.AdvertisedPort = true, to.Host, to.Port
		}
	}
	return nil
}

// advertiseController takes a controller listener's address from controller.quorum.voters, else from what it binds.
func (l *loader) advertiseController(to *Listener) {
	to.Advertised, to.AdvertisedHost, to.AdvertisedPort = true, to.Host, to.Port
	if to.Host == anyAddress {
		to.AdvertisedHost = ""
	}
	for _, v := range l.static.Voters {
		if v.ID == l.static.NodeID {
			to.AdvertisedHost, to.AdvertisedPort = v.Host, v.Port
		}
	}
}

// roleListeners checks that each role has the listeners it needs and no others.
func (l *loader) roleListeners() error {
	s := l.static
	text := l.text("listeners")
	names := strings.Join(s.ControllerListeners, ",")
	controllers, clients, advertised := 0, 0, 0
	for _, x := range s.Listeners {
		if x.Controller {
			controllers++
		} else if clients++; x.Advertised {
			advertised++
		}
	}
	switch {
	case s.Roles.Controller && controllers < len(s.ControllerListeners):
		return fmt.Errorf("controller.listener.names=%s: a controller binds each of them, but listeners=%s", names, text)
	case !s.Roles.Controller && controllers > 0:
		return fmt.Errorf("controller.listener.names=%s: a node that is only a broker must not bind them, but listeners=%s", names, text)
	case !s.Roles.Broker && clients > 0:
		return fmt.Errorf("listeners=%s: a node that is only a controller binds only those of controller.listener.names=%s", text, names)
	case s.Roles.Broker && advertised == 0:
		return fmt.Errorf("listeners=%s: a broker needs at least one advertised listener that controller.listener.names=%s does not name", text, names)
	}
	return nil
}

// interBroker finds the listener that brokers use among themselves.
func (l *loader) interBroker(m protocolMap) error {
	const byName, byProtocol = "inter.broker.listener.name", "security.inter.broker.protocol"
	name, named := l.set[byName]
	protocol, protocolSet := l.set[byProtocol]
	if named && protocolSet {
		return fmt.Errorf("%s=%s and %s=%s: only one of them may be set", byName, name, byProtocol, protocol)
	}
	key := byName
	if !named {
		key, name = byProtocol, l.text(byProtocol)
	}
	name = strings.ToUpper(strings.TrimSpace(name))
	if _, ok := m[name]; !ok {
		return fmt.Errorf("%s=%s: the listener has no entry in listener.security.protocol.map", key, name)
	}
	if !l.static.Roles.Broker {
		return nil
	}
	if x := l.static.Listener(name); x == nil || x.Controller || !x.Advertised {
		return fmt.Errorf("%s=%s: brokers talk through an advertised listener of clients, but listeners=%s; set %s", key, name, l.text("listeners"), byName)
	}
	l.static.InterBrokerListener = name
	return nil
}
