package replication

import (
	"slices"
	"sync"
	"sync/atomic"
)

// Ticket names a callback that waits for the high watermark, so that it can be taken back.
type Ticket uint64

// ackQueue holds the callbacks of produce requests that wait for the high watermark, lowest offset
// first. No goroutine and no timer belongs to a waiter.
type ackQueue struct {
	count atomic.Int32 // len(queue), to pass by without the lock
	mu    sync.Mutex
	last  Ticket
	queue []ack
}

type ack struct {
	offset int64
	ticket Ticket
	done   func(error)
}

// answers are callbacks that were taken from the queue, to be called without any lock.
type answers struct {
	due []ack
	err error
}

func (a answers) call() {
	for i := range a.due {
		a.due[i].done(a.err)
	}
}

// OnHighWatermark calls done once: with nil when all in-sync replicas have everything below offset,
// with NOT_ENOUGH_REPLICAS_AFTER_APPEND if they are too few by then, with another code when this
// broker ceases to lead the partition or loses it. It may be called before OnHighWatermark returns,
// and on any goroutine; it must not wait for another partition's callback.
func (p *Partition) OnHighWatermark(offset int64, done func(error)) { p.Await(offset, done) }

// Await is OnHighWatermark for callers that may lose interest: see Forget.
func (p *Partition) Await(offset int64, done func(error)) Ticket {
	ticket, err, now := p.await(offset, done)
	if now {
		done(err)
	}
	return ticket
}

// await enters the queue, or says what is to be answered now.
func (p *Partition) await(offset int64, done func(error)) (ticket Ticket, err error, now bool) {
	p.roleMu.RLock()
	defer p.roleMu.RUnlock()
	log, err := p.lead(AnyEpoch)
	if err != nil {
		return 0, err, true
	}
	if log.HighWatermark() >= offset {
		return 0, p.ackError(), true
	}
	ticket = p.acks.add(offset, done)
	// The high watermark may have passed in between, and whoever moved it may have looked before the
	// waiter was there. Exactly one of the two takes it out.
	if log.HighWatermark() >= offset && p.acks.remove(ticket) {
		return ticket, p.ackError(), true
	}
	return ticket, nil, false
}

// Forget takes a waiting callback back; false if it was called or is being called.
func (p *Partition) Forget(t Ticket) bool { return t != 0 && p.acks.remove(t) }

func (q *ackQueue) add(offset int64, done func(error)) Ticket {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.last++
	at := len(q.queue)
	for at > 0 && q.queue[at-1].offset > offset { // nearly always the end
		at--
	}
	q.queue = slices.Insert(q.queue, at, ack{offset, q.last, done})
	q.count.Store(int32(len(q.queue)))
	return q.last
}

func (q *ackQueue) remove(t Ticket) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	i := slices.IndexFunc(q.queue, func(a ack) bool { return a.ticket == t })
	if i < 0 {
		return false
	}
	q.queue = slices.Delete(q.queue, i, i+1)
	q.count.Store(int32(len(q.queue)))
	return true
}

// reached takes out everybody who waits for an offset up to high.
func (q *ackQueue) reached(high int64) []ack {
	if q.count.Load() == 0 {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for n < len(q.queue) && q.queue[n].offset <= high {
		n++
	}
	return q.take(n)
}

// all takes out everybody.
func (q *ackQueue) all() []ack {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.take(len(q.queue))
}

// take cuts off the first n; mu is held.
func (q *ackQueue) take(n int) []ack {
	due := slices.Clone(q.queue[:n])
	rest := copy(q.queue, q.queue[n:])
	clear(q.queue[rest:])
	q.queue = q.queue[:rest]
	q.count.Store(int32(rest))
	return due
}
