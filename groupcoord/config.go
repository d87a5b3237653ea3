package groupcoord

import (
	"time"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/groupcoord/group/classic"
	"github.com/ottla/ottla/protocol/record"
)

// Config is what the coordinator needs of the broker's settings.
type Config struct {
	Classic                classic.Config
	OffsetsPartitions      int32         // offsets.topic.num.partitions
	Codec                  record.Codec  // offsets.topic.compression.codec
	OffsetsRetention       time.Duration // offsets.retention.minutes
	RetentionCheckInterval time.Duration // offsets.retention.check.interval.ms
	MetadataMax            int           // offset.metadata.max.bytes, in UTF-16 units as Kafka counts
	CommitTimeout          time.Duration // offsets.commit.timeout.ms; as of the start
	LoadBuffer             int           // offsets.load.buffer.size, bytes read at a time
}

// ConfigOf takes the coordinator's settings out of the broker's.
func ConfigOf(v config.Values) Config {
	ms := func(key string) time.Duration { return time.Duration(v.Long(key)) * time.Millisecond }
	return Config{
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
	}
}
