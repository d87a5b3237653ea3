package replication

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
	"github.com/ottla/ottla/storage"
)

// lagging publishes a topic that this broker leads with a second replica in sync, which never fetches:
// the high watermark stays at 0.
func (h *harness) lagging(name string, id protocol.UUID) *Partition {
	h.t.Helper()
	h.publish(&msg.TopicRecord{Name: name, TopicID: id}, partition(id, 0, node, 0, []int32{node, 2}, node, 2))
	return h.partition(name, 0)
}

func TestAcksWaitForTheHighWatermark(t *testing.T) {
	h := newHarness(t)
	p := h.lagging("t", topicID(1))
	for i := range int64(4) {
		if r := h.append(p, 1000+i); r.Replicated {
			t.Errorf("%+v though the follower has nothing", r)
		}
	}
	got := map[int64]error{}
	await := func(offset int64) Ticket {
		return p.Await(offset, func(err error) { got[offset] = err })
	}
	await(3)
	await(1)
	forgotten := await(2)
	await(4)
	if !p.Forget(forgotten) || p.Forget(forgotten) {
		t.Error("a callback can be taken back once")
	}
	if len(got) != 0 {
		t.Fatalf("answered before the follower has it: %v", got)
	}
	h.publish(change(topicID(1), 0, metadata.LeaderUnchanged, node)) // the follower leaves the ISR
	if len(got) != 3 || got[1] != nil || got[3] != nil || got[4] != nil {
		t.Errorf("answers: %v", got)
	}
}

func TestAcksFailWhenLeadershipIsLost(t *testing.T) {
	h := newHarness(t)
	f := func(name string, id byte, lose func(id protocol.UUID), want protocol.ErrorCode) {
		t.Helper()
		p := h.lagging(name, topicID(id))
		r := h.append(p, 1000)
		var got []error
		p.OnHighWatermark(r.AwaitOffset, func(err error) { got = append(got, err) })
		lose(topicID(id))
		if len(got) != 1 {
			t.Fatalf("%s: %d answers", name, len(got))
		}
		wantCode(t, name, got[0], want)
		p.OnHighWatermark(r.AwaitOffset, func(err error) { got = append(got, err) })
		wantCode(t, name+", afterwards", got[1], want)
	}
	f("resigned", 1, func(id protocol.UUID) { h.publish(change(id, 0, 2)) }, protocol.NotLeaderOrFollower)
	f("deleted", 2, func(id protocol.UUID) { h.publish(&msg.RemoveTopicRecord{TopicID: id}) }, protocol.UnknownTopicOrPartition)
	f("closed", 3, func(protocol.UUID) { h.manager.Close() }, protocol.NotLeaderOrFollower)
}

// KAFKA-1977 in short: too few in sync by the time the offset is reached is an error of its own.
func TestTooFewAfterAppend(t *testing.T) {
	h := newHarness(t)
	h.publish(&msg.TopicRecord{Name: "t", TopicID: topicID(1)}, config("t", "min.insync.replicas", "2"),
		partition(topicID(1), 0, node, 0, []int32{node, 2}, node, 2))
	p := h.partition("t", 0)
	r := h.append(p, 1000)
	var got error
	answered := false
	p.OnHighWatermark(r.AwaitOffset, func(err error) { got, answered = err, true })
	h.publish(change(topicID(1), 0, metadata.LeaderUnchanged, node))
	if answered {
		t.Fatalf("the high watermark moved with too few in sync: %v", got)
	}
	p.OnHighWatermark(0, func(err error) { got = err })
	wantCode(t, "an offset that was reached before", got, protocol.NotEnoughReplicasAfterAppend)
}

func TestWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHarness(t)
		p := h.create("t", topicID(1), 2)
		q := h.partition("t", 1)
		w := NewWaiter()
		woken := func() bool {
			synctest.Wait()
			select {
			case <-w.Ready():
				return true
			default:
				return false
			}
		}
		both := []Interest{{p, storage.HighWatermark, 0}, {q, storage.LastStable, 0}}
		h.manager.Watch(w, both, 1)
		if woken() {
			t.Error("woken by nothing")
		}
		h.append(q, 1000)
		if !woken() || woken() {
			t.Error("to be woken once")
		}
		h.manager.Unwatch(w)

		h.manager.Watch(w, both, 1) // q is at 1 already: the append came between reading and waiting
		if !woken() {
			t.Error("not woken by what happened before")
		}
		h.manager.Unwatch(w)

		size := len(batch(1000))
		h.manager.Watch(w, []Interest{{p, storage.HighWatermark, 0}}, 3*size)
		h.append(p, 1000)
		h.append(p, 1000)
		if woken() {
			t.Error("woken with too few bytes")
		}
		h.append(p, 1000)
		if !woken() {
			t.Error("not woken with enough bytes")
		}
		h.manager.Unwatch(w)
		h.append(p, 1000)
		if woken() {
			t.Error("woken after Unwatch")
		}

		h.manager.Watch(w, []Interest{{p, storage.HighWatermark, 4}}, 1<<30)
		h.publish(change(topicID(1), 0, metadata.NoLeader))
		if !woken() {
			t.Error("not woken by the loss of the leader")
		}
		h.manager.Unwatch(w)
		h.manager.Watch(w, []Interest{{p, storage.HighWatermark, 4}}, 1)
		if !woken() {
			t.Error("not woken although there is no leader")
		}
		h.manager.Unwatch(w)
		if n := p.watches.count.Load() + q.watches.count.Load(); n != 0 {
			t.Errorf("%d watches left", n)
		}
	})
}

// Consumers wait for the high watermark, replicas for the log end.
func TestWaiterBounds(t *testing.T) {
	h := newHarness(t)
	p := h.lagging("t", topicID(1))
	consumer, follower := NewWaiter(), NewWaiter()
	h.manager.Watch(consumer, []Interest{{p, storage.HighWatermark, 0}}, 1)
	h.manager.Watch(follower, []Interest{{p, storage.LogEnd, 0}}, 1)
	h.append(p, 1000)
	if len(follower.Ready()) != 1 || len(consumer.Ready()) != 0 {
		t.Error("an append is for the followers first")
	}
	h.publish(change(topicID(1), 0, metadata.LeaderUnchanged, node))
	if len(consumer.Ready()) != 1 {
		t.Error("the consumer is not woken by the high watermark")
	}
	h.manager.Unwatch(consumer)
	h.manager.Unwatch(follower)
}

// Producers, readers and role changes at once: every acks=all is answered exactly once, nobody
// sleeps over data, and offsets are dense.
func TestConcurrentUse(t *testing.T) {
	h := newHarness(t)
	p := h.create("t", topicID(1), 1)
	const producers, each = 4, 200
	var answers, accepted atomic.Int64
	var work sync.WaitGroup
	for n := range producers {
		work.Go(func() {
			rng := rand.New(rand.NewPCG(1, uint64(n)))
			for range each {
				timestamps := make([]int64, 1+rng.IntN(3))
				r, err := p.Append(batch(timestamps...), clientAppend)
				if err != nil {
					wantCode(t, "append", err, protocol.NotLeaderOrFollower)
					continue
				}
				accepted.Add(1)
				p.OnHighWatermark(r.AwaitOffset, func(error) { answers.Add(1) })
			}
		})
	}
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() { follow(t, h.manager, p, stop) })
	}
	for range 20 {
		h.publish(change(topicID(1), 0, metadata.NoLeader))
		h.publish(change(topicID(1), 0, node))
	}
	work.Wait()
	close(stop)
	h.append(p, 1) // the readers look at stop after a wake-up
	readers.Wait()
	if answers.Load() != accepted.Load() {
		t.Errorf("%d answers for %d appends", answers.Load(), accepted.Load())
	}
}

// follow reads the partition as a long polling consumer until stop.
func follow(t *testing.T, m *Manager, p *Partition, stop chan struct{}) {
	w := NewWaiter()
	offset := int64(0)
	for {
		f, err := p.Fetch(clientFetch(offset))
		seen := f.HighWatermark
		if err == nil && f.Size > 0 {
			offset = f.HighWatermark
		}
		f.Release()
		if err != nil {
			wantCode(t, "fetch", err, protocol.NotLeaderOrFollower)
		}
		select {
		case <-stop:
			return
		default:
		}
		m.Watch(w, []Interest{{p, storage.HighWatermark, max(seen, offset)}}, 1)
		<-w.Ready()
		m.Unwatch(w)
	}
}
