package txncoord

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/rsm"
	"github.com/ottla/ottla/txncoord/txn"
)

// shard is one partition of __transaction_state.
type shard struct {
	partition int32
	rsm       *rsm.Shard[*machine, txn.Record]
}

func shardName(partition int32) string {
	return fmt.Sprintf("%s-%d", protocol.TransactionStateTopic, partition)
}

func (s *Service) newShard(partition int32) *shard {
	sh := &shard{partition: partition}
	log := &shardLog{s: s, partition: partition}
	sh.rsm = rsm.NewShard(rsm.Options[*machine, txn.Record]{
		Name:     shardName(partition),
		New:      func() *machine { return &machine{s: s, shard: sh, store: txn.NewStore()} },
		Load:     log.load,
		Log:      log,
		Loaded:   func(m *machine, now time.Time) rsm.Outcome[txn.Record] { return m.loaded(now) },
		Unloaded: func(*machine, error) { s.markers.drop(sh) },
		Size:     txn.Record.Size, MaxBatchBytes: log.maxBatchBytes,
		Timers: s.timers, ReloadBackoff: reloadBackoff, LoadSlots: s.slots, Logger: s.o.Logger,
	})
	return sh
}

func sortedShards(m map[int32]*shard) []*shard {
	return slices.SortedFunc(maps.Values(m), func(a, b *shard) int { return cmp.Compare(a.partition, b.partition) })
}

// epoch is that of the partition's leadership, which is the coordinator's. To be asked within the shard's turn: a record
// decided there is logged under this epoch or not at all.
func (sh *shard) epoch() int32 {
	_, epoch := sh.rsm.State()
	return epoch
}

// machine is the state of one shard. It only puts the rules together.
type machine struct {
	s        *Service
	shard    *shard
	store    *txn.Store
	sweeping bool // the timer of transactions that run out of time is armed
}

// Timers of a shard.
const (
	sweepTimer  uint8 = iota // looks for transactions that ran out of time
	removeTimer              // looks for transactional ids that expired
)

func timer(kind uint8, at time.Time) rsm.Timer {
	return rsm.Timer{Key: rsm.TimerKey{Kind: kind}, At: at}
}

// Apply takes over one record of the log.
func (m *machine) Apply(_ int64, r txn.Record) error {
	m.store.Apply(r)
	return nil
}

func (m *machine) call(now time.Time, fresh int64) txn.Call {
	return txn.Call{NowMs: now.UnixMilli(), Level: m.s.o.Level(), FreshID: fresh}
}

// carryOut turns a decision into what the state machine does. Every record is a batch of its own, as Kafka's are. When
// the end of a transaction is committed, its markers are sent.
func (m *machine) carryOut(d txn.Decision, now time.Time) rsm.Outcome[txn.Record] {
	n := d.Next
	if n == nil {
		return rsm.Outcome[txn.Record]{}
	}
	o := rsm.Outcome[txn.Record]{Records: []txn.Record{{ID: n.ID, Transaction: n}}, Alone: true}
	switch {
	case n.State == txn.Ongoing && !m.sweeping:
		m.sweeping = true
		o.Timers = []rsm.Timer{timer(sweepTimer, now.Add(m.s.o.Config().AbortInterval))}
	case n.State.Prepared():
		epoch := m.shard.epoch()
		o.Then = func(err error) {
			if err == nil {
				m.s.markers.send(m.shard, epoch, n)
			}
		}
	}
	return o
}

// loaded is where a coordinator goes on that has just taken over: with the markers of ends that were decided.
func (m *machine) loaded(now time.Time) rsm.Outcome[txn.Record] {
	c := m.s.o.Config()
	o := rsm.Outcome[txn.Record]{Timers: []rsm.Timer{timer(removeTimer, now.Add(c.RemoveInterval))}}
	if m.store.Open() > 0 {
		m.sweeping = true
		o.Timers = append(o.Timers, timer(sweepTimer, now.Add(c.AbortInterval)))
	}
	var prepared []*txn.Transaction
	for t := range m.store.All {
		if t.State.Prepared() {
			prepared = append(prepared, t)
		}
	}
	epoch := m.shard.epoch()
	o.Then = func(err error) {
		if err != nil {
			return
		}
		for _, t := range prepared {
			m.s.markers.send(m.shard, epoch, t)
		}
	}
	return o
}

// Expire carries on after a timer fell due.
func (m *machine) Expire(now time.Time, key rsm.TimerKey) rsm.Outcome[txn.Record] {
	if key.Kind == sweepTimer {
		return m.sweep(now)
	}
	return m.remove(now)
}

// sweep aborts the transactions that have run out of time, one after the other.
func (m *machine) sweep(now time.Time) (o rsm.Outcome[txn.Record]) {
	m.sweeping = m.store.Open() > 0
	if !m.sweeping {
		return o
	}
	o.Timers = []rsm.Timer{timer(sweepTimer, now.Add(m.s.o.Config().AbortInterval))}
	var late []string
	for t := range m.store.All {
		if t.TimedOut(now.UnixMilli()) {
			late = append(late, t.ID)
		}
	}
	o.Then = func(err error) {
		if err != nil {
			return
		}
		for _, id := range late {
			m.s.fence(m.shard, id, txn.NoProducerID)
		}
	}
	return o
}

// remove forgets transactional ids that nothing happened to for long.
func (m *machine) remove(now time.Time) rsm.Outcome[txn.Record] {
	c := m.s.o.Config()
	o := rsm.Outcome[txn.Record]{Divisible: true, Timers: []rsm.Timer{timer(removeTimer, now.Add(c.RemoveInterval))}}
	for t := range m.store.All {
		if t.Expired(now.UnixMilli(), c.IDExpiration.Milliseconds()) {
			o.Records = append(o.Records, txn.Record{ID: t.ID})
		}
	}
	return o
}

// fence aborts one transaction in the background, if it still is late. It does not block.
func (s *Service) fence(sh *shard, id string, fresh int64) {
	sh.rsm.Submit(func(m *machine, now time.Time) rsm.Outcome[txn.Record] {
		t := m.store.Get(id)
		if t == nil || !t.TimedOut(now.UnixMilli()) {
			return rsm.Outcome[txn.Record]{}
		}
		d := m.store.Fence(m.call(now, fresh), id)
		if d.NeedsID {
			go s.fenceWithID(sh, id)
		}
		return m.carryOut(d, now)
	}, func(error) {}) // whoever coordinates it then will look for it
}

// fenceWithID is for transactions of a producer id that has no epoch left.
func (s *Service) fenceWithID(sh *shard, id string) {
	ctx, cancel := context.WithTimeout(context.Background(), s.o.Config().RequestTimeout)
	defer cancel()
	if fresh, err := s.o.NextProducerID(ctx); err == nil {
		s.fence(sh, id, fresh)
	}
}
