package broker

import (
	"context"
	"net/netip"
	"sync"
)

// limits counts connections: all, by listener and by address. A listener that is full does not
// accept until one leaves; a connection too many from one address is accepted and closed, as
// Kafka does.
type limits struct {
	max, maxPerIP int // 0: no limit
	overrides     map[netip.Addr]int

	mu         sync.Mutex
	total      int
	byListener map[string]int
	byIP       map[netip.Addr]int
	left       chan struct{} // closed and replaced when a connection leaves
}

func newLimits(o Options) *limits {
	return &limits{
		max: o.MaxConnections, maxPerIP: o.MaxConnectionsPerIP, overrides: o.PerIPOverrides,
		byListener: make(map[string]int),
		byIP:       make(map[netip.Addr]int),
		left:       make(chan struct{}),
	}
}

// waitForRoom waits until one more connection may be accepted; false when ctx ended.
func (l *limits) waitForRoom(ctx context.Context, listener string, listenerMax int) bool {
	for {
		l.mu.Lock()
		full := l.max > 0 && l.total >= l.max || listenerMax > 0 && l.byListener[listener] >= listenerMax
		left := l.left
		l.mu.Unlock()
		if !full {
			return ctx.Err() == nil
		}
		select {
		case <-left:
		case <-ctx.Done():
			return false
		}
	}
}

// enter counts a connection, unless its address has too many.
func (l *limits) enter(listener string, ip netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit, own := l.overrides[ip]
	if !own {
		limit = l.maxPerIP
	}
	if (own || limit > 0) && l.byIP[ip] >= limit {
		return false
	}
	l.total++
	l.byListener[listener]++
	l.byIP[ip]++
	return true
}

func (l *limits) leave(listener string, ip netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	l.byListener[listener]--
	if l.byIP[ip]--; l.byIP[ip] == 0 {
		delete(l.byIP, ip)
	}
	close(l.left)
	l.left = make(chan struct{})
}
