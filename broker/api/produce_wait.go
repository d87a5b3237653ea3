package api

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/replication"
)

// delayedProduce is a Produce with acks=-1 whose batches are not yet on all in-sync replicas. No
// goroutine waits for it: the partitions call back, and a timer ends it.
type delayedProduce struct {
	resp chan kmsg.Response

	mu    sync.Mutex
	body  *kmsg.ProduceResponse
	waits []pendingAck
	left  int
	timer *time.Timer
}

// pendingAck is one partition of it. A nil partition was answered.
type pendingAck struct {
	partition *replication.Partition
	ticket    replication.Ticket
	out       *kmsg.ProduceResponseTopicPartition
}

// wait answers when every partition is, or when the request's timeout ends.
func (p *producing) wait() Reply {
	d := &delayedProduce{resp: make(chan kmsg.Response, 1), body: p.resp, left: len(p.waits), waits: make([]pendingAck, len(p.waits))}
	for i, w := range p.waits {
		d.waits[i] = pendingAck{partition: w.partition, out: w.out}
	}
	for i, w := range p.waits {
		ticket := w.partition.Await(w.offset, func(err error) { d.answered(i, err) })
		d.mu.Lock()
		d.waits[i].ticket = ticket
		d.mu.Unlock()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.left == 0 {
		return Body(d.body)
	}
	timeout := time.Duration(p.req.TimeoutMillis) * time.Millisecond
	d.timer = time.AfterFunc(timeout-time.Since(p.call.Received), d.expire)
	return Later(d.resp)
}

// answered is a partition's callback.
func (d *delayedProduce) answered(i int, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.settle(i, protocol.CodeOf(err)); d.left == 0 && d.timer != nil {
		d.timer.Stop()
		d.resp <- d.body
		d.timer = nil
	}
}

// settle notes a partition's outcome, once. The lock is held.
func (d *delayedProduce) settle(i int, code protocol.ErrorCode) {
	w := &d.waits[i]
	if w.partition == nil {
		return
	}
	w.partition = nil
	d.left--
	if code != protocol.None {
		w.out.ErrorCode = int16(code)
	}
}

// expire answers the partitions that are still waited for with REQUEST_TIMED_OUT. What was
// appended stays, as in Kafka.
func (d *delayedProduce) expire() {
	var forget []pendingAck
	d.mu.Lock()
	if d.timer != nil {
		for i := range d.waits {
			if d.waits[i].partition != nil {
				forget = append(forget, d.waits[i])
				d.settle(i, protocol.RequestTimedOut)
			}
		}
		d.resp <- d.body
		d.timer = nil
	}
	d.mu.Unlock()
	for _, w := range forget { // without the lock: a callback may be waiting for it
		w.partition.Forget(w.ticket)
	}
}
