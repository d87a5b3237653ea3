package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap/zaptest"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/metadata/loader"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
	"github.com/ottla/ottla/protocol/record"
)

const testCluster = "test-cluster"

// fakeQuorum is a quorum of one that commits at once, or when it is told to.
type fakeQuorum struct {
	t *testing.T

	mu      sync.Mutex
	epoch   int32
	leads   bool
	log     []record.Batch // committed
	pending []record.Batch
	next    int64 // behind pending
	manual  bool
	waiters []commitWaiter
	writes  int // batches proposed

	listener *Service
	loader   *loader.Loader
}

type commitWaiter struct {
	end  int64
	done func(error)
}

func (q *fakeQuorum) Writable(epoch int32) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.writableLocked(epoch)
}

func (q *fakeQuorum) writableLocked(epoch int32) error {
	if !q.leads || epoch != q.epoch {
		return protocol.NotController
	}
	return nil
}

func (q *fakeQuorum) Propose(epoch int32, base int64, records [][]byte) (int64, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if err := q.writableLocked(epoch); err != nil {
		return 0, err
	}
	if base != q.next {
		return 0, protocol.UnknownServerError
	}
	o := record.NewOptions()
	o.BaseOffset, o.PartitionLeaderEpoch = base, epoch
	b := record.NewBuilder(o)
	for _, r := range records {
		b.Append(time.Now().UnixMilli(), nil, r)
	}
	q.writes++
	q.addLocked(b.Build())
	return q.next, nil
}

func (q *fakeQuorum) addLocked(b record.Batch) {
	q.pending = append(q.pending, b)
	q.next = b.NextOffset()
	if !q.manual {
		go q.commit()
	}
}

// commit commits what is pending.
func (q *fakeQuorum) commit() {
	q.mu.Lock()
	done := q.pending
	q.log = append(q.log, done...)
	q.pending = nil
	hw := q.next
	var reached []commitWaiter
	q.waiters = slices.DeleteFunc(q.waiters, func(w commitWaiter) bool {
		if w.end <= hw {
			reached = append(reached, w)
		}
		return w.end <= hw
	})
	for _, b := range done {
		q.loader.Offer(b)
	}
	q.mu.Unlock()
	for _, b := range done {
		q.listener.Committed(b)
	}
	for _, w := range reached {
		w.done(nil)
	}
}

func (q *fakeQuorum) OnCommit(epoch int32, end int64, done func(error)) {
	q.mu.Lock()
	err := q.writableLocked(epoch)
	if err == nil && len(q.pending) > 0 && end > q.pending[0].BaseOffset() {
		q.waiters = append(q.waiters, commitWaiter{end, done})
		q.mu.Unlock()
		return
	}
	q.mu.Unlock()
	done(err)
}

func (q *fakeQuorum) Leader() (int32, int32) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.leads {
		return -1, q.epoch
	}
	return 1, q.epoch
}

func (q *fakeQuorum) Resign(epoch int32) { q.lose() }

// win begins the next epoch with its control batch.
func (q *fakeQuorum) win() {
	q.mu.Lock()
	q.epoch++
	q.leads = true
	o := record.NewOptions()
	o.BaseOffset, o.PartitionLeaderEpoch, o.Control = q.next, q.epoch, true
	b := record.NewBuilder(o)
	voters := &msg.VotersRecord{Voters: []msg.VotersRecordVoter{{VoterID: 1, VoterDirectoryID: protocol.UUID{3}}}}
	for _, err := range []error{
		metadata.AppendControl(b, 0, record.LeaderChange, &msg.LeaderChangeMessage{LeaderID: 1}, 0),
		metadata.AppendControl(b, 0, record.KRaftVersion, &msg.KRaftVersionRecord{KRaftVersion: 1}, 0),
		metadata.AppendControl(b, 0, record.KRaftVoters, voters, 0),
	} {
		if err != nil {
			q.t.Fatal(err)
		}
	}
	batch := b.Build()
	q.log = append(q.log, batch)
	q.next = batch.NextOffset()
	q.loader.Offer(batch)
	epoch, next := q.epoch, q.next
	q.mu.Unlock()
	q.listener.Became(epoch, next)
}

// lose drops what was not committed.
func (q *fakeQuorum) lose() {
	q.mu.Lock()
	epoch, waiters := q.epoch, q.waiters
	if !q.leads {
		q.mu.Unlock()
		return
	}
	q.leads = false
	if len(q.pending) > 0 {
		q.next = q.pending[0].BaseOffset()
	}
	q.pending, q.waiters = nil, nil
	q.mu.Unlock()
	for _, w := range waiters {
		w.done(protocol.NotController)
	}
	q.listener.Resigned(epoch)
}

// world is a service with its quorum, in a bubble of virtual time.
type world struct {
	t       *testing.T
	q       *fakeQuorum
	s       *Service
	l       *loader.Loader
	faults  chan error
	version int
}

func newWorld(t *testing.T, o Options, log ...record.Batch) *world {
	t.Helper()
	w := &world{t: t, faults: make(chan error, 10)}
	logger := zaptest.NewLogger(t)
	fault := func(err error) { w.faults <- err }
	static, _, err := config.Load(config.Default("unused", nil))
	if err != nil {
		t.Fatal(err)
	}
	if o.Loader == nil {
		o.Loader = loader.New(loader.Options{Fault: fault, Logger: logger})
	}
	w.l = o.Loader
	w.q = &fakeQuorum{t: t, loader: w.l, next: w.l.NextOffset()}
	for _, b := range log {
		w.q.log, w.q.next, w.q.epoch = append(w.q.log, b), b.NextOffset(), b.PartitionLeaderEpoch()
		w.l.Offer(b)
	}
	o.NodeID, o.ClusterID, o.Static, o.Fault, o.Logger = 1, testCluster, static, fault, logger
	o.Supported = []metadata.VersionRange{{Feature: metadata.ELRVersion, Max: 1}, {Feature: metadata.GroupVersion, Max: 0}}
	w.s = New(o)
	w.s.Start(w.q)
	w.q.listener = w.s
	t.Cleanup(func() {
		w.q.lose()
		if err := w.s.Close(); err != nil {
			t.Error(err)
		}
		w.l.Close()
		select {
		case err := <-w.faults:
			t.Errorf("fault: %v", err)
		default:
		}
	})
	return w
}

func (w *world) do(req kmsg.Request) kmsg.Response {
	w.t.Helper()
	req.SetVersion(req.MaxVersion())
	resp, err := w.s.Do(w.t.Context(), Request{}, req)
	if err != nil {
		w.t.Fatalf("%T: %v", req, err)
	}
	return resp
}

func (w *world) active() {
	w.t.Helper()
	if err := w.s.WaitActive(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) register(id int32) int64 {
	w.t.Helper()
	w.version++
	r := kmsg.NewPtrBrokerRegistrationRequest()
	r.BrokerID, r.ClusterID, r.IncarnationID, r.PreviousBrokerEpoch = id, testCluster, [16]byte{0: 1, 15: byte(w.version)}, -1
	r.LogDirs = [][16]byte{{0: 9, 15: byte(id)}}
	for _, f := range []metadata.VersionRange{metadata.SupportedMetadataVersion(), metadata.SupportedKRaftVersion(), {Feature: metadata.ELRVersion, Max: 1}} {
		r.Features = append(r.Features, kmsg.BrokerRegistrationRequestFeature{Name: f.Feature, MinSupportedVersion: f.Min, MaxSupportedVersion: f.Max})
	}
	resp := w.do(r).(*kmsg.BrokerRegistrationResponse)
	if resp.ErrorCode != 0 {
		w.t.Fatal(protocol.ErrorCode(resp.ErrorCode))
	}
	return resp.BrokerEpoch
}

func (w *world) heartbeat(id int32, epoch int64) *kmsg.BrokerHeartbeatResponse {
	w.t.Helper()
	r := kmsg.NewPtrBrokerHeartbeatRequest()
	r.BrokerID, r.BrokerEpoch, r.CurrentMetadataOffset = id, epoch, epoch+100
	return w.do(r).(*kmsg.BrokerHeartbeatResponse)
}

func createRequest(names ...string) *kmsg.CreateTopicsRequest {
	r := kmsg.NewPtrCreateTopicsRequest()
	r.SetVersion(r.MaxVersion())
	for _, name := range names {
		t := kmsg.NewCreateTopicsRequestTopic()
		t.Topic, t.NumPartitions, t.ReplicationFactor = name, 2, 1
		r.Topics = append(r.Topics, t)
	}
	return r
}

func (w *world) create(name string) protocol.ErrorCode {
	w.t.Helper()
	return protocol.ErrorCode(w.do(createRequest(name)).(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode)
}

// TestFreshNode: a lone node needs three writes until its broker may serve, and answers when they are committed.
func TestFreshNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		w.q.win()
		w.active()
		synctest.Wait()
		if i := w.l.Current(); i.MetadataVersion() != 33 || i.Feature(metadata.ELRVersion) != 1 || i.Feature(metadata.GroupVersion) != 0 ||
			i.Config(metadata.AllBrokers)["min.insync.replicas"] != "1" {
			t.Errorf("the log begins with %v %v", i.Features(), i.Config(metadata.AllBrokers))
		}
		epoch := w.register(1)
		if r := w.heartbeat(1, epoch); r.IsFenced || !r.IsCaughtUp {
			t.Errorf("%+v", r)
		}
		if w.q.writes != 3 {
			t.Errorf("%d writes", w.q.writes)
		}
		if code := w.create("a"); code != protocol.None {
			t.Error(code)
		}
		synctest.Wait()
		topic := w.l.Current().Topic("a")
		if topic == nil || len(topic.Partitions) != 2 || topic.Partitions[1].Leader != 1 || topic.Partitions[1].Directories[0] != (protocol.UUID{0: 9, 15: 1}) {
			t.Errorf("%+v", topic)
		}
		q := kmsg.NewPtrDescribeQuorumRequest()
		q.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
		d := w.do(q).(*kmsg.DescribeQuorumResponse)
		if p := d.Topics[0].Partitions[0]; d.ErrorCode != 0 || p.LeaderID != 1 || p.LeaderEpoch != 1 || p.HighWatermark != w.q.next || len(p.CurrentVoters) != 1 || len(d.Nodes) != 1 {
			t.Errorf("%+v", d)
		}
	})
}

// TestNotController: without leadership, and for what was not committed when it ended, the code is 41.
func TestNotController(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		if code := w.create("a"); code != protocol.NotController {
			t.Errorf("before the election: %v", code)
		}
		q := kmsg.NewPtrDescribeQuorumRequest()
		if r := w.do(q).(*kmsg.DescribeQuorumResponse); protocol.ErrorCode(r.ErrorCode) != protocol.NotLeaderOrFollower {
			t.Errorf("DescribeQuorum: %+v", r)
		}
		w.q.win()
		w.active()
		w.heartbeat(1, w.register(1))
		w.q.mu.Lock()
		w.q.manual = true
		w.q.mu.Unlock()
		answer := make(chan protocol.ErrorCode)
		go func() { answer <- w.create("lost") }()
		synctest.Wait()
		w.q.lose()
		if code := <-answer; code != protocol.NotController {
			t.Errorf("not committed: %v", code)
		}
		w.q.mu.Lock()
		w.q.manual = false
		w.q.mu.Unlock()
		w.q.win()
		w.active()
		w.heartbeat(1, w.register(1))
		if code := w.create("lost"); code != protocol.None {
			t.Errorf("the topic that was lost: %v", code)
		}
	})
}

// TestUnanswerable: what the controller has no rule for is an error, and so is a caller that does not wait.
func TestUnanswerable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		w.q.win()
		w.active()
		if _, err := w.s.Do(t.Context(), Request{}, kmsg.NewPtrFetchRequest()); protocol.CodeOf(err) != protocol.InvalidRequest {
			t.Errorf("Fetch: %v", err)
		}
		w.heartbeat(1, w.register(1))
		w.q.mu.Lock()
		w.q.manual = true
		w.q.mu.Unlock()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.s.Do(ctx, Request{}, createRequest("a")); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a caller that gave up: %v", err)
		}
		w.q.mu.Lock()
		w.q.manual = false
		w.q.mu.Unlock()
		w.q.commit()
		if code := w.create("a"); code != protocol.TopicAlreadyExists {
			t.Errorf("the topic is there all the same: %v", code)
		}
	})
}

// TestSession: a broker that falls silent is fenced nine seconds later; one that does not is not.
func TestSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, Options{})
		w.q.win()
		w.active()
		one, two := w.register(1), w.register(2)
		w.heartbeat(2, two)
		for range 10 {
			w.heartbeat(1, one)
			time.Sleep(2 * time.Second)
		}
		synctest.Wait()
		if i := w.l.Current(); i.Broker(1).Fenced || !i.Broker(2).Fenced {
			t.Errorf("%+v %+v", i.Broker(1), i.Broker(2))
		}
		if r := w.heartbeat(2, two); r.IsFenced {
			t.Errorf("it came back: %+v", r)
		}
	})
}

// TestOpenTransaction: a predecessor's transaction that has not ended is aborted.
func TestOpenTransaction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := record.NewOptions()
		o.PartitionLeaderEpoch = 3
		b := record.NewBuilder(o)
		name := "Bootstrap records"
		for _, r := range []metadata.Record{&msg.BeginTransactionRecord{Name: &name}, &msg.FeatureLevelRecord{Name: metadata.MetadataVersion, FeatureLevel: 20}} {
			v, err := metadata.EncodeRecord(nil, r, 0)
			if err != nil {
				t.Fatal(err)
			}
			b.Append(0, nil, v)
		}
		w := newWorld(t, Options{}, b.Build())
		w.q.win()
		w.active()
		synctest.Wait()
		if i := w.l.Current(); i.MetadataVersion() != 33 {
			t.Errorf("metadata.version %d", i.MetadataVersion())
		}
	})
}

// TestSnapshots: written when enough log has come, cleaned by size, and enough to start from.
func TestSnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMem()
		if err := fs.MkdirAll("log"); err != nil {
			t.Fatal(err)
		}
		deleted := int64(-1)
		w := newWorld(t, Options{Snapshots: &SnapshotOptions{
			FS: fs, Dir: "log", BytesBetween: 2000, RetentionSize: 20000, DeleteBefore: func(offset int64) error { deleted = offset; return nil },
		}})
		w.q.win()
		w.active()
		w.heartbeat(1, w.register(1))
		for n := range 100 {
			w.create(fmt.Sprintf("topic-%d", n))
			synctest.Wait()
		}
		names, err := fs.List("log")
		if err != nil || len(names) == 0 || len(names) > 8 {
			t.Fatalf("%d snapshots, %v", len(names), err)
		}
		newest, _ := metadata.ParseSnapshotName(names[len(names)-1].Name)
		if deleted < 0 || deleted > newest.EndOffset {
			t.Errorf("log deleted below %d, newest snapshot %v", deleted, newest)
		}
		again := loader.New(loader.Options{Fault: func(err error) { t.Error(err) }, Logger: zaptest.NewLogger(t)})
		defer again.Close()
		f, err := fs.OpenRead("log/" + newest.Name())
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if err := again.Restore(vfsReader(f), newest.EndOffset, newest.Epoch); err != nil {
			t.Fatal(err)
		}
		for _, b := range w.q.log {
			again.Offer(b) // what the snapshot has is skipped
		}
		if err := again.Start(); err != nil {
			t.Fatal(err)
		}
		if err := again.Await(t.Context(), w.l.Current().Offset); err != nil {
			t.Fatal(err)
		}
		if got := again.Current(); got.TopicCount() != 100 || got.Broker(1) == nil || got.Offset != w.l.Current().Offset {
			t.Errorf("%d topics at offset %d", got.TopicCount(), got.Offset)
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		w.create("late")
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		after, _ := fs.List("log")
		last, _ := metadata.ParseSnapshotName(after[len(after)-1].Name)
		if last.EndOffset != w.l.Current().Offset+1 {
			t.Errorf("after an hour the newest snapshot ends at %d, the log at %d", last.EndOffset, w.l.Current().Offset+1)
		}
	})
}

type readerAt struct {
	f  vfs.File
	at int64
}

func (r *readerAt) Read(b []byte) (int, error) {
	n, err := r.f.ReadAt(b, r.at)
	r.at += int64(n)
	return n, err
}

func vfsReader(f vfs.File) *readerAt { return &readerAt{f: f} }
