package txn

import (
	"math"
	"slices"

	"github.com/ottla/ottla/protocol"
)

// What stands for nothing.
const (
	NoProducerID int64 = -1
	NoEpoch      int16 = -1
	NoTime       int64 = -1
)

const (
	// maxEpoch is only ever reached by the markers of the last transaction of a producer id.
	maxEpoch = math.MaxInt16
	// lastEpoch is the last one that a producer works under.
	lastEpoch = maxEpoch - 1
)

// Versions of transactions (transaction.version).
const (
	flexibleVersion int16 = 1 // records with tagged fields
	bumpingVersion  int16 = 2 // every transaction has an epoch of its own
)

// neverTimesOut is the timeout of transactions that something else coordinates (KIP-939).
const neverTimesOut = math.MaxInt32

// Transaction is what is known of one transactional id. It is never changed.
type Transaction struct {
	ID         string
	ProducerID int64
	Epoch      int16
	// LastEpoch is the epoch before the current one, by which a request sent again is known. It is not logged:
	// NoEpoch after a load.
	LastEpoch int16
	// PreviousProducerID is the id before the transition that led here: the same, but after the epochs of one ran out.
	PreviousProducerID int64
	// NextProducerID is the id that the transaction completes with when the epochs have run out; NoProducerID otherwise.
	NextProducerID int64
	TimeoutMs      int32
	State          State
	Partitions     []protocol.TopicPartition // in order; nil once completed
	StartMs        int64                     // NoTime if no transaction was begun yet
	UpdateMs       int64
	// ClientVersion is the transaction.version that the client works by, which its markers follow.
	ClientVersion int16
}

// Commits says how a transaction that is Prepared ends.
func (t *Transaction) Commits() bool { return t.State == PrepareCommit }

// has says whether all of these are in the transaction.
func (t *Transaction) has(tps []protocol.TopicPartition) bool {
	for _, tp := range tps {
		if _, found := slices.BinarySearchFunc(t.Partitions, tp, protocol.TopicPartition.Compare); !found {
			return false
		}
	}
	return true
}

// with is the partitions of the transaction and these.
func (t *Transaction) with(tps []protocol.TopicPartition) []protocol.TopicPartition {
	all := make([]protocol.TopicPartition, 0, len(t.Partitions)+len(tps))
	all = append(append(all, t.Partitions...), tps...)
	slices.SortFunc(all, protocol.TopicPartition.Compare)
	return slices.Compact(all)
}

// exhausted says that the producer id cannot be given another epoch.
func (t *Transaction) exhausted() bool { return t.Epoch >= lastEpoch }

// next is the transaction as it is, in another state.
func (t *Transaction) next(s State, nowMs int64) *Transaction {
	if !t.State.follows(s) {
		panic("BUG: transaction " + t.ID + " goes from " + t.State.String() + " to " + s.String())
	}
	n := *t
	n.State, n.UpdateMs, n.PreviousProducerID = s, nowMs, t.ProducerID
	return &n
}

// after is the producer id and epoch that a Prepared transaction completes with.
func (t *Transaction) after() (int64, int16) {
	if t.ClientVersion >= bumpingVersion && t.NextProducerID != NoProducerID {
		return t.NextProducerID, 0
	}
	return t.ProducerID, t.Epoch
}

// TimedOut says whether the transaction has been open for longer than its timeout.
func (t *Transaction) TimedOut(nowMs int64) bool {
	return t.State == Ongoing && t.TimeoutMs != neverTimesOut && t.StartMs+int64(t.TimeoutMs) < nowMs
}

// Expired says whether nothing has happened for so long that the id is forgotten.
func (t *Transaction) Expired(nowMs, afterMs int64) bool {
	return t.State.idle() && t.UpdateMs <= nowMs-afterMs
}
