package storage

import (
	"context"
	"time"

	"go.uber.org/zap"
)

// Start begins the background work: retention, checkpoints, delayed deletion,
// flush by time, compaction.
func (m *Manager) Start() {
	ctx, stop := context.WithCancel(context.Background())
	m.stop = stop
	m.work.Go(func() { m.keepHouse(ctx) })
	m.work.Go(func() { m.keepCheckpoints(ctx) })
	m.work.Go(func() { m.flushQueued(ctx) })
}

// task is something done again and again.
type task struct {
	every time.Duration // not positive: never
	next  time.Time
	run   func(context.Context)
}

// runTasks does tasks when they are due, until ctx ends; wake makes it look again at
// what extra says is due.
func runTasks(ctx context.Context, first time.Duration, tasks []task, wake <-chan struct{}, extra func(time.Time) time.Duration) {
	for i := range tasks {
		tasks[i].next = time.Now().Add(first)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait := time.Duration(1<<63 - 1)
		if extra != nil {
			if w := extra(time.Now()); w >= 0 {
				wait = w
			}
		}
		for i := range tasks {
			t := &tasks[i]
			if t.every <= 0 {
				continue
			}
			if now := time.Now(); !t.next.After(now) {
				t.run(ctx)
				t.next = time.Now().Add(t.every)
			}
			wait = min(wait, time.Until(t.next))
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-wake:
		case <-timer.C:
		}
	}
}

func (m *Manager) keepHouse(ctx context.Context) {
	runTasks(ctx, m.o.InitialTaskDelay, []task{
		{every: m.o.RetentionCheckInterval, run: m.retain},
		{every: m.o.ProducerExpiryCheckInterval, run: m.expireProducers},
	}, m.deletions.wake, m.removeDue)
}

func (m *Manager) keepCheckpoints(ctx context.Context) {
	runTasks(ctx, m.o.InitialTaskDelay, []task{
		{every: m.o.FlushCheckInterval, run: m.flushOld},
		{every: m.o.RecoveryPointCheckpointInterval, run: func(context.Context) { m.CheckpointRecoveryPoints() }},
		{every: m.o.LogStartCheckpointInterval, run: func(context.Context) { m.CheckpointLogStarts() }},
		{every: m.o.HighWatermarkCheckpointInterval, run: func(context.Context) { m.CheckpointHighWatermarks() }},
	}, nil, nil)
}

// retain is one retention pass over all logs that are not compacted.
func (m *Manager) retain(ctx context.Context) {
	for _, l := range m.Logs() {
		if ctx.Err() != nil {
			return
		}
		if !l.Config().CleanupCompact {
			m.retainLog(l)
		}
	}
}

// retainLog reports nothing: what fails takes the directory offline, or the log was
// deleted meanwhile.
func (m *Manager) retainLog(l *Log) {
	before := l.LogStartOffset()
	if _, err := l.DeleteOldSegments(time.Now().UnixMilli()); err != nil && !l.isClosed() {
		m.o.Logger.Error("retention failed", zap.Stringer("partition", l.tp), zap.Error(err))
		return
	}
	if m.o.OnLogStart != nil && l.LogStartOffset() != before {
		m.o.OnLogStart(l)
	}
}

func (m *Manager) expireProducers(ctx context.Context) {
	for _, l := range m.Logs() {
		if ctx.Err() != nil {
			return
		}
		l.expireProducers(time.Now().UnixMilli())
	}
}

func (l *Log) expireProducers(nowMs int64) {
	if l.env.expireMs <= 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.producers.expire(nowMs, l.env.expireMs)
	l.verifying.expire(nowMs, l.env.expireMs)
}

// removeDue removes files whose time has come, and says when the next one's will.
func (m *Manager) removeDue(now time.Time) time.Duration {
	for {
		d, wait, ok := m.deletions.next(now)
		if !ok {
			return wait
		}
		if d.dir.broken.get() != nil {
			continue
		}
		for _, p := range d.paths {
			if err := m.fs.RemoveAll(p); err != nil {
				d.dir.fail(err)
			}
		}
	}
}

// flushOld flushes what was not flushed for flush.ms.
func (m *Manager) flushOld(ctx context.Context) {
	for _, l := range m.Logs() {
		if ctx.Err() != nil {
			return
		}
		if l.flushByTime(time.Now()) {
			m.report("flush", l, l.Flush())
		}
	}
}

func (l *Log) flushByTime(now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.vis.end > l.recoveryPoint.Load() && now.Sub(l.lastFlush).Milliseconds() >= l.Config().FlushMs
}

// flushQueued serves the flush queue. A log that fails takes its directory offline.
func (m *Manager) flushQueued(ctx context.Context) {
	for {
		m.drainFlushes(ctx)
		select {
		case <-ctx.Done():
			return
		case <-m.flushes.wake:
		}
	}
}

func (m *Manager) drainFlushes(ctx context.Context) {
	for l, k := m.flushes.next(); l != nil && ctx.Err() == nil; l, k = m.flushes.next() {
		if k&flushMetadata != 0 {
			m.report("sync of "+partitionMetadataFile, l, l.syncMetadata())
		}
		if k&flushRolled != 0 {
			m.report("flush", l, l.flushRolled())
		}
	}
}

// report logs what failed, unless it failed because the log is not there any more.
func (m *Manager) report(what string, l *Log, err error) {
	if err != nil && !l.isClosed() {
		m.o.Logger.Error(what+" failed", zap.Stringer("partition", l.tp), zap.Error(err))
	}
}

// CheckpointRecoveryPoints writes what is flushed to the checkpoint files.
func (m *Manager) CheckpointRecoveryPoints() {
	m.checkpoint(func(d *dir, logs []*Log) error { return d.checkpointRecovery(logs) })
}

// CheckpointLogStarts writes the log starts to the checkpoint files.
func (m *Manager) CheckpointLogStarts() {
	m.checkpoint(func(d *dir, logs []*Log) error { return d.checkpointLogStart(logs) })
}

// CheckpointHighWatermarks writes the high watermarks to the checkpoint files.
func (m *Manager) CheckpointHighWatermarks() {
	m.checkpoint(func(d *dir, logs []*Log) error { return d.checkpointWatermarks(logs) })
}

func (m *Manager) checkpoint(f func(*dir, []*Log) error) {
	for _, d := range m.dirs {
		if d.broken.get() != nil {
			continue
		}
		if err := f(d, m.in(d)); err != nil {
			d.fail(err)
		}
	}
}
