package rsm

import (
	"container/heap"
	"sync"
	"time"
)

const (
	// A lenient timer that falls due gets this much more, once, so that what its peer sent while this process
	// did not look is read first.
	lenientGrace = 100 * time.Millisecond
	// And at most this much for a wake-up that came late because the process was held up.
	lenientLagMax = 30 * time.Second
)

// Timers is the heap of all timers of a service: one lock, one runtime timer, no goroutine while nothing is due.
//
// Moving a deadline back, which every heartbeat does, only writes a field: the entry stays where it is in the heap
// and is put back in its place when its old deadline comes.
type Timers struct {
	mu      sync.Mutex
	heap    timerHeap
	wake    time.Time   // when the runtime timer is set to; zero: not set
	runtime *time.Timer // nil until the first timer
	stopped bool
}

// timer is one armed or due key of one owner. Guarded by Timers.mu.
type timer struct {
	owner   *timerSet
	key     TimerKey
	at      time.Time // the deadline
	place   time.Time // what the heap is ordered by: at or before the deadline
	index   int       // in the heap; notInHeap once due or cancelled
	lenient bool
	graced  bool
}

const notInHeap = -1

// timerSet is the timers of one loaded machine.
type timerSet struct {
	timers *Timers
	byKey  map[TimerKey]*timer // guarded by timers.mu; nil once dropped
	due    func(*timer)        // called without the lock
}

// NewTimers makes an empty heap. It costs nothing while empty.
func NewTimers() *Timers { return &Timers{} }

// Stop ends the runtime timer; nothing falls due any more.
func (t *Timers) Stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	if t.runtime != nil {
		t.runtime.Stop()
	}
}

func (t *Timers) newSet(due func(*timer)) *timerSet {
	return &timerSet{timers: t, byKey: map[TimerKey]*timer{}, due: due}
}

// set arms, moves or cancels.
func (s *timerSet) set(want Timer) {
	t := s.timers
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.byKey == nil {
		return
	}
	e := s.byKey[want.Key]
	switch {
	case want.At.IsZero():
		if e != nil {
			t.drop(e)
		}
		return
	case e != nil && want.IfAbsent:
		return
	case e == nil:
		e = &timer{owner: s, key: want.Key, index: notInHeap}
		s.byKey[want.Key] = e
	}
	e.at, e.lenient, e.graced = want.At, want.Lenient, false
	switch {
	case e.index == notInHeap:
		e.place = e.at
		heap.Push(&t.heap, e)
	case e.at.Before(e.place):
		e.place = e.at
		heap.Fix(&t.heap, e.index)
	default:
		return // later than its place: found when the place comes up
	}
	t.schedule()
}

// claim says whether a due timer still is: not re-armed, cancelled or dropped since. If so it is forgotten.
func (s *timerSet) claim(e *timer) bool {
	s.timers.mu.Lock()
	defer s.timers.mu.Unlock()
	if s.byKey == nil || s.byKey[e.key] != e || e.index != notInHeap {
		return false
	}
	delete(s.byKey, e.key)
	return true
}

// dropAll forgets every timer of the set, for good.
func (s *timerSet) dropAll() {
	t := s.timers
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range s.byKey {
		t.drop(e)
	}
	s.byKey = nil
}

// drop removes an entry; the lock is held.
func (t *Timers) drop(e *timer) {
	delete(e.owner.byKey, e.key)
	if e.index != notInHeap {
		heap.Remove(&t.heap, e.index)
	}
}

// schedule sets the runtime timer to the head of the heap; the lock is held.
func (t *Timers) schedule() {
	if len(t.heap) == 0 || t.stopped {
		return
	}
	head := t.heap[0].place
	if !t.wake.IsZero() && !head.Before(t.wake) {
		return // wakes earlier anyway
	}
	t.wake = head
	if t.runtime == nil {
		t.runtime = time.AfterFunc(time.Until(head), t.fire)
		return
	}
	t.runtime.Reset(time.Until(head))
}

// fire collects what is due and hands it to its owners.
func (t *Timers) fire() {
	for _, e := range t.collect(time.Now()) {
		e.owner.due(e)
	}
}

func (t *Timers) collect(now time.Time) []*timer {
	t.mu.Lock()
	defer t.mu.Unlock()
	lag := min(max(now.Sub(t.wake), 0), lenientLagMax)
	t.wake = time.Time{}
	var due []*timer
	for len(t.heap) > 0 && !t.heap[0].place.After(now) {
		e := t.heap[0]
		if e.lenient && !e.graced && !e.at.After(now) {
			e.at, e.graced = now.Add(lag+lenientGrace), true
		}
		if e.at.After(now) {
			e.place = e.at
			heap.Fix(&t.heap, 0)
			continue
		}
		heap.Pop(&t.heap)
		due = append(due, e)
	}
	t.schedule()
	return due
}

// timerHeap orders by place.
type timerHeap []*timer

func (h timerHeap) Len() int           { return len(h) }
func (h timerHeap) Less(i, j int) bool { return h[i].place.Before(h[j].place) }
func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}
func (h *timerHeap) Push(x any) {
	e := x.(*timer)
	e.index = len(*h)
	*h = append(*h, e)
}
func (h *timerHeap) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	e.index = notInHeap
	return e
}
