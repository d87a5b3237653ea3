package storage

import (
	"math"
	"time"

	"go.uber.org/zap"
)

// Options configure a Manager. Use DefaultOptions and change fields.
type Options struct {
	ClusterID                       string // empty: the directories' own, which then must have one
	NodeID                          int32
	Logger                          *zap.Logger
	RecoveryThreadsPerDir           int           // num.recovery.threads.per.data.dir
	OpenFilesMax                    int           // segment and index files kept open
	RetentionCheckInterval          time.Duration // log.retention.check.interval.ms
	FlushCheckInterval              time.Duration // log.flush.scheduler.interval.ms; 0: never
	RecoveryPointCheckpointInterval time.Duration // log.flush.offset.checkpoint.interval.ms
	LogStartCheckpointInterval      time.Duration // log.flush.start.offset.checkpoint.interval.ms
	HighWatermarkCheckpointInterval time.Duration // replica.high.watermark.checkpoint.interval.ms
	FileDeleteDelay                 time.Duration // log.segment.delete.delay.ms, for deleted partitions
	InitialTaskDelay                time.Duration // log.initial.task.delay.ms
	ProducerIDExpires               time.Duration // producer.id.expiration.ms
	ProducerExpiryCheckInterval     time.Duration // producer.id.expiration.check.interval.ms
	Cleaner                         CleanerOptions

	// OnDirFailure is told once when a directory goes offline, on a goroutine of its
	// own; the directory's logs are not served any more by then. May be nil.
	OnDirFailure func(DirState)
	// OnLogStart is told when retention moved a log's start; may be nil.
	OnLogStart func(*Log)
}

// CleanerOptions are the log.cleaner.* properties.
type CleanerOptions struct {
	Threads             int     // 0: compacted topics are never cleaned
	DedupeBufferBytes   int64   // all threads together
	IOBufferBytes       int     // all threads together
	LoadFactor          float64 // how full the offset map may get
	IOMaxBytesPerSecond float64 // all threads together, read and written
	Backoff             time.Duration
}

// DefaultOptions are those of a broker with an empty configuration.
func DefaultOptions() Options {
	return Options{
		Logger:                          zap.NewNop(),
		RecoveryThreadsPerDir:           2,
		OpenFilesMax:                    4096,
		RetentionCheckInterval:          5 * time.Minute,
		RecoveryPointCheckpointInterval: time.Minute,
		LogStartCheckpointInterval:      time.Minute,
		HighWatermarkCheckpointInterval: 5 * time.Second,
		FileDeleteDelay:                 time.Minute,
		InitialTaskDelay:                30 * time.Second,
		ProducerIDExpires:               24 * time.Hour,
		ProducerExpiryCheckInterval:     10 * time.Minute,
		Cleaner: CleanerOptions{
			Threads: 1, DedupeBufferBytes: 128 << 20, IOBufferBytes: 512 << 10, LoadFactor: 0.9,
			IOMaxBytesPerSecond: math.MaxFloat64, Backoff: 15 * time.Second,
		},
	}
}
