package storage

import (
	"fmt"
	"math"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/ottla/ottla/protocol"
)

// env is what a log has from its surroundings: a Manager's directory, or nothing.
type env struct {
	logger   *zap.Logger
	dirID    protocol.UUID
	expireMs int64 // producer.id.expiration.ms; 0: never

	// offline is why the directory is not to be touched any more; nil while it serves.
	offline func() error
	// fail takes the directory offline.
	fail func(error)
	// later removes files after a delay.
	later func(after time.Duration, paths []string)
	// flush makes a log durable soon, on another goroutine. nil: there is none.
	flush func(*Log)
	// lowered is called before a log is cut, to where: no checkpoint on disk may say more.
	lowered func(l *Log, to int64) error
}

// Log is one partition's log: the segments of one directory, oldest first, of which
// the last one is written to.
//
// Writers take mu and hold it through their I/O. Readers never take it: they see what
// was published in vis, one step at a time, and open files by themselves. A segment
// that is deleted under a reader makes it look again.
type Log struct {
	*place
	env     *env
	tp      protocol.TopicPartition
	topicID protocol.UUID
	config  atomic.Pointer[LogConfig]
	epochs  epochs
	marks   marks

	mu        sync.Mutex // writers; before vis.mu, producers.mu and flush's bookkeeping
	closed    bool
	producers producers // of which only its mu is needed to read
	verifying verifications
	snapshots []int64     // offsets of the producer snapshots on disk, ascending
	unsynced  []*segment  // segments that a flush has to look at, oldest first
	infos     []batchInfo // scratch
	lastFlush time.Time
	toSync    unsyncedFiles

	vis visible

	flushMu       sync.Mutex // one flush at a time; before mu
	recoveryPoint atomic.Int64
}

// unsyncedFiles are the small files that the next flush has to make durable.
type unsyncedFiles struct {
	metadata  bool // partition.metadata, and the directory itself in its parent
	names     bool // segments were taken away
	snapshots []int64
}

// visible is what readers see. Nobody does I/O under its lock.
type visible struct {
	mu            sync.RWMutex
	segments      []*segment // never empty, never changed in place
	start         int64      // log start offset
	end           int64      // log end offset
	endPos        int64      // size of the last segment as of end
	highWatermark int64
	unstable      int64 // first offset of a transaction whose fate is open, else MaxInt64
	closed        bool
}

// view is a moment of visible.
type view struct {
	segments                                        []*segment
	start, end, endPos, highWatermark, stableOffset int64
}

func (l *Log) view() view {
	v := &l.vis
	v.mu.RLock()
	defer v.mu.RUnlock()
	return view{v.segments, v.start, v.end, v.endPos, v.highWatermark, v.stable()}
}

// stable is the last stable offset; mu is held.
func (v *visible) stable() int64 {
	return min(max(v.unstable, v.start), v.highWatermark)
}

// segmentOf is the index of the segment that holds offset, or would.
func (v *view) segmentOf(offset int64) int {
	i := sort.Search(len(v.segments), func(i int) bool { return v.segments[i].base > offset })
	return max(0, i-1)
}

// sizeOf is how many bytes of segment i there were.
func (v *view) sizeOf(i int) int64 {
	if i == len(v.segments)-1 {
		return v.endPos
	}
	return v.segments[i].size.Load()
}

// endOf is the first offset that is not in segment i.
func (v *view) endOf(i int) int64 {
	if i == len(v.segments)-1 {
		return v.end
	}
	return v.segments[i+1].base
}

// active is the segment that is written to. l.mu is held.
func (l *Log) active() *segment {
	return l.vis.segments[len(l.vis.segments)-1] // only holders of l.mu change it
}

// setSegments publishes another list. l.mu is held.
func (l *Log) setSegments(list []*segment) {
	l.vis.mu.Lock()
	defer l.vis.mu.Unlock()
	l.vis.segments = list
	l.vis.endPos = list[len(list)-1].size.Load()
}

// setEnd publishes a new log end. l.mu is held.
func (l *Log) setEnd(offset int64) {
	l.vis.mu.Lock()
	defer l.vis.mu.Unlock()
	l.vis.end = offset
	l.vis.endPos = l.vis.segments[len(l.vis.segments)-1].size.Load()
	l.vis.highWatermark = min(l.vis.highWatermark, offset)
}

// updateUnstable publishes the first unstable offset.
func (l *Log) updateUnstable() {
	l.producers.mu.Lock()
	defer l.producers.mu.Unlock()
	l.publishUnstable()
}

// publishUnstable is updateUnstable for who holds producers.mu.
func (l *Log) publishUnstable() {
	l.vis.mu.Lock()
	defer l.vis.mu.Unlock()
	l.producers.passed(l.vis.highWatermark)
	l.vis.unstable = l.producers.firstUnstable()
}

// HighWatermark is the offset up to which consumers may read.
func (l *Log) HighWatermark() int64 {
	l.vis.mu.RLock()
	defer l.vis.mu.RUnlock()
	return l.vis.highWatermark
}

// SetHighWatermark moves it, within [log start, log end]; returns what it is now.
func (l *Log) SetHighWatermark(offset int64) int64 {
	l.vis.mu.Lock()
	offset = max(l.vis.start, min(offset, l.vis.end))
	l.vis.highWatermark = offset
	pending := l.vis.unstable != math.MaxInt64
	l.vis.mu.Unlock()
	if pending {
		l.updateUnstable()
	}
	return offset
}

// LastStableOffset is the bound of read_committed: the first offset of an open
// transaction, or of a finished one whose marker is not below the high watermark,
// else the high watermark.
func (l *Log) LastStableOffset() int64 {
	l.vis.mu.RLock()
	defer l.vis.mu.RUnlock()
	return l.vis.stable()
}

// LogStartOffset is the first readable offset.
func (l *Log) LogStartOffset() int64 {
	l.vis.mu.RLock()
	defer l.vis.mu.RUnlock()
	return l.vis.start
}

// LogEndOffset is the next offset to be written.
func (l *Log) LogEndOffset() int64 {
	l.vis.mu.RLock()
	defer l.vis.mu.RUnlock()
	return l.vis.end
}

// RecoveryPoint is the offset below which everything is on stable storage.
func (l *Log) RecoveryPoint() int64 { return l.recoveryPoint.Load() }

// Size is the bytes of all segments' batches.
func (l *Log) Size() int64 {
	v := l.view()
	var n int64
	for i := range v.segments {
		n += v.sizeOf(i)
	}
	return n
}

// SegmentCount is the number of segments.
func (l *Log) SegmentCount() int {
	l.vis.mu.RLock()
	defer l.vis.mu.RUnlock()
	return len(l.vis.segments)
}

// Producers lists the known producers by id.
func (l *Log) Producers() []ProducerState { return l.producers.list() }

// Config is the current configuration; not to be changed.
func (l *Log) Config() *LogConfig { return l.config.Load() }

// UpdateConfig replaces the configuration.
func (l *Log) UpdateConfig(c LogConfig) { l.config.Store(&c) }

// TopicPartition names the log.
func (l *Log) TopicPartition() protocol.TopicPartition { return l.tp }

// TopicID is the id in partition.metadata; zero if there is none.
func (l *Log) TopicID() protocol.UUID { return l.topicID }

// DirID is the log directory it is in; zero outside a Manager.
func (l *Log) DirID() protocol.UUID { return l.env.dirID }

// Dir is the path of the partition's directory.
func (l *Log) Dir() string { return l.dir() }

// LatestEpoch is the last known leader epoch; -1 if none.
func (l *Log) LatestEpoch() int32 { return l.epochs.latest() }

// EpochOf is the leader epoch that offset was written in; -1 if unknown.
func (l *Log) EpochOf(offset int64) int32 { return l.epochs.of(offset) }

// Epochs lists the leader epochs, oldest first.
func (l *Log) Epochs() []EpochEntry { return l.epochs.list() }

// EndOffsetForEpoch answers OffsetForLeaderEpoch: the largest known epoch not above the
// asked one, and where it ends.
func (l *Log) EndOffsetForEpoch(epoch int32) EpochEnd {
	return l.epochs.end(epoch, l.LogEndOffset())
}

// AssignEpochStart notes that a leader epoch begins at offset (the log end when this
// node becomes leader).
func (l *Log) AssignEpochStart(epoch int32, offset int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	l.epochs.assign(epoch, offset)
	return nil
}

// usable refuses to go on with a log that is closed or on a failed disk. l.mu is held.
func (l *Log) usable() error {
	if err := l.env.offline(); err != nil {
		return l.storageError(err)
	}
	if l.closed {
		return errClosed(l.tp)
	}
	return nil
}

func errClosed(tp protocol.TopicPartition) error {
	return &protocol.Fault{Code: protocol.NotLeaderOrFollower, Message: "the log of " + tp.String() + " was closed"}
}

// storageError is what callers get of a disk's failure.
func (l *Log) storageError(cause error) error {
	return fmt.Errorf("%s: %w: %w", l.tp, protocol.KafkaStorageError, cause)
}

// failed takes the directory offline because of an I/O error, and says so.
func (l *Log) failed(doing string, cause error) error {
	cause = fmt.Errorf("%s: %w", doing, cause)
	l.env.fail(cause)
	return l.storageError(cause)
}
