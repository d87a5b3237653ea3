// Package rsm runs replicated state machines: the controller and the coordinators.
//
// A Shard owns one machine and the log its records go to. Operations are decided one at a time, in the order
// they were submitted. Deciding is pure: it looks at the machine and returns records and a reply. The records
// are applied to the machine at once, appended to the log as one atomic batch together with those of the other
// operations that were already queued, and the reply goes out when the log's committed offset has passed the
// end of that batch. An operation without records answers when everything written before it is committed, so
// nobody is ever told of state that could still vanish.
//
// There is no goroutine per shard: a shard that has nothing to do is a struct. Whoever submits to an idle shard
// runs its turn (Do, on the caller's goroutine) or starts a short-lived goroutine for it (Submit).
//
// Timers are data: an outcome arms or cancels keys, and a key that falls due comes back as an operation. All
// shards of a service share one heap and one runtime timer (Timers).
package rsm

import (
	"context"
	"errors"
	"time"
)

// Errors a shard answers operations with when it cannot run or complete them. Drivers turn them into codes.
var (
	// ErrLoading: the machine is being built from the log.
	ErrLoading = errors.New("rsm: shard is loading")
	// ErrNotActive: this node does not lead the shard, or no longer does, or the shard has failed.
	ErrNotActive = errors.New("rsm: shard is not active here")
	// ErrClosed: the service is shutting down.
	ErrClosed = errors.New("rsm: shard is closed")
	// ErrCommitTimeout: the records are in the log, but were not committed in time. They may be later.
	ErrCommitTimeout = errors.New("rsm: not committed in time")
	// ErrTooLarge: the records of one operation do not fit in one batch. Nothing was applied.
	ErrTooLarge = errors.New("rsm: records of one operation exceed the largest batch")
)

// Machine is the state of one shard: plain data with rules. It is only touched within the shard's turn, so it
// needs no lock.
type Machine[R any] interface {
	// Apply changes the state by one record, live and on load alike. An error means that the record cannot be
	// understood; the shard fails.
	Apply(offset int64, r R) error
	// Expire decides what follows from a timer that fell due. The key is no longer armed.
	Expire(now time.Time, key TimerKey) Outcome[R]
}

// Outcome is what deciding an operation gives back.
type Outcome[R any] struct {
	// Records change the machine. They are one atomic batch, or part of one.
	Records []R
	// Divisible records may be spread over several batches (clean-up work of unbounded size).
	Divisible bool
	// Alone makes the records a batch of their own, appended at once: if the log does not take it, nobody but this
	// operation is affected.
	Alone bool
	// Timers are armed or cancelled as soon as the operation was decided.
	Timers []Timer
	// Err refuses the operation: Records are ignored and Then gets it at once.
	Err error
	// Then is called exactly once: with nil when the records and everything written before them are committed,
	// else with the reason. It must not block and must not call Do; it may call Submit. It may be nil.
	Then func(error)
	// Refused, when set, is called if the log would not take the records and nothing of them was applied. It runs
	// within the shard's turn, may touch the machine, and its outcome is carried out next, before any other
	// operation. Then is called with the error as well.
	Refused func(error) Outcome[R]
}

// Log is where a shard's records go, under the epoch it was loaded with.
type Log[R any] interface {
	// Writable says why an append would be refused now (not the leader under this epoch, too few in-sync
	// replicas), before anything is applied. nil promises nothing.
	Writable(epoch int32) error
	// Append writes the records as one atomic batch whose first record is expected at offset base, and returns
	// the offset behind the last. It need not wait for the commit.
	Append(epoch int32, base int64, records []R) (end int64, err error)
	// OnCommit calls done once, on any goroutine and possibly before it returns: with nil when the committed
	// offset is at or past end, with the reason when it never will be under this leadership.
	OnCommit(end int64, done func(error))
}

// Loader streams the log from its start to its end into apply, with bounded reads, and returns the offset
// behind the last record, where the next append is expected. apply's error ends the load and is returned.
type Loader[R any] func(ctx context.Context, epoch int32, apply func(offset int64, r R) error) (next int64, err error)

// TimerKey names a timer within its shard; what the fields mean is the machine's business.
type TimerKey struct {
	Kind uint8
	A, B string
}

// Timer arms (or re-arms, earlier or later) a key at a time; the zero time cancels it.
type Timer struct {
	Key TimerKey
	At  time.Time
	// Lenient timers watch a peer that must show up in time. If this process was itself held up (stopped, starved),
	// they are put off by as long as it was, so that no peer is expired for the server's own delay.
	Lenient bool
	// IfAbsent leaves a timer alone that is armed already.
	IfAbsent bool
}

// State of a shard.
type State int32

const (
	// Inactive: never loaded, or unloaded.
	Inactive State = iota
	// Loading: the log is being replayed.
	Loading
	// Active: operations are decided.
	Active
	// Failed: something could not be applied or logged; the machine is gone until the next load.
	Failed
	// Closed for good.
	Closed
)

func (s State) String() string {
	return [...]string{"Inactive", "Loading", "Active", "Failed", "Closed"}[s]
}
