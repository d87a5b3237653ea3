package txn

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// expectVersion is the version of InitProducerId from which a producer says what it has.
const expectVersion = 3

// CheckInit refuses what no state of the transaction could make right: INVALID_REQUEST, INVALID_TRANSACTION_TIMEOUT.
func CheckInit(req *kmsg.InitProducerIDRequest, maxTimeoutMs int32) protocol.ErrorCode {
	switch {
	case *req.TransactionalID == "":
		return protocol.InvalidRequest
	case req.TransactionTimeoutMillis <= 0 || req.TransactionTimeoutMillis > maxTimeoutMs:
		return protocol.InvalidTransactionTimeout
	}
	return protocol.None
}

// Init decides an InitProducerId request with a transactional id, which must have passed CheckInit. A transaction that
// is open is aborted, and the producer told to come again: CONCURRENT_TRANSACTIONS.
func (s *Store) Init(c Call, req *kmsg.InitProducerIDRequest) Decision {
	id, timeout := *req.TransactionalID, req.TransactionTimeoutMillis
	expects := req.Version >= expectVersion && req.ProducerID != NoProducerID
	t := s.byID[id]
	switch {
	case t == nil && c.FreshID == NoProducerID:
		return needsID()
	case t == nil:
		return initialized(&Transaction{
			ID: id, ProducerID: c.FreshID, Epoch: 0, LastEpoch: NoEpoch, PreviousProducerID: c.FreshID, NextProducerID: NoProducerID,
			TimeoutMs: timeout, State: Empty, StartMs: NoTime, UpdateMs: c.NowMs,
		})
	case expects && !t.knows(req.ProducerID, req.ProducerEpoch):
		return refuse(protocol.ProducerFenced)
	case t.State.Prepared():
		return refuse(protocol.ConcurrentTransactions)
	case t.State == Ongoing:
		d := t.fence(c)
		if !d.NeedsID {
			d.Code, d.ProducerID, d.Epoch = protocol.ConcurrentTransactions, NoProducerID, NoEpoch
		}
		return d
	}
	n := t.next(Empty, c.NowMs)
	n.TimeoutMs, n.Partitions, n.StartMs = timeout, nil, NoTime
	return n.renew(c, t, expects, req.ProducerEpoch)
}

// knows says whether a producer could have been given this id: the current one, or the one whose epochs ran out before.
func (t *Transaction) knows(id int64, epoch int16) bool {
	return id == t.ProducerID || id == t.PreviousProducerID && epoch >= lastEpoch
}

// renew gives n, which follows t, its producer id and epoch.
func (n *Transaction) renew(c Call, t *Transaction, expects bool, epoch int16) Decision {
	switch {
	case t.exhausted() && (!expects || epoch == t.Epoch):
		if c.FreshID == NoProducerID {
			return needsID()
		}
		n.ProducerID, n.Epoch, n.LastEpoch = c.FreshID, 0, NoEpoch
		if expects {
			n.LastEpoch = t.Epoch
		}
	case t.exhausted():
		return refuse(protocol.UnknownServerError) // as Kafka has it
	case !expects:
		n.Epoch, n.LastEpoch = t.Epoch+1, NoEpoch
	case epoch == t.Epoch:
		n.Epoch, n.LastEpoch = t.Epoch+1, t.Epoch
	case epoch != t.LastEpoch:
		return refuse(protocol.ProducerFenced)
	}
	return initialized(n)
}

func initialized(n *Transaction) Decision {
	return Decision{ProducerID: n.ProducerID, Epoch: n.Epoch, Next: n}
}
