// Package txn holds the rules of transactions as Apache Kafka 4.4's coordinator has them (KIP-98, 360, 447, 890): what
// may follow what, which epochs are fenced, and what is written to __transaction_state. State changes through Apply
// only. Nothing here starts a goroutine, takes a lock or asks the time.
//
// A decision looks at one transactional id and gives back an answer and, if something changes, the next state of
// the transaction, which is one record. Transactions are never changed in place: the next state is another value,
// so that whoever sends a transaction's markers can hold on to the one he began with.
package txn

// State of a transaction. The values are those of the log.
type State int8

const (
	Empty State = iota
	Ongoing
	PrepareCommit
	PrepareAbort
	CompleteCommit
	CompleteAbort
	Dead // expired; never in the log, which has a tombstone instead
)

var stateNames = [...]string{"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead"}

func (s State) String() string { return stateNames[s] }

// fenceState is what Kafka calls the moment between a fencing decision and its record. It exists in filters only.
const fenceState = "PrepareEpochFence"

// stateOf finds a state by its name; the name may be one that no transaction ever shows.
func stateOf(name string) (State, bool) {
	for i, n := range stateNames {
		if n == name {
			return State(i), true
		}
	}
	return Dead, name == fenceState
}

// Prepared says that the end is decided and markers are on their way.
func (s State) Prepared() bool { return s == PrepareCommit || s == PrepareAbort }

// idle says that no transaction is open.
func (s State) idle() bool { return s == Empty || s == CompleteCommit || s == CompleteAbort }

// follows says whether a transaction in state s may come to be in state next. From an idle state a producer of version 2
// may abort the transaction that it has not begun.
func (s State) follows(next State) bool {
	switch next {
	case Empty:
		return s.idle()
	case Ongoing:
		return s == Ongoing || s.idle()
	case PrepareCommit:
		return s == Ongoing
	case PrepareAbort:
		return s == Ongoing || s.idle()
	case CompleteCommit:
		return s == PrepareCommit
	case CompleteAbort:
		return s == PrepareAbort
	}
	return false
}
