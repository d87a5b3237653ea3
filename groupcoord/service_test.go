package groupcoord

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/groupcoord/coordtest"
	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/groupcoord/group/classic"
	"github.com/ottla/ottla/groupcoord/group/consumer"
	"github.com/ottla/ottla/groupcoord/group/offsets"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

func testConfig() Config {
	return Config{
		Classic: classic.Config{SessionMin: time.Second, SessionMax: time.Hour, MaxSize: 1 << 30},
		Consumer: consumer.Config{
			Session: 45 * time.Second, Heartbeat: 5 * time.Second, MaxSize: 1 << 30, ClassicMaxSize: 1 << 30,
			Assignors: []string{"uniform", "range"}, Upgrade: true, Downgrade: true,
		},
		OffsetsPartitions: 3, OffsetsRetention: 24 * time.Hour, RetentionCheckInterval: 10 * time.Minute,
		MetadataMax: 4096, CommitTimeout: 5 * time.Second, LoadBuffer: 1 << 20,
	}
}

// broker is a coordinator with its partitions in memory; they outlive it.
type testBroker struct {
	*Service
	t     testing.TB
	logs  []*coordtest.Log
	epoch int32
	mu    sync.Mutex
	conf  Config
	image *metadata.Image
	// verify answers for transactions' coordinators; nil: everything is part of its transaction.
	verify func(Question) protocol.ErrorCode
}

func newBroker(t testing.TB, partitions int) *testBroker {
	b := &testBroker{t: t, conf: testConfig(), image: metadata.New()}
	for range partitions {
		b.logs = append(b.logs, coordtest.NewLog(0))
	}
	b.start()
	return b
}

func (b *testBroker) start() {
	b.Service = New(Options{
		Config:     func() Config { b.mu.Lock(); defer b.mu.Unlock(); return b.conf },
		Partitions: func() int32 { return int32(len(b.logs)) },
		Log:        func(p int32) (Log, error) { return b.logs[p], nil },
		Metadata:   func() *metadata.Image { b.mu.Lock(); defer b.mu.Unlock(); return b.image },
		Verify: func(_ context.Context, q Question) protocol.ErrorCode {
			if b.verify == nil {
				return protocol.None
			}
			return b.verify(q)
		},
		Logger: zap.NewNop(),
	})
}

// lead makes it lead everything under a new epoch.
func (b *testBroker) lead() {
	b.epoch++
	for p, l := range b.logs {
		l.Elect(b.epoch)
		b.OnElection(int32(p), b.epoch)
	}
}

// crash forgets everything but the partitions.
func (b *testBroker) crash() {
	b.Close()
	b.start()
	b.lead()
}

func leading(t *testing.T, partitions int) *testBroker {
	b := newBroker(t, partitions)
	t.Cleanup(func() { b.Close() })
	b.lead()
	synctest.Wait()
	return b
}

func (b *testBroker) commit(g, topic string, p int32, offset int64) protocol.ErrorCode {
	return b.commitAs(g, "", -1, topic, p, offset)
}

func (b *testBroker) commitAs(g, member string, generation int32, topic string, p int32, offset int64) protocol.ErrorCode {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.SetVersion(8)
	req.Group, req.MemberID, req.Generation = g, member, generation
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Partition: p, Offset: offset}}}}
	return protocol.ErrorCode(b.OffsetCommit(context.Background(), req).Topics[0].Partitions[0].ErrorCode)
}

func (b *testBroker) fetch(g string) (string, protocol.ErrorCode) {
	req := kmsg.NewOffsetFetchRequestGroup()
	req.Group = g
	r := b.OffsetFetch(context.Background(), &req, false)
	out := ""
	for _, t := range r.Topics {
		for _, p := range t.Partitions {
			out += fmt.Sprintf("%s-%d=%d ", t.Topic, p.Partition, p.Offset)
		}
	}
	return out, protocol.ErrorCode(r.ErrorCode)
}

func (b *testBroker) join(g, member string, version int16) *kmsg.JoinGroupResponse {
	req := kmsg.NewPtrJoinGroupRequest()
	req.SetVersion(version)
	req.Group, req.MemberID, req.ProtocolType, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = g, member, "test", 10000, 20000
	req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "p", Metadata: []byte("m")}}
	return b.JoinGroup(context.Background(), Client{ID: "c", Host: "/h"}, req)
}

func (b *testBroker) sync(g, member string, generation int32, assigned string) *kmsg.SyncGroupResponse {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation = g, member, generation
	req.GroupAssignment = []kmsg.SyncGroupRequestGroupAssignment{{MemberID: member, MemberAssignment: []byte(assigned)}}
	return b.SyncGroup(context.Background(), req)
}

func (b *testBroker) beat(g, member string, generation int32) protocol.ErrorCode {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation = g, member, generation
	return protocol.ErrorCode(b.Heartbeat(context.Background(), req).ErrorCode)
}

func (b *testBroker) state(g string) string {
	return b.DescribeGroup(context.Background(), 5, g).State
}

func eq[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// TestCrash is case B49: what must be remembered.
func TestCrash(t *testing.T) {
	bubble(t, "offsets and members", func(t *testing.T) {
		b := leading(t, 3)
		b.commit("g1", "t", 0, 13)
		b.commit("g2", "t", 0, 14)
		eq(t, "delete g2", b.DeleteGroup(context.Background(), "g2"), protocol.None)
		j := b.join("g3", "", 3)
		b.sync("g3", j.MemberID, j.Generation, "mine")
		b.commitAs("g3", j.MemberID, j.Generation, "t", 1, 15)
		b.crash()
		synctest.Wait()
		got, code := b.fetch("g1")
		eq(t, "g1", got, "t-0=13 ")
		eq(t, "g1", code, protocol.None)
		got, _ = b.fetch("g2")
		eq(t, "g2", got, "")
		eq(t, "g2 is", b.state("g2"), "Dead")
		eq(t, "heartbeat goes on", b.beat("g3", j.MemberID, j.Generation), protocol.None)
		eq(t, "assignment", string(b.sync("g3", j.MemberID, j.Generation, "ignored").MemberAssignment), "mine")
		got, _ = b.fetch("g3")
		eq(t, "g3", got, "t-1=15 ")
		time.Sleep(time.Minute)
		synctest.Wait()
		eq(t, "a silent member of the old coordinator", b.beat("g3", j.MemberID, j.Generation), protocol.UnknownMemberID)
	})
}

// slowLog holds its reads.
type slowLog struct {
	*coordtest.Log
	gate chan struct{}
}

func (l slowLog) Read(buf []byte, offset int64, n int) ([]byte, error) {
	<-l.gate
	return l.Log.Read(buf, offset, n)
}

func TestWhileLoading(t *testing.T) {
	bubble(t, "codes", func(t *testing.T) {
		b := leading(t, 1)
		b.commit("g", "t", 0, 1)
		b.Close()
		gate := make(chan struct{})
		b.start()
		b.o.Log = func(int32) (Log, error) { return slowLog{b.logs[0], gate}, nil }
		b.lead()
		synctest.Wait()
		_, code := b.fetch("g")
		eq(t, "fetch", code, protocol.CoordinatorLoadInProgress)
		eq(t, "commit", b.commit("g", "t", 0, 2), protocol.CoordinatorLoadInProgress)
		eq(t, "join", b.join("g", "", 4).ErrorCode, int16(protocol.CoordinatorLoadInProgress))
		eq(t, "heartbeat", b.beat("g", "m", 1), protocol.None)
		eq(t, "sync: the assignment is lost", b.sync("g", "m", 1, "").ErrorCode, int16(protocol.RebalanceInProgress))
		eq(t, "describe", b.DescribeGroup(context.Background(), 5, "g").ErrorCode, int16(protocol.CoordinatorLoadInProgress))
		eq(t, "delete", b.DeleteGroup(context.Background(), "g"), protocol.CoordinatorLoadInProgress)
		l := b.ListGroups(context.Background(), kmsg.NewPtrListGroupsRequest())
		eq(t, "list leaves it out", len(l.Groups)+int(l.ErrorCode), 0)
		close(gate)
		synctest.Wait()
		_, code = b.fetch("g")
		eq(t, "loaded", code, protocol.None)
	})
	bubble(t, "not here", func(t *testing.T) {
		b := newBroker(t, 1)
		defer func() { b.Close() }()
		_, code := b.fetch("g")
		eq(t, "never led", code, protocol.NotCoordinator)
		b.lead()
		synctest.Wait()
		b.OnResign(0, 0)
		_, code = b.fetch("g")
		eq(t, "a resignation of the past", code, protocol.None)
		b.OnResign(0, b.epoch)
		eq(t, "resigned", b.commit("g", "t", 0, 2), protocol.NotCoordinator)
		b.Close()
		eq(t, "closed", b.commit("g", "t", 0, 2), protocol.CoordinatorNotAvailable)
		eq(t, "list", b.ListGroups(context.Background(), kmsg.NewPtrListGroupsRequest()).ErrorCode, int16(protocol.CoordinatorNotAvailable))
		b.OnElection(0, 9)
	})
}

func TestParkedRequestsAreAnswered(t *testing.T) {
	f := func(name string, end func(b *testBroker), want protocol.ErrorCode) {
		bubble(t, name, func(t *testing.T) {
			b := leading(t, 1)
			one := b.join("g", "", 3)
			b.sync("g", one.MemberID, 1, "x")
			answers := make(chan int16, 2)
			go func() { answers <- b.join("g", "", 3).ErrorCode }()
			synctest.Wait()
			eq(t, "parked", len(answers), 0)
			end(b)
			synctest.Wait()
			eq(t, "answers", len(answers), 1)
			eq(t, "code", <-answers, int16(want))
		})
	}
	f("resigned", func(b *testBroker) { b.OnResign(0, b.epoch) }, protocol.NotCoordinator)
	f("closed", func(b *testBroker) { b.Close() }, protocol.CoordinatorNotAvailable)
	f("failed", func(b *testBroker) { // records that were applied are not in the log
		b.logs[0].Hold(true)
		go b.commit("h", "t", 0, 1)
		synctest.Wait()
		b.logs[0].Elect(99) // who waits for the commit learns that the leadership is over
		synctest.Wait()
	}, protocol.NotCoordinator)

	bubble(t, "the caller goes away", func(t *testing.T) {
		b := leading(t, 1)
		one := b.join("g", "", 3)
		b.sync("g", one.MemberID, 1, "x")
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan int16, 1)
		go func() {
			req := kmsg.NewPtrJoinGroupRequest()
			req.SetVersion(3)
			req.Group, req.ProtocolType, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = "g", "test", 10000, 10000
			req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "p"}}
			done <- b.JoinGroup(ctx, Client{}, req).ErrorCode
		}()
		synctest.Wait()
		cancel()
		eq(t, "code", <-done, int16(protocol.CoordinatorNotAvailable))
	})
}

func TestNothingIsToldBeforeItIsCommitted(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		b := leading(t, 1)
		b.commit("g", "t", 0, 1)
		b.logs[0].Hold(true)
		committed := make(chan protocol.ErrorCode, 1)
		go func() { committed <- b.commit("g", "t", 0, 2) }()
		synctest.Wait()
		fetched := make(chan string, 1)
		go func() { got, _ := b.fetch("g"); fetched <- got }()
		synctest.Wait()
		eq(t, "answered", len(committed)+len(fetched), 0)
		b.logs[0].Commit()
		eq(t, "commit", <-committed, protocol.None)
		eq(t, "fetch", <-fetched, "t-0=2 ")

		start := time.Now()
		eq(t, "a commit that is not replicated in time", b.commit("g", "t", 0, 3), protocol.CoordinatorNotAvailable)
		eq(t, "after", time.Since(start), 5*time.Second)
		b.logs[0].Commit()
		got, _ := b.fetch("g")
		eq(t, "its record stays", got, "t-0=3 ")
	})
}

func TestRefusedWrites(t *testing.T) {
	codes := map[protocol.ErrorCode]protocol.ErrorCode{
		protocol.NotEnoughReplicas: protocol.CoordinatorNotAvailable, protocol.UnknownTopicOrPartition: protocol.CoordinatorNotAvailable,
		protocol.NotLeaderOrFollower: protocol.NotCoordinator, protocol.KafkaStorageError: protocol.NotCoordinator,
		protocol.MessageTooLarge: protocol.UnknownServerError, protocol.RecordListTooLarge: protocol.UnknownServerError,
	}
	for refusal, want := range codes {
		bubble(t, refusal.String(), func(t *testing.T) {
			b := leading(t, 1)
			b.commit("g", "t", 0, 1)
			b.logs[0].Refuse(refusal)
			eq(t, "commit", b.commit("g", "t", 0, 2), want)
			eq(t, "delete", b.DeleteGroup(context.Background(), "g"), want)
			eq(t, "join", b.join("new", "", 3).ErrorCode, int16(want))
			b.logs[0].Refuse(nil)
			b.logs[0].FailAppend(refusal)
			eq(t, "commit", b.commit("g", "t", 0, 3), want)
			got, code := b.fetch("g")
			eq(t, "nothing changed", got, "t-0=1 ")
			eq(t, "and it goes on", code, protocol.None)
			eq(t, "no group", b.state("new"), "Dead")
			eq(t, "commit", b.commit("g", "t", 0, 4), protocol.None)
		})
	}
}

func TestExpiry(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		b := leading(t, 1)
		b.commit("simple", "t", 0, 1)
		j := b.join("members", "", 3)
		b.sync("members", j.MemberID, 1, "x")
		b.commitAs("members", j.MemberID, 1, "t", 0, 1)
		var live atomic.Bool
		live.Store(true)
		go func() {
			for live.Load() {
				time.Sleep(3 * time.Second)
				if live.Load() {
					b.beat("members", j.MemberID, 1)
				}
			}
		}()
		time.Sleep(24*time.Hour - time.Minute)
		synctest.Wait()
		eq(t, "simple, young", b.state("simple"), "Empty")
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		eq(t, "simple, old", b.state("simple"), "Dead")
		time.Sleep(48 * time.Hour)
		got, _ := b.fetch("members")
		eq(t, "with members, never", got, "t-0=1 ")
		live.Store(false)
		time.Sleep(23 * time.Hour)
		eq(t, "left", b.state("members"), "Empty")
		time.Sleep(2 * time.Hour)
		eq(t, "left long enough", b.state("members"), "Dead")
		b.crash()
		synctest.Wait()
		eq(t, "after a crash", b.state("simple")+b.state("members"), "DeadDead")
	})
}

func TestTopicsDeleted(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		b := leading(t, 3)
		for i := range 50 {
			b.commit(fmt.Sprint("g", i), "gone", 0, 1)
			b.commit(fmt.Sprint("g", i), "kept", 0, 2)
		}
		b.TopicsDeleted([]offsets.Topic{{Name: "gone"}})
		synctest.Wait()
		check := func() {
			for i := range 50 {
				got, _ := b.fetch(fmt.Sprint("g", i))
				eq(t, "left", got, "kept-0=2 ")
			}
		}
		check()
		b.crash()
		synctest.Wait()
		check()
	})
}

// TestBatchFormat is case B34: uncompressed CreateTime batches without a producer.
func TestBatchFormat(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		b := leading(t, 1)
		b.commit("g", "t", 0, 1)
		batches := b.logs[0].Batches()
		eq(t, "batches", len(batches), 1)
		x := batches[0]
		eq(t, "attributes", x.Attributes(), 0)
		eq(t, "producer", x.ProducerID(), -1)
		eq(t, "timestamp", x.MaxTimestamp(), time.Now().UnixMilli())
		eq(t, "CRC", x.VerifyCRC(), true)
		b.mu.Lock()
		b.conf.Codec = record.Gzip
		b.mu.Unlock()
		b.commit("g", "t", 0, 1)
		eq(t, "offsets.topic.compression.codec", b.logs[0].Batches()[1].Codec(), record.Gzip)
		b.crash()
		synctest.Wait()
		_, code := b.fetch("g")
		eq(t, "reads it", code, protocol.None)
	})
}

// TestUnknownRecords: what other versions wrote is skipped; what cannot be read stops the shard, and it tries again.
func TestUnknownRecords(t *testing.T) {
	write := func(l *coordtest.Log, key, value []byte) {
		builder := record.NewBuilder(record.NewOptions())
		builder.Append(0, key, value)
		l.Append(builder.Build(), 0)
	}
	bubble(t, "skipped", func(t *testing.T) {
		b := newBroker(t, 1)
		defer func() { b.Close() }()
		write(b.logs[0], []byte{0, 24, 0, 1, 'g'}, []byte{0, 0, 0, 0, 0, 1})
		b.lead()
		synctest.Wait()
		eq(t, "commit", b.commit("g", "t", 0, 1), protocol.None)
	})
	bubble(t, "unreadable", func(t *testing.T) {
		b := newBroker(t, 1)
		defer func() { b.Close() }()
		write(b.logs[0], group.MetadataTombstone("g").Key, []byte{0, 77})
		b.lead()
		synctest.Wait()
		eq(t, "commit", b.commit("g", "t", 0, 1), protocol.NotCoordinator)
	})
}

// TestTransactionalBatchesOfTheLog: a directory that Kafka wrote may hold transactions.
func TestTransactionalBatchesOfTheLog(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		b := newBroker(t, 1)
		defer func() { b.Close() }()
		o := record.NewOptions()
		o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = 5, 0, 0, true
		for p, end := range []record.ControlType{record.Commit, record.Abort, -1} {
			o.ProducerID = int64(p)
			builder := record.NewBuilder(o)
			r := group.OffsetRecord(group.OffsetKey{Group: "g", Topic: "t", Partition: int32(p)}, group.Committed{Offset: 7, ExpireTimestamp: group.None})
			builder.Append(0, r.Key, r.Value)
			b.logs[0].Append(builder.Build(), 0)
			if end >= 0 {
				b.logs[0].Append(record.NewMarker(o, 0, end, 1), 0)
			}
		}
		b.lead()
		synctest.Wait()
		got, _ := b.fetch("g")
		eq(t, "committed", got, "t-0=7 ")
		req := kmsg.NewOffsetFetchRequestGroup()
		req.Group = "g"
		r := b.OffsetFetch(context.Background(), &req, true)
		eq(t, "stable", len(r.Topics[0].Partitions), 2)
		eq(t, "open", r.Topics[0].Partitions[1].ErrorCode, int16(protocol.UnstableOffsetCommit))
	})
}

// TestServerWasBusy: the disk hung for longer than a session; who sent its heartbeat meanwhile stays.
func TestServerWasBusy(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		b := leading(t, 1)
		j := b.join("g", "", 3)
		b.sync("g", j.MemberID, 1, "x")
		hung := &hangingLog{Log: b.logs[0], gate: make(chan struct{})}
		b.Close()
		b.start()
		b.o.Log = func(int32) (Log, error) { return hung, nil }
		b.lead()
		synctest.Wait()
		go b.commit("other", "t", 0, 1) // hangs in the append
		synctest.Wait()
		time.Sleep(9 * time.Second)
		beat := make(chan protocol.ErrorCode, 1)
		go func() { beat <- b.beat("g", j.MemberID, 1) }() // in time
		time.Sleep(20 * time.Second)
		close(hung.gate)
		eq(t, "heartbeat", <-beat, protocol.None)
		synctest.Wait()
		eq(t, "still there", b.beat("g", j.MemberID, 1), protocol.None)
	})
}

type hangingLog struct {
	*coordtest.Log
	gate chan struct{}
}

func (l *hangingLog) Append(b record.Batch, epoch int32) (int64, error) {
	<-l.gate
	return l.Log.Append(b, epoch)
}

// TestChurn lets members come, go and commit through the service while partitions move and writes are refused: no
// acknowledged offset is lost, and everybody ends up in one generation.
func TestChurn(t *testing.T) {
	for seed := range 6 {
		bubble(t, fmt.Sprint(seed), func(t *testing.T) { churn(t, uint64(seed)) })
	}
}

func churn(t *testing.T, seed uint64) {
	b := leading(t, 2)
	rng := rand.New(rand.NewPCG(seed, 9))
	var mu sync.Mutex // the random numbers and the book of acknowledged commits
	acked := map[string]int64{}
	sure := map[string]bool{} // keys with exactly one outcome possible
	random := func(n int) int { mu.Lock(); defer mu.Unlock(); return rng.IntN(n) }
	stop := make(chan struct{})
	var peace time.Time // since when, once stop is closed
	stopped := func() bool {
		select {
		case <-stop:
			return true
		default:
			return false
		}
	}
	var wg sync.WaitGroup
	stable := make([]int32, 12)
	for i := range stable {
		g := fmt.Sprint("g", i%3)
		wg.Go(func() {
			m := &walker{b: b, group: g}
			for n := int64(1); !stopped(); n++ {
				time.Sleep(time.Duration(100+random(900)) * time.Millisecond)
				if !m.step() {
					continue
				}
				k := fmt.Sprintf("%s/%d", g, i)
				code := b.commitAs(g, m.id, m.generation, "t", int32(i), n)
				mu.Lock()
				if code == protocol.None {
					acked[k], sure[k] = n, true
				} else if code == protocol.CoordinatorNotAvailable || code == protocol.NotCoordinator {
					sure[k] = false // it may have been written
				}
				mu.Unlock()
				if random(60) == 0 {
					*m = walker{b: b, group: g} // dies, and another comes
				}
			}
			for time.Since(peace) < 2*time.Minute {
				m.step()
				time.Sleep(500 * time.Millisecond)
			}
			stable[i] = m.generation
		})
	}
	for range 60 {
		time.Sleep(time.Duration(random(3000)) * time.Millisecond)
		l := b.logs[random(2)]
		switch random(5) {
		case 0:
			b.epoch++
			for p := range b.logs {
				b.logs[p].Elect(b.epoch)
				b.OnElection(int32(p), b.epoch)
			}
		case 1:
			l.Refuse(protocol.NotEnoughReplicas)
			time.Sleep(time.Second)
			l.Refuse(nil)
		case 2:
			l.FailAppend(protocol.KafkaStorageError)
		case 3:
			l.Hold(true)
			time.Sleep(time.Duration(random(7000)) * time.Millisecond)
			l.Hold(false)
			l.Commit()
		}
	}
	peace = time.Now()
	close(stop)
	wg.Wait()
	for p, gen := range stable {
		d := b.DescribeGroup(context.Background(), 5, fmt.Sprint("g", p%3))
		if d.State != "Stable" || len(d.Members) != 4 || gen < 1 || gen != stable[p%3] {
			t.Errorf("member %d: generation %d (others %d) of a group in %s with %d members", p, gen, stable[p%3], d.State, len(d.Members))
		}
	}
	for i := range stable {
		k := fmt.Sprintf("g%d/%d", i%3, i)
		req := kmsg.NewOffsetFetchRequestGroup()
		req.Group = fmt.Sprint("g", i%3)
		req.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: "t", Partitions: []int32{int32(i)}}}
		got := b.OffsetFetch(context.Background(), &req, false).Topics[0].Partitions[0].Offset
		if got < acked[k] || sure[k] && got != acked[k] {
			t.Errorf("%s: offset %d, acknowledged %d", k, got, acked[k])
		}
	}
	if len(acked) < 12 || slices.Min(stable) < 1 {
		t.Errorf("nothing was tested: %v", acked)
	}
}

// walker is a member as a client drives it, by blocking calls.
type walker struct {
	b          *testBroker
	group, id  string
	generation int32
	in         bool
}

// step does the next thing and says whether the member is in a stable group.
func (m *walker) step() bool {
	if m.in {
		m.after(m.b.beat(m.group, m.id, m.generation))
		return m.in
	}
	j := m.b.join(m.group, m.id, 5)
	if code := protocol.ErrorCode(j.ErrorCode); code != protocol.None {
		if code == protocol.MemberIDRequired {
			m.id = j.MemberID
		}
		m.after(code)
		return false
	}
	m.id, m.generation = j.MemberID, j.Generation
	s := m.b.sync(m.group, m.id, m.generation, "x")
	m.in = true
	m.after(protocol.ErrorCode(s.ErrorCode))
	return m.in
}

func (m *walker) after(code protocol.ErrorCode) {
	switch code {
	case protocol.None:
	case protocol.UnknownMemberID:
		m.id, m.in = "", false
	case protocol.NotCoordinator, protocol.CoordinatorNotAvailable, protocol.CoordinatorLoadInProgress:
		// looked up and tried again
	default:
		m.in = false
	}
}
