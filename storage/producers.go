package storage

import (
	"cmp"
	"math"
	"slices"
	"sync"

	"github.com/ottla/ottla/protocol/record"
)

// producers is the producer state of a log at offset end: who wrote last what, and
// which transactions hold back the last stable offset. Appends change it under the
// log's lock and mu; readers take mu only.
type producers struct {
	mu   sync.Mutex
	byID map[int64]*producer
	open []txn // by first offset
	done []txn // ended, their marker not yet below the high watermark; by first offset
	end  int64 // state after everything below this offset
}

// begin starts an update of one producer.
func (ps *producers) begin(id int64) producerUpdate {
	if p, ok := ps.byID[id]; ok {
		return producerUpdate{state: *p}
	}
	return producerUpdate{state: newProducer(id)}
}

// duplicate finds the earlier copy of a client's batch.
func (ps *producers) duplicate(b record.Batch) *sentBatch {
	if p, ok := ps.byID[b.ProducerID()]; ok {
		return p.duplicate(b)
	}
	return nil
}

// apply makes an update visible.
func (ps *producers) apply(u *producerUpdate) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.byID == nil {
		ps.byID = map[int64]*producer{}
	}
	if p, ok := ps.byID[u.state.id]; ok {
		*p = u.state
	} else {
		p := u.state
		ps.byID[p.id] = &p
	}
	if u.started {
		ps.open = insertTxn(ps.open, txn{producerID: u.state.id, firstOffset: u.state.txnFirstOffset, lastOffset: noOffset})
	}
}

func insertTxn(list []txn, t txn) []txn {
	i, _ := slices.BinarySearchFunc(list, t.firstOffset, func(e txn, o int64) int { return cmp.Compare(e.firstOffset, o) })
	return slices.Insert(list, i, t)
}

// stableAfter is the last stable offset at the moment a transaction ends: the next
// open one's first offset, else what follows the marker.
func (ps *producers) stableAfter(t txn) int64 {
	for i := range ps.open {
		if ps.open[i].producerID != t.producerID {
			return ps.open[i].firstOffset
		}
	}
	return t.lastOffset + 1
}

// complete moves an ended transaction to those that wait for the high watermark.
func (ps *producers) complete(t txn) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.open = slices.DeleteFunc(ps.open, func(o txn) bool { return o.firstOffset == t.firstOffset })
	ps.done = insertTxn(ps.done, t)
}

// passed forgets the ended transactions below the high watermark.
func (ps *producers) passed(highWatermark int64) {
	if len(ps.done) > 0 {
		ps.done = slices.DeleteFunc(ps.done, func(t txn) bool { return t.lastOffset < highWatermark })
	}
}

// firstUnstable is the first offset whose fate is open; MaxInt64 if none is.
func (ps *producers) firstUnstable() int64 {
	first := int64(math.MaxInt64)
	if len(ps.open) > 0 {
		first = ps.open[0].firstOffset
	}
	if len(ps.done) > 0 {
		first = min(first, ps.done[0].firstOffset)
	}
	return first
}

// raiseStart forgets transactions that began below the log start: their data is gone.
func (ps *producers) raiseStart(logStart int64) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	below := func(t txn) bool { return t.lastOffset >= 0 && t.lastOffset < logStart }
	ps.done = slices.DeleteFunc(ps.done, below)
}

// reset empties the state; it is then that at offset end.
func (ps *producers) reset(end int64) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.byID, ps.open, ps.done, ps.end = nil, nil, nil, end
}

// load takes the state of a snapshot, leaving out who expired.
func (ps *producers) load(list []producer, end, nowMs, expireMs int64) {
	ps.reset(end)
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for i := range list {
		p := list[i]
		if p.expired(nowMs, expireMs) {
			continue
		}
		if ps.byID == nil {
			ps.byID = make(map[int64]*producer, len(list))
		}
		ps.byID[p.id] = &p
		if p.txnFirstOffset >= 0 {
			ps.open = insertTxn(ps.open, txn{producerID: p.id, firstOffset: p.txnFirstOffset, lastOffset: noOffset})
		}
	}
}

func (p *producer) expired(nowMs, expireMs int64) bool {
	return expireMs > 0 && p.txnFirstOffset < 0 && nowMs-p.lastTimestamp >= expireMs
}

// expire forgets producers without an open transaction that wrote nothing for long.
func (ps *producers) expire(nowMs, expireMs int64) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	for id, p := range ps.byID {
		if p.expired(nowMs, expireMs) {
			delete(ps.byID, id)
		}
	}
	if len(ps.byID) == 0 {
		ps.byID = nil
	}
}

func (ps *producers) snapshot() []byte {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return encodeSnapshot(ps.byID)
}

func (ps *producers) list() []ProducerState {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	list := make([]ProducerState, 0, len(ps.byID))
	for _, p := range ps.byID {
		list = append(list, ProducerState{
			ProducerID: p.id, Epoch: p.epoch, LastSequence: p.lastSequence(), LastTimestamp: p.lastTimestamp,
			CoordinatorEpoch: p.coordinatorEpoch, CurrentTxnStartOffset: p.txnFirstOffset,
		})
	}
	slices.SortFunc(list, func(a, b ProducerState) int { return cmp.Compare(a.ProducerID, b.ProducerID) })
	return list
}
