package replication

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/replication/replica"
)

// Manager holds the partitions of this broker as the metadata has them. Lookups are safe for
// concurrent use; Publish is called by one goroutine.
type Manager struct {
	o        Options
	logger   *zap.Logger
	lagMaxMs int64
	eligible func(*replica.Follower) bool
	image    atomic.Pointer[metadata.Image] // the one that topics show

	mu     sync.RWMutex
	byName map[string]*hosted
	byID   map[protocol.UUID]*hosted

	published bool  // only Publish
	missing   error // why logs may be missing; set while the first image is taken
	ctx       context.Context
	stop      context.CancelFunc
}

// hosted is a topic with replicas here. It is never changed: a change makes another one.
type hosted struct {
	name       string
	id         protocol.UUID
	partitions []*Partition // by number; nil where this broker is no replica
}

// rules are those of the topic; nil if no partition is left.
func (h *hosted) rules() *topicRules {
	if h == nil {
		return nil
	}
	for _, p := range h.partitions {
		if p != nil {
			return p.rules.Load()
		}
	}
	return nil
}

// defaultLagMaxMs is replica.lag.time.max.ms.
const defaultLagMaxMs = 30_000

// New is a manager without partitions: they come with the first Publish.
func New(o Options) *Manager {
	m := &Manager{o: o, logger: o.Logger, lagMaxMs: defaultLagMaxMs, byName: map[string]*hosted{}, byID: map[protocol.UUID]*hosted{}}
	if m.logger == nil {
		m.logger = zap.NewNop()
	}
	m.ctx, m.stop = context.WithCancel(context.Background())
	m.image.Store(metadata.New())
	m.eligible = func(f *replica.Follower) bool {
		b := m.image.Load().Broker(f.ID)
		return b != nil && replica.Eligible(f, b.Active(), b.Epoch)
	}
	return m
}

// Partition finds a replica of this broker. Errors: UNKNOWN_TOPIC_OR_PARTITION, or
// NOT_LEADER_OR_FOLLOWER for a partition that has no replica here.
func (m *Manager) Partition(tp protocol.TopicPartition) (*Partition, error) {
	if p := m.find(tp); p != nil {
		return p, nil
	}
	if m.image.Load().Topic(tp.Topic).Partition(tp.Partition) != nil {
		return nil, protocol.NotLeaderOrFollower
	}
	return nil, protocol.UnknownTopicOrPartition
}

// PartitionByID is Partition for a topic id; UNKNOWN_TOPIC_ID if no topic has it.
func (m *Manager) PartitionByID(id protocol.UUID, partition int32) (*Partition, error) {
	m.mu.RLock()
	h := m.byID[id]
	m.mu.RUnlock()
	if p := h.partition(partition); p != nil {
		return p, nil
	}
	t := m.image.Load().TopicByID(id)
	switch {
	case t == nil:
		return nil, protocol.UnknownTopicID
	case t.Partition(partition) != nil:
		return nil, protocol.NotLeaderOrFollower
	}
	return nil, protocol.UnknownTopicOrPartition
}

func (m *Manager) find(tp protocol.TopicPartition) *Partition {
	m.mu.RLock()
	h := m.byName[tp.Topic]
	m.mu.RUnlock()
	return h.partition(tp.Partition)
}

func (h *hosted) partition(n int32) *Partition {
	if h == nil || n < 0 || int(n) >= len(h.partitions) {
		return nil
	}
	return h.partitions[n]
}

// Partitions lists all replicas of this broker, by topic and number.
func (m *Manager) Partitions() []*Partition {
	m.mu.RLock()
	defer m.mu.RUnlock()
	var all []*Partition
	for _, h := range m.byName {
		for _, p := range h.partitions {
			if p != nil {
				all = append(all, p)
			}
		}
	}
	slices.SortFunc(all, func(a, b *Partition) int { return a.tp.Compare(b.tp) })
	return all
}

// alive reports whether a broker is up as far as the metadata knows.
func (m *Manager) alive(id int32) bool {
	b := m.image.Load().Broker(id)
	return b != nil && !b.Fenced
}

// DirFailed takes the partitions of a log directory offline: storage's OnDirFailure calls it.
func (m *Manager) DirFailed(dir protocol.UUID, cause error) {
	for _, p := range m.Partitions() {
		if log := p.Log(); log != nil && log.DirID() == dir {
			p.stop(offline(cause))
			m.offline(p.tp, cause)
		}
	}
}

func (m *Manager) offline(tp protocol.TopicPartition, cause error) {
	m.logger.Error("partition is offline", zap.Stringer("partition", tp), zap.Error(cause))
	if m.o.OnOffline != nil {
		m.o.OnOffline(tp, cause)
	}
}

// Close answers everybody who waits with NOT_LEADER_OR_FOLLOWER, and so everything from now on. It
// interrupts a load. The storage is its owner's to close.
func (m *Manager) Close() {
	m.stop()
	for _, p := range m.Partitions() {
		p.stop(protocol.NotLeaderOrFollower)
	}
}
