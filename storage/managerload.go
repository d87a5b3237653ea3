package storage

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/ottla/ottla/protocol"
)

// Load opens every partition on disk, recovering where the last stop was unclean,
// in parallel. keep is asked once a partition, from several goroutines at a time. An
// error is one that an operator has to see to; a directory whose disk fails is taken
// offline instead, unless it is the last one.
func (m *Manager) Load(ctx context.Context, keep func(tp protocol.TopicPartition, topicID protocol.UUID) Decision) error {
	var wg sync.WaitGroup
	errs := make([]error, len(m.dirs))
	for i, d := range m.dirs {
		if d.broken.get() != nil {
			continue
		}
		wg.Go(func() { errs[i] = m.loadDir(ctx, d, keep) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, d := range m.dirs {
		if d.broken.get() == nil {
			return nil
		}
	}
	return fmt.Errorf("no log directory can be used: %w", m.dirs[0].broken.get())
}

// dirLoad is one directory being loaded.
type dirLoad struct {
	m    *Manager
	d    *dir
	keep func(protocol.TopicPartition, protocol.UUID) Decision

	mu    sync.Mutex
	fatal error
	done  int
	total int
	shown time.Time
}

// loadDir returns only errors that must stop the start; the disk's take d offline.
func (m *Manager) loadDir(ctx context.Context, d *dir, keep func(protocol.TopicPartition, protocol.UUID) Decision) error {
	begun := time.Now()
	jobs, err := m.prepareDir(d)
	if err != nil {
		if errors.As(err, new(*wrongDirError)) {
			return err
		}
		d.fail(err)
		return nil
	}
	load := &dirLoad{m: m, d: d, keep: keep, total: len(jobs), shown: begun}
	queue := make(chan dirJob)
	var wg sync.WaitGroup
	for range max(1, min(m.o.RecoveryThreadsPerDir, len(jobs))) {
		wg.Go(func() {
			for j := range queue {
				load.run(j)
			}
		})
	}
	for _, j := range jobs {
		if ctx.Err() != nil || load.stopped() {
			break
		}
		queue <- j
	}
	close(queue)
	wg.Wait()
	if err := errors.Join(ctx.Err(), load.fatal); err != nil {
		return err
	}
	m.o.Logger.Info("loaded log directory", zap.String("dir", d.path), zap.Int("partitions", load.done),
		zap.Bool("clean", d.clean), zap.Duration("took", time.Since(begun)))
	return nil
}

// dirJob is one partition directory to load.
type dirJob struct {
	name string
	tp   protocol.TopicPartition
	kind dirKind
}

// prepareDir reads the checkpoints, removes the marker of the clean stop and lists the
// partitions.
func (m *Manager) prepareDir(d *dir) ([]dirJob, error) {
	if err := d.readCheckpoints(); err != nil {
		return nil, err
	}
	if d.clean {
		if err := removeCleanShutdown(d.fs, d.path); err != nil {
			return nil, err
		}
	}
	entries, err := d.fs.List(d.path)
	if err != nil {
		return nil, err
	}
	var jobs []dirJob
	for _, e := range entries {
		if !e.Dir || e.Name == remoteIndexCacheDir {
			continue
		}
		tp, kind, err := parseDirName(e.Name)
		if err != nil {
			return nil, &wrongDirError{fmt.Sprintf("%s: %v", d.path, err)}
		}
		switch {
		case tp.Topic == clusterMetadataTopic && kind == dirCurrent, kind == dirStray:
		case kind == dirDeleted:
			m.deletions.add(m.o.FileDeleteDelay, d, []string{filepath.Join(d.path, e.Name)})
		default:
			jobs = append(jobs, dirJob{e.Name, tp, kind})
		}
	}
	return jobs, nil
}

func (ld *dirLoad) stopped() bool {
	ld.mu.Lock()
	defer ld.mu.Unlock()
	return ld.fatal != nil || ld.d.broken.get() != nil
}

// run loads one partition.
func (ld *dirLoad) run(j dirJob) {
	if ld.stopped() {
		return
	}
	fatal, err := ld.partition(j)
	if err != nil {
		ld.d.fail(err)
	}
	ld.mu.Lock()
	defer ld.mu.Unlock()
	ld.fatal = errors.Join(ld.fatal, fatal)
	ld.done++
	if now := time.Now(); now.Sub(ld.shown) > 5*time.Second {
		ld.shown = now
		ld.m.o.Logger.Info("loading logs", zap.String("dir", ld.d.path), zap.Int("done", ld.done), zap.Int("of", ld.total))
	}
}

func (ld *dirLoad) partition(j dirJob) (fatal, err error) {
	m, d := ld.m, ld.d
	p := newPlace(d.fs, m.files, filepath.Join(d.path, j.name))
	id, err := readPartitionMetadata(d.fs, p.dir())
	if err != nil {
		return nil, err
	}
	decision := ld.keep(j.tp, id)
	if !decision.Keep {
		to := filepath.Join(d.path, markedDirName(j.tp, dirStray))
		m.o.Logger.Warn("setting aside a log that is not of this node", zap.Stringer("partition", j.tp),
			zap.Stringer("topic id", id), zap.String("to", to))
		return nil, d.fs.Rename(p.dir(), to)
	}
	l, err := loadLog(p, d.env, &loadParams{
		tp: j.tp, topicID: id, config: decision.Config, clean: d.clean,
		recovery: d.recovery[j.tp], logStart: d.logStart[j.tp], watermark: d.watermarks[j.tp],
	})
	if err != nil {
		return nil, err
	}
	return m.register(l, j.kind), nil
}

// register adds a loaded log. Two of one name are nothing to guess about.
func (m *Manager) register(l *Log, kind dirKind) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	logs := m.logs
	if kind == dirFuture {
		logs = m.future
	}
	if other := logs[l.tp]; other != nil {
		return &wrongDirError{fmt.Sprintf("%s is in two log directories: %s and %s; remove one", l.tp, other.dir(), l.dir())}
	}
	m.serve(logs, l.tp, l)
	return nil
}
