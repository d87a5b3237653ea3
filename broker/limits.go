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
	mu         sync.Mutex
	rules      Limits
	total      int
	byListener map[string]int
	byIP       map[netip.Addr]int
	changed    chan struct{} // closed and replaced when a connection leaves or the rules change
}

// Limits are how many connections there may be. They can be changed while the server runs; a
// connection that is there stays.
type Limits struct {
	Connections int                // max.connections; negative: no limit
	PerIP       int                // max.connections.per.ip; negative: no limit
	Overrides   map[netip.Addr]int // max.connections.per.ip.overrides
}

func newLimits(rules Limits) *limits {
	return &limits{rules: rules, byListener: make(map[string]int), byIP: make(map[netip.Addr]int), changed: make(chan struct{})}
}

func (l *limits) set(rules Limits) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rules = rules
	l.signal()
}

// signal wakes the listeners that are full. The lock is held.
func (l *limits) signal() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// waitForRoom waits until one more connection may be accepted; false when ctx ended.
func (l *limits) waitForRoom(ctx context.Context, listener string, listenerMax int) bool {
	for {
		l.mu.Lock()
		limit := l.rules.Connections
		full := limit >= 0 && l.total >= limit || listenerMax > 0 && l.byListener[listener] >= listenerMax
		changed := l.changed
		l.mu.Unlock()
		if !full {
			return ctx.Err() == nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// enter counts a connection, unless its address has too many.
func (l *limits) enter(listener string, ip netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	limit, own := l.rules.Overrides[ip]
	if !own {
		limit = l.rules.PerIP
	}
	if limit >= 0 && l.byIP[ip] >= limit {
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
	l.signal()
}
