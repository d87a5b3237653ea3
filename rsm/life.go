package rsm

import (
	"time"
)

// life is one loaded machine, from the end of its load until the shard resigns, fails or closes.
type life[M Machine[R], R any] struct {
	s      *Shard[M, R]
	epoch  int32
	timers *timerSet     // nil: no timers
	gone   chan struct{} // closed when Unloaded has been called

	// Guarded by s.mu.
	queue     []operation[M, R]
	due       []*timer
	running   bool // a goroutine is in the turn
	ended     error
	waiting   []waiter // in order of end
	committed int64
	watchdog  bool // the commit timeout is armed

	// Owned by the turn.
	m       M
	fresh   bool // Loaded has not been called yet
	next    int64
	open    []R      // applied, but for the last held of them, and not yet appended
	openLen int      // bytes of open
	held    int      // records at the end of open that are not applied yet
	parked  []waiter // of the open batch
	spare   []operation[M, R]
}

type operation[M, R any] struct {
	decide func(m M, now time.Time) Outcome[R]
	never  func(error)
}

// waiter is told when the committed offset reaches end.
type waiter struct {
	end      int64
	then     func(error)
	refused  func(error) // runs in the turn; only while the batch is open
	deadline time.Time
}

// commitKey is the timer of the commit timeout. It never reaches the machine.
var commitKey = TimerKey{Kind: 0xff, A: "rsm", B: "commit"}

func newLife[M Machine[R], R any](s *Shard[M, R], epoch int32, m M, next int64) *life[M, R] {
	v := &life[M, R]{s: s, epoch: epoch, m: m, fresh: true, next: next, committed: -1, gone: make(chan struct{})}
	if s.o.Timers != nil {
		v.timers = s.o.Timers.newSet(v.timerDue)
	}
	return v
}

// endLocked stops the life; s.mu is held. The function returned answers what is queued and waiting, and must be
// called without the lock. The turn, if one runs, notices and does the rest.
func (v *life[M, R]) endLocked(reason error) func() {
	v.ended = reason
	queue, waiting, running := v.queue, v.waiting, v.running
	v.queue, v.waiting, v.due = nil, nil, nil
	v.running = true // nobody enters the turn any more
	return func() {
		if v.timers != nil {
			v.timers.dropAll()
		}
		for _, op := range queue {
			op.never(reason)
		}
		for _, w := range waiting {
			w.then(reason)
		}
		if !running {
			v.leave(reason)
		}
	}
}

// leave is the last thing a life does.
func (v *life[M, R]) leave(reason error) {
	if v.s.o.Unloaded != nil {
		v.s.o.Unloaded(v.m, reason)
	}
	close(v.gone)
}

// endedWith is the reason the life has ended with, or nil.
func (v *life[M, R]) endedWith() error {
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	return v.ended
}

// commit moves the committed offset and answers who waited for it.
func (v *life[M, R]) commit(end int64, err error) {
	if err != nil {
		v.s.fail(v, err)
		return
	}
	v.s.mu.Lock()
	if v.ended != nil || end <= v.committed {
		v.s.mu.Unlock()
		return
	}
	v.committed = end
	n := 0
	for n < len(v.waiting) && v.waiting[n].end <= end {
		n++
	}
	done := v.waiting[:n:n]
	v.waiting = v.waiting[n:]
	if len(v.waiting) == 0 {
		v.waiting = nil
	}
	v.s.mu.Unlock()
	for _, w := range done {
		w.then(nil)
	}
}

// await answers w when its end is committed: now, or from commit.
func (v *life[M, R]) await(ws []waiter) {
	v.s.mu.Lock()
	reason := v.ended
	n := 0 // committed already
	if reason == nil {
		for n < len(ws) && ws[n].end <= v.committed {
			n++
		}
		v.waiting = append(v.waiting, ws[n:]...)
	}
	arm := v.timers != nil && v.s.o.CommitTimeout > 0 && n < len(ws) && !v.watchdog
	if arm {
		v.watchdog = true
	}
	v.s.mu.Unlock()
	if reason != nil {
		for _, w := range ws {
			w.then(reason)
		}
		return
	}
	for _, w := range ws[:n] {
		w.then(nil)
	}
	if arm {
		v.timers.set(Timer{Key: commitKey, At: ws[n].deadline})
	}
}

// timerDue is called by Timers, on its goroutine.
func (v *life[M, R]) timerDue(t *timer) {
	if t.key == commitKey {
		if v.timers.claim(t) {
			v.commitTimeout(time.Now())
		}
		return
	}
	v.s.mu.Lock()
	if v.ended != nil {
		v.s.mu.Unlock()
		return
	}
	v.due = append(v.due, t)
	start := !v.running
	v.running = true
	v.s.mu.Unlock()
	if start {
		go v.run()
	}
}

// commitTimeout answers who has waited too long. What they wrote stays.
func (v *life[M, R]) commitTimeout(now time.Time) {
	v.s.mu.Lock()
	var late []waiter
	kept := v.waiting[:0:0]
	for _, w := range v.waiting {
		if w.deadline.After(now) {
			kept = append(kept, w)
		} else {
			late = append(late, w)
		}
	}
	v.waiting = kept
	v.watchdog = len(kept) > 0
	v.s.mu.Unlock()
	if len(kept) > 0 {
		v.timers.set(Timer{Key: commitKey, At: kept[0].deadline})
	}
	for _, w := range late {
		w.then(ErrCommitTimeout)
	}
}
