package storage

import (
	"math"
)

// found is where a batch is.
type found struct {
	pos          int64
	size         int
	baseOffset   int64
	lastOffset   int64
	maxTimestamp int64
	leaderEpoch  int32
}

// indexCopy takes the offset index as it is now; it can be searched without the lock.
func (s *segment) indexCopy() index {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.offsets
}

func (s *segment) timesCopy() index {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.times
}

// floorEntry finds the last entry of an index whose key is at most target. x is a copy.
func (s *segment) floorEntry(x *index, f *cachedFile, suffix string, key func([]byte) int64, target int64, e []byte) (int, error) {
	if x.count == 0 || len(x.pending) > 0 && key(x.pending) <= target {
		return x.floor(nil, key, target, e) // all it needs is in memory
	}
	ref, err := s.open(f, suffix, false)
	if err != nil {
		return -1, err
	}
	defer ref.Release()
	return x.floor(ref, key, target, e)
}

// find locates the first batch that ends at target or later, among the first end bytes
// of the segment. ok is false if there is none.
func (s *segment) find(f *FileRef, target, end int64) (b found, ok bool, err error) {
	x := s.indexCopy()
	var e [offsetEntrySize]byte
	relative := min(target-s.base, math.MaxInt32)
	i, err := s.floorEntry(&x, &s.indexFile, indexSuffix, entryOffset, relative, e[:])
	if err != nil {
		return b, false, err
	}
	if i < 0 {
		return s.findFrom(f, 0, end, target)
	}
	// An entry is a promise about the batch at its position. One that does not hold (a
	// damaged file; Kafka does not check contents either) costs a longer scan, no more.
	pos, last := entryPosition(e[:]), s.base+entryOffset(e[:])
	if pos >= 0 && pos < end {
		at, ok, err := s.findFrom(f, pos, end, last)
		if err == nil && ok && at.pos == pos && at.lastOffset == last {
			if last >= target {
				return at, true, nil
			}
			return s.findFrom(f, pos+int64(at.size), end, target)
		}
	}
	return s.findFrom(f, 0, end, target)
}

// findFrom is find by scanning from pos, where a batch begins.
func (s *segment) findFrom(f *FileRef, pos, end, target int64) (b found, ok bool, err error) {
	sc := newScanner(f, pos, end)
	defer sc.close()
	for {
		h, at, err := sc.next()
		if h == nil || err != nil {
			return b, false, err
		}
		if last := h.LastOffset(); last >= target {
			return found{
				pos: at, size: h.Size(), baseOffset: h.BaseOffset(), lastOffset: last,
				maxTimestamp: h.MaxTimestamp(), leaderEpoch: h.PartitionLeaderEpoch(),
			}, true, nil
		}
	}
}

// boundary is the largest end of a batch in (from, limit], from if there is none: how
// much of the segment a read of limit-from bytes gets. A batch begins at from. next is
// the base offset of the batch that begins there, -1 if it is the end.
func (s *segment) boundary(f *FileRef, from, limit, end int64) (pos, next int64, err error) {
	x := s.indexCopy()
	var e [offsetEntrySize]byte
	i, err := s.floorEntry(&x, &s.indexFile, indexSuffix, entryPosition, limit, e[:])
	if err != nil {
		return 0, -1, err
	}
	if p := entryPosition(e[:]); i >= 0 && p > from && p <= limit {
		pos, next, ok, err := boundaryFrom(f, p, limit, end, s.base+entryOffset(e[:]))
		if ok || err != nil {
			return pos, next, err
		}
	}
	pos, next, _, err = boundaryFrom(f, from, limit, end, -1)
	return pos, next, err
}

// boundaryFrom is boundary by scanning from start. If first is not negative the batch
// at start must end at that offset; ok is false if it does not.
func boundaryFrom(f *FileRef, start, limit, end, first int64) (pos, next int64, ok bool, err error) {
	sc := newScanner(f, start, end)
	defer sc.close()
	for {
		h, at, err := sc.next()
		if first >= 0 && at == start && (h == nil || h.LastOffset() != first) {
			return 0, -1, false, nil
		}
		if err != nil {
			return 0, -1, false, err
		}
		if h == nil {
			return at, -1, true, nil
		}
		if at+int64(h.Size()) > limit {
			return at, h.BaseOffset(), true, nil
		}
	}
}

// aborted reads the segment's transaction index.
func (s *segment) aborted() ([]abortedEntry, error) {
	s.mu.RLock()
	has := s.hasAborted
	s.mu.RUnlock()
	if !has {
		return nil, nil
	}
	f, err := s.open(&s.txnFile, txnSuffix, false)
	if err != nil {
		return nil, err
	}
	defer f.Release()
	size, err := f.file.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, size-size%txnEntrySize)
	if err := readFull(f, b, 0); err != nil {
		return nil, err
	}
	return decodeAborted(b, s.base)
}

// addAborted writes an entry to the transaction index.
func (s *segment) addAborted(a abortedEntry) error {
	f, err := s.open(&s.txnFile, txnSuffix, true)
	if err != nil {
		return err
	}
	defer f.Release()
	size, err := f.file.Size()
	if err != nil {
		return err
	}
	if _, err := f.file.WriteAt(a.append(nil), size-size%txnEntrySize); err != nil {
		return err
	}
	s.mu.Lock()
	if !s.hasAborted {
		s.hasAborted, s.unlisted = true, true
	}
	s.mu.Unlock()
	s.txnDirty = true
	return nil
}
