package groupcoord

import (
	"strings"
	"time"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/groupcoord/group/classic"
	"github.com/ottla/ottla/groupcoord/group/consumer"
	"github.com/ottla/ottla/protocol/record"
)

// Config is what the coordinator needs of the broker's settings.
type Config struct {
	Classic                classic.Config
	Consumer               consumer.Config // of groups without settings of their own
	OffsetsPartitions      int32           // offsets.topic.num.partitions
	Codec                  record.Codec    // offsets.topic.compression.codec
	OffsetsRetention       time.Duration   // offsets.retention.minutes
	RetentionCheckInterval time.Duration   // offsets.retention.check.interval.ms
	MetadataMax            int             // offset.metadata.max.bytes, in UTF-16 units as Kafka counts
	CommitTimeout          time.Duration   // offsets.commit.timeout.ms; as of the start
	LoadBuffer             int             // offsets.load.buffer.size, bytes read at a time
	VerifyTransactions     bool            // transaction.partition.verification.enable
}

// ConfigOf takes the coordinator's settings out of the broker's.
func ConfigOf(v config.Values) Config {
	ms := func(key string) time.Duration { return time.Duration(v.Long(key)) * time.Millisecond }
	return Config{
		Consumer: consumerConfig(v, v, "group."),
		Classic: classic.Config{
			SessionMin: ms("group.min.session.timeout.ms"), SessionMax: ms("group.max.session.timeout.ms"),
			InitialDelay: ms("group.initial.rebalance.delay.ms"), MaxSize: int(v.Int("group.max.size")),
		},
		OffsetsPartitions:      v.Int("offsets.topic.num.partitions"),
		Codec:                  record.Codec(v.Int("offsets.topic.compression.codec")),
		OffsetsRetention:       time.Duration(v.Long("offsets.retention.minutes")) * time.Minute,
		RetentionCheckInterval: ms("offsets.retention.check.interval.ms"),
		MetadataMax:            int(v.Int("offset.metadata.max.bytes")),
		CommitTimeout:          ms("offsets.commit.timeout.ms"),
		LoadBuffer:             int(v.Int("offsets.load.buffer.size")),
		VerifyTransactions:     v.Bool("transaction.partition.verification.enable"),
	}
}

// consumerConfig is what a consumer group goes by: three settings may be its own, within what the broker allows.
// The broker's have the prefix before their names.
func consumerConfig(broker, own config.Values, prefix string) consumer.Config {
	bounded := func(key string) time.Duration {
		low, high := broker.Long("group.consumer.min."+key), broker.Long("group.consumer.max."+key)
		return time.Duration(min(max(own.Long(prefix+"consumer."+key), low), high)) * time.Millisecond
	}
	policy := strings.ToLower(broker.String("group.consumer.migration.policy"))
	return consumer.Config{
		Session: bounded("session.timeout.ms"), Heartbeat: bounded("heartbeat.interval.ms"),
		AssignmentInterval: bounded("assignment.interval.ms"),
		MaxSize:            int(broker.Int("group.consumer.max.size")), ClassicMaxSize: int(broker.Int("group.max.size")),
		Assignors: broker.List("group.consumer.assignors"),
		Upgrade:   policy == "bidirectional" || policy == "upgrade",
		Downgrade: policy == "bidirectional" || policy == "downgrade",
	}
}

// ConsumerConfigOf is the settings of a consumer group that has overrides.
func ConsumerConfigOf(l config.Layers, overrides map[string]string) consumer.Config {
	return consumerConfig(l.Broker(), l.Group(overrides), "")
}
