package txn

import (
	"github.com/ottla/ottla/protocol"
)

// Store is all transactions of one partition of __transaction_state.
type Store struct {
	byID map[string]*Transaction
	open int // in state Ongoing
}

// NewStore is an empty one.
func NewStore() *Store { return &Store{byID: map[string]*Transaction{}} }

// Apply takes over a record.
func (s *Store) Apply(r Record) {
	if before := s.byID[r.ID]; before != nil && before.State == Ongoing {
		s.open--
	}
	if r.Transaction == nil {
		delete(s.byID, r.ID)
		return
	}
	if r.Transaction.State == Ongoing {
		s.open++
	}
	s.byID[r.ID] = r.Transaction
}

// Get is a transaction, nil if there is none of that id.
func (s *Store) Get(id string) *Transaction { return s.byID[id] }

// Open is how many transactions are Ongoing.
func (s *Store) Open() int { return s.open }

// Len is how many transactional ids are known.
func (s *Store) Len() int { return len(s.byID) }

// All iterates over the transactions in no order.
func (s *Store) All(yield func(*Transaction) bool) {
	for _, t := range s.byID {
		if !yield(t) {
			return
		}
	}
}

// Call is the circumstances of a decision.
type Call struct {
	NowMs int64
	// Level is the cluster's finalised transaction.version.
	Level int16
	// FreshID is a producer id that nobody has, NoProducerID if there is none at hand.
	FreshID int64
}

// Decision is the answer to a request and what is to be logged before it is given.
type Decision struct {
	Code protocol.ErrorCode
	// ProducerID and Epoch are what the producer goes on with; NoProducerID and NoEpoch with an error.
	ProducerID int64
	Epoch      int16
	// Next is the transaction's next state; nil if nothing changes. If it is Prepared, markers are due.
	Next *Transaction
	// NeedsID says that nothing was decided, for want of a producer id: call again with one.
	NeedsID bool
}

func refuse(code protocol.ErrorCode) Decision {
	return Decision{Code: code, ProducerID: NoProducerID, Epoch: NoEpoch}
}

func needsID() Decision {
	d := refuse(protocol.None)
	d.NeedsID = true
	return d
}
