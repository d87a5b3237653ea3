package rsm

import (
	"time"

	"go.uber.org/zap"
)

// Options of a shard. New, Load and Log are required.
type Options[M Machine[R], R any] struct {
	// Name for log lines, such as "__consumer_offsets-7".
	Name string
	// New makes the empty machine that a load fills.
	New func() M
	// Load replays the log into it. It runs on its own goroutine, at most one per shard.
	Load Loader[R]
	// Log takes the records.
	Log Log[R]

	// Loaded is the first operation of an active shard: it re-arms timers and may repair. Optional.
	Loaded func(m M, now time.Time) Outcome[R]
	// Unloaded tells the driver that the machine is gone (resigned, failed, closed) so that it answers what it
	// has parked. It is called once per successful load, within the shard's turn, after all operations that were
	// submitted to that machine have been answered. Optional.
	Unloaded func(m M, reason error)
	// Failed reports the reason whenever the shard fails, before a reload is tried. Optional.
	Failed func(epoch int32, err error)

	// Size is the space a record takes in a batch, and MaxBatchBytes the largest batch now; both nil: no limit.
	Size          func(R) int
	MaxBatchBytes func() int
	// MaxBatchRecords bounds the records of one batch; 0: no limit.
	MaxBatchRecords int

	// Timers is the heap shared with the other shards of the service; nil: the machine has no timers and
	// commits do not time out.
	Timers *Timers
	// CommitTimeout is how long an operation waits for its commit before it is answered ErrCommitTimeout; its
	// records stay. 0: for ever.
	CommitTimeout time.Duration
	// ReloadBackoff is the pause before a failed shard is loaded again under the same epoch; it doubles up to
	// sixty-four times itself. 0: it stays failed until the next Load.
	ReloadBackoff time.Duration
	// LoadSlots bounds how many shards of a service load at a time; nil: no bound.
	LoadSlots chan struct{}

	Logger *zap.Logger
}
