package storage

import (
	"fmt"
	"path/filepath"

	"go.uber.org/zap"

	"github.com/ottla/ottla/protocol"
)

// A replica moves between two directories of a node by being copied into a -future
// directory, which takes the place of the current one when it has caught up.

// Future returns the partition's log that is being moved to, nil if there is none.
func (m *Manager) Future(tp protocol.TopicPartition) *Log {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.future[tp]
}

func (m *Manager) futureIn(d *dir) []*Log {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var list []*Log
	for _, l := range m.future {
		if l.env == d.env {
			list = append(list, l)
		}
	}
	return list
}

// CreateFuture makes an empty log for the partition in another directory than its
// current one.
func (m *Manager) CreateFuture(tp protocol.TopicPartition, dir protocol.UUID) (*Log, error) {
	m.making.Lock()
	defer m.making.Unlock()
	current := m.Get(tp)
	switch {
	case current == nil:
		return nil, protocol.UnknownTopicOrPartition
	case current.env.dirID == dir:
		return nil, &protocol.Fault{Code: protocol.InvalidRequest, Message: fmt.Sprintf("%s is in %s already", tp, dir)}
	case m.Future(tp) != nil:
		return m.Future(tp), nil
	}
	d, err := m.choose(dir)
	if err != nil {
		return nil, err
	}
	l, err := m.makeIn(d, tp, current.topicID, *current.Config(), markedDirName(tp, dirFuture))
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.serve(m.future, tp, l)
	m.mu.Unlock()
	return l, nil
}

// DeleteFuture gives up a move.
func (m *Manager) DeleteFuture(tp protocol.TopicPartition) error {
	m.making.Lock()
	defer m.making.Unlock()
	m.mu.Lock()
	l := m.serve(m.future, tp, nil)
	m.mu.Unlock()
	if l == nil {
		return nil
	}
	return m.markDeleted(l)
}

// Promote makes the future log the partition's log and deletes the current one. The
// caller has stopped appends to both, and both end at the same offset.
func (m *Manager) Promote(tp protocol.TopicPartition) (*Log, error) {
	m.making.Lock()
	defer m.making.Unlock()
	l := m.Future(tp)
	if l == nil {
		return nil, protocol.UnknownTopicOrPartition
	}
	d := m.dirOf(l)
	l.mu.Lock() // nobody opens one of its files while the directory moves
	to := filepath.Join(d.path, tp.String())
	err := m.fs.Rename(l.dir(), to)
	if err == nil {
		l.path.Store(&to)
		err = m.fs.SyncDir(d.path)
	}
	l.mu.Unlock()
	if err != nil {
		err = fmt.Errorf("making the moved log of %s the current one: %w", tp, err)
		d.fail(err)
		return nil, fmt.Errorf("%w: %w", protocol.KafkaStorageError, err)
	}
	m.mu.Lock()
	m.serve(m.future, tp, nil)
	old := m.serve(m.logs, tp, l)
	m.mu.Unlock()
	if old != nil {
		if err := m.markDeleted(old); err != nil {
			m.o.Logger.Error("the log that was moved away could not be deleted", zap.Error(err))
		}
	}
	return l, nil
}
