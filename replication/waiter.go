package replication

import (
	"sync"
	"sync/atomic"

	"github.com/ottla/ottla/storage"
)

// Interest is a reader's position on a partition: Seen is the value of the bound (log end, high
// watermark or last stable offset) as of its last read.
type Interest struct {
	Partition *Partition
	Bound     storage.Bound
	Seen      int64
}

// Waiter waits on many partitions at once and is woken once. It may be used again and again, by one
// goroutine: Watch, wait for Ready, Unwatch.
type Waiter struct {
	ready     chan struct{}
	fired     atomic.Bool
	missing   atomic.Int64 // bytes to go
	interests []Interest
}

// NewWaiter is a waiter that waits for nothing yet.
func NewWaiter() *Waiter { return &Waiter{ready: make(chan struct{}, 1)} }

// Ready receives one value after each Watch whose partitions have new data or another role.
func (w *Waiter) Ready() <-chan struct{} { return w.ready }

func (w *Waiter) fire() {
	if !w.fired.Swap(true) {
		w.ready <- struct{}{}
	}
}

// Watch wakes w when about minBytes (1 for any) were added to the partitions, or when one of them
// changes its leader or goes away. It wakes w at once if that already happened after the positions
// in interests were seen. interests is kept until Unwatch.
func (m *Manager) Watch(w *Waiter, interests []Interest, minBytes int) {
	select {
	case <-w.ready:
	default:
	}
	w.fired.Store(false)
	w.missing.Store(int64(minBytes))
	w.interests = interests
	for i := range interests {
		p := interests[i].Partition
		p.watches.add(w, interests[i].Bound)
		if p.changed(&interests[i]) {
			w.fire()
			return
		}
	}
}

// Unwatch ends what Watch began. It may be called when w was woken, and when it was not.
func (m *Manager) Unwatch(w *Waiter) {
	for i := range w.interests {
		w.interests[i].Partition.watches.remove(w)
	}
	w.interests = nil
}

// changed reports whether a reader would find something other than it saw.
func (p *Partition) changed(i *Interest) bool {
	p.roleMu.RLock()
	defer p.roleMu.RUnlock()
	if p.role.err != nil || !p.role.leading {
		return true
	}
	return position(p.role.log, i.Bound) > i.Seen
}

func position(l *storage.Log, b storage.Bound) int64 {
	switch b {
	case storage.HighWatermark:
		return l.HighWatermark()
	case storage.LastStable:
		return l.LastStableOffset()
	}
	return l.LogEndOffset()
}

// watchList is who waits on one partition.
type watchList struct {
	count atomic.Int32 // len(list), to pass by without the lock
	mu    sync.Mutex
	list  []watch
}

type watch struct {
	waiter *Waiter
	bound  storage.Bound
}

func (l *watchList) add(w *Waiter, b storage.Bound) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, watch{w, b})
	l.count.Store(int32(len(l.list)))
}

func (l *watchList) remove(w *Waiter) {
	if l.count.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.list {
		if l.list[i].waiter == w {
			last := len(l.list) - 1
			l.list[i], l.list[last] = l.list[last], watch{}
			l.list = l.list[:last]
			l.count.Store(int32(last))
			return
		}
	}
}

// each calls f for everybody. Whoever is woken is woken under the lock: nobody is after Unwatch.
func (l *watchList) each(f func(watch)) {
	if l.count.Load() == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, w := range l.list {
		f(w)
	}
}

// grown tells of n more bytes at the log end; visible says that consumers may read them already. Of
// the last stable offset nobody counts how many bytes it opened up.
func (l *watchList) grown(n int, visible bool) {
	l.each(func(w watch) {
		switch {
		case w.bound != storage.LogEnd && !visible:
		case w.bound == storage.LastStable || w.waiter.missing.Add(-int64(n)) <= 0:
			w.waiter.fire()
		}
	})
}

// passed tells consumers that they may read on: nobody counts how many bytes.
func (l *watchList) passed() {
	l.each(func(w watch) {
		if w.bound != storage.LogEnd {
			w.waiter.fire()
		}
	})
}

// wake wakes everybody.
func (l *watchList) wake() { l.each(func(w watch) { w.waiter.fire() }) }
