package replication

import (
	"fmt"
	"time"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/replication/replica"
	"github.com/ottla/ottla/storage"
)

// offline is what everything is answered on a partition whose disk failed.
func offline(cause error) error {
	return fmt.Errorf("%w: %w", protocol.KafkaStorageError, cause)
}

func (p *Partition) conditions(now int64) *replica.Conditions {
	return &replica.Conditions{Now: now, LagMax: p.m.lagMaxMs, MinISR: p.minISR(), Eligible: p.m.eligible}
}

// assign takes what the metadata says of the partition: who leads, in which epoch, who is in sync.
// It reports a change of this broker's leadership. An error is the disk's.
func (p *Partition) assign(a *metadata.Partition, now int64) (Leadership, bool, error) {
	change, changed, due, err := p.assignLocked(a, now)
	due.call()
	return change, changed, err
}

func (p *Partition) assignLocked(a *metadata.Partition, now int64) (change Leadership, changed bool, due answers, err error) {
	p.roleMu.Lock()
	defer p.roleMu.Unlock()
	r := &p.role
	change = Leadership{TopicPartition: p.tp, Epoch: a.LeaderEpoch, Leading: a.Leader == p.m.o.NodeID}
	was, before := r.leading, r.epoch
	r.assigned, r.epoch = a, a.LeaderEpoch
	if r.err != nil {
		return change, false, answers{}, nil
	}
	if !change.Leading {
		r.leading = false
		p.stateMu.Lock()
		p.state.Resign()
		p.stateMu.Unlock()
		p.watches.wake()
		return change, was, answers{p.acks.all(), protocol.NotLeaderOrFollower}, nil
	}
	if err := p.becomeLeader(a, now); err != nil {
		r.leading = false
		p.watches.wake()
		return change, was, answers{p.acks.all(), protocol.NotLeaderOrFollower}, err
	}
	r.leading = true
	changed = !was || a.LeaderEpoch != before
	if changed {
		p.watches.wake()
	}
	return change, changed, p.advance(0, now), nil
}

// becomeLeader notes the start of a new leader epoch in the log, before anything can be appended.
// roleMu is held.
func (p *Partition) becomeLeader(a *metadata.Partition, now int64) error {
	log := p.role.log
	end := log.LogEndOffset()
	p.stateMu.Lock()
	newEpoch := p.state.Become(p.m.o.NodeID, replica.Assignment{
		Replicas: a.Replicas, ISR: a.ISR, LeaderEpoch: a.LeaderEpoch, PartitionEpoch: a.PartitionEpoch,
	}, end, now)
	p.stateMu.Unlock()
	if !newEpoch {
		return nil
	}
	return log.AssignEpochStart(a.LeaderEpoch, end)
}

// stop ends the service for good: err is the answer to everybody who waits, and to everything from
// now on.
func (p *Partition) stop(err error) {
	p.roleMu.Lock()
	due := answers{p.acks.all(), err}
	if p.role.err == nil {
		p.role.err, p.role.leading = err, false
	}
	if protocol.CodeOf(err) == protocol.KafkaStorageError {
		p.role.log = nil
	}
	p.watches.wake()
	p.roleMu.Unlock()
	due.call()
}

// open gives the partition its log, or the reason why there is none.
func (p *Partition) open(log *storage.Log, err error) {
	p.roleMu.Lock()
	defer p.roleMu.Unlock()
	if err != nil {
		p.role.err = offline(err)
		return
	}
	p.role.log = log
}

// refresh looks again at what the in-sync replicas allow.
func (p *Partition) refresh() {
	p.roleMu.RLock()
	var due answers
	if p.role.leading {
		due = p.advance(0, time.Now().UnixMilli())
	}
	p.roleMu.RUnlock()
	due.call()
}
