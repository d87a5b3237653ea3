package replication

import (
	"time"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
	"github.com/ottla/ottla/storage"
)

// StartVerification is asked before a transactional batch is appended: see storage.Log. With
// anything but NoGuard the transaction's coordinator has to be asked, and the guard given to Append.
// NOT_LEADER_OR_FOLLOWER where this broker does not lead.
func (p *Partition) StartVerification(producerID int64, epoch int16, sequence int32, v2 bool) (storage.Guard, error) {
	log, _, _, err := p.leading(AnyEpoch)
	if err != nil {
		return storage.NoGuard, err
	}
	return log.StartVerification(producerID, epoch, sequence, v2, time.Now().UnixMilli())
}

// AppendMarker appends a marker, on behalf of the transaction's coordinator. leaderEpoch may be
// AnyEpoch. Errors are those of Append with acks −1, and INVALID_PRODUCER_EPOCH or
// TRANSACTION_COORDINATOR_FENCED for a coordinator that was superseded. It counts when
// OnHighWatermark(AwaitOffset) calls back.
func (p *Partition) AppendMarker(m storage.Marker, leaderEpoch int32) (AppendResult, error) {
	r, due, err := p.appendMarker(m, leaderEpoch, time.Now().UnixMilli())
	due.call()
	return r, err
}

func (p *Partition) appendMarker(m storage.Marker, leaderEpoch int32, now int64) (r AppendResult, due answers, err error) {
	p.roleMu.RLock()
	defer p.roleMu.RUnlock()
	log, err := p.lead(leaderEpoch)
	if err != nil {
		return r, due, err
	}
	if !p.enough() {
		return r, due, protocol.NotEnoughReplicas
	}
	o := record.NewOptions()
	o.ProducerID, o.ProducerEpoch = m.ProducerID, m.Epoch
	if p.rules.Load().config.MessageTimestampType == storage.LogAppendTime {
		o.TimestampType, o.AppendTime = record.LogAppendTime, now
	}
	kind := record.Abort
	if m.Commit {
		kind = record.Commit
	}
	info, err := log.AppendMarker(record.NewMarker(o, now, kind, m.CoordinatorEpoch), p.role.epoch, m.TransactionVersion, now)
	if err != nil {
		return r, due, err
	}
	r, due = p.appended(log, info, now)
	return r, due, nil
}
