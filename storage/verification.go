package storage

import (
	"fmt"
	"math"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

// Guard says that somebody asked a producer's transaction coordinator about its batch
// (KIP-890). It is good until the transaction has begun in this log or a marker came,
// so that a batch that was held up cannot open a transaction after its end.
type Guard uint64

const (
	// NoGuard is that of a batch whose transaction is open in this log already.
	NoGuard Guard = 0
	// Unverified lets any transactional batch in: transaction.partition.verification.enable
	// is false.
	Unverified Guard = math.MaxUint64
)

// verification is what is known of a producer whose coordinator is being asked.
type verification struct {
	guard          Guard
	since          int64 // ms
	lowestSequence int32 // of the batches that wait; those sent again come in any order
	epoch          int16
	v2             bool // a client of transaction.version 2
}

// verifications are the producers whose transaction is about to begin in a log; changed
// under the log's lock.
type verifications struct {
	byID map[int64]*verification
	last Guard
}

func (vs *verifications) start(id int64, epoch int16, sequence int32, v2 bool, nowMs int64) Guard {
	v := vs.byID[id]
	switch {
	case v == nil:
		vs.last++
		v = &verification{guard: vs.last, since: nowMs, lowestSequence: sequence, epoch: epoch, v2: v2}
		if vs.byID == nil {
			vs.byID = map[int64]*verification{}
		}
		vs.byID[id] = v
	case epoch > v.epoch:
		v.epoch, v.lowestSequence = epoch, sequence
	case epoch == v.epoch:
		v.lowestSequence = min(v.lowestSequence, sequence)
	}
	return v.guard
}

// passed forgets what a transactional batch that was appended settles. The marker that
// ends one transaction of version 2 carries the epoch in which the next one begins,
// which may be asked about already.
func (vs *verifications) passed(b record.Batch) {
	v := vs.byID[b.ProducerID()]
	if v == nil || v.v2 && b.IsControl() && b.ProducerEpoch() == v.epoch {
		return
	}
	vs.forget(func(id int64, _ *verification) bool { return id == b.ProducerID() })
}

func (vs *verifications) expire(nowMs, expireMs int64) {
	vs.forget(func(_ int64, v *verification) bool { return expireMs > 0 && nowMs-v.since >= expireMs })
}

func (vs *verifications) forget(which func(int64, *verification) bool) {
	for id, v := range vs.byID {
		if which(id, v) {
			delete(vs.byID, id)
		}
	}
	if len(vs.byID) == 0 {
		vs.byID = nil
	}
}

// StartVerification is called before a transactional batch is appended. It says NoGuard
// if the producer's transaction is open in this log under that epoch; otherwise the
// coordinator has to be asked, and the guard shown to AppendVerified. sequence is the
// batch's first, −1 if it has none; v2 says that the client's transactions are of
// transaction.version 2. INVALID_PRODUCER_EPOCH for an epoch below the one known.
func (l *Log) StartVerification(id int64, epoch int16, sequence int32, v2 bool, nowMs int64) (Guard, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.producers.byID[id]; p != nil {
		switch {
		case epoch < p.epoch:
			return NoGuard, olderEpoch(id, epoch, p.epoch)
		case epoch == p.epoch && p.txnFirstOffset >= 0:
			return NoGuard, nil
		}
	}
	return l.verifying.start(id, epoch, sequence, v2, nowMs), nil
}

func olderEpoch(id int64, epoch, known int16) error {
	return &protocol.Fault{Code: protocol.InvalidProducerEpoch, Message: fmt.Sprintf(
		"epoch %d of producer %d, the log has %d", epoch, id, known)}
}

// checkGuard refuses a batch that would begin a transaction nobody asked the coordinator
// about.
func (u *producerUpdate) checkGuard(epoch int16, g Guard) error {
	p := &u.state
	if g == Unverified || epoch == p.epoch && p.txnFirstOffset >= 0 {
		return nil
	}
	if g != NoGuard && u.verifying != nil && u.verifying.guard == g {
		return nil
	}
	return &protocol.Fault{Code: protocol.InvalidTxnState, Message: fmt.Sprintf(
		"the batch of producer %d is not part of a transaction that is open here", p.id)}
}
