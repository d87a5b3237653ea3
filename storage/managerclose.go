package storage

import (
	"context"
	"errors"
	"path/filepath"
	"sync"

	"go.uber.org/zap"
)

// Close stops the background work, flushes and closes all logs, writes the
// checkpoints and the clean shutdown marker, and unlocks. When ctx ends first, what
// is not closed by then stays unclean.
func (m *Manager) Close(ctx context.Context, brokerEpoch int64) error {
	if m.stop != nil {
		m.stop()
	}
	m.work.Wait()
	m.failing.Wait()
	var wg sync.WaitGroup
	errs := make([]error, len(m.dirs))
	for i, d := range m.dirs {
		wg.Go(func() { errs[i] = m.closeDir(ctx, d, brokerEpoch) })
	}
	wg.Wait()
	m.failing.Wait()
	return errors.Join(append(errs, m.unlock())...)
}

func (m *Manager) closeDir(ctx context.Context, d *dir, brokerEpoch int64) error {
	if err := d.broken.get(); err != nil {
		return nil // it was reported when it happened
	}
	logs := m.in(d)
	err := m.closeLogs(ctx, append(logs, m.futureIn(d)...))
	if err == nil {
		err = d.checkpointAll(logs)
	}
	if err == nil {
		err = writeAtomic(d.fs, filepath.Join(d.path, cleanShutdownFile), encodeCleanShutdown(brokerEpoch))
	}
	if err != nil {
		m.o.Logger.Warn("log directory was not closed cleanly", zap.String("dir", d.path), zap.Error(err))
	}
	return err
}

func (d *dir) checkpointAll(logs []*Log) error {
	if err := d.checkpointRecovery(logs); err != nil {
		return err
	}
	if err := d.checkpointLogStart(logs); err != nil {
		return err
	}
	return d.checkpointWatermarks(logs)
}

// closeLogs closes logs with as many goroutines as load them.
func (m *Manager) closeLogs(ctx context.Context, logs []*Log) error {
	var (
		wg   sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	queue := make(chan *Log)
	for range max(1, min(m.o.RecoveryThreadsPerDir, len(logs))) {
		wg.Go(func() {
			for l := range queue {
				if err := l.close(); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		})
	}
	for _, l := range logs {
		if ctx.Err() != nil {
			break
		}
		queue <- l
	}
	close(queue)
	wg.Wait()
	return errors.Join(append(errs, ctx.Err())...)
}
