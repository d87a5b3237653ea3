// Package offsets holds the committed offsets of one shard and the rules of committing, fetching, deleting and
// expiring them. State changes through Apply only. Offsets committed in a transaction are pending until its marker.
package offsets

import (
	"slices"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol"
)

// Store is all committed offsets of one shard.
//
// Invariant: a group has an entry exactly while it has offsets; a topic in it likewise.
type Store struct {
	groups map[string]topics
	// pending by producer: what its open transaction has committed, latest wins.
	pending map[int64]map[group.OffsetKey]pendingOffset
	// open counts, per offset, the transactions that have it pending.
	open map[group.OffsetKey]int
}

type topics map[string]map[int32]entry

// entry is a committed offset and where in the log it stands: of two commits the later one counts.
type entry struct {
	group.Committed
	at int64
}

type pendingOffset struct{ entry }

// NewStore is an empty shard.
func NewStore() *Store { return &Store{groups: map[string]topics{}} }

// Apply takes over the record of one offset; c is nil for a tombstone.
func (s *Store) Apply(at int64, producer int64, k group.OffsetKey, c *group.Committed) {
	switch {
	case producer != group.NoProducer && c != nil:
		s.applyPending(at, producer, k, *c)
	case c == nil:
		s.remove(k)
		s.forget(k)
	default:
		s.put(k, entry{*c, at})
	}
}

func (s *Store) put(k group.OffsetKey, e entry) {
	ts := s.groups[k.Group]
	if ts == nil {
		ts = topics{}
		s.groups[k.Group] = ts
	}
	ps := ts[k.Topic]
	if ps == nil {
		ps = map[int32]entry{}
		ts[k.Topic] = ps
	}
	ps[k.Partition] = e
}

func (s *Store) remove(k group.OffsetKey) {
	ts := s.groups[k.Group]
	ps := ts[k.Topic]
	if delete(ps, k.Partition); len(ps) > 0 {
		return
	}
	if delete(ts, k.Topic); len(ts) == 0 {
		delete(s.groups, k.Group)
	}
}

func (s *Store) get(k group.OffsetKey) (entry, bool) {
	e, ok := s.groups[k.Group][k.Topic][k.Partition]
	return e, ok
}

func (s *Store) applyPending(at int64, producer int64, k group.OffsetKey, c group.Committed) {
	if s.pending == nil {
		s.pending = map[int64]map[group.OffsetKey]pendingOffset{}
		s.open = map[group.OffsetKey]int{}
	}
	of := s.pending[producer]
	if of == nil {
		of = map[group.OffsetKey]pendingOffset{}
		s.pending[producer] = of
	}
	if _, again := of[k]; !again {
		s.open[k]++
	}
	of[k] = pendingOffset{entry: entry{c, at}}
}

// forget drops what transactions have pending of an offset that was deleted.
func (s *Store) forget(k group.OffsetKey) {
	if s.open[k] == 0 {
		return
	}
	for producer, of := range s.pending {
		if _, has := of[k]; has {
			delete(of, k)
			if len(of) == 0 {
				delete(s.pending, producer)
			}
		}
	}
	delete(s.open, k)
}

// Complete ends the producer's transaction: what it had pending counts, unless a later commit is there, or is dropped.
func (s *Store) Complete(producer int64, committed bool) {
	for k, p := range s.pending[producer] {
		if s.open[k]--; s.open[k] == 0 {
			delete(s.open, k)
		}
		if have, ok := s.get(k); committed && (!ok || p.at > have.at) {
			s.put(k, p.entry)
		}
	}
	delete(s.pending, producer)
}

// Has says whether the group has committed or pending offsets.
func (s *Store) Has(id string) bool {
	if len(s.groups[id]) > 0 {
		return true
	}
	for k := range s.open {
		if k.Group == id {
			return true
		}
	}
	return false
}

// Get is a committed offset.
func (s *Store) Get(k group.OffsetKey) (group.Committed, bool) {
	e, ok := s.get(k)
	return e.Committed, ok
}

// Unstable says whether an open transaction has committed the offset.
func (s *Store) Unstable(k group.OffsetKey) bool { return s.open[k] > 0 }

// Len is the number of committed offsets.
func (s *Store) Len() int {
	n := 0
	for _, ts := range s.groups {
		for _, ps := range ts {
			n += len(ps)
		}
	}
	return n
}

// Topics lists the topics in which the group has committed or pending offsets, by name.
func (s *Store) Topics(id string) []string {
	var names []string
	for t := range s.groups[id] {
		names = append(names, t)
	}
	for k := range s.open {
		if k.Group == id && !slices.Contains(names, k.Topic) {
			names = append(names, k.Topic)
		}
	}
	slices.Sort(names)
	return names
}

// Partitions lists the partitions of a topic in which the group has committed or pending offsets, in order.
func (s *Store) Partitions(id, topic string) []int32 {
	var ps []int32
	for p := range s.groups[id][topic] {
		ps = append(ps, p)
	}
	for k := range s.open {
		if k.Group == id && k.Topic == topic && !slices.Contains(ps, k.Partition) {
			ps = append(ps, k.Partition)
		}
	}
	slices.Sort(ps)
	return ps
}

// id of the topic under which an offset was committed, against the one asked for: none on either side fits all.
func sameTopic(a, b protocol.UUID) bool { return a.IsZero() || b.IsZero() || a == b }
