package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// bound says that one number may not be below another. Both are broker keys.
type bound struct {
	low, high string
	strict    bool // nor equal to it
}

// bounds are Kafka's rules between two settings that both stay as they are when the node runs on defaults.
var bounds = []bound{
	{low: "replica.fetch.wait.max.ms", high: "replica.socket.timeout.ms"},
	{low: "replica.fetch.wait.max.ms", high: "replica.lag.time.max.ms"},

	{low: "group.consumer.min.session.timeout.ms", high: "group.consumer.max.session.timeout.ms"},
	{low: "group.consumer.min.session.timeout.ms", high: "group.consumer.session.timeout.ms"},
	{low: "group.consumer.session.timeout.ms", high: "group.consumer.max.session.timeout.ms"},
	{low: "group.consumer.min.heartbeat.interval.ms", high: "group.consumer.max.heartbeat.interval.ms"},
	{low: "group.consumer.min.heartbeat.interval.ms", high: "group.consumer.heartbeat.interval.ms"},
	{low: "group.consumer.heartbeat.interval.ms", high: "group.consumer.max.heartbeat.interval.ms"},
	{low: "group.consumer.heartbeat.interval.ms", high: "group.consumer.session.timeout.ms", strict: true},
	{low: "group.consumer.min.assignment.interval.ms", high: "group.consumer.max.assignment.interval.ms"},
	{low: "group.consumer.min.assignment.interval.ms", high: "group.consumer.assignment.interval.ms"},
	{low: "group.consumer.assignment.interval.ms", high: "group.consumer.max.assignment.interval.ms"},

	{low: "group.share.min.session.timeout.ms", high: "group.share.max.session.timeout.ms"},
	{low: "group.share.min.session.timeout.ms", high: "group.share.session.timeout.ms"},
	{low: "group.share.session.timeout.ms", high: "group.share.max.session.timeout.ms"},
	{low: "group.share.min.heartbeat.interval.ms", high: "group.share.max.heartbeat.interval.ms"},
	{low: "group.share.min.heartbeat.interval.ms", high: "group.share.heartbeat.interval.ms"},
	{low: "group.share.heartbeat.interval.ms", high: "group.share.max.heartbeat.interval.ms"},
	{low: "group.share.heartbeat.interval.ms", high: "group.share.session.timeout.ms", strict: true},
	{low: "group.share.min.assignment.interval.ms", high: "group.share.max.assignment.interval.ms"},
	{low: "group.share.min.assignment.interval.ms", high: "group.share.assignment.interval.ms"},
	{low: "group.share.assignment.interval.ms", high: "group.share.max.assignment.interval.ms"},
	{low: "group.share.min.record.lock.duration.ms", high: "group.share.record.lock.duration.ms"},
	{low: "group.share.record.lock.duration.ms", high: "group.share.max.record.lock.duration.ms"},
	{low: "group.share.min.delivery.count.limit", high: "group.share.delivery.count.limit"},
	{low: "group.share.delivery.count.limit", high: "group.share.max.delivery.count.limit"},
	{low: "group.share.min.partition.max.record.locks", high: "group.share.partition.max.record.locks"},
	{low: "group.share.partition.max.record.locks", high: "group.share.max.partition.max.record.locks"},
	{low: "group.share.max.size", high: "group.share.max.share.sessions"},

	{low: "group.streams.min.session.timeout.ms", high: "group.streams.max.session.timeout.ms"},
	{low: "group.streams.min.session.timeout.ms", high: "group.streams.session.timeout.ms"},
	{low: "group.streams.session.timeout.ms", high: "group.streams.max.session.timeout.ms"},
	{low: "group.streams.min.heartbeat.interval.ms", high: "group.streams.max.heartbeat.interval.ms"},
	{low: "group.streams.min.heartbeat.interval.ms", high: "group.streams.heartbeat.interval.ms"},
	{low: "group.streams.heartbeat.interval.ms", high: "group.streams.max.heartbeat.interval.ms"},
	{low: "group.streams.heartbeat.interval.ms", high: "group.streams.session.timeout.ms", strict: true},
	{low: "group.streams.min.assignment.interval.ms", high: "group.streams.max.assignment.interval.ms"},
	{low: "group.streams.min.assignment.interval.ms", high: "group.streams.assignment.interval.ms"},
	{low: "group.streams.assignment.interval.ms", high: "group.streams.max.assignment.interval.ms"},
	{low: "group.streams.num.standby.replicas", high: "group.streams.max.standby.replicas"},
	{low: "group.streams.num.warmup.replicas", high: "group.streams.max.warmup.replicas"},
	{low: "group.streams.min.task.offset.interval.ms", high: "group.streams.task.offset.interval.ms"},
}

// cross checks the file's settings with each other.
func (l *loader) cross() error { return Layers{Static: l.static}.cross() }

// cross checks settings with each other, as Kafka does at start and before a dynamic change. The error
// is one sentence.
func (l Layers) cross() error {
	v := l.Broker()
	for _, b := range bounds {
		if !l.touches(b.low) && !l.touches(b.high) {
			continue
		}
		low, high := v.Long(b.low), v.Long(b.high)
		if low > high || b.strict && low == high {
			return fmt.Errorf("%s=%d: allowed with %s=%d is %s", b.low, low, b.high, high, atMost(high, b.strict))
		}
	}
	if err := l.crossLog(v); err != nil {
		return err
	}
	if protocols := v.List("group.coordinator.rebalance.protocols"); !slices.Contains(protocols, "classic") {
		return fmt.Errorf("group.coordinator.rebalance.protocols=%s: allowed is a list with classic among the others", strings.Join(protocols, ","))
	}
	return crossConnections(v)
}

func atMost(n int64, strict bool) string {
	if strict {
		return "a number below " + strconv.FormatInt(n, 10)
	}
	return "at most " + strconv.FormatInt(n, 10)
}

// touches reports that a layer sets the key. What nothing sets is the default, and defaults agree.
func (l Layers) touches(name string) bool {
	for _, at := range l.inOrder() {
		if _, ok := at.set[name]; ok {
			return true
		}
	}
	return false
}

func (l Layers) crossLog(v Values) error {
	if text, ok := v.Text("log.roll.ms"); ok && v.Long("log.roll.ms") < 1 {
		return fmt.Errorf("log.roll.ms=%s: allowed is a whole number, at least 1", text)
	}
	if text, ok := v.Text("log.roll.jitter.ms"); ok && v.Long("log.roll.jitter.ms") < 0 {
		return fmt.Errorf("log.roll.jitter.ms=%s: allowed is a whole number, at least 0", text)
	}
	if l.Topic(nil).Long("retention.ms") == 0 {
		for _, from := range retentionFrom {
			if text, ok := v.Text(from.Name); ok {
				return fmt.Errorf("%s=%s: allowed is -1 for ever, or a whole number, at least 1", from.Name, text)
			}
		}
	}
	threads, buffer := v.Long("log.cleaner.threads"), v.Long("log.cleaner.dedupe.buffer.size")
	if v.Bool("log.cleaner.enable") && (threads == 0 || buffer/threads <= 1<<20) {
		return fmt.Errorf("log.cleaner.dedupe.buffer.size=%d: allowed with log.cleaner.threads=%d is more than 1048576 for each of at least one thread", buffer, threads)
	}
	if codec := v.Int("offsets.topic.compression.codec"); codec < 0 || codec > 4 {
		return fmt.Errorf("offsets.topic.compression.codec=%d: allowed is a whole number from 0 to 4", codec)
	}
	return nil
}

func crossConnections(v Values) error {
	if queued, frame := v.Long("queued.max.request.bytes"), v.Long("socket.request.max.bytes"); queued > 0 && queued < frame {
		return fmt.Errorf("queued.max.request.bytes=%d: allowed is -1, or at least socket.request.max.bytes=%d", queued, frame)
	}
	overrides := v.String("max.connections.per.ip.overrides")
	if _, err := ParseConnectionOverrides(overrides); err != nil {
		return err
	}
	if v.Int("max.connections.per.ip") == 0 && overrides == "" {
		return fmt.Errorf("max.connections.per.ip=0: allowed without max.connections.per.ip.overrides is a whole number, at least 1")
	}
	if delay, idle := v.Long("connection.failed.authentication.delay.ms"), v.Long("connections.max.idle.ms"); idle >= 0 && delay >= idle {
		return fmt.Errorf("connections.max.idle.ms=%d: allowed is a negative number for ever, or more than connection.failed.authentication.delay.ms=%d", idle, delay)
	}
	return nil
}

// ParseConnectionOverrides reads max.connections.per.ip.overrides: host:count pairs, where host is a name or an address.
func ParseConnectionOverrides(text string) (map[string]int32, error) {
	var out map[string]int32
	for _, pair := range splitList(text) {
		host, count, ok := cutLast(pair, ':')
		n, okCount := parseWhole(count, 32)
		host = unbracket(host)
		if !ok || !okCount || n < 0 || host == "" || !hostAllowed(host) {
			return nil, fmt.Errorf("max.connections.per.ip.overrides=%s: allowed is a list of host:count", text)
		}
		if out == nil {
			out = map[string]int32{}
		}
		out[host] = int32(n)
	}
	return out, nil
}
