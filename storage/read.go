package storage

import (
	"errors"
	"io/fs"
	"time"

	"github.com/ottla/ottla/protocol"
)

// readRetries bounds how often a reader starts again because segments were deleted or
// cut under it.
const readRetries = 16

// Read finds batches from the one that holds offset on, at most maxBytes of them,
// in whole batches; with minOne the first comes whole even if it is larger. A read
// at or beyond the bound is empty. OFFSET_OUT_OF_RANGE outside
// [log start, log end].
func (l *Log) Read(offset int64, maxBytes int, minOne bool, bound Bound) (Read, error) {
	var r Read
	err := l.retry(func() error {
		r.Release()
		var err error
		r, err = l.read(offset, maxBytes, minOne, bound)
		return err
	})
	if err != nil {
		r.Release()
		return r, err
	}
	return r, nil
}

// retry runs a reader's f again when it failed because the log changed under it: a file
// was shorter than the view said, or other batches stood where the view had some. What
// else fails is the disk's fault, unless it is a protocol error.
func (l *Log) retry(f func() error) error {
	for i := 0; ; i++ {
		if err := l.env.offline(); err != nil {
			return l.storageError(err)
		}
		if l.isClosed() {
			return errClosed(l.tp)
		}
		cuts := l.marks.generation()
		err := f()
		code := protocol.CodeOf(err)
		if err == nil || code != protocol.UnknownServerError && code != protocol.CorruptMessage {
			return err
		}
		// Asked for before the generation: a truncation that ends in between shows in one of them.
		unsettled := l.marks.unsettled()
		changed := unsettled || errors.Is(err, errSegmentGone) || errors.Is(err, fs.ErrNotExist) || cuts != l.marks.generation()
		switch {
		case l.isClosed():
			return errClosed(l.tp)
		case code == protocol.CorruptMessage && (!changed || i == readRetries):
			return err // what is there was written so
		case !changed:
			return l.failed("reading", err)
		case i == readRetries:
			return l.storageError(err)
		case unsettled:
			l.awaitWriter()
		case i > readRetries/2:
			time.Sleep(time.Millisecond) // the writer is between two steps
		}
	}
}

// awaitWriter returns when the writer that is at work, truncating, is done.
func (l *Log) awaitWriter() {
	l.mu.Lock()
	defer l.mu.Unlock()
}

func (l *Log) isClosed() bool {
	l.vis.mu.RLock()
	defer l.vis.mu.RUnlock()
	return l.vis.closed
}

// limit is the first offset that a reader may not see.
func (v *view) limit(b Bound) int64 {
	switch b {
	case HighWatermark:
		return v.highWatermark
	case LastStable:
		return v.stableOffset
	}
	return v.end
}

func (l *Log) read(offset int64, maxBytes int, minOne bool, bound Bound) (Read, error) {
	generation := l.marks.generation()
	v := l.view()
	r := Read{HighWatermark: v.highWatermark, LastStableOffset: v.stableOffset, LogStartOffset: v.start, LogEndOffset: v.end, NextOffset: offset}
	if bound == LastStable {
		r.Aborted = []AbortedTxn{}
	}
	if offset < v.start || offset > v.end {
		return r, protocol.OffsetOutOfRange
	}
	limit := v.limit(bound)
	if offset >= limit || maxBytes <= 0 && !minOne {
		return r, nil
	}
	for i := v.segmentOf(offset); i < len(v.segments) && v.segments[i].base < limit; i++ {
		end, err := l.positionOf(&v, i, limit)
		if err != nil {
			return r, err
		}
		cut, answered, err := l.slice(&v, i, end, offset, limit, maxBytes, minOne)
		if err != nil || answered && cut.slice.File == nil {
			return r, err
		}
		if !answered {
			continue // compaction left nothing of this segment from offset on
		}
		r.Slices, r.Size, r.NextOffset = []FileSlice{cut.slice}, cut.slice.Length, cut.next
		l.markEnd(&v, i, cut, generation)
		if bound == LastStable {
			r.Aborted, err = v.aborted(i, offset, cut.next)
		}
		return r, err
	}
	return r, nil
}

// cut is what a read takes of a segment, and the first offset after it.
type cut struct {
	slice FileSlice
	next  int64
}

// positionOf is where in segment i a reader has to stop that may not see offset limit.
func (l *Log) positionOf(v *view, i int, limit int64) (int64, error) {
	if limit >= v.endOf(i) {
		return v.sizeOf(i), nil
	}
	s := v.segments[i]
	if m, ok := l.marks.find(limit); ok && m.seg == s {
		return m.pos, nil
	}
	generation := l.marks.generation()
	f, err := s.openLog()
	if err != nil {
		return 0, err
	}
	defer f.Release()
	b, ok, err := s.find(f, limit, v.sizeOf(i))
	if err != nil {
		return 0, err
	}
	if !ok {
		return v.sizeOf(i), nil
	}
	l.marks.add(mark{limit, b.pos, s}, generation)
	return b.pos, nil
}

// slice takes what segment i has from offset on, among its first end bytes. answered is
// false if there is nothing; a cut without a file is an answer too: the first batch is
// larger than maxBytes.
func (l *Log) slice(v *view, i int, end, offset, limit int64, maxBytes int, minOne bool) (c cut, answered bool, err error) {
	s := v.segments[i]
	f, err := s.openLog()
	if err != nil {
		return c, false, err
	}
	defer func() {
		if c.slice.File == nil {
			f.Release()
		}
	}()
	var first found
	if m, ok := l.marks.find(offset); ok && m.seg == s && m.pos < end {
		first.pos = m.pos // its size is not known
	} else {
		var ok bool
		if first, ok, err = s.find(f, offset, end); err != nil || !ok {
			return c, false, err
		}
	}
	to, next := end, min(limit, v.endOf(i))
	if end-first.pos > int64(maxBytes) {
		if to, next, err = s.boundary(f, first.pos, first.pos+int64(max(0, maxBytes)), end); err != nil {
			return c, false, err
		}
		if to == first.pos {
			if !minOne {
				return c, true, nil
			}
			if first, _, err = s.findFrom(f, first.pos, end, offset); err != nil {
				return c, false, err
			}
			to, next = first.pos+int64(first.size), first.lastOffset+1
		}
	}
	c.slice = FileSlice{File: f, Offset: first.pos, Length: int(to - first.pos)}
	c.next = next
	return c, true, nil
}

// markEnd remembers where a read ended.
func (l *Log) markEnd(v *view, i int, c cut, generation uint32) {
	m := mark{c.next, c.slice.Offset + int64(c.slice.Length), v.segments[i]}
	if i+1 < len(v.segments) && m.offset == v.segments[i+1].base {
		m.pos, m.seg = 0, v.segments[i+1]
	}
	l.marks.add(m, generation)
}

// aborted lists the aborted transactions that have data between offset, in segment i,
// and upper: those whose marker is at or after the one and that began before the other.
func (v *view) aborted(i int, offset, upper int64) ([]AbortedTxn, error) {
	list := []AbortedTxn{}
	for _, s := range v.segments[i:] {
		entries, err := s.aborted()
		if err != nil {
			return nil, err
		}
		for _, a := range entries {
			if a.lastOffset >= offset && a.firstOffset < upper {
				list = append(list, AbortedTxn{a.producerID, a.firstOffset})
			}
			if a.lastStable >= upper {
				return list, nil
			}
		}
	}
	return list, nil
}
