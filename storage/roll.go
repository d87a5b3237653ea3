package storage

import (
	"slices"
)

// firstUnknown marks a first batch whose timestamp has not been read yet.
const firstUnknown = -2

// rollDue says whether batches have to go to a new segment.
func (l *Log) rollDue(size int, infos []batchInfo, nowMs int64) (bool, error) {
	s, c := l.active(), l.Config()
	have := s.size.Load()
	if have == 0 {
		return !s.fits(infos[0].lastOffset), nil
	}
	if have > int64(c.SegmentBytes)-int64(size) || s.offsets.full(c.SegmentIndexBytes) || s.times.full(c.SegmentIndexBytes) ||
		!s.fits(infos[0].lastOffset) {
		return true, nil
	}
	newest := int64(-1)
	for i := range infos {
		newest = max(newest, infos[i].maxTimestamp)
	}
	waited, err := s.waited(newest, nowMs)
	return waited > c.rollMs()-s.jitterMs, err
}

// waited is how long a segment has been filled, by the records' time: from the first
// batch's timestamp to newest. Records without timestamps go by the clock.
func (s *segment) waited(newest, nowMs int64) (int64, error) {
	if s.firstTimestamp == firstUnknown {
		f, err := s.openLog()
		if err != nil {
			return 0, err
		}
		defer f.Release()
		sc := newScanner(f, 0, s.size.Load())
		defer sc.close()
		h, _, err := sc.next()
		if err != nil {
			return 0, err
		}
		if h == nil {
			return 0, nil
		}
		s.firstTimestamp = h.MaxTimestamp()
	}
	if s.firstTimestamp >= 0 {
		return newest - s.firstTimestamp, nil
	}
	return nowMs - s.openedMs, nil
}

// roll closes the active segment and begins one at base. l.mu is held.
func (l *Log) roll(base, nowMs int64) error {
	old := l.active()
	if err := l.closeSegment(old, base); err != nil {
		return l.failed("closing a segment", err)
	}
	s, err := l.newSegment(base, nowMs)
	if err != nil {
		return l.failed("making a segment", err)
	}
	l.setSegments(append(slices.Clip(l.vis.segments), s))
	if l.env.flush != nil {
		l.env.flush(l)
	}
	return nil
}

// closeSegment completes the active segment, so that one may follow at base.
func (l *Log) closeSegment(old *segment, base int64) error {
	if err := old.closeOut(); err != nil {
		return err
	}
	l.producers.end = base
	if err := l.takeSnapshot(); err != nil {
		return err
	}
	l.watch(old)
	if l.recoveryPoint.Load() >= base {
		// After a crash recovery would begin at the new segment, with its snapshot, and trust
		// the old one's indexes, which a flush of the active segment leaves out.
		y := old.toSync(true)
		if err := y.run(); err != nil {
			return err
		}
		if err := l.syncSnapshots(l.toSync.snapshots); err != nil {
			return err
		}
	} else if !old.unlisted {
		return nil
	}
	// A new segment must not outlive the one before it.
	old.unlisted = false
	return l.fs.SyncDir(l.dir())
}

// newSegment makes an empty segment's file; its indexes come with their first entries.
func (l *Log) newSegment(base, nowMs int64) (*segment, error) {
	c := l.Config()
	s := newSegment(l.place, base, nowMs, c)
	s.unlisted = true // an empty file has nothing else to sync
	f, err := l.place.files.acquire(&s.logFile, func() (string, error) { return s.name(logSuffix) }, true)
	if err != nil {
		return nil, err
	}
	defer f.Release()
	if size, err := f.file.Size(); err != nil {
		return nil, err
	} else if size > 0 { // left over from before a crash
		if err := f.file.Truncate(0); err != nil {
			return nil, err
		}
		s.dirty = true
	}
	if c.Preallocate {
		if err := f.file.Allocate(int64(c.SegmentBytes)); err != nil {
			return nil, err
		}
		s.allocated, s.dirty = true, true
	}
	l.watch(s)
	return s, nil
}

// watch makes the next flush look at a segment. l.mu is held.
func (l *Log) watch(s *segment) {
	if n := len(l.unsynced); n > 0 && l.unsynced[n-1] == s {
		return
	}
	if !slices.Contains(l.unsynced, s) {
		l.unsynced = append(l.unsynced, s)
	}
}

// takeSnapshot writes the producer state before offset producers.end, if there is no
// snapshot of that offset or a later one. l.mu is held.
func (l *Log) takeSnapshot() error {
	end := l.producers.end
	if n := len(l.snapshots); n > 0 && l.snapshots[n-1] >= end || end <= 0 {
		return nil
	}
	name := l.file(offsetName(end, snapshotSuffix))
	if err := writeFile(l.fs, name, l.producers.snapshot(), false); err != nil {
		return err
	}
	l.snapshots = append(l.snapshots, end)
	l.toSync.snapshots = append(l.toSync.snapshots, end)
	return nil
}

// dropSnapshots deletes the producer snapshots that drop says, at once.
func (l *Log) dropSnapshots(drop func(offset int64) bool) error {
	for i := 0; i < len(l.snapshots); {
		o := l.snapshots[i]
		if !drop(o) {
			i++
			continue
		}
		if err := removeIfThere(l.fs, l.file(offsetName(o, snapshotSuffix))); err != nil {
			return err
		}
		l.snapshots = slices.Delete(l.snapshots, i, i+1)
		l.toSync.names = true
		l.toSync.snapshots = slices.DeleteFunc(l.toSync.snapshots, func(s int64) bool { return s == o })
	}
	return nil
}
