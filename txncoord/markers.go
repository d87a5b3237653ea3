package txncoord

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/rsm"
	"github.com/ottla/ottla/txncoord/txn"
)

// markerRetryPause is between attempts to write a marker or the record that follows the last.
const markerRetryPause = 50 * time.Millisecond

// markers sends the markers of transactions whose end is decided to the leaders of their partitions, and tells the
// shard when all are written. There is one queue a broker, with one request on its way; who sends is a goroutine that
// lives while its queue has something.
//
// Markers are sent again until they are written. Two things end that: the coordinator is another one by now (the
// shard was unloaded, or a partition has seen a newer epoch), or the topic is gone.
type markers struct {
	s      *Service
	ctx    context.Context // ends with close
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	pending map[string]*ending // by transactional id
	queues  map[int32]*queue   // by broker
	closed  bool
}

// ending is a transaction on its way from Prepare to Complete.
type ending struct {
	shard *shard
	epoch int32 // of the coordinator
	t     *txn.Transaction
	left  int           // partitions without their marker; markers.mu
	over  chan struct{} // closed when it is complete, or somebody else's business
}

// queue is what one broker is to be sent.
type queue struct {
	entries []entry
	running bool
}

// entry is some of an ending's partitions.
type entry struct {
	e          *ending
	partitions []protocol.TopicPartition
}

func newMarkers(s *Service) *markers {
	ctx, cancel := context.WithCancel(context.Background())
	return &markers{s: s, ctx: ctx, cancel: cancel, pending: map[string]*ending{}, queues: map[int32]*queue{}}
}

func (m *markers) close() {
	m.mu.Lock()
	m.closed = true
	for _, e := range m.pending {
		close(e.over)
	}
	m.pending, m.queues = nil, nil
	m.mu.Unlock()
	m.cancel()
	m.work.Wait()
}

// send begins with the markers of a transaction whose end is committed. It does not block.
func (m *markers) send(sh *shard, epoch int32, t *txn.Transaction) {
	e := &ending{shard: sh, epoch: epoch, t: t, left: len(t.Partitions), over: make(chan struct{})}
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return
	}
	m.forgetLocked(m.pending[t.ID])
	m.pending[t.ID] = e
	m.mu.Unlock()
	if e.left == 0 {
		m.complete(e)
		return
	}
	m.enqueue(e, t.Partitions)
}

// wait is closed when the transaction that is ending under this id is complete; nil if none is known to be.
func (m *markers) wait(id string) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.pending[id]; e != nil {
		return e.over
	}
	return nil
}

// drop forgets what a shard was about to end: another coordinator will, or this one again after the next load.
func (m *markers) drop(sh *shard) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range m.pending {
		if e.shard == sh {
			m.forgetLocked(e)
		}
	}
}

func (m *markers) forgetLocked(e *ending) {
	if e != nil && m.pending[e.t.ID] == e {
		delete(m.pending, e.t.ID)
		close(e.over)
	}
}

func (m *markers) forget(e *ending) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgetLocked(e)
}

// enqueue finds the leaders of partitions and puts them into the leaders' queues.
func (m *markers) enqueue(e *ending, tps []protocol.TopicPartition) {
	byNode := map[int32][]protocol.TopicPartition{}
	var later []protocol.TopicPartition
	gone := 0
	for _, tp := range tps {
		switch node, exists := m.s.o.Leader(tp); {
		case !exists:
			gone++
		case node < 0:
			later = append(later, tp)
		default:
			byNode[node] = append(byNode[node], tp)
		}
	}
	m.again(e, later)
	m.mu.Lock()
	for node, of := range byNode {
		if m.pending[e.t.ID] != e {
			break
		}
		q := m.queues[node]
		if q == nil {
			q = &queue{}
			m.queues[node] = q
		}
		q.entries = append(q.entries, entry{e, of})
		if !q.running {
			q.running = true
			m.work.Go(func() { m.run(node, q) })
		}
	}
	m.mu.Unlock()
	m.written(e, gone)
}

// again tries later.
func (m *markers) again(e *ending, tps []protocol.TopicPartition) {
	if len(tps) > 0 {
		m.after(func() { m.enqueue(e, tps) })
	}
}

// after calls f after a pause, unless everything ends before.
func (m *markers) after(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.work.Add(1)
	time.AfterFunc(markerRetryPause, func() {
		defer m.work.Done()
		if m.ctx.Err() == nil {
			f()
		}
	})
}

// written counts partitions off; after the last one the transaction is complete.
func (m *markers) written(e *ending, n int) {
	if n == 0 {
		return
	}
	m.mu.Lock()
	e.left -= n
	done := e.left == 0 && m.pending[e.t.ID] == e
	m.mu.Unlock()
	if done {
		m.complete(e)
	}
}

// complete logs that all markers are written, and tries again while the log does not take it.
func (m *markers) complete(e *ending) {
	e.shard.rsm.Submit(func(mc *machine, now time.Time) rsm.Outcome[txn.Record] {
		n := mc.store.Complete(now.UnixMilli(), e.t)
		if n == nil {
			return rsm.Outcome[txn.Record]{Then: func(error) { m.forget(e) }}
		}
		return rsm.Outcome[txn.Record]{
			Records: []txn.Record{{ID: n.ID, Transaction: n}}, Alone: true,
			Then: func(err error) { m.completed(e, err) },
		}
	}, func(error) { m.forget(e) })
}

func (m *markers) completed(e *ending, err error) {
	if codeOf(err) == protocol.CoordinatorNotAvailable {
		m.after(func() { m.complete(e) })
		return
	}
	if err != nil {
		m.s.o.Logger.Warn("the end of a transaction was not logged; its next coordinator will do it",
			zap.String("transactionalId", e.t.ID), zap.Error(err))
	}
	m.forget(e)
}

// run sends what is queued for a broker until nothing is.
func (m *markers) run(node int32, q *queue) {
	for {
		m.mu.Lock()
		entries := slices.DeleteFunc(q.entries, func(x entry) bool { return m.pending[x.e.t.ID] != x.e })
		q.entries = nil
		if len(entries) == 0 || m.closed {
			q.running = false
			m.mu.Unlock()
			return
		}
		m.mu.Unlock()
		m.exchange(node, entries)
	}
}

// exchange sends one request and sees to what became of each partition.
func (m *markers) exchange(node int32, entries []entry) {
	req := kmsg.NewPtrWriteTxnMarkersRequest()
	req.SetVersion(req.MaxVersion())
	req.Markers = make([]kmsg.WriteTxnMarkersRequestMarker, len(entries))
	for i, x := range entries {
		t := x.e.t
		req.Markers[i] = kmsg.WriteTxnMarkersRequestMarker{
			ProducerID: t.ProducerID, ProducerEpoch: t.Epoch, Committed: t.Commits(), CoordinatorEpoch: x.e.epoch,
			TransactionVersion: int8(t.ClientVersion), Topics: markerTopics(x.partitions),
		}
	}
	ctx, cancel := context.WithTimeout(m.ctx, 2*m.s.o.Config().RequestTimeout)
	defer cancel()
	resp, err := m.s.o.WriteMarkers(ctx, node, req)
	if err != nil {
		m.s.o.Logger.Info("markers were not sent", zap.Int32("broker", node), zap.Error(err))
		for _, x := range entries {
			m.again(x.e, x.partitions)
		}
		return
	}
	for _, x := range entries {
		m.answered(x, resp)
	}
}

func markerTopics(tps []protocol.TopicPartition) []kmsg.WriteTxnMarkersRequestMarkerTopic {
	var ts []kmsg.WriteTxnMarkersRequestMarkerTopic
	for _, tp := range tps {
		if n := len(ts); n == 0 || ts[n-1].Topic != tp.Topic {
			ts = append(ts, kmsg.WriteTxnMarkersRequestMarkerTopic{Topic: tp.Topic})
		}
		t := &ts[len(ts)-1]
		t.Partitions = append(t.Partitions, tp.Partition)
	}
	return ts
}

// answered sees to one transaction's partitions. No two transactions in a request have the same producer id.
func (m *markers) answered(x entry, resp *kmsg.WriteTxnMarkersResponse) {
	codes := map[protocol.TopicPartition]protocol.ErrorCode{}
	for _, mk := range resp.Markers {
		if mk.ProducerID != x.e.t.ProducerID {
			continue
		}
		for _, t := range mk.Topics {
			for _, p := range t.Partitions {
				codes[protocol.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = protocol.ErrorCode(p.ErrorCode)
			}
		}
	}
	var retry []protocol.TopicPartition
	done := 0
	for _, tp := range x.partitions {
		code, answered := codes[tp]
		switch {
		case !answered:
			retry = append(retry, tp)
		case code == protocol.None, code == protocol.UnsupportedForMessageFormat, code == protocol.UnsupportedVersion:
			done++
		case code == protocol.InvalidProducerEpoch, code == protocol.TransactionCoordinatorFenced:
			m.s.o.Logger.Info("a newer coordinator has ended this transaction",
				zap.String("transactionalId", x.e.t.ID), zap.Stringer("partition", tp), zap.Stringer("error", code))
			m.forget(x.e)
			return
		default:
			m.s.o.Logger.Debug("a marker was refused and is sent again",
				zap.String("transactionalId", x.e.t.ID), zap.Stringer("partition", tp), zap.Stringer("error", code))
			retry = append(retry, tp)
		}
	}
	m.again(x.e, retry)
	m.written(x.e, done)
}
