package cli

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// consumerKeys are the consumer settings that have an effect in these tools, or need none, beside those of every client.
var consumerKeys = []string{"allow.auto.create.topics", "auto.commit.interval.ms", "auto.offset.reset", "check.crcs",
	"client.rack", "enable.auto.commit", "exclude.internal.topics", "fetch.max.bytes", "fetch.max.wait.ms",
	"fetch.min.bytes", "group.id", "group.instance.id", "group.protocol", "heartbeat.interval.ms", "isolation.level",
	"max.partition.fetch.bytes", "max.poll.interval.ms", "max.poll.records", "partition.assignment.strategy",
	"receive.buffer.bytes", "request.timeout.ms", "session.timeout.ms"}

// consumerOptions turns consumer settings into options of the client library, all but what to consume.
func (e *env) consumerOptions(c clientConfig) ([]kgo.Opt, error) {
	reset, err := resetOffset(c)
	if err != nil {
		return nil, err
	}
	isolation, err := c.oneOf("isolation.level", "read_uncommitted", "read_committed", "read_uncommitted")
	if err != nil {
		return nil, err
	}
	n := numbers{conf: c}
	opts := []kgo.Opt{
		kgo.ConsumeStartOffset(reset), kgo.ConsumeResetOffset(reset),
		kgo.FetchMinBytes(int32(n.int("fetch.min.bytes", 1))),
		kgo.FetchMaxBytes(int32(n.int("fetch.max.bytes", 50<<20))),
		kgo.FetchMaxPartitionBytes(int32(n.int("max.partition.fetch.bytes", 1<<20))),
		kgo.FetchMaxWait(n.millis("fetch.max.wait.ms", 500*time.Millisecond)),
	}
	if isolation == "read_committed" {
		opts = append(opts, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
	}
	if rack := c["client.rack"]; rack != "" {
		opts = append(opts, kgo.Rack(rack))
	}
	if c["check.crcs"] == "false" {
		opts = append(opts, kgo.DisableFetchCRCValidation())
	}
	if c["allow.auto.create.topics"] != "false" {
		opts = append(opts, kgo.AllowAutoTopicCreation())
	}
	if n.err != nil {
		return nil, n.err
	}
	e.reportUnused(c, consumerKeys)
	base, err := e.clientOptions(c, "consumer", "Consumer")
	return append(base, opts...), err
}

// resetOffset is where to start without a committed offset: auto.offset.reset.
func resetOffset(c clientConfig) (kgo.Offset, error) {
	v, ok := c["auto.offset.reset"]
	switch {
	case !ok || strings.EqualFold(v, "latest"):
		return kgo.NewOffset().AtEnd(), nil
	case strings.EqualFold(v, "earliest"):
		return kgo.NewOffset().AtStart(), nil
	case strings.EqualFold(v, "none"):
		return kgo.NoResetOffset(), nil
	}
	if text, ok := strings.CutPrefix(strings.ToLower(v), "by_duration:"); ok {
		if d, err := parseDuration(text); err == nil {
			return kgo.NewOffset().AfterMilli(time.Now().Add(-d).UnixMilli()), nil
		}
	}
	return kgo.Offset{}, configError(fmt.Sprintf("Invalid value %s for configuration auto.offset.reset: "+
		"it is earliest, latest, none, or by_duration: and a duration like PT1H", v))
}

// groupOptions are the options of a member of a consumer group.
func groupOptions(c clientConfig) ([]kgo.Opt, error) {
	n := numbers{conf: c}
	opts := []kgo.Opt{
		kgo.ConsumerGroup(c["group.id"]),
		kgo.RebalanceTimeout(n.millis("max.poll.interval.ms", 5*time.Minute)),
	}
	if id := c["group.instance.id"]; id != "" {
		opts = append(opts, kgo.InstanceID(id))
	}
	switch strings.ToLower(c["group.protocol"]) {
	case "", "classic":
		balancers, err := assignors(c["partition.assignment.strategy"])
		if err != nil {
			return nil, err
		}
		opts = append(opts, kgo.Balancers(balancers...),
			kgo.SessionTimeout(n.millis("session.timeout.ms", 45*time.Second)),
			kgo.HeartbeatInterval(n.millis("heartbeat.interval.ms", 3*time.Second)))
	case "consumer":
		// KIP-848: the brokers assign. The sticky balancer stands for their "uniform" assignor, which is their default.
		opts = append(opts, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
	default:
		return nil, configError(fmt.Sprintf("Invalid value %s for configuration group.protocol: "+
			"String must be one of (case insensitive): CLASSIC, CONSUMER", c["group.protocol"]))
	}
	if c["enable.auto.commit"] == "false" {
		opts = append(opts, kgo.DisableAutoCommit())
	} else {
		interval := n.millis("auto.commit.interval.ms", 5*time.Second)
		opts = append(opts, kgo.AutoCommitMarks(), kgo.AutoCommitInterval(min(max(interval, time.Millisecond), math.MaxInt64)))
	}
	return opts, n.err
}

// assignors turns partition.assignment.strategy, class names separated by commas, into the client library's balancers.
func assignors(classes string) ([]kgo.GroupBalancer, error) {
	if classes == "" {
		return []kgo.GroupBalancer{kgo.RangeBalancer(), kgo.CooperativeStickyBalancer()}, nil
	}
	var all []kgo.GroupBalancer
	for class := range strings.SplitSeq(classes, ",") {
		switch name := strings.TrimSpace(class); strings.TrimPrefix(name, "org.apache.kafka.clients.consumer.") {
		case "RangeAssignor":
			all = append(all, kgo.RangeBalancer())
		case "RoundRobinAssignor":
			all = append(all, kgo.RoundRobinBalancer())
		case "StickyAssignor":
			all = append(all, kgo.StickyBalancer())
		case "CooperativeStickyAssignor":
			all = append(all, kgo.CooperativeStickyBalancer())
		default:
			return nil, configError("There is no assignor " + name + " here: Kafka's RangeAssignor, RoundRobinAssignor, " +
				"StickyAssignor and CooperativeStickyAssignor are")
		}
	}
	return all, nil
}

// commitSync commits offsets as a member of its group and waits for the answer.
func commitSync(ctx context.Context, cl *kgo.Client, offsets map[string]map[int32]kgo.EpochOffset) error {
	var failed error
	cl.CommitOffsetsSync(ctx, offsets, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, resp *kmsg.OffsetCommitResponse, err error) {
		failed = err
		if err != nil || resp == nil {
			return
		}
		for _, t := range resp.Topics {
			for _, p := range t.Partitions {
				failed = firstError(failed, coded(p.ErrorCode, nil))
			}
		}
	})
	return failed
}
