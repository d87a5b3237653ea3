package storage

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/ottla/ottla/protocol"
)

// retire takes a segment's files away: renamed at once, removed after
// file.delete.delay.ms. Readers that have them open go on undisturbed. l.mu is held.
func (l *Log) retire(s *segment) error {
	s.gone.Store(true)
	l.toSync.names = true
	var paths []string
	for i, f := range s.handles() {
		l.place.files.forget(f)
		name := l.file(offsetName(s.base, segmentFiles[i]))
		ok, err := l.setAside(name)
		if err != nil {
			return err
		}
		if ok {
			paths = append(paths, name+deletedSuffix)
		}
	}
	l.deleteLater(paths)
	return nil
}

// setAside renames a file to .deleted; false if there is none.
func (l *Log) setAside(name string) (bool, error) {
	err := l.fs.Rename(name, name+deletedSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

func (l *Log) deleteLater(paths []string) {
	if len(paths) > 0 {
		l.env.later(time.Duration(l.Config().FileDeleteDelayMs)*time.Millisecond, paths)
	}
}

// dropOldest deletes the first n segments; the log then starts at the next one, or
// where it did if that is later. One after the other, each gone for good before the
// next: whatever a crash leaves begins with a whole segment and has no hole. l.mu is
// held.
func (l *Log) dropOldest(n int) error {
	list := l.vis.segments
	if list[n].unlisted {
		if err := l.fs.SyncDir(l.dir()); err != nil {
			return l.failed("deleting segments", err)
		}
		list[n].unlisted = false
	}
	l.raiseStart(list[n].base)
	l.setSegments(slices.Clone(list[n:]))
	for _, s := range list[:n] {
		if err := l.dropSegment(s); err != nil {
			return l.failed("deleting a segment", err)
		}
	}
	return nil
}

func (l *Log) dropSegment(s *segment) error {
	if err := l.retire(s); err != nil {
		return err
	}
	name := l.file(offsetName(s.base, snapshotSuffix))
	ok, err := l.setAside(name)
	if err != nil {
		return err
	}
	if ok {
		l.deleteLater([]string{name + deletedSuffix})
		l.snapshots = slices.DeleteFunc(l.snapshots, func(o int64) bool { return o == s.base })
	}
	return l.fs.SyncDir(l.dir())
}

// raiseStart moves the log start up, if offset is above it. l.mu is held.
func (l *Log) raiseStart(offset int64) bool {
	if offset <= l.vis.start {
		return false
	}
	l.vis.mu.Lock()
	l.vis.start = offset
	l.vis.highWatermark = max(l.vis.highWatermark, offset)
	l.vis.mu.Unlock()
	l.epochs.truncateStart(offset)
	l.producers.raiseStart(offset)
	l.updateUnstable()
	return true
}

// DeleteRecordsBefore raises the log start; -1 means the high watermark. Returns
// the log start. OFFSET_OUT_OF_RANGE above the high watermark or below -1. Files go at
// the next retention pass.
func (l *Log) DeleteRecordsBefore(offset int64) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return -1, err
	}
	hw := l.HighWatermark()
	if offset == -1 {
		offset = hw
	}
	if offset > hw || offset < 0 {
		return -1, protocol.OffsetOutOfRange
	}
	l.raiseStart(offset)
	return l.vis.start, nil
}

// RaiseLogStart is a follower's way of raising the log start to its leader's; nothing
// happens if it is not below offset. OFFSET_OUT_OF_RANGE above the log end.
func (l *Log) RaiseLogStart(offset int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	if offset > l.vis.end {
		return protocol.OffsetOutOfRange
	}
	l.raiseStart(offset)
	return nil
}

// DeleteOldSegments is one retention pass: it deletes the oldest segments that are below
// the log start or, with cleanup.policy delete, too old or too many. It returns how
// many.
func (l *Log) DeleteOldSegments(nowMs int64) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return 0, err
	}
	n, why, err := l.deletable(nowMs)
	if err != nil {
		return 0, l.failed("looking for old segments", err)
	}
	if n == 0 {
		return 0, nil
	}
	if n == len(l.vis.segments) {
		// All of it goes: the next record still gets the next offset.
		if err := l.roll(l.vis.end, nowMs); err != nil {
			return 0, err
		}
	}
	l.env.logger.Info("deleting old segments", zap.Stringer("partition", l.tp), zap.String("why", why),
		zap.Int("segments", n), zap.Int64("new start", l.vis.segments[n].base))
	return n, l.dropOldest(n)
}

// deletable counts the oldest segments that may go. Never one that is not wholly below
// the high watermark, nor an empty last one.
func (l *Log) deletable(nowMs int64) (n int, why string, err error) {
	v := l.view()
	c := l.Config()
	var total int64
	for i := range v.segments {
		total += v.sizeOf(i)
	}
	excess := int64(0)
	if c.RetentionBytes >= 0 {
		excess = total - c.RetentionBytes
	}
	for i, s := range v.segments {
		last := i == len(v.segments)-1
		if v.highWatermark < v.endOf(i) || last && v.endPos == 0 {
			break
		}
		reason := ""
		switch {
		case !last && v.endOf(i) <= v.start:
			reason = "log start"
		case !c.CleanupDelete:
		case c.RetentionBytes >= 0 && excess-v.sizeOf(i) >= 0:
			reason = "retention.bytes"
		case c.RetentionMs >= 0:
			largest, _, err := s.largest()
			if err != nil {
				return 0, "", err
			}
			if nowMs-largest > c.RetentionMs {
				reason = "retention.ms"
			}
		}
		if reason == "" {
			break
		}
		excess -= v.sizeOf(i)
		n, why = n+1, reason
	}
	return n, why, nil
}
