package storage

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
)

// loading is one log being opened: its directory's files, sorted out.
type loading struct {
	*Log
	clean     bool
	sparse    bool  // compaction may have left gaps
	recovery  int64 // recovery point asked for
	logStart  int64 // of the checkpoint, 0 if it has none
	watermark int64
	files     map[string]int64 // sizes
	segments  []*segment
	nowMs     int64
	recovered int64 // bytes read by recovery
}

// loadParams are what a log is opened with.
type loadParams struct {
	tp        protocol.TopicPartition
	topicID   protocol.UUID
	config    LogConfig
	clean     bool
	compacted bool // was, at some time
	recovery  int64
	logStart  int64
	watermark int64
}

// newLog is a log that has nothing yet.
func newLog(p *place, e *env, q *loadParams) *Log {
	l := &Log{place: p, env: e, tp: q.tp, topicID: q.topicID, lastFlush: time.Now()}
	l.config.Store(&q.config)
	l.vis.unstable = math.MaxInt64
	return l
}

// makeLog begins an empty log in a directory that was just made. Nothing is synced: a
// flush does that before it moves the recovery point.
func makeLog(p *place, e *env, q *loadParams) (*Log, error) {
	l := newLog(p, e, q)
	if err := l.writeMetadata(); err != nil {
		return nil, err
	}
	s, err := l.newSegment(q.logStart, time.Now().UnixMilli())
	if err != nil {
		return nil, err
	}
	l.producers.end = q.logStart
	l.begin([]*segment{s}, q.logStart, q.logStart, q.logStart)
	l.recoveryPoint.Store(q.logStart)
	return l, nil
}

// writeMetadata writes partition.metadata; the next flush, or the flusher, syncs it.
func (l *Log) writeMetadata() error {
	l.toSync.metadata = true
	if l.topicID.IsZero() {
		return nil
	}
	name := l.file(partitionMetadataFile)
	if err := writeFile(l.fs, name+tmpSuffix, encodePartitionMetadata(l.topicID), false); err != nil {
		return err
	}
	return l.fs.Rename(name+tmpSuffix, name)
}

// begin publishes a log that was made or loaded.
func (l *Log) begin(segments []*segment, start, end, watermark int64) {
	v := &l.vis
	v.mu.Lock()
	v.segments, v.start, v.end = segments, start, end
	v.endPos = segments[len(segments)-1].size.Load()
	v.highWatermark = max(start, min(watermark, end))
	v.mu.Unlock()
	l.updateUnstable()
}

// loadLog opens the log in an existing directory. After a clean stop the files are
// taken at their word; else segments are recovered from the recovery point on.
func loadLog(p *place, e *env, q *loadParams) (*Log, error) {
	l := &loading{
		Log: newLog(p, e, q), clean: q.clean, recovery: q.recovery, sparse: q.compacted || q.config.CleanupCompact,
		logStart: q.logStart, watermark: q.watermark, nowMs: time.Now().UnixMilli(),
	}
	for _, step := range []func() error{l.cleanUp, l.identify, l.sortOut, l.loadEpochs, l.recover, l.findEnd, l.loadProducers} {
		if err := step(); err != nil {
			return nil, fmt.Errorf("loading %s: %w", p.dir(), err)
		}
	}
	return l.Log, nil
}

// list reads the directory's files.
func (l *loading) list() error {
	entries, err := l.fs.List(l.dir())
	if err != nil {
		return err
	}
	l.files = make(map[string]int64, len(entries))
	for _, e := range entries {
		if !e.Dir {
			l.files[e.Name] = e.Size
		}
	}
	return nil
}

func (l *loading) remove(name string) error {
	delete(l.files, name)
	return removeIfThere(l.fs, l.file(name))
}

// cleanUp removes what was on its way out, and finishes or undoes a compaction that
// was interrupted.
func (l *loading) cleanUp() error {
	if err := l.list(); err != nil {
		return err
	}
	cleaned := int64(math.MaxInt64)
	var swaps []string
	for name := range l.files {
		offset, suffix, ok := parseOffsetName(name)
		switch {
		case strings.HasSuffix(name, deletedSuffix) && !strings.HasSuffix(name, ".checkpoint"+deletedSuffix),
			name == epochFile+tmpSuffix, name == partitionMetadataFile+tmpSuffix:
			if err := l.remove(name); err != nil {
				return err
			}
		case ok && strings.HasSuffix(suffix, cleanedSuffix):
			cleaned = min(cleaned, offset)
		case ok && strings.HasSuffix(suffix, swapSuffix):
			swaps = append(swaps, name)
		}
	}
	if cleaned == math.MaxInt64 && len(swaps) == 0 {
		return nil
	}
	return l.finishSwap(cleaned, swaps)
}

// identify writes partition.metadata if it is missing: the directory was half made.
func (l *loading) identify() error {
	if _, ok := l.files[partitionMetadataFile]; ok || l.topicID.IsZero() {
		return nil
	}
	return l.writeMetadata()
}

// finishSwap: cleaned segments were all renamed to .swap, highest offset first, before
// any old one was touched. So swap files at or above a .cleaned one are half of a set,
// and the old data wins; a whole set wins over the old data.
func (l *loading) finishSwap(cleaned int64, swaps []string) error {
	first, next := int64(math.MaxInt64), int64(math.MinInt64)
	var whole []string
	for _, name := range swaps {
		offset, suffix, _ := parseOffsetName(name)
		if offset >= cleaned {
			if err := l.remove(name); err != nil {
				return err
			}
			continue
		}
		whole = append(whole, name)
		if suffix == logSuffix+swapSuffix {
			end, err := l.swapEnd(name, offset)
			if err != nil {
				return err
			}
			first, next = min(first, offset), max(next, end)
		}
	}
	for name := range l.files {
		offset, suffix, ok := parseOffsetName(name)
		if !ok {
			continue
		}
		superseded := !strings.HasSuffix(suffix, swapSuffix) && offset >= first && offset < next
		if superseded || strings.HasSuffix(suffix, cleanedSuffix) {
			if err := l.remove(name); err != nil {
				return err
			}
		}
	}
	for _, name := range whole {
		final := strings.TrimSuffix(name, swapSuffix)
		if err := l.fs.Rename(l.file(name), l.file(final)); err != nil {
			return err
		}
		l.files[final] = l.files[name]
		delete(l.files, name)
	}
	return l.fs.SyncDir(l.dir())
}

// swapEnd is the offset after the last batch of a .log.swap file.
func (l *loading) swapEnd(name string, base int64) (int64, error) {
	f, err := l.fs.OpenRead(l.file(name))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	sc := newScanner(f, 0, l.files[name])
	defer sc.close()
	end := base
	for {
		h, _, err := sc.next()
		if err != nil && protocol.CodeOf(err) != protocol.CorruptMessage {
			return 0, err
		}
		if h == nil {
			return end, nil
		}
		end = h.LastOffset() + 1
	}
}

// sortOut makes segments and the list of snapshots of the files.
func (l *loading) sortOut() error {
	for name, size := range l.files {
		offset, suffix, ok := parseOffsetName(name)
		if !ok {
			continue
		}
		switch suffix {
		case logSuffix:
			s := newSegment(l.place, offset, l.nowMs, l.Config())
			s.size.Store(size)
			s.firstTimestamp, s.maxKnown = firstUnknown, false
			l.segments = append(l.segments, s)
		case snapshotSuffix:
			l.snapshots = append(l.snapshots, offset)
		case indexSuffix, timeSuffix, txnSuffix:
			if _, ok := l.files[offsetName(offset, logSuffix)]; !ok {
				l.env.logger.Warn("removing an index without its log", zap.String("file", l.file(name)))
				if err := removeIfThere(l.fs, l.file(name)); err != nil {
					return err
				}
			}
		}
	}
	slices.Sort(l.snapshots)
	slices.SortFunc(l.segments, func(a, b *segment) int { return cmp.Compare(a.base, b.base) })
	for _, s := range l.segments {
		s.found(&s.offsets, indexSuffix, l.files)
		s.found(&s.times, timeSuffix, l.files)
		_, s.hasAborted = l.files[offsetName(s.base, txnSuffix)]
	}
	return nil
}

// found notes what is there of an index file.
func (s *segment) found(x *index, suffix string, files map[string]int64) {
	size, ok := files[offsetName(s.base, suffix)]
	x.exists, x.synced = ok, true
	x.count = int32(min(size/int64(x.entrySize), math.MaxInt32))
	x.padded = size%int64(x.entrySize) != 0
}

func (l *loading) loadEpochs() error {
	if _, ok := l.files[epochFile]; !ok {
		return nil
	}
	text, err := readFile(l.fs, l.file(epochFile), checkpointMax)
	if err != nil {
		return err
	}
	entries, err := decodeEpochs(text)
	if err != nil {
		return fmt.Errorf("%s: %w", l.file(epochFile), err)
	}
	for _, e := range entries {
		l.epochs.assign(e.Epoch, e.StartOffset)
	}
	l.epochs.written = l.epochs.changes
	return nil
}

// findEnd settles where the log begins and ends.
func (l *loading) findEnd() error {
	end := int64(0)
	if n := len(l.segments); n > 0 {
		s := l.segments[n-1]
		var err error
		if end, err = l.endOf(s); err != nil {
			return err
		}
		l.logStart = max(l.logStart, l.segments[0].base)
	}
	if len(l.segments) > 0 && end < l.logStart {
		l.env.logger.Warn("the log ends before it starts, beginning anew",
			zap.Stringer("partition", l.tp), zap.Int64("log end", end), zap.Int64("log start", l.logStart))
		if err := l.discard(0); err != nil {
			return err
		}
	}
	l.recoveryPoint.Store(min(l.recovery, end))
	if l.clean {
		l.recoveryPoint.Store(end)
	}
	if len(l.segments) == 0 {
		end = l.logStart
		s, err := l.newSegment(end, l.nowMs)
		if err != nil {
			return err
		}
		l.segments = []*segment{s}
		l.recoveryPoint.Store(end)
	}
	l.epochs.truncateEnd(end)
	l.epochs.truncateStart(l.logStart)
	active := l.segments[len(l.segments)-1]
	l.watch(active)
	l.begin(l.segments, l.logStart, end, l.watermark)
	return nil
}

// endOf is the offset after the last whole batch of the active segment; what follows
// that batch in the file is cut off.
func (l *loading) endOf(s *segment) (int64, error) {
	if s.size.Load() == 0 {
		return s.base, nil
	}
	f, err := s.openLog()
	if err != nil {
		return 0, err
	}
	defer f.Release()
	end, pos, ok, err := s.lastBatch(f)
	if err != nil {
		return 0, err
	}
	if !ok { // the index lies: build it anew
		if _, err := l.recoverSegment(s); err != nil {
			return 0, err
		}
		if end, pos, _, err = s.lastBatch(f); err != nil {
			return 0, err
		}
	}
	if cut := s.size.Load() - pos; cut > 0 {
		l.env.logger.Warn("cutting off what is no batch", zap.Stringer("partition", l.tp),
			zap.Int64("segment", s.base), zap.Int64("bytes", cut))
		if err := f.file.Truncate(pos); err != nil {
			return 0, err
		}
		s.size.Store(pos)
		s.dirty = true
	}
	return end, nil
}

// lastBatch scans from the last index entry to the segment's end: the offset and the
// position after the last whole batch. ok is false if the index is not about this file.
func (s *segment) lastBatch(f *FileRef) (end, pos int64, ok bool, err error) {
	start, first := int64(0), int64(-1)
	var e [offsetEntrySize]byte
	if ok, err := s.lastEntry(e[:]); err != nil {
		return 0, 0, false, err
	} else if ok {
		start, first = entryPosition(e[:]), s.base+entryOffset(e[:])
	}
	if start < 0 || start > s.size.Load() {
		return 0, 0, false, nil
	}
	end = s.base
	sc := newScanner(f, start, s.size.Load())
	defer sc.close()
	for {
		h, at, err := sc.next()
		if err != nil && protocol.CodeOf(err) != protocol.CorruptMessage {
			return 0, 0, false, err
		}
		if at == start && first >= 0 && (h == nil || h.LastOffset() != first) {
			return 0, 0, false, nil
		}
		if h == nil {
			return end, at, true, nil
		}
		end = h.LastOffset() + 1
	}
}

// lastEntry reads the last entry of the offset index, zeros that Kafka preallocated aside;
// false if there is none.
func (s *segment) lastEntry(e []byte) (bool, error) {
	var ref *FileRef
	if s.offsets.count > 0 {
		var err error
		if ref, err = s.open(&s.indexFile, indexSuffix, false); err != nil {
			return false, err
		}
		defer ref.Release()
	}
	if len(s.offsets.pending) == 0 {
		n, err := s.offsets.padding(ref)
		if err != nil {
			return false, err
		}
		s.offsets.padded = s.offsets.padded || n < int(s.offsets.count)
		s.offsets.count = int32(n)
	}
	n := s.offsets.entries()
	if n == 0 {
		return false, nil
	}
	return true, s.offsets.at(ref, n-1, e)
}

// discard deletes the segments from index i on.
func (l *loading) discard(i int) error {
	for _, s := range l.segments[i:] {
		if err := l.retire(s); err != nil {
			return err
		}
	}
	clear(l.segments[i:])
	l.segments = l.segments[:i]
	return nil
}

// LogOptions opens a log outside a Manager.
type LogOptions struct {
	FS                vfs.FS
	Dir               string // the partition's directory, made if missing
	TopicPartition    protocol.TopicPartition
	TopicID           protocol.UUID // written to partition.metadata of a new log unless zero
	Config            LogConfig
	Clean             bool // trust the files; false: recover from RecoveryPoint on
	RecoveryPoint     int64
	LogStartOffset    int64
	ProducerIDExpires time.Duration // producer.id.expiration.ms; 0: never
	Logger            *zap.Logger
}

// OpenLog opens or makes a single log outside a Manager, whose owner flushes it, raises
// its start and closes it. Files that are deleted go at once.
func OpenLog(o LogOptions) (*Log, error) {
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	var broken failure
	e := &env{
		logger: o.Logger, expireMs: o.ProducerIDExpires.Milliseconds(),
		offline: broken.get, fail: broken.set,
		lowered: func(*Log, int64) error { return nil },
	}
	e.later = func(_ time.Duration, paths []string) {
		for _, p := range paths {
			if err := removeIfThere(o.FS, p); err != nil {
				broken.set(err)
			}
		}
	}
	p := newPlace(o.FS, newFileCache(o.FS, openFilesMin), o.Dir)
	q := &loadParams{
		tp: o.TopicPartition, topicID: o.TopicID, config: o.Config, clean: o.Clean,
		recovery: o.RecoveryPoint, logStart: o.LogStartOffset,
	}
	_, err := o.FS.Stat(o.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := o.FS.MkdirAll(o.Dir); err != nil {
			return nil, err
		}
		return makeLog(p, e, q)
	}
	if err != nil {
		return nil, err
	}
	if id, err := readPartitionMetadata(o.FS, o.Dir); err != nil {
		return nil, err
	} else if !id.IsZero() {
		q.topicID = id
	}
	return loadLog(p, e, q)
}

var _ Appender = (*Log)(nil)
