package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ottla/ottla/protocol"
)

// The Validate functions check the whole set of values a resource is about to have. The error is a
// *protocol.Fault with one sentence that names key and value.

func invalid(format string, args ...any) error {
	return &protocol.Fault{Code: protocol.InvalidConfig, Message: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) error {
	return &protocol.Fault{Code: protocol.InvalidRequest, Message: fmt.Sprintf(format, args...)}
}

// NullValue is the fault for a null value: INVALID_CONFIG in CreateTopics (creating), INVALID_REQUEST in
// AlterConfigs and for SET, APPEND and SUBTRACT of IncrementalAlterConfigs.
func NullValue(s Scope, name string, creating bool) error {
	if creating {
		return invalid("%s=null: a %s setting cannot be null", name, s)
	}
	return badRequest("%s=null: a %s setting cannot be null; delete it instead", name, s)
}

// ValidateTopic checks a topic's overrides together with what it inherits from broker (INVALID_CONFIG).
func ValidateTopic(overrides map[string]string, broker Layers) error {
	if err := checkEach(ScopeTopic, overrides); err != nil {
		return err
	}
	v := broker.Topic(overrides)
	if low, high := v.Long("min.compaction.lag.ms"), v.Long("max.compaction.lag.ms"); low > high {
		return invalid("min.compaction.lag.ms=%d: allowed with max.compaction.lag.ms=%d is at most that", low, high)
	}
	if k := Find(ScopeTopic, "remote.storage.enable"); v.Bool(k.Name) {
		return invalid("%s=true is not supported: %s", k.Name, k.Why)
	}
	return nil
}

// checkEach checks names and values one by one, in the order of names.
func checkEach(s Scope, set map[string]string) error {
	for _, name := range sortedNames(set) {
		k := Find(s, name)
		if k == nil {
			return invalid("%s=%s: there is no %s setting of that name", name, set[name], s)
		}
		if !k.Allows(set[name]) {
			return invalid("%s=%s: allowed is %s", name, set[name], k.allowed())
		}
	}
	return nil
}

// ValidateBroker checks the dynamic settings that one broker or (perBroker false) all brokers are about
// to have, together with the others that this broker runs with. Kafka answers INVALID_REQUEST. A name
// that is not a key is accepted: Kafka keeps it for plugins. What is not supported is refused only when it is new,
// so that settings taken over from Kafka do not stand in the way of others.
func ValidateBroker(settings map[string]string, perBroker bool, broker Layers) error {
	was := broker.Default
	if perBroker {
		was = broker.Own
	}
	for _, name := range sortedNames(settings) {
		value := settings[name]
		k := Find(ScopeBroker, name)
		switch {
		case k == nil:
			continue
		case k.Mode == ReadOnly && k.Name == name:
			return badRequest("%s=%s: it can only be set in the file, before the start", name, k.shown(value))
		case k.PerListener && k.Name == name:
			return badRequest("%s=%s: at run time it can only be set for a listener, as %s<listener>.%s", name, k.shown(value), listenerPrefix, name)
		case !perBroker && k.Mode == PerBroker && k.Name == name:
			return badRequest("%s=%s: it can only be set for one broker, by its id", name, k.shown(value))
		case !k.Allows(value):
			return badRequest("%s=%s: allowed is %s", name, k.shown(value), k.allowed())
		case k.Support == Refused && k.changed(value) && was[name] != value:
			return badRequest("%s=%s is not supported: %s", name, k.shown(value), k.Why)
		}
	}
	now := broker.Broker()
	if perBroker {
		broker.Own = settings
	} else {
		broker.Default = settings
	}
	if err := broker.cross(); err != nil {
		return badRequest("%s", err.Error())
	}
	return checkDynamic(now, broker)
}

// checkDynamic checks what may not change at will while the broker runs.
func checkDynamic(now Values, next Layers) error {
	v := next.Broker()
	if text, _ := v.Text("max.connections"); text == "0" {
		return badRequest("max.connections=0: allowed is a whole number, at least 1")
	}
	for _, name := range [...]string{"num.io.threads", "num.network.threads", "num.replica.fetchers",
		"num.recovery.threads.per.data.dir", "background.threads", "log.cleaner.threads"} {
		was, is := now.Int(name), v.Int(name)
		if is != was && (is < was/2 || int64(is) > 2*int64(was)) {
			return badRequest("%s=%d: allowed at one time is from half to double of the present %d", name, is, was)
		}
	}
	for _, name := range [...]string{"listeners", "listener.security.protocol.map"} {
		was, _ := now.Text(name)
		if is, _ := v.Text(name); is != was {
			return badRequest("%s=%s is not supported while the broker runs; set it in the file and restart", name, is)
		}
	}
	if next.Static != nil {
		for _, dir := range v.List("cordoned.log.dirs") {
			if all := dir == "*"; all && len(v.List("cordoned.log.dirs")) > 1 || !all && !slices.Contains(next.Static.LogDirs, dir) {
				return badRequest("cordoned.log.dirs=%s: allowed is * alone, or directories of log.dirs", strings.Join(v.List("cordoned.log.dirs"), ","))
			}
		}
	}
	return nil
}
