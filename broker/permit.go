package broker

import (
	"context"
	"slices"
	"sync"
)

// permits bounds the bytes of requests that are being read or handled (queued.max.request.bytes).
// As in Kafka a request is admitted while anything is left, whatever its size, so the bound
// can be passed by one request; waiters are admitted in order of arrival. A nil *permits admits all.
type permits struct {
	mu      sync.Mutex
	free    int64
	waiting []*permitWaiter // oldest first
}

type permitWaiter struct {
	n        int64
	admitted chan struct{} // closed once n was taken off free
}

func newPermits(limit int64) *permits {
	if limit <= 0 {
		return nil
	}
	return &permits{free: limit}
}

// acquire waits until a request of n bytes is admitted, or ctx ends.
func (p *permits) acquire(ctx context.Context, n int) error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	if p.free > 0 {
		p.free -= int64(n)
		p.mu.Unlock()
		return nil
	}
	w := &permitWaiter{n: int64(n), admitted: make(chan struct{})}
	p.waiting = append(p.waiting, w)
	p.mu.Unlock()
	select {
	case <-w.admitted:
		return nil
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		if i := slices.Index(p.waiting, w); i >= 0 {
			p.waiting = slices.Delete(p.waiting, i, i+1)
		} else {
			p.give(w.n)
		}
		return context.Cause(ctx)
	}
}

// release gives back what acquire took.
func (p *permits) release(n int) {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.give(int64(n))
	p.mu.Unlock()
}

// give adds n and admits whom that makes room for. The lock is held. Nobody waits while
// something is free.
func (p *permits) give(n int64) {
	p.free += n
	for p.free > 0 && len(p.waiting) > 0 {
		w := p.waiting[0]
		p.waiting = p.waiting[1:]
		p.free -= w.n
		close(w.admitted)
	}
}
