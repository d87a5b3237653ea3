package config

import (
	"fmt"
	"slices"
	"strings"
)

// A file that Kafka ran with often asks for security that is not built. Nothing is left open by that: a
// listener with TLS or SASL is not bound at all, and an authorizer is passed over only where it would
// allow every client that can connect everything.

// insecure reports a setting that only matters to listeners with TLS or SASL, and to tokens, which need SASL.
func (k *Key) insecure() bool {
	return k.Support == Refused && (k.Why == whyTLS || k.Why == whySASL || k.Why == whyTokens)
}

// security drops the listeners that cannot be served, refuses the file if those are needed, and says
// which settings have no effect.
func (l *loader) security() error {
	if err := l.closeListeners(); err != nil {
		return err
	}
	l.warnSecurity()
	return l.authorizer()
}

// closeListeners keeps the listeners without TLS and SASL.
func (l *loader) closeListeners() error {
	s := l.static
	var open []Listener
	var closed []string
	clients := false
	for _, x := range s.Listeners {
		why := ""
		switch x.SecurityProtocol {
		case "SSL":
			why = whyTLS
		case "SASL_PLAINTEXT", "SASL_SSL":
			why = whySASL
		}
		switch {
		case why == "":
			open = append(open, x)
			clients = clients || !x.Controller && x.Advertised
		case x.Controller || x.Name == s.InterBrokerListener:
			return l.needed(x, why)
		default:
			closed = append(closed, fmt.Sprintf("%s (%s)", x.Name, why))
		}
	}
	if len(closed) == 0 {
		return nil
	}
	if !clients {
		for _, x := range s.Listeners {
			if x.SecurityProtocol != "PLAINTEXT" {
				return l.needed(x, "there is no other listener for clients")
			}
		}
	}
	l.warn("Listeners that are not opened: %s", strings.Join(closed, ", "))
	s.Listeners = open
	return nil
}

func (l *loader) needed(x Listener, why string) error {
	return fmt.Errorf("listeners=%s: %s has security protocol %s, and %s", l.text("listeners"), x.Name, x.SecurityProtocol, why)
}

// warnSecurity names what is set for listeners that are not there.
func (l *loader) warnSecurity() {
	var names []string
	for _, name := range sortedNames(l.set) {
		if k := Find(ScopeBroker, name); k != nil && k.insecure() && k.changed(l.set[name]) {
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		l.warn("Without effect, since TLS, SASL and delegation tokens are not built yet: %s", strings.Join(names, ", "))
	}
}

// anonymous is who every client is that has not authenticated itself.
const anonymous = "User:ANONYMOUS"

// authorizer refuses an authorizer whose answers would matter. All clients are anonymous here, so that it
// has nothing to decide where that name is a super user.
func (l *loader) authorizer() error {
	const key = "authorizer.class.name"
	class := l.set[key]
	if class == "" {
		return nil
	}
	if !strings.HasSuffix(class, ".StandardAuthorizer") || !slices.Contains(splitSemicolons(l.set["super.users"]), anonymous) {
		return fmt.Errorf("%s=%s%s is not supported: %s", key, class, l.where(key), whyACL)
	}
	l.warn("%s has no effect: clients are %s, which super.users allows everything", key, anonymous)
	return nil
}

func splitSemicolons(text string) []string {
	var out []string
	for s := range strings.SplitSeq(text, ";") {
		out = append(out, strings.TrimSpace(s))
	}
	return out
}
