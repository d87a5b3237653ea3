package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"

	"go.uber.org/zap"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
)

// Manager owns the log directories of a node. Safe for concurrent use.
//
// A few goroutines serve all logs: housekeeping (retention, expiry of producers,
// delayed deletion), checkpoints, flushes after a roll, and the cleaner's threads.
type Manager struct {
	fs    vfs.FS
	o     Options
	files *fileCache
	dirs  []*dir

	making sync.Mutex // one partition is made, deleted or moved at a time; before mu
	mu     sync.RWMutex
	logs   map[protocol.TopicPartition]*Log
	future map[protocol.TopicPartition]*Log // replicas being moved here from another directory

	deletions deletions
	flushes   flushQueue
	stop      context.CancelFunc
	work      sync.WaitGroup // background goroutines
	failing   sync.WaitGroup // goroutines of dirFailed
}

// Open locks the directories and reads their meta.properties (written if missing).
// Directories whose disk fails are offline, see Dirs; that none is left, or that one is
// somebody else's, is an error.
func Open(fsys vfs.FS, dirs []string, o Options) (*Manager, error) {
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	m := &Manager{
		fs: fsys, o: o, files: newFileCache(fsys, o.OpenFilesMax),
		logs:   map[protocol.TopicPartition]*Log{},
		future: map[protocol.TopicPartition]*Log{},
	}
	m.deletions.wake = make(chan struct{}, 1)
	m.flushes.init()
	if err := m.openDirs(dirs); err != nil {
		return nil, errors.Join(err, m.unlock())
	}
	return m, nil
}

func (m *Manager) openDirs(paths []string) error {
	usable := 0
	ids := map[protocol.UUID]string{}
	var first error
	for _, path := range paths {
		d, err := m.openDir(path)
		d.env = m.newEnv(d)
		m.dirs = append(m.dirs, d)
		var wrong *wrongDirError
		if errors.As(err, &wrong) || errors.Is(err, vfs.ErrLocked) || err != nil && !isIOError(err) {
			return fmt.Errorf("log directory %s: %w", path, err)
		}
		if err != nil {
			d.broken.set(err)
			m.o.Logger.Error("log directory is offline", zap.String("dir", path), zap.Error(err))
			first = err
			continue
		}
		if other, ok := ids[d.id]; ok {
			return fmt.Errorf("log directories %s and %s have the same directory.id %s", other, path, d.id)
		}
		ids[d.id] = path
		usable++
	}
	if usable == 0 {
		return fmt.Errorf("no log directory can be used: %w", first)
	}
	return nil
}

func (m *Manager) unlock() error {
	var errs []error
	for _, d := range m.dirs {
		errs = append(errs, d.unlock())
	}
	return errors.Join(errs...)
}

// Get returns a partition's log, nil if there is none or its directory is offline.
func (m *Manager) Get(tp protocol.TopicPartition) *Log {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.logs[tp]
}

// Logs lists all logs that are served, in no order.
func (m *Manager) Logs() []*Log {
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := make([]*Log, 0, len(m.logs))
	for _, l := range m.logs {
		list = append(list, l)
	}
	return list
}

// in lists the logs of one directory, those being moved here apart.
func (m *Manager) in(d *dir) []*Log {
	m.mu.RLock()
	defer m.mu.RUnlock()
	list := make([]*Log, 0, len(m.logs))
	for _, l := range m.logs {
		if l.env == d.env {
			list = append(list, l)
		}
	}
	return list
}

// Create returns the partition's log, made if missing: in the directory with the fewest
// partitions, or in dir unless that is zero. INCONSISTENT_TOPIC_ID if a log with another
// topic id is there, LOG_DIR_NOT_FOUND, KAFKA_STORAGE_ERROR.
func (m *Manager) Create(tp protocol.TopicPartition, topicID protocol.UUID, c LogConfig, dir protocol.UUID) (*Log, error) {
	m.making.Lock()
	defer m.making.Unlock()
	if l := m.Get(tp); l != nil {
		if l.topicID != topicID && !l.topicID.IsZero() && !topicID.IsZero() {
			return nil, &protocol.Fault{Code: protocol.InconsistentTopicID, Message: fmt.Sprintf(
				"the log of %s is of topic id %s, not %s", tp, l.topicID, topicID)}
		}
		return l, nil
	}
	d, err := m.choose(dir)
	if err != nil {
		return nil, err
	}
	l, err := m.makeIn(d, tp, topicID, c, tp.String())
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.serve(m.logs, tp, l)
	m.mu.Unlock()
	return l, nil
}

// choose finds the directory for a new partition.
func (m *Manager) choose(id protocol.UUID) (*dir, error) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var best *dir
	for _, d := range m.dirs {
		switch {
		case !id.IsZero() && d.id != id:
		case d.broken.get() != nil:
			if !id.IsZero() {
				return nil, fmt.Errorf("%s: %w: %w", d.path, protocol.KafkaStorageError, d.broken.get())
			}
		case best == nil || d.partitions < best.partitions:
			best = d
		}
	}
	switch {
	case best != nil:
		return best, nil
	case !id.IsZero():
		return nil, &protocol.Fault{Code: protocol.LogDirNotFound, Message: "no log directory has the id " + id.String()}
	}
	return nil, fmt.Errorf("all log directories are offline: %w", protocol.KafkaStorageError)
}

// serve makes l the log of its partition, in place of what was; nil takes that away. It
// returns what was. m.mu is held.
func (m *Manager) serve(logs map[protocol.TopicPartition]*Log, tp protocol.TopicPartition, l *Log) *Log {
	old := logs[tp]
	if old != nil {
		m.dirOf(old).partitions--
		delete(logs, tp)
	}
	if l != nil {
		m.dirOf(l).partitions++
		logs[tp] = l
	}
	return old
}

// makeIn makes an empty log in a directory's subdirectory.
func (m *Manager) makeIn(d *dir, tp protocol.TopicPartition, topicID protocol.UUID, c LogConfig, name string) (*Log, error) {
	p := newPlace(m.fs, m.files, filepath.Join(d.path, name))
	q := &loadParams{tp: tp, topicID: topicID, config: c}
	l, err := m.makeAt(d, p, q)
	if err != nil {
		err = fmt.Errorf("making the log of %s: %w", tp, err)
		d.fail(err)
		return nil, fmt.Errorf("%w: %w", protocol.KafkaStorageError, err)
	}
	m.flushes.add(l, flushMetadata)
	return l, nil
}

func (m *Manager) makeAt(d *dir, p *place, q *loadParams) (*Log, error) {
	// A checkpoint may still know a partition of the same name that was deleted.
	if err := d.lowered(&Log{tp: q.tp}, 0); err != nil {
		return nil, err
	}
	err := m.fs.Mkdir(p.dir())
	if errors.Is(err, fs.ErrExist) {
		return loadLog(p, d.env, q) // half made before a crash, or put there by hand
	}
	if err != nil {
		return nil, err
	}
	return makeLog(p, d.env, q)
}

// UpdateConfig gives all logs of a topic a new configuration.
func (m *Manager) UpdateConfig(topic string, c LogConfig) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, logs := range []map[protocol.TopicPartition]*Log{m.logs, m.future} {
		for tp, l := range logs {
			if tp.Topic == topic {
				l.UpdateConfig(c)
			}
		}
	}
}

// Delete takes the partition away at once and its files after the delay. No log of that
// name is no error.
func (m *Manager) Delete(tp protocol.TopicPartition) error {
	m.making.Lock()
	defer m.making.Unlock()
	m.mu.Lock()
	l, moving := m.serve(m.logs, tp, nil), m.serve(m.future, tp, nil)
	m.mu.Unlock()
	var errs []error
	for _, l := range []*Log{l, moving} {
		if l == nil {
			continue
		}
		errs = append(errs, m.markDeleted(l))
	}
	return errors.Join(errs...)
}

// markDeleted renames a log's directory to -delete and has it removed later.
func (m *Manager) markDeleted(l *Log) error {
	return m.setAside(l, dirDeleted)
}

// setAside stops a log and renames its directory.
func (m *Manager) setAside(l *Log, kind dirKind) error {
	d := m.dirOf(l)
	l.abandon()
	if err := d.broken.get(); err != nil {
		return nil // found as it is when the disk is back
	}
	from, to := l.dir(), filepath.Join(d.path, markedDirName(l.tp, kind))
	if err := m.fs.Rename(from, to); err != nil {
		err = fmt.Errorf("setting the log of %s aside: %w", l.tp, err)
		d.fail(err)
		return fmt.Errorf("%w: %w", protocol.KafkaStorageError, err)
	}
	l.path.Store(&to)
	if kind == dirDeleted {
		m.deletions.add(m.o.FileDeleteDelay, d, []string{to})
	}
	return nil
}

func (m *Manager) dirOf(l *Log) *dir {
	for _, d := range m.dirs {
		if d.env == l.env {
			return d
		}
	}
	panic("storage: a log in none of its manager's directories")
}

// Dirs describes the directories, in configured order.
func (m *Manager) Dirs() []DirState {
	list := make([]DirState, 0, len(m.dirs))
	for _, d := range m.dirs {
		list = append(list, d.state())
	}
	return list
}

// LoadedCleanEpoch is the broker epoch of the last clean shutdown; -1 if the last
// stop was unclean or did not say. Known from Open on.
func (m *Manager) LoadedCleanEpoch() int64 {
	epoch := int64(-1)
	for i, d := range m.dirs {
		if !d.clean || i > 0 && d.previousEpoch != epoch {
			return -1
		}
		epoch = d.previousEpoch
	}
	return epoch
}

// dirFailed takes a failed directory's logs away. It runs on its own: whoever met the
// failure may hold a log's lock.
func (m *Manager) dirFailed(d *dir) {
	m.failing.Go(func() {
		m.mu.Lock()
		var lost []*Log
		for _, logs := range []map[protocol.TopicPartition]*Log{m.logs, m.future} {
			for tp, l := range logs {
				if l.env == d.env {
					lost = append(lost, m.serve(logs, tp, nil))
				}
			}
		}
		m.mu.Unlock()
		for _, l := range lost {
			l.abandon()
		}
		if m.o.OnDirFailure != nil {
			m.o.OnDirFailure(d.state())
		}
	})
}

// Usage is the size of the volume that holds a directory, and how much of it is free.
func (m *Manager) Usage(dir protocol.UUID) (total, free int64, err error) {
	for _, d := range m.dirs {
		if d.id != dir {
			continue
		}
		if err := d.broken.get(); err != nil {
			return 0, 0, fmt.Errorf("%s: %w: %w", d.path, protocol.KafkaStorageError, err)
		}
		return m.fs.Usage(d.path)
	}
	return 0, 0, protocol.LogDirNotFound
}
