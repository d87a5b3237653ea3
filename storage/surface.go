package storage

import (
	"context"
	"time"

	"go.uber.org/zap"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

// FileRef is an open segment file, counted: it stays open, though renamed or
// removed meanwhile, until the last Release.
type FileRef struct{}

// ReadAt reads like io.ReaderAt.
func (r *FileRef) ReadAt(p []byte, off int64) (int, error) { panic("surface") }

// Fd is the descriptor for sendfile; false in memory mode.
func (r *FileRef) Fd() (fd uintptr, ok bool) { panic("surface") }

// Release gives the file back.
func (r *FileRef) Release() { panic("surface") }

// Release gives the slice's file back.
func (s FileSlice) Release() { panic("surface") }

// ReadFull copies the slice into p, which must be Length long.
func (s FileSlice) ReadFull(p []byte) error { panic("surface") }

// Release gives all slices back.
func (r *Read) Release() { panic("surface") }

// Log is one partition's log. Safe for concurrent use: one writer at a time,
// readers do not wait for it.
type Log struct{}

// LogOptions opens a log outside a Manager.
type LogOptions struct {
	FS                vfs.FS
	Dir               string // the partition's directory, made if missing
	TopicPartition    protocol.TopicPartition
	TopicID           protocol.UUID // written to partition.metadata unless zero
	Config            LogConfig
	Clean             bool // trust the files; false: rescan from RecoveryPoint on
	RecoveryPoint     int64
	LogStartOffset    int64
	ProducerIDExpires time.Duration // producer.id.expiration.ms; 0: never
	Logger            *zap.Logger
}

// OpenLog opens or makes a single log outside a Manager.
func OpenLog(o LogOptions) (*Log, error) { panic("surface") }

// AppendAsLeader appends one validated batch: writes its base offset and leader
// epoch in place, checks its producer (Client, Coordinator), rolls if needed.
// Errors: RECORD_LIST_TOO_LARGE, INVALID_PRODUCER_EPOCH,
// OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_TXN_STATE, TRANSACTION_COORDINATOR_FENCED,
// KAFKA_STORAGE_ERROR. b may be reused when it returns.
func (l *Log) AppendAsLeader(b record.Batch, leaderEpoch int32, o Origin, nowMs int64) (AppendInfo, error) {
	panic("surface")
}

// AppendAsFollower appends batches as a leader (or the raft log) has them,
// unchanged. Batches of an epoch above leaderEpoch and a cut off last one are
// left out. Errors: CORRUPT_MESSAGE, and UNKNOWN_SERVER_ERROR for offsets that do
// not follow.
func (l *Log) AppendAsFollower(batches []byte, leaderEpoch int32) (AppendInfo, error) {
	panic("surface")
}

// Read finds batches from the one that holds offset on, at most maxBytes of them,
// in whole batches; with minOne the first comes whole even if it is larger. A read
// at or beyond the bound is empty. OFFSET_OUT_OF_RANGE outside
// [log start, log end].
func (l *Log) Read(offset int64, maxBytes int, minOne bool, bound Bound) (Read, error) {
	panic("surface")
}

// OffsetForTimestamp finds the first record with a timestamp of at least ts, in
// offset order; ts -3 the first one with the largest timestamp. Results at or
// past the bound count as not found.
func (l *Log) OffsetForTimestamp(ts int64, bound Bound) (OffsetTime, error) { panic("surface") }

// HighWatermark is the offset up to which consumers may read.
func (l *Log) HighWatermark() int64 { panic("surface") }

// SetHighWatermark moves it, within [log start, log end]; returns what it is now.
func (l *Log) SetHighWatermark(offset int64) int64 { panic("surface") }

// LastStableOffset is the bound of read_committed: the first offset of an open
// transaction, or of a finished one whose marker is not below the high watermark,
// else the high watermark.
func (l *Log) LastStableOffset() int64 { panic("surface") }

// LogStartOffset is the first readable offset.
func (l *Log) LogStartOffset() int64 { panic("surface") }

// LogEndOffset is the next offset to be written.
func (l *Log) LogEndOffset() int64 { panic("surface") }

// RecoveryPoint is the offset below which everything is on stable storage.
func (l *Log) RecoveryPoint() int64 { panic("surface") }

// DeleteRecordsBefore raises the log start; -1 means the high watermark. Returns
// the log start. OFFSET_OUT_OF_RANGE above the high watermark or below -1.
func (l *Log) DeleteRecordsBefore(offset int64) (int64, error) { panic("surface") }

// RaiseLogStart is a follower's way of raising the log start to its leader's.
func (l *Log) RaiseLogStart(offset int64) error { panic("surface") }

// TruncateTo makes offset the log end, if it is below it. Reports whether it was.
func (l *Log) TruncateTo(offset int64) (bool, error) { panic("surface") }

// TruncateFully deletes everything and starts empty at offset.
func (l *Log) TruncateFully(offset int64) error { panic("surface") }

// AssignEpochStart notes that a leader epoch begins at offset (the log end when
// this node becomes leader).
func (l *Log) AssignEpochStart(epoch int32, offset int64) error { panic("surface") }

// EndOffsetForEpoch answers OffsetForLeaderEpoch.
func (l *Log) EndOffsetForEpoch(epoch int32) EpochEnd { panic("surface") }

// LatestEpoch is the last known leader epoch; -1 if none.
func (l *Log) LatestEpoch() int32 { panic("surface") }

// EpochOf is the leader epoch that offset was written in; -1 if unknown.
func (l *Log) EpochOf(offset int64) int32 { panic("surface") }

// Epochs lists the leader epochs, oldest first.
func (l *Log) Epochs() []EpochEntry { panic("surface") }

// Producers lists the known producers by id.
func (l *Log) Producers() []ProducerState { panic("surface") }

// Size is the bytes of all segments' records.
func (l *Log) Size() int64 { panic("surface") }

// Flush makes everything below the log end at the time of the call durable.
func (l *Log) Flush() error { panic("surface") }

// Config is the current configuration.
func (l *Log) Config() *LogConfig { panic("surface") }

// UpdateConfig replaces the configuration.
func (l *Log) UpdateConfig(c LogConfig) { panic("surface") }

// TopicPartition names the log.
func (l *Log) TopicPartition() protocol.TopicPartition { panic("surface") }

// TopicID is the id in partition.metadata; zero if there is none.
func (l *Log) TopicID() protocol.UUID { panic("surface") }

// DirID is the log directory it is in; zero outside a Manager.
func (l *Log) DirID() protocol.UUID { panic("surface") }

// Close flushes, writes the producer snapshot and trims the indexes. Only for logs
// of OpenLog: a Manager closes its own.
func (l *Log) Close() error { panic("surface") }

// Options configure a Manager. Use DefaultOptions and change fields.
type Options struct {
	ClusterID                       string
	NodeID                          int32
	Logger                          *zap.Logger
	RecoveryThreadsPerDir           int           // num.recovery.threads.per.data.dir
	OpenFilesMax                    int           // segment files kept open
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

	// OnDirFailure is told once when a directory goes offline, on a goroutine of the
	// Manager's.
	OnDirFailure func(DirState)
	// OnLogStart is told when retention or compaction moved a log's start; may be nil.
	OnLogStart func(*Log)
}

// CleanerOptions are the log.cleaner.* properties.
type CleanerOptions struct {
	Threads             int
	DedupeBufferBytes   int64
	IOBufferBytes       int
	LoadFactor          float64
	IOMaxBytesPerSecond float64
	Backoff             time.Duration
}

// DefaultOptions are those of a broker with an empty configuration.
func DefaultOptions() Options { panic("surface") }

// Manager owns the log directories of a node. Safe for concurrent use.
type Manager struct{}

// Open locks the directories and reads their meta.properties (made if a directory
// is empty). Directories that fail are offline, see Dirs; no usable directory, or
// one of another cluster or node, is an error.
func Open(fs vfs.FS, dirs []string, o Options) (*Manager, error) { panic("surface") }

// Load opens every partition on disk, recovering where the last stop was unclean,
// in parallel. keep is asked once a partition, from several goroutines at a time.
func (m *Manager) Load(ctx context.Context, keep func(protocol.TopicPartition, protocol.UUID) Decision) error {
	panic("surface")
}

// Start begins the background work: retention, checkpoints, delayed deletion,
// flush by time, compaction.
func (m *Manager) Start() { panic("surface") }

// Get returns a partition's log, nil if there is none or its directory is offline.
func (m *Manager) Get(tp protocol.TopicPartition) *Log { panic("surface") }

// Create returns the partition's log, made if missing in the directory with the
// fewest partitions, or in dir unless it is zero. INCONSISTENT_TOPIC_ID if a log
// with another topic id is there, LOG_DIR_NOT_FOUND, KAFKA_STORAGE_ERROR.
func (m *Manager) Create(tp protocol.TopicPartition, topicID protocol.UUID, c LogConfig, dir protocol.UUID) (*Log, error) {
	panic("surface")
}

// Delete takes the partition away at once and its files after the delay.
func (m *Manager) Delete(tp protocol.TopicPartition) error { panic("surface") }

// Logs lists all logs that are served, in no order.
func (m *Manager) Logs() []*Log { panic("surface") }

// UpdateConfig gives all logs of a topic a new configuration.
func (m *Manager) UpdateConfig(topic string, c LogConfig) { panic("surface") }

// UpdateCleaner changes the dynamic part of the cleaner's options.
func (m *Manager) UpdateCleaner(c CleanerOptions) { panic("surface") }

// Dirs describes the directories, in configured order.
func (m *Manager) Dirs() []DirState { panic("surface") }

// LoadedCleanEpoch is the broker epoch of the last clean shutdown; -1 if the last
// stop was unclean or did not say.
func (m *Manager) LoadedCleanEpoch() int64 { panic("surface") }

// Close stops the background work, flushes and closes all logs, writes the
// checkpoints and the clean shutdown marker, and unlocks. When ctx ends first, what
// is not closed by then stays unclean.
func (m *Manager) Close(ctx context.Context, brokerEpoch int64) error { panic("surface") }

// MetaProperties is a log directory's meta.properties, version 1.
type MetaProperties struct {
	ClusterID   string
	NodeID      int32
	DirectoryID protocol.UUID
}

// ReadMetaProperties reads dir/meta.properties; fs.ErrNotExist if there is none.
func ReadMetaProperties(fs vfs.FS, dir string) (MetaProperties, error) { panic("surface") }

// WriteMetaProperties writes dir/meta.properties durably.
func WriteMetaProperties(fs vfs.FS, dir string, p MetaProperties) error { panic("surface") }
