package txn

import (
	"github.com/ottla/ottla/protocol"
)

// Adding is a request to make partitions part of a transaction.
type Adding struct {
	ID         string
	ProducerID int64
	Epoch      int16
	Partitions []protocol.TopicPartition
	// ClientVersion is the transaction.version that the client works by.
	ClientVersion int16
}

// checkProducer says why a producer has nothing to say about the partitions of a transaction.
func (s *Store) checkProducer(a *Adding) (*Transaction, protocol.ErrorCode) {
	t := s.byID[a.ID]
	switch {
	case t == nil || t.ProducerID != a.ProducerID:
		return nil, protocol.InvalidProducerIDMapping
	case t.Epoch != a.Epoch:
		return nil, protocol.ProducerFenced
	case t.State.Prepared():
		return nil, protocol.ConcurrentTransactions
	}
	return t, protocol.None
}

// Add decides an AddPartitionsToTxn or AddOffsetsToTxn request. The first begins the transaction.
func (s *Store) Add(c Call, a *Adding) Decision {
	t, code := s.checkProducer(a)
	switch {
	case code != protocol.None:
		return refuse(code)
	case t.State == Ongoing && t.has(a.Partitions):
		return Decision{ProducerID: t.ProducerID, Epoch: t.Epoch}
	}
	n := t.next(Ongoing, c.NowMs)
	if t.State.idle() {
		n.StartMs = c.NowMs
	}
	n.Partitions, n.ClientVersion = t.with(a.Partitions), a.ClientVersion
	return Decision{ProducerID: n.ProducerID, Epoch: n.Epoch, Next: n}
}

// Verify says which of the partitions are not part of the transaction, or why that cannot be told. Those that are not
// are TRANSACTION_ABORTABLE.
func (s *Store) Verify(a *Adding) (missing []protocol.TopicPartition, code protocol.ErrorCode) {
	t, code := s.checkProducer(a)
	if code != protocol.None {
		return nil, code
	}
	for _, tp := range a.Partitions {
		if !t.has([]protocol.TopicPartition{tp}) {
			missing = append(missing, tp)
		}
	}
	return missing, protocol.None
}
