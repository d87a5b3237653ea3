package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Roles are what process.roles names.
type Roles struct{ Broker, Controller bool }

// Voter is one entry of controller.quorum.voters.
type Voter struct {
	ID   int32
	Host string
	Port int
}

// Static is a checked configuration file. It never changes.
type Static struct {
	NodeID              int32
	Roles               Roles
	Listeners           []Listener // those to bind, in the file's order, controller ones included
	InterBrokerListener string     // "" without the broker role
	ControllerListeners []string   // controller.listener.names, also those of other nodes
	Voters              []Voter    // controller.quorum.voters
	Bootstrap           []string   // controller.quorum.bootstrap.servers, host:port
	LogDirs             []string   // never empty
	MetadataLogDir      string     // one of its own, or the first of LogDirs
	LogLevel            string     // ottla.log.level: debug, info, warn or error
	set                 map[string]string
}

// Lookup is the text a key was set to, in the file or on the command line.
func (s *Static) Lookup(name string) (string, bool) { v, ok := s.set[name]; return v, ok }

// Listener is the bound listener of that name, or nil.
func (s *Static) Listener(name string) *Listener {
	for i := range s.Listeners {
		if s.Listeners[i].Name == name {
			return &s.Listeners[i]
		}
	}
	return nil
}

// loader turns properties into a Static.
type loader struct {
	static   *Static
	set      map[string]string
	lines    map[string]int // line of the file each key was set on
	warnings []string
}

// Load checks properties as Kafka 4.4 does at start. The warnings are sentences for the log; the error
// is one sentence that names the key, the value and what is allowed.
func Load(p Properties) (*Static, []string, error) {
	l := &loader{static: &Static{}, set: make(map[string]string, len(p)), lines: make(map[string]int, len(p))}
	l.static.set = l.set
	l.merge(p)
	for _, step := range []func() error{l.values, l.identity, l.quorum, l.listeners, l.dirs, l.cross, l.security, l.unsupported, l.replicas} {
		if err := step(); err != nil {
			return nil, l.warnings, err
		}
	}
	return l.static, l.warnings, nil
}

// merge lets later properties win, and says so when both are in the file.
func (l *loader) merge(p Properties) {
	for _, x := range p {
		if was := l.lines[x.Name]; was > 0 && x.Line > 0 && l.set[x.Name] != x.Value {
			l.warn("%s is set on lines %d and %d; the later one counts", x.Name, was, x.Line)
		}
		l.set[x.Name], l.lines[x.Name] = x.Value, x.Line
	}
}

func (l *loader) warn(format string, args ...any) {
	l.warnings = append(l.warnings, fmt.Sprintf(format, args...))
}

// text is the value of a key that exists: as set, or its default.
func (l *loader) text(name string) string {
	if v, ok := l.set[name]; ok {
		return v
	}
	return Find(ScopeBroker, name).Default
}

// where tells the line of the file that set the key.
func (l *loader) where(name string) string {
	if n := l.lines[name]; n > 0 {
		return " (line " + strconv.Itoa(n) + ")"
	}
	return ""
}

// values checks each value by its key, in the order of names, and gathers the keys that nobody knows.
func (l *loader) values() error {
	var unknown []string
	for _, name := range sortedNames(l.set) {
		value := l.set[name]
		k := Find(ScopeBroker, name)
		switch {
		case k == nil && goneWhy(name) != "":
			l.warn("%s is ignored: %s", name, goneWhy(name))
		case k == nil:
			unknown = append(unknown, name)
		case (k.Support != Refused || k.insecure()) && !k.Allows(value):
			return fmt.Errorf("%s=%s%s: allowed is %s", name, k.shown(value), l.where(name), k.allowed())
		case k.insecure() || name == "authorizer.class.name":
			// security says whether it matters
		case k.Support == Refused && k.changed(value):
			return fmt.Errorf("%s=%s%s is not supported: %s", name, k.shown(value), l.where(name), k.Why)
		case (k.Support == Irrelevant || k.Support == Pending) && k.changed(value):
			l.warn("%s=%s has no effect: %s", name, value, k.Why)
		}
	}
	if len(unknown) > 0 {
		l.warn("Unknown properties are ignored: %s", strings.Join(unknown, ", "))
	}
	return nil
}

// changed reports a value other than the default. An empty text is no value for a key without a default.
func (k *Key) changed(value string) bool {
	value = canonical(k.Type, value)
	return value != k.Default
}

// shown is the value as it may be printed.
func (k *Key) shown(value string) string {
	if k.Sensitive() {
		return "[hidden]"
	}
	return value
}

// identity reads node.id, broker.id and process.roles.
func (l *loader) identity() error {
	node, nodeSet := l.set["node.id"]
	old, oldSet := l.set["broker.id"]
	switch {
	case !nodeSet && !oldSet:
		return fmt.Errorf("node.id is missing: give this node a whole number, at least 0, that no other node of the cluster has")
	case !nodeSet:
		node = old
	case !oldSet:
		old = node
	}
	a, okA := parseWhole(node, 32)
	b, okB := parseWhole(old, 32)
	if !okA || a < 0 {
		return fmt.Errorf("node.id=%s: allowed is %s", node, Find(ScopeBroker, "node.id").allowed())
	}
	if !okB || a != b {
		return fmt.Errorf("node.id=%s and broker.id=%s: they are the same setting and must agree; leave out broker.id", node, old)
	}
	// Either stands for the other wherever settings are shown.
	l.set["node.id"], l.set["broker.id"] = node, old
	l.static.NodeID = int32(a)
	roles, ok := l.set["process.roles"]
	if !ok {
		return fmt.Errorf("process.roles is missing: write process.roles=broker,controller for a node that is both")
	}
	list := splitList(roles)
	l.static.Roles = Roles{Broker: slices.Contains(list, "broker"), Controller: slices.Contains(list, "controller")}
	if _, ok := l.set["controller.listener.names"]; !ok {
		return fmt.Errorf("controller.listener.names is missing: name the listeners that controllers use, CONTROLLER for example")
	}
	return nil
}

// replicas warns of internal topics that a single node, all there can be so far, is never able to create.
func (l *loader) replicas() error {
	const offsets = "offsets.topic.replication.factor"
	if n := l.text(offsets); n != "1" {
		l.warn("%s=%s cannot be reached by one node: consumer groups find no coordinator unless __consumer_offsets exists; set it to 1", offsets, n)
	}
	return nil
}

// dirs reads log.dirs and metadata.log.dir.
func (l *loader) dirs() error {
	text, ok := l.set["log.dirs"]
	if !ok {
		text = l.text("log.dir")
	}
	s := l.static
	s.LogDirs = unique(splitList(text))
	s.MetadataLogDir = strings.TrimSpace(l.set["metadata.log.dir"])
	if s.MetadataLogDir == "" {
		s.MetadataLogDir = s.LogDirs[0]
	}
	s.LogLevel = strings.TrimSpace(l.text(LogLevel))
	cordoned := unique(splitList(l.set["cordoned.log.dirs"]))
	for _, dir := range cordoned {
		if all := dir == "*"; all && len(cordoned) > 1 || !all && !slices.Contains(s.LogDirs, dir) {
			return fmt.Errorf("cordoned.log.dirs=%s: allowed is * alone, or directories of log.dirs=%s", l.set["cordoned.log.dirs"], text)
		}
	}
	return nil
}

// unsupported refuses what the settings, each of which is fine, ask for together.
func (l *loader) unsupported() error {
	if r := l.static.Roles; !r.Broker || !r.Controller {
		return fmt.Errorf("process.roles=%s is not supported: %s, so that a node has both roles, broker,controller", l.set["process.roles"], whyCluster)
	}
	if len(l.static.Voters) > 1 {
		return fmt.Errorf("controller.quorum.voters=%s is not supported: %s", l.set["controller.quorum.voters"], whyCluster)
	}
	return nil
}
