package rsm

import (
	"context"
	"time"
)

// Shard is one replicated state machine on this node. All methods are safe for concurrent use.
type Shard[M Machine[R], R any] struct{ o Options[M, R] }

// NewShard makes an inactive shard.
func NewShard[M Machine[R], R any](o Options[M, R]) *Shard[M, R] { return &Shard[M, R]{o: o} }

// Load builds the machine from the log and then serves operations under the epoch. An epoch that is not newer
// than that of the current or running load is ignored. Returns at once.
func (s *Shard[M, R]) Load(epoch int32) { panic("not yet") }

// Unload drops the machine; queued and waiting operations are answered ErrNotActive. An epoch older than the
// shard's is ignored. Returns at once.
func (s *Shard[M, R]) Unload(epoch int32) { panic("not yet") }

// Close answers everything with ErrClosed, for good, and waits for a running load or turn.
func (s *Shard[M, R]) Close() { panic("not yet") }

// State is where the shard is now, and under which epoch.
func (s *Shard[M, R]) State() (State, int32) { panic("not yet") }

// Submit queues an operation and returns at once. If it can never be decided, never is called instead, with
// ErrLoading, ErrNotActive or ErrClosed (possibly before Submit returns).
func (s *Shard[M, R]) Submit(decide func(m M, now time.Time) Outcome[R], never func(error)) {
	panic("not yet")
}

// Do decides an operation, on the calling goroutine if the shard is idle, and returns its reply when it is
// committed. The reply is returned with the error too. When ctx ends first the operation goes on without its caller.
// The caller must hold no lock that a Then or Apply takes.
func Do[T any, M Machine[R], R any](ctx context.Context, s *Shard[M, R], decide func(m M, now time.Time) (T, Outcome[R])) (T, error) {
	panic("not yet")
}

// Timers is the heap of all timers of a service: one lock, one runtime timer.
type Timers struct{}

// NewTimers makes an empty heap. It costs nothing while empty.
func NewTimers() *Timers { return &Timers{} }

// Stop ends the runtime timer; nothing falls due any more.
func (t *Timers) Stop() {}
