package rsm

import (
	"context"
	"time"
)

// Submit queues an operation and returns at once. If it can never be decided, never is called instead, with
// ErrLoading, ErrNotActive or ErrClosed (possibly before Submit returns).
func (s *Shard[M, R]) Submit(decide func(m M, now time.Time) Outcome[R], never func(error)) {
	if v := s.enqueue(operation[M, R]{decide, never}); v != nil {
		go v.run()
	}
}

// enqueue returns the life whose turn the caller has to run, if nobody does.
func (s *Shard[M, R]) enqueue(op operation[M, R]) *life[M, R] {
	s.mu.Lock()
	v := s.life
	if v == nil {
		err := s.stateErrorLocked()
		s.mu.Unlock()
		op.never(err)
		return nil
	}
	v.queue = append(v.queue, op)
	if v.running {
		v = nil
	} else {
		v.running = true
	}
	s.mu.Unlock()
	return v
}

// Do decides an operation, on the calling goroutine if the shard is idle, and returns its reply when it is
// committed. The reply is returned with an error of the outcome too. When ctx ends first the operation goes on
// without its caller. The caller must hold no lock that a Then or Apply takes.
func Do[T any, M Machine[R], R any](ctx context.Context, s *Shard[M, R], decide func(m M, now time.Time) (T, Outcome[R])) (T, error) {
	type result struct {
		reply T
		err   error
	}
	answer := make(chan result, 1)
	give := func(r result) {
		select {
		case answer <- r:
		default: // answered already: the rules panicked after their reply
		}
	}
	v := s.enqueue(operation[M, R]{
		decide: func(m M, now time.Time) Outcome[R] {
			reply, out := decide(m, now)
			then := out.Then
			out.Then = func(err error) {
				if then != nil {
					then(err)
				}
				give(result{reply, err})
			}
			return out
		},
		never: func(err error) { give(result{err: err}) },
	})
	// One turn is ours to run, it holds our operation; what came meanwhile is somebody else's.
	if v != nil && v.turn() {
		go v.run()
	}
	select {
	case r := <-answer:
		return r.reply, r.err
	default:
	}
	select {
	case r := <-answer:
		return r.reply, r.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
