package storage

import (
	"slices"
	"time"

	"github.com/ottla/ottla/protocol"
)

// TruncateTo makes offset the log end, if it is below it; the batch that holds the
// offset goes as a whole. Reports whether something was cut. A follower does this when
// its log and its leader's differ.
func (l *Log) TruncateTo(offset int64) (bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return false, err
	}
	if offset < 0 {
		return false, protocol.OffsetOutOfRange
	}
	if offset >= l.vis.end {
		// There may be an epoch that was begun here and got no batch.
		l.epochs.truncateEnd(l.vis.end)
		return false, nil
	}
	if offset < l.vis.segments[0].base {
		return true, l.truncateFully(offset)
	}
	if err := l.lower(offset); err != nil {
		return false, err
	}
	l.marks.beginCut()
	defer l.marks.endCut()
	v := l.view()
	i := v.segmentOf(offset)
	s := v.segments[i]
	pos, err := s.cutPoint(offset, v.sizeOf(i))
	if err != nil {
		return false, l.failed("truncating", err)
	}
	// Readers lose sight of what goes before it goes.
	l.vis.mu.Lock()
	l.vis.segments = slices.Clone(v.segments[:i+1])
	l.vis.start, l.vis.end, l.vis.endPos = min(offset, l.vis.start), offset, pos
	l.vis.highWatermark = min(l.vis.highWatermark, offset)
	l.vis.mu.Unlock()
	if err := l.retireAll(v.segments[i+1:]); err != nil {
		return false, l.failed("truncating", err)
	}
	if err := s.cutTo(offset, pos); err != nil {
		return false, l.failed("truncating", err)
	}
	l.watch(s)
	l.epochs.truncateEnd(offset)
	if err := l.reloadProducers(l.vis.segments, l.vis.start, offset, time.Now().UnixMilli()); err != nil {
		return false, l.failed("rebuilding the producer state", err)
	}
	l.updateUnstable()
	return true, nil
}

// retireAll takes segments away for good: were one of them to come back after a crash,
// recovery might begin with it and not see what was written in its place.
func (l *Log) retireAll(segments []*segment) error {
	for _, s := range segments {
		if err := l.retire(s); err != nil {
			return err
		}
	}
	if len(segments) == 0 {
		return nil
	}
	return l.fs.SyncDir(l.dir())
}

// lower makes sure that the recovery point, also the one on disk, is not above offset
// before anything there is overwritten.
func (l *Log) lower(offset int64) error {
	if l.recoveryPoint.Load() > offset {
		l.recoveryPoint.Store(offset)
	}
	if err := l.env.lowered(l, offset); err != nil {
		return l.failed("lowering the recovery point", err)
	}
	return nil
}

// cutPoint is the position of the first batch that ends at offset or later.
func (s *segment) cutPoint(offset, size int64) (int64, error) {
	f, err := s.openLog()
	if err != nil {
		return 0, err
	}
	defer f.Release()
	b, ok, err := s.find(f, offset, size)
	if err != nil || !ok {
		return size, err
	}
	return b.pos, nil
}

// cutTo removes what is from pos on: the batches that end at offset or later.
func (s *segment) cutTo(offset, pos int64) error {
	f, err := s.openLog()
	if err != nil {
		return err
	}
	defer f.Release()
	if err := s.loadMax(); err != nil {
		return err
	}
	if err := f.file.Truncate(pos); err != nil {
		return err
	}
	s.size.Store(pos)
	s.dirty, s.allocated = true, false
	if pos == 0 {
		s.firstTimestamp = -1
	}
	if err := s.cutIndexes(offset); err != nil {
		return err
	}
	return s.cutAborted(offset)
}

// cutIndexes removes the entries about offset and later ones. The largest timestamp is
// then that of the last time entry, or of a batch behind it.
func (s *segment) cutIndexes(offset int64) error {
	if err := s.writeIndexes(); err != nil {
		return err
	}
	keep := func(x *index, f *cachedFile, suffix string, key func([]byte) int64) error {
		var e [timeEntrySize]byte
		i, err := s.floorEntry(x, f, suffix, key, offset-1-s.base, e[:])
		if err != nil || i+1 == int(x.count) && !x.padded {
			return err
		}
		s.mu.Lock()
		x.count, x.padded = int32(i+1), true
		s.mu.Unlock()
		return s.finishIndex(x, f, suffix)
	}
	if err := keep(&s.offsets, &s.indexFile, indexSuffix, entryOffset); err != nil {
		return err
	}
	if err := keep(&s.times, &s.timeFile, timeSuffix, entryTimeOffset); err != nil {
		return err
	}
	s.mu.Lock()
	s.maxKnown = false
	s.mu.Unlock()
	if err := s.loadMax(); err != nil {
		return err
	}
	return s.scanTimes()
}

// scanTimes raises the largest timestamp by the batches behind the last time entry.
func (s *segment) scanTimes() error {
	f, err := s.openLog()
	if err != nil {
		return err
	}
	defer f.Release()
	from, found, err := s.find(f, max(s.max.offset, s.base), s.size.Load())
	if err != nil || !found {
		return err
	}
	sc := newScanner(f, from.pos, s.size.Load())
	defer sc.close()
	for {
		h, _, err := sc.next()
		if h == nil || err != nil {
			return err
		}
		if t := h.MaxTimestamp(); t > s.max.timestamp {
			s.mu.Lock()
			s.max = timePoint{t, h.LastOffset()}
			s.mu.Unlock()
		}
	}
}

// cutAborted removes aborted transactions whose marker goes.
func (s *segment) cutAborted(offset int64) error {
	entries, err := s.aborted()
	if err != nil || len(entries) == 0 {
		return err
	}
	n := len(entries)
	for n > 0 && entries[n-1].lastOffset >= offset {
		n--
	}
	if n == len(entries) {
		return nil
	}
	f, err := s.open(&s.txnFile, txnSuffix, false)
	if err != nil {
		return err
	}
	defer f.Release()
	s.txnDirty = true
	return f.file.Truncate(int64(n) * txnEntrySize)
}

// TruncateFully deletes everything and starts empty at offset.
func (l *Log) TruncateFully(offset int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if offset < 0 {
		return protocol.OffsetOutOfRange
	}
	return l.truncateFully(offset)
}

func (l *Log) truncateFully(offset int64) error {
	if err := l.lower(min(offset, l.vis.segments[0].base)); err != nil {
		return err
	}
	l.marks.beginCut()
	defer l.marks.endCut()
	// Readers lose sight of what goes before it goes.
	l.vis.mu.Lock()
	l.vis.start, l.vis.end, l.vis.highWatermark = offset, offset, offset
	l.vis.mu.Unlock()
	if err := l.retireAll(l.vis.segments); err != nil {
		return l.failed("truncating", err)
	}
	if err := l.dropSnapshots(func(int64) bool { return true }); err != nil {
		return l.failed("truncating", err)
	}
	l.unsynced = nil
	s, err := l.newSegment(offset, time.Now().UnixMilli())
	if err != nil {
		return l.failed("truncating", err)
	}
	l.epochs.clear()
	l.producers.reset(offset)
	l.setSegments([]*segment{s})
	l.updateUnstable()
	return nil
}
