package storage

import (
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"

	"github.com/ottla/ottla/protocol/record"
)

// errSegmentGone is what a reader with an old list of segments meets; it looks again.
var errSegmentGone = errors.New("segment was deleted")

// segment is a run of a log's batches in one file, with its indexes. Only the last one
// of a log is appended to.
type segment struct {
	*place
	base int64
	size atomic.Int64 // bytes of whole batches; what lies beyond is not there for readers
	gone atomic.Bool  // deleted; names may belong to another segment by now

	logFile, indexFile, timeFile, txnFile cachedFile

	// mu guards the rest against readers; whoever changes it holds the log's lock as well.
	mu         sync.RWMutex
	offsets    index
	times      index
	max        timePoint // largest timestamp; see maxKnown
	maxKnown   bool      // false: max is in the time index's last entry, not read yet
	hasAborted bool      // there is a transaction index

	// Of the active segment, under the log's lock.
	lastTime       timePoint // last entry of the time index
	firstTimestamp int64     // max timestamp of the first batch, -1 if unknown or empty
	sinceEntry     int64     // bytes since the last index entry
	openedMs       int64     // wall clock
	jitterMs       int64
	allocated      bool // the file is longer than size (preallocate)
	unlisted       bool // made since the directory was synced
	dirty          bool // written since the last sync
	txnDirty       bool
}

// timePoint is a timestamp and the last offset of the batch that has it.
type timePoint struct {
	timestamp int64
	offset    int64
}

func newSegment(p *place, base, nowMs int64, c *LogConfig) *segment {
	s := &segment{place: p, base: base, openedMs: nowMs, firstTimestamp: -1}
	s.offsets = index{entrySize: offsetEntrySize, synced: true}
	s.times = index{entrySize: timeEntrySize, synced: true}
	s.max, s.maxKnown = timePoint{-1, base}, true
	s.lastTime = s.max
	if j := min(c.SegmentJitterMs, c.rollMs()); j > 0 {
		s.jitterMs = rand.Int64N(j)
	}
	return s
}

func (s *segment) name(suffix string) (string, error) {
	if s.gone.Load() {
		return "", errSegmentGone
	}
	return s.file(offsetName(s.base, suffix)), nil
}

func (s *segment) openLog() (*FileRef, error) {
	return s.files.acquire(&s.logFile, func() (string, error) { return s.name(logSuffix) }, false)
}

// open opens one of the index files, making it if it is missing and create is set.
func (s *segment) open(f *cachedFile, suffix string, create bool) (*FileRef, error) {
	return s.files.acquire(f, func() (string, error) { return s.name(suffix) }, create)
}

// append writes whole batches, the last of which ends at lastOffset, behind the
// segment's end. infos describe the batches. The new end is not visible to readers
// until publish.
func (s *segment) append(b []byte, infos []batchInfo, c *LogConfig) error {
	if err := s.loadMax(); err != nil {
		return err
	}
	f, err := s.openLog()
	if err != nil {
		return err
	}
	defer f.Release()
	pos := s.size.Load()
	if _, err := f.file.WriteAt(b, pos); err != nil {
		return err
	}
	s.dirty = true
	for i := range infos {
		if err := s.account(&infos[i], pos, c); err != nil {
			return err
		}
		pos += int64(infos[i].size)
	}
	return nil
}

// batchInfo is what the log notes of a batch it appends or finds.
type batchInfo struct {
	size         int
	lastOffset   int64
	maxTimestamp int64
}

func infoOf(b record.Batch) batchInfo {
	return batchInfo{size: b.Size(), lastOffset: b.LastOffset(), maxTimestamp: b.MaxTimestamp()}
}

// account notes a batch at pos: largest timestamp, and index entries if it is time.
func (s *segment) account(b *batchInfo, pos int64, c *LogConfig) error {
	if s.firstTimestamp < 0 && pos == 0 {
		s.firstTimestamp = b.maxTimestamp
	}
	entry := s.sinceEntry > int64(c.IndexIntervalBytes)
	if b.maxTimestamp > s.max.timestamp || entry {
		s.mu.Lock()
		if b.maxTimestamp > s.max.timestamp {
			s.max = timePoint{b.maxTimestamp, b.lastOffset}
		}
		if entry {
			s.offsets.pending = offsetEntry(s.offsets.pending, int32(b.lastOffset-s.base), int32(pos))
			s.addTime()
			s.sinceEntry = 0
		}
		s.mu.Unlock()
	}
	s.sinceEntry += int64(b.size)
	if len(s.offsets.pending) >= pendingMax*offsetEntrySize {
		return s.writeIndexes()
	}
	return nil
}

// addTime adds the largest timestamp to the time index, if it is larger than its last
// one. s.mu is held.
func (s *segment) addTime() {
	if s.max.timestamp > s.lastTime.timestamp {
		s.times.pending = timeEntry(s.times.pending, s.max.timestamp, int32(s.max.offset-s.base))
		s.lastTime = s.max
	}
}

// writeIndexes writes the pending entries.
func (s *segment) writeIndexes() error {
	if err := s.writeIndex(&s.offsets, &s.indexFile, indexSuffix); err != nil {
		return err
	}
	return s.writeIndex(&s.times, &s.timeFile, timeSuffix)
}

func (s *segment) writeIndex(x *index, f *cachedFile, suffix string) error {
	if len(x.pending) == 0 {
		return nil
	}
	ref, err := s.open(f, suffix, true)
	if err != nil {
		return err
	}
	defer ref.Release()
	if _, err := ref.file.WriteAt(x.pending, int64(x.count)*int64(x.entrySize)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !x.exists {
		x.exists, s.unlisted = true, true
	}
	x.count += int32(len(x.pending) / int(x.entrySize))
	x.pending = nil // a reader may still search the old one
	x.synced = false
	return nil
}

// closeOut makes the segment complete as an inactive one: the largest timestamp is the
// last entry of the time index, both indexes exist, no file has room left.
func (s *segment) closeOut() error {
	if err := s.loadMax(); err != nil {
		return err
	}
	s.mu.Lock()
	s.addTime()
	s.mu.Unlock()
	if err := s.writeIndexes(); err != nil {
		return err
	}
	if err := s.finishIndex(&s.offsets, &s.indexFile, indexSuffix); err != nil {
		return err
	}
	if err := s.finishIndex(&s.times, &s.timeFile, timeSuffix); err != nil {
		return err
	}
	return s.trim()
}

// finishIndex makes sure that an index file is there and as long as its entries.
func (s *segment) finishIndex(x *index, f *cachedFile, suffix string) error {
	if x.exists && !x.padded {
		return nil
	}
	ref, err := s.open(f, suffix, true)
	if err != nil {
		return err
	}
	defer ref.Release()
	if err := ref.file.Truncate(int64(x.count) * int64(x.entrySize)); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unlisted = s.unlisted || !x.exists
	x.synced = !x.exists && x.synced // a new file is empty
	x.exists, x.padded = true, false
	return nil
}

// trim cuts the log file to its batches.
func (s *segment) trim() error {
	if !s.allocated {
		return nil
	}
	f, err := s.openLog()
	if err != nil {
		return err
	}
	defer f.Release()
	if err := f.file.Truncate(s.size.Load()); err != nil {
		return err
	}
	s.allocated, s.dirty = false, true
	return nil
}

// loadMax reads the largest timestamp from the time index, if that was not done yet.
func (s *segment) loadMax() error {
	s.mu.RLock()
	known, x := s.maxKnown, s.times
	s.mu.RUnlock()
	if known {
		return nil
	}
	point := timePoint{-1, s.base}
	n := x.entries()
	if n > 0 {
		f, err := s.open(&s.timeFile, timeSuffix, false)
		if err != nil {
			return err
		}
		defer f.Release()
		if n, err = x.padding(f); err != nil {
			return err
		}
		if n > 0 {
			var e [timeEntrySize]byte
			if err := x.at(f, n-1, e[:]); err != nil {
				return err
			}
			point = timePoint{entryTime(e[:]), s.base + entryTimeOffset(e[:])}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.maxKnown {
		s.times.padded = s.times.padded || n < int(s.times.count)
		s.times.count = int32(n)
		s.max, s.lastTime, s.maxKnown = point, point, true
	}
	return nil
}

// largest is the segment's largest record timestamp; without any, its file's
// modification time stands in for it, and known is false.
func (s *segment) largest() (ms int64, known bool, err error) {
	if err := s.loadMax(); err != nil {
		return 0, false, err
	}
	s.mu.RLock()
	point := s.max
	s.mu.RUnlock()
	if point.timestamp >= 0 {
		return point.timestamp, true, nil
	}
	name, err := s.name(logSuffix)
	if err != nil {
		return 0, false, err
	}
	info, err := s.fs.Stat(name)
	if err != nil {
		return 0, false, err
	}
	return info.ModTime.UnixMilli(), false, nil
}

// fits says that an offset can be written relative to the segment's base.
func (s *segment) fits(offset int64) bool { return offset-s.base <= math.MaxInt32 && offset >= s.base }

// files lists the handles with their suffixes.
func (s *segment) handles() [len(segmentFiles)]*cachedFile {
	return [...]*cachedFile{&s.logFile, &s.indexFile, &s.timeFile, &s.txnFile}
}
