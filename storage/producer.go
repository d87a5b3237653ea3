package storage

import (
	"fmt"
	"math"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

// batchesKept is how many of a producer's last batches are remembered to recognise
// them when they are sent again: as many as a client may have in flight.
const batchesKept = 5

const (
	noSequence = record.NoSequence
	noEpoch    = record.NoProducerEpoch
	noOffset   = -1
)

// sentBatch is what is remembered of one batch of a producer.
type sentBatch struct {
	lastSequence int32
	offsetDelta  int32 // last offset - first offset
	lastOffset   int64
	timestamp    int64
}

func (b *sentBatch) firstSequence() int32 {
	// Sequences wrap from 2^31-1 to 0.
	return int32((uint32(b.lastSequence) - uint32(b.offsetDelta)) & math.MaxInt32)
}

func (b *sentBatch) firstOffset() int64 { return b.lastOffset - int64(b.offsetDelta) }

// producer is the state of one producer id in one log.
type producer struct {
	id               int64
	epoch            int16
	kept             uint8
	coordinatorEpoch int32
	lastTimestamp    int64
	txnFirstOffset   int64 // of the open transaction, -1 if none
	batches          [batchesKept]sentBatch
}

func newProducer(id int64) producer {
	return producer{id: id, epoch: noEpoch, coordinatorEpoch: -1, lastTimestamp: -1, txnFirstOffset: noOffset}
}

// last is the newest batch kept, nil if none.
func (p *producer) last() *sentBatch {
	if p.kept == 0 {
		return nil
	}
	return &p.batches[p.kept-1]
}

func (p *producer) lastSequence() int32 {
	if b := p.last(); b != nil {
		return b.lastSequence
	}
	return noSequence
}

// setEpoch moves to another epoch, whose batches are new ones.
func (p *producer) setEpoch(epoch int16) {
	if p.epoch != epoch {
		p.epoch = epoch
		p.kept = 0
	}
}

func (p *producer) add(b sentBatch) {
	if p.kept == batchesKept {
		copy(p.batches[:], p.batches[1:])
		p.kept--
	}
	p.batches[p.kept] = b
	p.kept++
	p.lastTimestamp = b.timestamp
}

// duplicate finds the earlier copy of a batch.
func (p *producer) duplicate(b record.Batch) *sentBatch {
	if p.epoch != b.ProducerEpoch() {
		return nil
	}
	first, last := b.BaseSequence(), b.LastSequence()
	for i := range p.batches[:p.kept] {
		if k := &p.batches[i]; k.lastSequence == last && k.firstSequence() == first {
			return k
		}
	}
	return nil
}

// marker is the content of an ABORT or COMMIT control batch.
type marker struct {
	abort            bool
	coordinatorEpoch int32
	timestamp        int64
}

// txn is a transaction as far as one log knows it.
type txn struct {
	producerID  int64
	firstOffset int64
	lastOffset  int64 // of the marker; -1 while it is open
	aborted     bool
}

// producerUpdate is what one batch does to its producer: nothing is visible until the
// batch is on disk.
type producerUpdate struct {
	state   producer // as it will be
	changed bool
	started bool // a transaction begins at state.txnFirstOffset
	ended   bool // the transaction txn ends
	txn     txn
	// verifying is what is asked about the producer meanwhile, nil if nothing is.
	verifying *verification
}

// terms are on what terms a batch is appended.
type terms struct {
	origin Origin
	guard  Guard // of transactional data from clients and coordinators
	// transactionVersion is the marker's: from 2 on it has a higher epoch than the data.
	transactionVersion int16
}

// checkEpoch refuses a producer that was replaced by a newer one.
func (u *producerUpdate) checkEpoch(epoch int16, o Origin, beyond bool) error {
	if o == Replication || epoch > u.state.epoch || epoch == u.state.epoch && !beyond {
		return nil
	}
	return olderEpoch(u.state.id, epoch, u.state.epoch)
}

// checkSequence refuses a gap: numbers go up by one, a new epoch begins with 0, an
// unknown producer with anything. A transaction of version 2 always begins with 0 where
// nothing is known, and with the first of the batches that wait to begin it.
func (u *producerUpdate) checkSequence(epoch int16, first int32) error {
	p, v := &u.state, u.verifying
	last := p.lastSequence()
	ok := first == 0
	switch {
	case v != nil && v.v2 && p.kept == 0 && first != 0, v != nil && first > v.lowestSequence:
		ok = false
	case p.epoch == noEpoch:
		ok = true
	case epoch == p.epoch:
		ok = last == noSequence && first == 0 || last != noSequence && first == record.AddSequence(last, 1)
	}
	if ok {
		return nil
	}
	return &protocol.Fault{Code: protocol.OutOfOrderSequenceNumber, Message: fmt.Sprintf(
		"sequence %d (epoch %d) of producer %d after %d (epoch %d)", first, epoch, p.id, last, p.epoch)}
}

// data adds a data batch.
func (u *producerUpdate) data(b record.Batch, t terms) error {
	epoch, o := b.ProducerEpoch(), t.origin
	if err := u.checkEpoch(epoch, o, false); err != nil {
		return err
	}
	if b.IsTransactional() && (o == Client || o == Coordinator) {
		if err := u.checkGuard(epoch, t.guard); err != nil {
			return err
		}
	}
	if o == Client {
		if err := u.checkSequence(epoch, b.BaseSequence()); err != nil {
			return err
		}
	}
	p := &u.state
	if p.txnFirstOffset >= 0 && !b.IsTransactional() && o != Replication {
		return &protocol.Fault{Code: protocol.InvalidTxnState, Message: fmt.Sprintf(
			"producer %d has an open transaction and sent a batch outside of it", p.id)}
	}
	u.changed = true
	p.setEpoch(epoch)
	p.add(sentBatch{
		lastSequence: b.LastSequence(), lastOffset: b.LastOffset(),
		offsetDelta: b.LastOffsetDelta(), timestamp: b.MaxTimestamp(),
	})
	if p.txnFirstOffset < 0 && b.IsTransactional() {
		p.txnFirstOffset = b.BaseOffset()
		u.started = true
	}
	return nil
}

// mark ends the open transaction. Markers of transaction.version 2 carry the bumped
// epoch, so they need one above the producer's.
func (u *producerUpdate) mark(m marker, epoch int16, offset int64, t terms) error {
	p, o := &u.state, t.origin
	beyond := t.transactionVersion >= 2
	if beyond && epoch == p.epoch && (p.txnFirstOffset < 0 || epoch == math.MaxInt16) {
		beyond = false // sent again after it was written, or there is no higher one
	}
	if err := u.checkEpoch(epoch, o, beyond); err != nil {
		return err
	}
	if m.coordinatorEpoch < p.coordinatorEpoch && o != Replication {
		return &protocol.Fault{Code: protocol.TransactionCoordinatorFenced, Message: fmt.Sprintf(
			"coordinator epoch %d for producer %d, the log has %d", m.coordinatorEpoch, p.id, p.coordinatorEpoch)}
	}
	if p.txnFirstOffset >= 0 {
		u.ended = true
		u.txn = txn{producerID: p.id, firstOffset: p.txnFirstOffset, lastOffset: offset, aborted: m.abort}
	}
	u.changed = true
	p.setEpoch(epoch)
	p.coordinatorEpoch = m.coordinatorEpoch
	p.txnFirstOffset = noOffset
	p.lastTimestamp = m.timestamp
	return nil
}
