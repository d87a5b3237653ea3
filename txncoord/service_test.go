package txncoord

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/groupcoord/coordtest"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/txncoord/txn"
)

// bench is a coordinator over one partition in memory, with the cluster around it.
type bench struct {
	t       *testing.T
	log     *coordtest.Log
	s       *Service
	config  Config
	level   int16
	leaders map[string]int32 // by partition; -1: none at the moment; absent: gone

	mu     sync.Mutex
	sent   []string // markers that arrived
	refuse map[string]protocol.ErrorCode
	down   map[int32]bool
	gate   chan struct{} // WriteMarkers waits for it, if there is one
	next   int64
}

func newBench(t *testing.T) *bench {
	b := &bench{
		t: t, log: coordtest.NewLog(1), level: 2, refuse: map[string]protocol.ErrorCode{}, down: map[int32]bool{},
		leaders: map[string]int32{"t-0": 1, "t-1": 2, "u-0": 1},
		config: Config{
			Partitions: 1, MaxTimeoutMs: 900000, IDExpiration: 7 * 24 * time.Hour, AbortInterval: 10 * time.Second,
			RemoveInterval: time.Hour, LoadBuffer: 1 << 20, RequestTimeout: 30 * time.Second,
			RetryPause: 20 * time.Millisecond, RetryTime: 100 * time.Millisecond,
		},
	}
	b.open()
	t.Cleanup(func() { b.s.Close() })
	return b
}

func (b *bench) open() {
	b.s = New(Options{
		Config: func() Config { return b.config }, Level: func() int16 { return b.level }, Partitions: func() int32 { return 1 },
		Log:            func(int32) (Log, error) { return b.log, nil },
		NextProducerID: func(context.Context) (int64, error) { b.next++; return b.next - 1, nil },
		Leader: func(tp protocol.TopicPartition) (int32, bool) {
			b.mu.Lock()
			defer b.mu.Unlock()
			node, ok := b.leaders[tp.String()]
			return node, ok
		},
		WriteMarkers: b.writeMarkers, Logger: zap.NewNop(),
	})
}

// elect makes the coordinator's broker lead the partition under an epoch.
func (b *bench) elect(epoch int32) {
	b.t.Helper()
	b.log.Elect(epoch)
	b.s.OnElection(0, epoch)
	synctest.Wait()
}

// crash puts another coordinator in the place of this one, which is gone without a word.
func (b *bench) crash(epoch int32) {
	b.t.Helper()
	b.s.Close()
	b.open()
	b.elect(epoch)
}

func (b *bench) writeMarkers(ctx context.Context, node int32, req *kmsg.WriteTxnMarkersRequest) (*kmsg.WriteTxnMarkersResponse, error) {
	if b.gate != nil {
		select {
		case <-b.gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.down[node] {
		return nil, fmt.Errorf("broker %d is down", node)
	}
	resp := kmsg.NewPtrWriteTxnMarkersResponse()
	for _, m := range req.Markers {
		rm := kmsg.WriteTxnMarkersResponseMarker{ProducerID: m.ProducerID}
		for _, t := range m.Topics {
			rt := kmsg.WriteTxnMarkersResponseMarkerTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				tp := protocol.TopicPartition{Topic: t.Topic, Partition: p}.String()
				code := b.refuse[tp]
				if code == protocol.None {
					b.sent = append(b.sent, fmt.Sprintf("%d:%s id=%d epoch=%d commit=%v coordinator=%d version=%d",
						node, tp, m.ProducerID, m.ProducerEpoch, m.Committed, m.CoordinatorEpoch, m.TransactionVersion))
				}
				rt.Partitions = append(rt.Partitions, kmsg.WriteTxnMarkersResponseMarkerTopicPartition{Partition: p, ErrorCode: int16(code)})
			}
			rm.Topics = append(rm.Topics, rt)
		}
		resp.Markers = append(resp.Markers, rm)
	}
	return resp, nil
}

// arrived takes the markers that arrived since the last call, in order of their text.
func (b *bench) arrived() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	slices.Sort(b.sent)
	s := strings.Join(b.sent, "; ")
	b.sent = nil
	return s
}

func (b *bench) with(f func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f()
}

func (b *bench) init(id string) *kmsg.InitProducerIDResponse {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.SetVersion(5)
	req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = &id, 60000, -1, -1
	return b.s.InitProducerID(context.Background(), req)
}

func (b *bench) add(id string, pid int64, epoch int16, tps ...string) protocol.ErrorCode {
	return b.s.Add(context.Background(), adding(id, pid, epoch, tps...))
}

func adding(id string, pid int64, epoch int16, tps ...string) *txn.Adding {
	a := &txn.Adding{ID: id, ProducerID: pid, Epoch: epoch, ClientVersion: 2}
	for _, s := range tps {
		tp, _ := protocol.ParseTopicPartition(s)
		a.Partitions = append(a.Partitions, tp)
	}
	return a
}

func (b *bench) end(id string, pid int64, epoch int16, commit bool) *kmsg.EndTxnResponse {
	req := kmsg.NewPtrEndTxnRequest()
	req.SetVersion(5)
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = id, pid, epoch, commit
	return b.s.EndTxn(context.Background(), req)
}

func (b *bench) state(id string) string { return b.s.Describe(context.Background(), id).State }

// logged is the states in the log, by id and in order.
func (b *bench) logged() string {
	var out []string
	for _, r := range b.log.Records(context.Background()) {
		d, _, err := txn.Decode(r.Key, r.Value)
		switch {
		case err != nil:
			b.t.Fatal(err)
		case d.Transaction == nil:
			out = append(out, d.ID+":tombstone")
		default:
			out = append(out, fmt.Sprintf("%s:%s/%d", d.ID, d.Transaction.State, d.Transaction.Epoch))
		}
	}
	return strings.Join(out, " ")
}

func eq[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func bubble(t *testing.T, f func(t *testing.T)) { t.Helper(); synctest.Test(t, f) }

func TestTransactionLife(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBench(t)
		eq(t, "before an election", b.init("x").ErrorCode, int16(protocol.NotCoordinator))
		b.elect(1)
		r := b.init("x")
		eq(t, "init", r.ErrorCode, 0)
		eq(t, "add", b.add("x", r.ProducerID, 0, "t-0", "t-1", "u-0"), protocol.None)
		eq(t, "add again", b.add("x", r.ProducerID, 0, "t-0"), protocol.None)
		e := b.end("x", r.ProducerID, 0, true)
		eq(t, "end", e.ErrorCode, 0)
		eq(t, "next epoch", e.ProducerEpoch, 1)
		synctest.Wait()
		eq(t, "markers", b.arrived(), "1:t-0 id=0 epoch=1 commit=true coordinator=1 version=2; "+
			"1:u-0 id=0 epoch=1 commit=true coordinator=1 version=2; 2:t-1 id=0 epoch=1 commit=true coordinator=1 version=2")
		eq(t, "log", b.logged(), "x:Empty/0 x:Ongoing/0 x:PrepareCommit/1 x:CompleteCommit/1")
		for _, batch := range b.log.Batches() {
			eq(t, "records of a batch", batch.Count(), 1)
			eq(t, "codec", batch.Codec(), 0)
			eq(t, "producer", batch.ProducerID(), -1)
		}
		eq(t, "abort of nothing", b.end("x", r.ProducerID, 1, false).ErrorCode, 0)
		synctest.Wait()
		eq(t, "markers", b.arrived(), "")
		eq(t, "state", b.state("x"), "CompleteAbort")
	})
}

func TestMarkersAreSentUntilTheyAreWritten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBench(t)
		b.elect(1)
		r := b.init("x")
		b.add("x", r.ProducerID, 0, "t-0", "t-1", "u-0")
		b.with(func() {
			b.refuse["t-0"], b.down[2], b.leaders["u-0"] = protocol.NotLeaderOrFollower, true, -1
		})
		b.end("x", r.ProducerID, 0, false)
		time.Sleep(time.Second)
		synctest.Wait()
		eq(t, "markers", b.arrived(), "")
		eq(t, "state", b.state("x"), "PrepareAbort")
		eq(t, "begin the next", b.add("x", r.ProducerID, 1, "t-0"), protocol.ConcurrentTransactions)
		b.with(func() { b.leaders["t-0"] = 2 }) // another broker leads it, and has the same to say
		time.Sleep(time.Second)
		for _, step := range []func(){
			func() { delete(b.refuse, "t-0") },
			func() { b.down[2] = false },
			func() { b.leaders["u-0"] = 1 },
		} {
			eq(t, "state", b.state("x"), "PrepareAbort")
			b.with(step)
			time.Sleep(time.Second)
			synctest.Wait()
		}
		eq(t, "state", b.state("x"), "CompleteAbort")
		eq(t, "markers", strings.Count(b.arrived(), "epoch=1"), 3)

		// A topic that is deleted meanwhile needs no marker.
		b.add("x", r.ProducerID, 1, "t-0", "u-0")
		b.with(func() { delete(b.leaders, "u-0") })
		b.end("x", r.ProducerID, 1, true)
		synctest.Wait()
		eq(t, "state", b.state("x"), "CompleteCommit")
	})
}

func TestSupersededCoordinatorStops(t *testing.T) {
	for _, code := range []protocol.ErrorCode{protocol.InvalidProducerEpoch, protocol.TransactionCoordinatorFenced} {
		bubble(t, func(t *testing.T) {
			b := newBench(t)
			b.elect(1)
			r := b.init("x")
			b.add("x", r.ProducerID, 0, "t-0")
			b.with(func() { b.refuse["t-0"] = code })
			b.end("x", r.ProducerID, 0, true)
			synctest.Wait()
			b.with(func() { delete(b.refuse, "t-0") })
			time.Sleep(time.Minute)
			synctest.Wait()
			eq(t, "markers", b.arrived(), "")
			eq(t, "state", b.state("x"), "PrepareCommit")
			b.elect(2)
			eq(t, "the next coordinator's markers", b.arrived(), "1:t-0 id=0 epoch=1 commit=true coordinator=2 version=2")
			eq(t, "state", b.state("x"), "CompleteCommit")
		})
	}
}

// TestCrashes lets the coordinator die after each record of a transaction, and before its markers are answered.
func TestCrashes(t *testing.T) {
	for _, commit := range []bool{true, false} {
		bubble(t, func(t *testing.T) {
			b := newBench(t)
			b.elect(1)
			r := b.init("x")
			b.crash(2)
			eq(t, "state", b.state("x"), "Empty")
			eq(t, "add", b.add("x", r.ProducerID, 0, "t-0"), protocol.None)
			b.crash(3)
			eq(t, "state", b.state("x"), "Ongoing")
			b.gate = make(chan struct{})
			eq(t, "end", b.end("x", r.ProducerID, 0, commit).ErrorCode, 0)
			b.crash(4)
			eq(t, "state", b.state("x"), map[bool]string{true: "PrepareCommit", false: "PrepareAbort"}[commit])
			eq(t, "end again", b.end("x", r.ProducerID, 0, commit).ErrorCode, int16(protocol.ConcurrentTransactions))
			close(b.gate)
			synctest.Wait()
			eq(t, "markers", b.arrived(), fmt.Sprintf("1:t-0 id=0 epoch=1 commit=%v coordinator=4 version=2", commit))
			b.crash(5)
			eq(t, "state", b.state("x"), map[bool]string{true: "CompleteCommit", false: "CompleteAbort"}[commit])
			eq(t, "end again", b.end("x", r.ProducerID, 0, commit).ErrorCode, 0)
			eq(t, "markers", b.arrived(), "")
		})
	}
}

func TestTimeouts(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBench(t)
		b.elect(1)
		r := b.init("x") // one minute
		b.init("idle")
		time.Sleep(time.Minute)
		b.add("x", r.ProducerID, 0, "t-0")
		time.Sleep(59 * time.Second)
		eq(t, "state", b.state("x"), "Ongoing")
		time.Sleep(12 * time.Second)
		synctest.Wait()
		eq(t, "state", b.state("x"), "CompleteAbort")
		eq(t, "markers", b.arrived(), "1:t-0 id=0 epoch=1 commit=false coordinator=1 version=2")
		eq(t, "idle", b.state("idle"), "Empty")

		// The next coordinator goes on counting where the last one stopped.
		b.add("x", r.ProducerID, 1, "t-0")
		time.Sleep(40 * time.Second)
		b.crash(2)
		time.Sleep(32 * time.Second)
		synctest.Wait()
		eq(t, "state", b.state("x"), "CompleteAbort")

		// In a cluster of an older version the data's epoch is raised as well.
		b.level = 1
		eq(t, "add", b.add("x", r.ProducerID, 2, "t-1"), protocol.None)
		b.arrived()
		time.Sleep(80 * time.Second)
		synctest.Wait()
		eq(t, "markers", b.arrived(), "2:t-1 id=0 epoch=3 commit=false coordinator=2 version=0")
	})
}

func TestIdsExpire(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBench(t)
		b.elect(1)
		r := b.init("open")
		b.init("idle")
		b.config.MaxTimeoutMs, b.config.AbortInterval = 1<<31-1, 1000*time.Hour
		b.add("open", r.ProducerID, 0, "t-0")
		time.Sleep(b.config.IDExpiration - time.Minute)
		eq(t, "before", b.state("idle"), "Empty")
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		eq(t, "after", b.s.Describe(context.Background(), "idle").ErrorCode, int16(protocol.TransactionalIDNotFound))
		eq(t, "open", b.state("open"), "Ongoing")
		eq(t, "log", strings.HasSuffix(b.logged(), "idle:tombstone"), true)
		b.crash(2)
		eq(t, "after a load", b.s.Describe(context.Background(), "idle").ErrorCode, int16(protocol.TransactionalIDNotFound))
	})
}

func TestErrors(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBench(t)
		b.elect(1)
		r := b.init("x")
		f := func(refused error, want protocol.ErrorCode) {
			t.Helper()
			b.log.FailAppend(refused)
			eq(t, refused.Error(), b.add("x", r.ProducerID, 0, "t-0"), want)
			eq(t, "state", b.state("x"), "Empty")
		}
		f(protocol.NotEnoughReplicas, protocol.CoordinatorNotAvailable)
		f(protocol.MessageTooLarge, protocol.UnknownServerError)
		f(protocol.NotLeaderOrFollower, protocol.NotCoordinator)
		b.log.Refuse(protocol.NotEnoughReplicas)
		eq(t, "not writable", b.add("x", r.ProducerID, 0, "t-0"), protocol.CoordinatorNotAvailable)
		eq(t, "describe", b.state("x"), "Empty")
		b.log.Refuse(nil)
		eq(t, "add", b.add("x", r.ProducerID, 0, "t-0"), protocol.None)

		// The end is decided but not committed in time: the markers follow when it is.
		b.log.Hold(true)
		eq(t, "end", b.end("x", r.ProducerID, 0, true).ErrorCode, int16(protocol.CoordinatorNotAvailable))
		eq(t, "markers", b.arrived(), "")
		b.log.Hold(false)
		b.log.Commit()
		synctest.Wait()
		eq(t, "markers", b.arrived(), "1:t-0 id=0 epoch=1 commit=true coordinator=1 version=2")
		eq(t, "end again", b.end("x", r.ProducerID, 0, true).ErrorCode, 0)

		// The last record is refused while replicas are missing.
		b.add("x", r.ProducerID, 1, "t-0")
		b.gate = make(chan struct{})
		b.end("x", r.ProducerID, 1, true)
		b.log.Refuse(protocol.NotEnoughReplicas)
		close(b.gate)
		time.Sleep(time.Second)
		eq(t, "state", b.state("x"), "PrepareCommit")
		b.log.Refuse(nil)
		time.Sleep(time.Second)
		eq(t, "state", b.state("x"), "CompleteCommit")

		b.s.OnResign(0, 2)
		eq(t, "resigned", b.init("x").ErrorCode, int16(protocol.NotCoordinator))
		req := kmsg.NewPtrListTransactionsRequest()
		req.SetVersion(2)
		req.DurationFilterMillis = -1
		l := b.s.List(context.Background(), req)
		eq(t, "list without a shard", len(l.TransactionStates), 0)
		b.elect(3)
		l = b.s.List(context.Background(), req)
		eq(t, "list", len(l.TransactionStates), 1)
		b.s.Close()
		eq(t, "closed", b.init("x").ErrorCode, int16(protocol.CoordinatorNotAvailable))
		eq(t, "closed: list", b.s.List(context.Background(), req).ErrorCode, int16(protocol.CoordinatorNotAvailable))
	})
}

func TestVerifier(t *testing.T) {
	bubble(t, func(t *testing.T) {
		b := newBench(t)
		b.elect(1)
		r := b.init("x")
		var fail error
		reachable := true
		v := NewVerifier(VerifierOptions{
			Config: func() Config { return b.config }, Coordinator: func(string) (int32, bool) { return 1, reachable }, Ending: b.s.Ending,
			Ask: func(ctx context.Context, _ int32, req *kmsg.AddPartitionsToTxnRequest) (*kmsg.AddPartitionsToTxnResponse, error) {
				return b.ask(ctx, req), fail
			},
		})
		ask := func(q *Question, tps ...string) string {
			q.ID, q.ProducerID, q.Partitions = "x", r.ProducerID, adding("", 0, 0, tps...).Partitions
			return fmt.Sprint(v.AskPatiently(t.Context(), q))
		}
		eq(t, "not in it", ask(&Question{}, "t-0"), "[INVALID_TXN_STATE]")
		eq(t, "not in it", ask(&Question{Abortable: true}, "t-0"), "[TRANSACTION_ABORTABLE]")
		eq(t, "an epoch that was not given", ask(&Question{Epoch: 1, Add: true}, "t-0"), "[INVALID_PRODUCER_EPOCH]")
		eq(t, "add", ask(&Question{Add: true}, "u-0", "t-0"), "[NONE NONE]")
		eq(t, "some", ask(&Question{}, "t-1", "t-0", "u-0"), "[INVALID_TXN_STATE NONE NONE]")
		fail = context.DeadlineExceeded
		eq(t, "network", ask(&Question{}, "t-0"), "[NETWORK_EXCEPTION]")
		fail, reachable = nil, false
		eq(t, "no coordinator", ask(&Question{}, "t-0"), "[COORDINATOR_NOT_AVAILABLE]")
		reachable = true

		// While the transaction before ends: it is waited for, but not for ever.
		b.gate = make(chan struct{})
		eq(t, "end", b.end("x", r.ProducerID, 0, true).ErrorCode, 0)
		start := time.Now()
		eq(t, "ending", ask(&Question{Add: true, Epoch: 1}, "t-0"), "[CONCURRENT_TRANSACTIONS]")
		eq(t, "after", time.Since(start), 100*time.Millisecond)
		time.AfterFunc(30*time.Millisecond, func() { close(b.gate) })
		start = time.Now()
		eq(t, "ended", ask(&Question{Add: true, Epoch: 1}, "t-0"), "[NONE]")
		eq(t, "after", time.Since(start), 30*time.Millisecond)
	})
}

// ask is the coordinator's side of a question, as the request handler has it.
func (b *bench) ask(ctx context.Context, req *kmsg.AddPartitionsToTxnRequest) *kmsg.AddPartitionsToTxnResponse {
	resp := kmsg.NewPtrAddPartitionsToTxnResponse()
	for _, rt := range req.Transactions {
		a := &txn.Adding{ID: rt.TransactionalID, ProducerID: rt.ProducerID, Epoch: rt.ProducerEpoch, ClientVersion: 2}
		for _, t := range rt.Topics {
			for _, p := range t.Partitions {
				a.Partitions = append(a.Partitions, protocol.TopicPartition{Topic: t.Topic, Partition: p})
			}
		}
		var missing []protocol.TopicPartition
		var code protocol.ErrorCode
		if rt.VerifyOnly {
			missing, code = b.s.Verify(ctx, a)
		} else {
			code = b.s.Add(ctx, a)
		}
		out := kmsg.AddPartitionsToTxnResponseTransaction{TransactionalID: rt.TransactionalID}
		for _, tp := range a.Partitions {
			c := code
			if slices.Contains(missing, tp) {
				c = protocol.TransactionAbortable
			}
			out.Topics = append(out.Topics, kmsg.AddPartitionsToTxnResponseTransactionTopic{Topic: tp.Topic,
				Partitions: []kmsg.AddPartitionsToTxnResponseTransactionTopicPartition{{Partition: tp.Partition, ErrorCode: int16(c)}}})
		}
		resp.Transactions = append(resp.Transactions, out)
	}
	return resp
}
