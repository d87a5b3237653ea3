package storage

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
)

// dir is one log directory of a Manager. It fails alone: after an I/O error none of its
// logs is served, and nothing is written to it any more.
type dir struct {
	fs     vfs.FS
	path   string
	id     protocol.UUID
	lock   io.Closer
	broken failure
	onFail func(*dir)
	logger *zap.Logger
	env    *env

	partitions int // logs in it, by Manager.mu

	clean         bool  // the last stop was clean
	previousEpoch int64 // broker epoch of that stop, -1 if unknown

	// What the checkpoint files hold, by ckpt.
	ckpt       sync.Mutex
	recovery   offsets
	logStart   offsets
	watermarks offsets
}

// fail takes the directory offline.
func (d *dir) fail(err error) {
	if d.broken.first(err) {
		d.logger.Error("log directory goes offline", zap.String("dir", d.path), zap.Error(err))
		d.onFail(d)
	}
}

// openDir locks a directory and reads whose it is; a new one is made this node's.
func (m *Manager) openDir(path string) (*dir, error) {
	d := &dir{fs: m.fs, path: path, onFail: m.dirFailed, logger: m.o.Logger, previousEpoch: -1,
		recovery: offsets{}, logStart: offsets{}, watermarks: offsets{}}
	if err := m.fs.MkdirAll(path); err != nil {
		return d, err
	}
	lock, err := m.fs.Lock(filepath.Join(path, lockFile))
	if err != nil {
		return d, err
	}
	d.lock = lock
	p, err := ReadMetaProperties(m.fs, path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return d, err
	}
	if missing {
		p = MetaProperties{ClusterID: m.o.ClusterID, NodeID: m.o.NodeID}
		if p.ClusterID == "" {
			return d, &wrongDirError{fmt.Sprintf("log directory %s has no %s: it was never formatted", path, metaPropertiesFile)}
		}
	}
	if err := m.belongs(path, p); err != nil {
		return d, err
	}
	if p.DirectoryID.IsZero() || p.NodeID < 0 || p.ClusterID == "" {
		p.ClusterID, p.NodeID = m.o.ClusterID, m.o.NodeID
		if p.DirectoryID.IsZero() {
			p.DirectoryID = protocol.NewUUID()
		}
		if err := WriteMetaProperties(m.fs, path, p); err != nil {
			return d, err
		}
	}
	d.id = p.DirectoryID
	d.clean, d.previousEpoch, err = readCleanShutdown(m.fs, path)
	return d, err
}

// wrongDirError says that a directory is not this node's: an operator has to look.
type wrongDirError struct{ text string }

func (e *wrongDirError) Error() string { return e.text }

// belongs refuses a directory of another cluster or node.
func (m *Manager) belongs(path string, p MetaProperties) error {
	if m.o.ClusterID == "" {
		m.o.ClusterID = p.ClusterID
	}
	if p.ClusterID != "" && p.ClusterID != m.o.ClusterID {
		return &wrongDirError{fmt.Sprintf("log directory %s belongs to cluster %s, this node is of cluster %s", path, p.ClusterID, m.o.ClusterID)}
	}
	if p.NodeID >= 0 && p.NodeID != m.o.NodeID {
		return &wrongDirError{fmt.Sprintf("log directory %s belongs to node %d, this is node %d", path, p.NodeID, m.o.NodeID)}
	}
	return nil
}

// newEnv is what the directory's logs have around them.
func (m *Manager) newEnv(d *dir) *env {
	return &env{
		logger: m.o.Logger, dirID: d.id, expireMs: m.o.ProducerIDExpires.Milliseconds(),
		offline: d.broken.get, fail: d.fail, lowered: d.lowered,
		later: func(after time.Duration, paths []string) { m.deletions.add(after, d, paths) },
		flush: func(l *Log) { m.flushes.add(l, flushRolled) },
	}
}

// unlock gives the directory back to others.
func (d *dir) unlock() error {
	if d.lock == nil {
		return nil
	}
	err := d.lock.Close()
	d.lock = nil
	return errors.Join(err, removeIfThere(d.fs, filepath.Join(d.path, lockFile)))
}

func (d *dir) state() DirState { return DirState{Path: d.path, ID: d.id, Err: d.broken.get()} }

// readCheckpoints loads the three offset files.
func (d *dir) readCheckpoints() error {
	for _, c := range []struct {
		file string
		into *offsets
	}{{recoveryPointFile, &d.recovery}, {logStartFile, &d.logStart}, {highWatermarkFile, &d.watermarks}} {
		o, err := readOffsets(d.fs, filepath.Join(d.path, c.file))
		if err != nil {
			return err
		}
		*c.into = o
	}
	return nil
}

// lowered makes sure that no checkpoint on disk says more than to about a log that is
// about to end there: recovery would skip what is written anew.
func (d *dir) lowered(l *Log, to int64) error {
	d.ckpt.Lock()
	defer d.ckpt.Unlock()
	for _, c := range []struct {
		file string
		held offsets
	}{{recoveryPointFile, d.recovery}, {logStartFile, d.logStart}} {
		if c.held[l.tp] <= to {
			continue
		}
		c.held[l.tp] = to
		if err := writeOffsets(d.fs, filepath.Join(d.path, c.file), c.held); err != nil {
			return err
		}
	}
	return nil
}

// checkpoint writes one of the offset files from what the logs say now, unless that is
// what it holds. A log without an offset has no entry.
func (d *dir) checkpoint(file string, held *offsets, logs []*Log, offset func(*Log) (int64, bool)) error {
	d.ckpt.Lock()
	defer d.ckpt.Unlock()
	if err := d.broken.get(); err != nil {
		return err
	}
	same, count := true, 0
	for _, l := range logs {
		o, ok := offset(l)
		if !ok {
			continue
		}
		count++
		if old, ok := (*held)[l.tp]; !ok || old != o {
			same = false
			break
		}
	}
	if same && count == len(*held) {
		return nil
	}
	next := make(offsets, len(logs))
	for _, l := range logs {
		if o, ok := offset(l); ok {
			next[l.tp] = o
		}
	}
	if err := writeOffsets(d.fs, filepath.Join(d.path, file), next); err != nil {
		return err
	}
	*held = next
	return nil
}

func (d *dir) checkpointRecovery(logs []*Log) error {
	return d.checkpoint(recoveryPointFile, &d.recovery, logs, func(l *Log) (int64, bool) {
		return l.RecoveryPoint(), true
	})
}

func (d *dir) checkpointLogStart(logs []*Log) error {
	return d.checkpoint(logStartFile, &d.logStart, logs, func(l *Log) (int64, bool) {
		v := l.view()
		return v.start, v.start > v.segments[0].base
	})
}

func (d *dir) checkpointWatermarks(logs []*Log) error {
	return d.checkpoint(highWatermarkFile, &d.watermarks, logs, func(l *Log) (int64, bool) {
		return l.HighWatermark(), true
	})
}
