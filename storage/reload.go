package storage

import (
	"fmt"

	"go.uber.org/zap"

	"github.com/ottla/ottla/protocol/record"
)

// loadProducers builds the producer state at the log end when a log is opened.
func (l *loading) loadProducers() error {
	end := l.vis.end
	if err := l.dropStraySnapshots(); err != nil {
		return err
	}
	n := len(l.segments)
	if l.clean && len(l.snapshots) == 0 {
		// After a clean stop there would be a snapshot if there were producers.
		l.producers.reset(end)
		for _, at := range []int64{l.segments[max(0, n-2)].base, l.segments[n-1].base, end} {
			l.producers.end = at
			if err := l.takeSnapshot(); err != nil {
				return err
			}
		}
		return nil
	}
	if err := l.reload(end); err != nil {
		return err
	}
	if err := l.snapshotProducers(); err != nil {
		return err
	}
	l.updateUnstable()
	return nil
}

// dropStraySnapshots keeps the snapshots at segments' bases and, of the others, the
// newest, if no segment begins after it.
func (l *loading) dropStraySnapshots() error {
	bases := map[int64]bool{}
	for _, s := range l.segments {
		bases[s.base] = true
	}
	last := l.segments[len(l.segments)-1].base
	stray := int64(-1)
	for _, o := range l.snapshots {
		if !bases[o] && o >= last {
			stray = o
		}
	}
	return l.dropSnapshots(func(o int64) bool { return !bases[o] && o != stray })
}

// reload builds the producer state before offset end: from the newest snapshot that can
// be read, and the batches after it.
func (l *loading) reload(end int64) error {
	if len(l.segments) == 0 {
		return nil
	}
	start := max(l.logStart, l.segments[0].base)
	if l.producers.end == end && end != start {
		return nil // recovery has just come this far
	}
	return l.reloadProducers(l.segments, start, end, l.nowMs)
}

// reloadProducers is for whoever has l.mu, or a log not yet in use.
func (l *Log) reloadProducers(segments []*segment, start, end, nowMs int64) error {
	if err := l.dropSnapshots(func(o int64) bool { return o > end || o <= start }); err != nil {
		return err
	}
	if err := l.loadSnapshot(start, nowMs); err != nil {
		return err
	}
	for i, s := range segments {
		next := end
		if i+1 < len(segments) {
			next = min(end, segments[i+1].base)
		}
		if next <= l.producers.end || s.base >= end {
			continue
		}
		l.producers.end = max(l.producers.end, s.base)
		if i > 0 && i >= len(segments)-2 && l.producers.end == s.base {
			if err := l.takeSnapshot(); err != nil {
				return err
			}
		}
		if err := l.replaySegment(s, l.producers.end, next); err != nil {
			return err
		}
		l.producers.end = next
	}
	l.producers.end = max(l.producers.end, end)
	return nil
}

// loadSnapshot takes the newest usable snapshot, or the empty state at start.
func (l *Log) loadSnapshot(start, nowMs int64) error {
	for len(l.snapshots) > 0 {
		at := l.snapshots[len(l.snapshots)-1]
		name := l.file(offsetName(at, snapshotSuffix))
		list, err := readSnapshot(l, name)
		if err == nil {
			l.producers.load(list, at, nowMs, l.env.expireMs)
			return nil
		}
		if isIOError(err) {
			return err
		}
		l.env.logger.Warn("removing a producer snapshot that cannot be read", zap.String("file", name), zap.Error(err))
		if err := l.dropSnapshots(func(o int64) bool { return o == at }); err != nil {
			return err
		}
	}
	l.producers.reset(start)
	return nil
}

func readSnapshot(l *Log, name string) ([]producer, error) {
	b, err := readFile(l.fs, name, checkpointMax)
	if err != nil {
		return nil, err
	}
	list, err := decodeSnapshot(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return list, nil
}

// controlMax bounds what is read of a control batch; markers have 78 bytes.
const controlMax = 64 << 10

// replaySegment takes the batches of a segment that end at from or later and begin
// below to into the producer state, reading headers only.
func (l *Log) replaySegment(s *segment, from, to int64) error {
	size := s.size.Load()
	if size == 0 {
		return nil
	}
	f, err := s.openLog()
	if err != nil {
		return err
	}
	defer f.Release()
	b, ok, err := s.find(f, from, size)
	if err != nil || !ok {
		return err
	}
	sc := newScanner(f, b.pos, size)
	defer sc.close()
	for {
		h, at, err := sc.next()
		if h == nil || err != nil || h.BaseOffset() >= to {
			return err
		}
		if !h.HasProducerID() {
			continue
		}
		if h.IsControl() && h.Count() > 0 && h.Size() <= controlMax {
			whole := make(record.Batch, h.Size())
			if err := readFull(f, whole, at); err != nil {
				return err
			}
			h = whole
		}
		if err := l.replay(h, nil); err != nil {
			return err
		}
	}
}
