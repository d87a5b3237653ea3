package config

import (
	"regexp"
	"slices"
	"strings"
)

// groupBound keeps a group's setting within what the broker allows. An empty name sets no bound.
type groupBound struct{ key, low, high string }

var groupBounds = []groupBound{
	{"consumer.session.timeout.ms", "group.consumer.min.session.timeout.ms", "group.consumer.max.session.timeout.ms"},
	{"consumer.heartbeat.interval.ms", "group.consumer.min.heartbeat.interval.ms", "group.consumer.max.heartbeat.interval.ms"},
	{"consumer.assignment.interval.ms", "group.consumer.min.assignment.interval.ms", "group.consumer.max.assignment.interval.ms"},
	{"share.session.timeout.ms", "group.share.min.session.timeout.ms", "group.share.max.session.timeout.ms"},
	{"share.heartbeat.interval.ms", "group.share.min.heartbeat.interval.ms", "group.share.max.heartbeat.interval.ms"},
	{"share.assignment.interval.ms", "group.share.min.assignment.interval.ms", "group.share.max.assignment.interval.ms"},
	{"share.record.lock.duration.ms", "group.share.min.record.lock.duration.ms", "group.share.max.record.lock.duration.ms"},
	{"share.delivery.count.limit", "group.share.min.delivery.count.limit", "group.share.max.delivery.count.limit"},
	{"share.partition.max.record.locks", "group.share.min.partition.max.record.locks", "group.share.max.partition.max.record.locks"},
	{"streams.session.timeout.ms", "group.streams.min.session.timeout.ms", "group.streams.max.session.timeout.ms"},
	{"streams.heartbeat.interval.ms", "group.streams.min.heartbeat.interval.ms", "group.streams.max.heartbeat.interval.ms"},
	{"streams.assignment.interval.ms", "group.streams.min.assignment.interval.ms", "group.streams.max.assignment.interval.ms"},
	{"streams.num.standby.replicas", "", "group.streams.max.standby.replicas"},
	{"streams.num.warmup.replicas", "", "group.streams.max.warmup.replicas"},
	{"streams.task.offset.interval.ms", "group.streams.min.task.offset.interval.ms", ""},
}

// ValidateGroup checks a group's overrides against the bounds that the broker sets (INVALID_CONFIG).
func ValidateGroup(overrides map[string]string, broker Layers) error {
	if err := checkEach(ScopeGroup, overrides); err != nil {
		return err
	}
	v, b := broker.Group(overrides), broker.Broker()
	for _, x := range groupBounds {
		if _, set := overrides[x.key]; !set {
			continue
		}
		n := v.Long(x.key)
		if x.low != "" && n < b.Long(x.low) {
			return invalid("%s=%d: allowed is at least %s=%d", x.key, n, x.low, b.Long(x.low))
		}
		if x.high != "" && n > b.Long(x.high) {
			return invalid("%s=%d: allowed is at most %s=%d", x.key, n, x.high, b.Long(x.high))
		}
	}
	for _, kind := range [...]string{"consumer", "share", "streams"} {
		beat, session := kind+".heartbeat.interval.ms", kind+".session.timeout.ms"
		if v.Long(beat) >= v.Long(session) {
			return invalid("%s=%d: allowed with %s=%d is a number below it", beat, v.Long(beat), session, v.Long(session))
		}
	}
	return checkGroupTexts(overrides, v, b)
}

func checkGroupTexts(overrides map[string]string, v, b Values) error {
	if name, set := overrides["streams.assignor.name"]; set && !slices.Contains(b.List("group.streams.assignors"), v.String("streams.assignor.name")) {
		return invalid("streams.assignor.name=%s: allowed is one of group.streams.assignors=%s", name, strings.Join(b.List("group.streams.assignors"), ","))
	}
	if topic := v.String("errors.deadletterqueue.topic.name"); strings.HasPrefix(topic, "__") {
		return invalid("errors.deadletterqueue.topic.name=%s: allowed is a topic whose name does not begin with __", topic)
	}
	if tags := splitList(overrides["streams.rack.aware.assignment.tags"]); len(tags) != len(unique(append([]string(nil), tags...))) {
		return invalid("streams.rack.aware.assignment.tags=%s: allowed is a list without repetitions", strings.Join(tags, ","))
	}
	return nil
}

// clientMatchers are the labels by which client metrics subscriptions choose clients (KIP-714).
var clientMatchers = []string{"client_instance_id", "client_id", "client_software_name", "client_software_version",
	"client_source_address", "client_source_port"}

// ValidateClientMetrics checks a client metrics subscription (KIP-714). Kafka answers INVALID_REQUEST, but
// INVALID_CONFIG for a pattern that cannot be matched.
func ValidateClientMetrics(settings map[string]string) error {
	for _, name := range sortedNames(settings) {
		k := Find(ScopeClientMetrics, name)
		if k == nil {
			return badRequest("%s=%s: there is no client-metrics setting of that name", name, settings[name])
		}
		if !k.Allows(settings[name]) {
			return invalid("%s=%s: allowed is %s", name, settings[name], k.allowed())
		}
	}
	v := ClientMetrics(settings)
	if ms := v.Int("interval.ms"); ms < 100 || ms > 3_600_000 {
		return badRequest("interval.ms=%d: allowed is a whole number from 100 to 3600000", ms)
	}
	for _, pair := range v.List("match") {
		label, pattern, ok := strings.Cut(pair, "=")
		if _, err := regexp.Compile(strings.TrimSpace(pattern)); err != nil || !ok || !slices.Contains(clientMatchers, strings.TrimSpace(label)) {
			return invalid("match=%s: allowed is a list of label=regular expression, with labels %s", pair, strings.Join(clientMatchers, ", "))
		}
	}
	return nil
}
