package storage

import (
	"math"

	"github.com/ottla/ottla/protocol/record"
)

// TimestampType says whose clock stamps records (message.timestamp.type).
type TimestampType = record.TimestampType

const (
	CreateTime    = record.CreateTime
	LogAppendTime = record.LogAppendTime
)

// LogConfig is the effective configuration of one topic as far as it concerns
// its logs. Names are those of the topic properties without dots; lengths are
// bytes, times milliseconds. Use DefaultLogConfig and change fields.
type LogConfig struct {
	SegmentBytes           int32 // segment.bytes, or internal.segment.bytes if that is set
	SegmentMs              int64
	SegmentJitterMs        int64
	SegmentIndexBytes      int32
	IndexIntervalBytes     int32
	Preallocate            bool
	FlushMessages          int64
	FlushMs                int64
	RetentionBytes         int64 // -1: unbounded
	RetentionMs            int64 // -1: unbounded
	FileDeleteDelayMs      int64
	CleanupDelete          bool // cleanup.policy contains delete
	CleanupCompact         bool // cleanup.policy contains compact
	DeleteRetentionMs      int64
	MinCompactionLagMs     int64
	MaxCompactionLagMs     int64
	MinCleanableDirtyRatio float64

	// The rest is not used by the log itself; it is here so that whoever validates
	// produced batches finds the topic's rules in one place.
	MaxMessageBytes             int32
	MaxDecompressedMessageBytes int32
	MessageTimestampType        TimestampType
	MessageTimestampBeforeMaxMs int64
	MessageTimestampAfterMaxMs  int64
	CompressionType             string // producer, uncompressed, gzip, snappy, lz4, zstd
	CompressionGzipLevel        int
	CompressionLZ4Level         int
	CompressionZstdLevel        int
	MinInSyncReplicas           int32
	UncleanLeaderElection       bool
}

// DefaultLogConfig is what a topic has on a broker with an empty configuration.
func DefaultLogConfig() LogConfig {
	const week, day = 7 * 24 * 3600 * 1000, 24 * 3600 * 1000
	return LogConfig{
		SegmentBytes:                1 << 30,
		SegmentMs:                   week,
		SegmentIndexBytes:           10 << 20,
		IndexIntervalBytes:          4096,
		FlushMessages:               math.MaxInt64,
		FlushMs:                     math.MaxInt64,
		RetentionBytes:              -1,
		RetentionMs:                 week,
		FileDeleteDelayMs:           60_000,
		CleanupDelete:               true,
		DeleteRetentionMs:           day,
		MaxCompactionLagMs:          math.MaxInt64,
		MinCleanableDirtyRatio:      0.5,
		MaxMessageBytes:             1048588,
		MaxDecompressedMessageBytes: math.MaxInt32 - 8,
		MessageTimestampBeforeMaxMs: math.MaxInt64,
		MessageTimestampAfterMaxMs:  3600_000,
		CompressionType:             "producer",
		CompressionGzipLevel:        -1,
		CompressionLZ4Level:         9,
		CompressionZstdLevel:        3,
		MinInSyncReplicas:           1,
	}
}

// rollMs is how much record time a segment may span.
func (c *LogConfig) rollMs() int64 {
	if c.CleanupCompact {
		return min(c.SegmentMs, c.MaxCompactionLagMs)
	}
	return c.SegmentMs
}
