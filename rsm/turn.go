package rsm

import (
	"fmt"
	"runtime/debug"
	"time"
)

// run takes turns until nothing is left to do. The caller has set running.
func (v *life[M, R]) run() {
	for v.turn() {
	}
}

// turn decides everything queued when it began, then what fell due, and appends what is still open. It says
// whether there is more; if not, it has left the turn.
func (v *life[M, R]) turn() (more bool) {
	v.s.mu.Lock()
	queue, due := v.queue, v.due
	v.queue, v.due = v.spare[:0], nil
	ended := v.ended
	v.s.mu.Unlock()
	if ended == nil {
		v.decideAll(queue, due)
	}
	clear(queue)
	v.spare = queue

	v.s.mu.Lock()
	ended = v.ended
	more = ended == nil && (len(v.queue) > 0 || len(v.due) > 0)
	if !more && ended == nil {
		v.running = false
	}
	v.s.mu.Unlock()
	if ended != nil {
		v.leave(ended)
	}
	return more
}

// decideAll is one turn's work. A panic in the rules fails the shard and not the process: it is rebuilt from its log.
func (v *life[M, R]) decideAll(queue []operation[M, R], due []*timer) {
	done := 0
	defer func() {
		if p := recover(); p != nil {
			v.s.fail(v, fmt.Errorf("panic while deciding: %v\n%s", p, debug.Stack()))
			if done < len(queue) {
				done++ // the one that panicked
				queue[done-1].never(ErrNotActive)
			}
		}
		reason := v.endedWith()
		for ; done < len(queue); done++ {
			queue[done].never(reason)
		}
		if reason != nil {
			v.dropOpen(reason)
		}
	}()
	if v.fresh {
		v.fresh = false
		if v.s.o.Loaded != nil {
			v.carryOut(v.s.o.Loaded(v.m, time.Now()))
		}
	}
	for ; done < len(queue); done++ {
		v.settle()
		if v.endedWith() != nil {
			return
		}
		v.carryOut(queue[done].decide(v.m, time.Now()))
	}
	// Behind the queue: whoever sent something in time is heard before anybody is expired.
	for _, t := range due {
		v.settle()
		if v.endedWith() != nil {
			return
		}
		if v.timers.claim(t) {
			v.carryOut(v.m.Expire(time.Now(), t.key))
		}
	}
	v.flush()
}

// carryOut does what an outcome says.
func (v *life[M, R]) carryOut(out Outcome[R]) {
	for v.carryOutOne(&out) {
	}
}

// carryOutOne does one outcome, and puts the one that follows it, if any, in its place.
func (v *life[M, R]) carryOutOne(out *Outcome[R]) (again bool) {
	for _, t := range out.Timers {
		if v.timers != nil {
			v.timers.set(t)
		}
	}
	then := out.Then
	if then == nil {
		then = func(error) {}
	}
	if out.Err != nil {
		then(out.Err)
		return false
	}
	if len(out.Records) == 0 {
		v.wait(then)
		return false
	}
	err := v.s.o.Log.Writable(v.epoch)
	if err == nil && out.Alone {
		v.flush()
		err = v.endedWith()
	}
	if err == nil {
		err = v.take(out.Records, out.Divisible)
	}
	if err == nil {
		v.wait(then)
		// A refusal can still come from the append, while nothing of the operation is applied.
		if r := out.Refused; r != nil {
			w := &v.parked[len(v.parked)-1]
			w.refused = func(err error) { v.carryOut(r(err)) }
		}
		if out.Alone {
			v.flush()
		}
		return false
	}
	if out.Refused == nil || v.endedWith() != nil {
		then(err)
		return false
	}
	*out = out.Refused(err)
	then(err)
	return true
}

// wait parks then until everything up to next is committed.
func (v *life[M, R]) wait(then func(error)) {
	w := waiter{end: v.next, then: then}
	if v.s.o.CommitTimeout > 0 {
		w.deadline = time.Now().Add(v.s.o.CommitTimeout)
	}
	if len(v.open) == 0 {
		v.await([]waiter{w})
		return
	}
	v.parked = append(v.parked, w)
}

// take puts records into the open batch, flushing before if they do not fit. The last operation's records are held
// back from the machine until somebody has to see them or they are in the log: an append of one operation
// that fails then costs nothing but that operation.
func (v *life[M, R]) take(records []R, divisible bool) error {
	size := v.sizeOf(records)
	if !v.fits(len(records), size) {
		if !divisible || len(records) == 1 {
			return ErrTooLarge
		}
		half := len(records) / 2
		if err := v.take(records[:half], true); err != nil {
			return err
		}
		v.settle()
		return v.take(records[half:], true)
	}
	if len(v.open) > 0 && !v.fits(len(v.open)+len(records), v.openLen+size) {
		v.flush()
		if err := v.endedWith(); err != nil {
			return err
		}
	}
	v.open = append(v.open, records...)
	v.openLen += size
	v.held = len(records)
	v.next += int64(len(records))
	return nil
}

func (v *life[M, R]) sizeOf(records []R) int {
	if v.s.o.Size == nil {
		return 0
	}
	size := 0
	for _, r := range records {
		size += v.s.o.Size(r)
	}
	return size
}

func (v *life[M, R]) fits(count, size int) bool {
	if limit := v.s.o.MaxBatchRecords; limit > 0 && count > limit {
		return false
	}
	return v.s.o.MaxBatchBytes == nil || size <= v.s.o.MaxBatchBytes()
}

// settle applies what is held.
func (v *life[M, R]) settle() {
	held := v.open[len(v.open)-v.held:]
	at := v.next - int64(v.held)
	v.held = 0
	for i, r := range held {
		if err := v.m.Apply(at+int64(i), r); err != nil {
			v.s.fail(v, fmt.Errorf("apply at offset %d: %w", at+int64(i), err))
			return
		}
	}
}

// flush appends the open batch.
func (v *life[M, R]) flush() {
	if len(v.open) == 0 || v.endedWith() != nil {
		return
	}
	base := v.next - int64(len(v.open))
	end, err := v.s.o.Log.Append(v.epoch, base, v.open)
	if err == nil && end != v.next {
		err = fmt.Errorf("append at offset %d ended at %d, expected %d", base, end, v.next)
	} else if err != nil && v.held == len(v.open) {
		v.refuseOpen(base, err)
		return
	}
	if err != nil {
		v.s.fail(v, err)
		v.dropOpen(err)
		return
	}
	v.settle()
	parked := v.resetOpen()
	v.await(parked)
	v.s.o.Log.OnCommit(end, func(err error) { v.commit(end, err) })
}

// refuseOpen takes back a batch of which nothing was applied.
func (v *life[M, R]) refuseOpen(base int64, err error) {
	v.next = base
	for _, w := range v.resetOpen() {
		if w.refused != nil {
			w.refused(err)
		}
		w.then(err)
	}
	v.flush() // what a refusal led to
}

// dropOpen answers the operations of a batch that was never appended.
func (v *life[M, R]) dropOpen(err error) {
	for _, w := range v.resetOpen() {
		w.then(err)
	}
}

func (v *life[M, R]) resetOpen() []waiter {
	parked := v.parked
	clear(v.open)
	v.open, v.openLen, v.held, v.parked = v.open[:0], 0, 0, nil
	return parked
}
