package ottla

import (
	"slices"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/storage"
)

// logConfig makes a log's configuration out of a topic's effective settings.
func logConfig(v config.Values) storage.LogConfig {
	policy := v.List("cleanup.policy")
	c := storage.LogConfig{
		SegmentBytes:                v.Int("segment.bytes"),
		SegmentMs:                   v.Long("segment.ms"),
		SegmentJitterMs:             v.Long("segment.jitter.ms"),
		SegmentIndexBytes:           v.Int("segment.index.bytes"),
		IndexIntervalBytes:          v.Int("index.interval.bytes"),
		Preallocate:                 v.Bool("preallocate"),
		FlushMessages:               v.Long("flush.messages"),
		FlushMs:                     v.Long("flush.ms"),
		RetentionBytes:              v.Long("retention.bytes"),
		RetentionMs:                 v.Long("retention.ms"),
		FileDeleteDelayMs:           v.Long("file.delete.delay.ms"),
		CleanupDelete:               slices.Contains(policy, "delete"),
		CleanupCompact:              slices.Contains(policy, "compact"),
		DeleteRetentionMs:           v.Long("delete.retention.ms"),
		MinCompactionLagMs:          v.Long("min.compaction.lag.ms"),
		MaxCompactionLagMs:          v.Long("max.compaction.lag.ms"),
		MinCleanableDirtyRatio:      v.Double("min.cleanable.dirty.ratio"),
		MaxMessageBytes:             v.Int("max.message.bytes"),
		MaxDecompressedMessageBytes: v.Int("max.decompressed.message.bytes"),
		MessageTimestampBeforeMaxMs: v.Long("message.timestamp.before.max.ms"),
		MessageTimestampAfterMaxMs:  v.Long("message.timestamp.after.max.ms"),
		CompressionType:             v.String("compression.type"),
		CompressionGzipLevel:        int(v.Int("compression.gzip.level")),
		CompressionLZ4Level:         int(v.Int("compression.lz4.level")),
		CompressionZstdLevel:        int(v.Int("compression.zstd.level")),
		MinInSyncReplicas:           v.Int("min.insync.replicas"),
		UncleanLeaderElection:       v.Bool("unclean.leader.election.enable"),
	}
	if v.String("message.timestamp.type") == "LogAppendTime" {
		c.MessageTimestampType = storage.LogAppendTime
	}
	if !v.IsNull("internal.segment.bytes") {
		c.SegmentBytes = v.Int("internal.segment.bytes")
	}
	return c
}
