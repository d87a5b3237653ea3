package quorum

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

const testDir = "data/__cluster_metadata-0"

var testVoter = Voter{ID: 1, DirectoryID: protocol.UUID{0: 7, 15: 9}, Endpoints: []Endpoint{{"CONTROLLER", "127.0.0.1", 9093}}}

// reporter is a Listener that keeps what it was told.
type reporter struct {
	mu      sync.Mutex
	cond    *sync.Cond
	events  []string
	epoch   int32 // 0 while this node does not lead
	next    int64
	batches []record.Batch
	fault   error
}

func newReporter() *reporter {
	r := &reporter{}
	r.cond = sync.NewCond(&r.mu)
	return r
}

func (r *reporter) note(change func(), format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	r.events = append(r.events, fmt.Sprintf(format, args...))
	r.cond.Broadcast()
}

func (r *reporter) Became(epoch int32, next int64) {
	r.note(func() { r.epoch, r.next = epoch, next }, "became %d at %d", epoch, next)
}

func (r *reporter) Resigned(epoch int32) { r.note(func() { r.epoch = 0 }, "resigned %d", epoch) }

func (r *reporter) Committed(b record.Batch) {
	r.note(func() { r.batches = append(r.batches, append(record.Batch(nil), b...)) }, "committed %d-%d", b.BaseOffset(), b.LastOffset())
}

func (r *reporter) Fault(err error) { r.note(func() { r.fault = err }, "fault") }

// await blocks until a condition on the reporter holds.
func (r *reporter) await(cond func() bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !cond() {
		r.cond.Wait()
	}
}

// leads waits for an epoch above after and returns it with the next offset.
func (r *reporter) leads(after int32) (epoch int32, next int64) {
	r.await(func() bool { return r.epoch > after })
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.epoch, r.next
}

// testNode is a Node with its log and listener.
type testNode struct {
	*Node
	log *testLog
	r   *reporter
}

func startTestNode(fsys vfs.FS, self Voter, logger *zap.Logger) (*testNode, error) {
	log, err := openTestLog(fsys, testDir)
	if err != nil {
		return nil, err
	}
	n, err := startNodeOn(fsys, log, self, logger)
	if err != nil {
		return nil, err
	}
	n.log = log
	return n, nil
}

func startNodeOn(fsys vfs.FS, log metaLog, self Voter, logger *zap.Logger) (*testNode, error) {
	r := newReporter()
	n, err := open(Options{Self: self, FS: fsys, Dir: testDir, Listener: r, Fault: r.Fault, Logger: logger}, log)
	if err != nil {
		return nil, err
	}
	if err := n.Start(); err != nil {
		return nil, errors.Join(err, n.Close())
	}
	return &testNode{Node: n, r: r}, nil
}

func mustStart(t testing.TB, fsys vfs.FS) *testNode {
	t.Helper()
	n, err := startTestNode(fsys, testVoter, zaptest.NewLogger(t, zaptest.Level(zap.InfoLevel)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func (n *testNode) mustClose(t testing.TB) {
	t.Helper()
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
}

// write proposes one record a batch and waits for all.
func (n *testNode) write(epoch int32, base int64, values ...string) error {
	errs := make(chan error, len(values))
	for _, v := range values {
		end, err := n.Propose(epoch, base, [][]byte{[]byte(v)})
		if err != nil {
			return err
		}
		base = end
		n.OnCommit(epoch, end, func(err error) { errs <- err })
	}
	for range values {
		if err := <-errs; err != nil {
			return err
		}
	}
	return nil
}

// describe is one line a batch.
func describe(batches []record.Batch) (out []string) {
	for _, b := range batches {
		var values []string
		for r, err := range b.Records(1 << 20) {
			if err != nil {
				return append(out, err.Error())
			}
			if b.IsControl() {
				values = append(values, fmt.Sprintf("control %d", r.Key[3]))
			} else {
				values = append(values, string(r.Value))
			}
		}
		out = append(out, fmt.Sprintf("%d@%d %s", b.BaseOffset(), b.PartitionLeaderEpoch(), strings.Join(values, ",")))
	}
	return out
}

func wantLines(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("got:\n  %s\nwant:\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestNewLogBeginsAsKafkaDoes(t *testing.T) {
	fsys := vfs.NewMem()
	n := mustStart(t, fsys)
	epoch, next := n.r.leads(0)
	if epoch != 1 || next != 3 {
		t.Fatalf("epoch %d, next offset %d; want 1, 3", epoch, next)
	}
	end, err := n.Propose(epoch, 3, [][]byte{[]byte("a"), []byte("b")})
	if err != nil || end != 5 {
		t.Fatalf("end %d, %v", end, err)
	}
	if err := n.write(epoch, end, "c"); err != nil {
		t.Fatal(err)
	}
	if id, e := n.Leader(); id != 1 || e != 1 {
		t.Fatalf("leader %d in epoch %d", id, e)
	}
	if s := n.Status(); s.HighWatermark != 6 || s.LogEndOffset != 6 || s.LeaderID != 1 || s.Epoch != 1 {
		t.Fatalf("%+v", s)
	}
	n.mustClose(t)
	want := []string{"0@1 control 2,control 5,control 6", "3@1 a,b", "5@1 c"}
	wantLines(t, describe(n.log.all()), want)
	wantLines(t, n.r.events, []string{"committed 0-2", "became 1 at 3", "committed 3-4", "committed 5-5", "resigned 1"})
	q, err := readFile(fsys, testDir+"/quorum-state", 1000)
	if golden := `{"leaderId":1,"leaderEpoch":1,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}`; err != nil || string(q) != golden {
		t.Fatalf("quorum-state %s, %v", q, err)
	}
}

func TestRestart(t *testing.T) {
	fsys := vfs.NewMem()
	n := mustStart(t, fsys)
	epoch, next := n.r.leads(0)
	if err := n.write(epoch, next, "a", "b"); err != nil {
		t.Fatal(err)
	}
	n.mustClose(t)
	n = mustStart(t, fsys)
	if epoch, next = n.r.leads(0); epoch != 2 || next != 6 {
		t.Fatalf("epoch %d, next offset %d; want 2, 6", epoch, next)
	}
	if err := n.write(epoch, next, "c"); err != nil {
		t.Fatal(err)
	}
	n.mustClose(t)
	wantLines(t, describe(n.log.all()), []string{
		"0@1 control 2,control 5,control 6", "3@1 a", "4@1 b", "5@2 control 2", "6@2 c"})
	wantLines(t, n.r.events, []string{"committed 5-5", "became 2 at 6", "committed 6-6", "resigned 2"})
}

func TestMemoryOnly(t *testing.T) {
	log, err := openTestLog(vfs.NewMem(), testDir)
	if err != nil {
		t.Fatal(err)
	}
	r := newReporter()
	n, err := open(Options{Self: testVoter, Listener: r, Logger: zap.NewNop()}, log)
	if err != nil {
		t.Fatal(err)
	}
	if err := n.Start(); err != nil {
		t.Fatal(err)
	}
	epoch, next := r.leads(0)
	tn := &testNode{Node: n, log: log, r: r}
	if err := tn.write(epoch, next, "a", "b"); err != nil {
		t.Fatal(err)
	}
	if err := n.Snapshot(); err != nil {
		t.Fatal(err)
	}
	tn.mustClose(t)
}

func TestEndpointsChanged(t *testing.T) {
	fsys := vfs.NewMem()
	n := mustStart(t, fsys)
	n.r.leads(0)
	n.mustClose(t)
	moved := testVoter
	moved.Endpoints = []Endpoint{{"CONTROLLER", "127.0.0.1", 9999}}
	n, err := startTestNode(fsys, moved, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	n.r.leads(0)
	n.mustClose(t)
	wantLines(t, describe(n.log.all()), []string{"0@1 control 2,control 5,control 6", "3@2 control 2,control 5,control 6"})
	value, err := votersIn(n.log.all()[1])
	if err != nil {
		t.Fatal(err)
	}
	if voters, err := decodeVoters(value); err != nil || voters[0].Endpoints[0].Port != 9999 {
		t.Fatalf("%v, %v", voters, err)
	}
}

func TestRefusedProposals(t *testing.T) {
	n := mustStart(t, vfs.NewMem())
	defer n.mustClose(t)
	epoch, next := n.r.leads(0)
	one := [][]byte{[]byte("x")}
	f := func(epoch int32, base int64, records [][]byte, want protocol.ErrorCode) {
		t.Helper()
		if _, err := n.Propose(epoch, base, records); protocol.CodeOf(err) != want {
			t.Fatalf("%v, want %v", err, want)
		}
	}
	f(epoch-1, next, one, protocol.NotController)
	f(epoch+1, next, one, protocol.NotController)
	f(epoch, next-1, one, protocol.UnknownServerError)
	f(epoch, next+1, one, protocol.UnknownServerError)
	f(epoch, next, nil, protocol.InvalidRequest)
	f(epoch, next, make([][]byte, MaxBatchRecords+1), protocol.PolicyViolation)
	f(epoch, next, [][]byte{make([]byte, MaxBatchBytes)}, protocol.PolicyViolation)
	if err := n.write(epoch, next, "still the same offset"); err != nil {
		t.Fatal(err)
	}
}

func TestOnCommit(t *testing.T) {
	n := mustStart(t, vfs.NewMem())
	epoch, next := n.r.leads(0)
	now := func(epoch int32, end int64) error {
		answer := errors.New("not at once")
		n.OnCommit(epoch, end, func(err error) { answer = err })
		return answer
	}
	if err := now(epoch, next); err != nil {
		t.Fatalf("already committed: %v", err)
	}
	if err := now(epoch-1, next); protocol.CodeOf(err) != protocol.NotController {
		t.Fatalf("of another epoch: %v", err)
	}
	var order []int64
	done := make(chan struct{})
	for _, d := range []int64{3, 1, 2, 2} { // registered out of order, before anything is proposed
		n.OnCommit(epoch, next+d, func(err error) {
			if order = append(order, d); len(order) == 4 {
				close(done)
			}
		})
	}
	if err := n.write(epoch, next, "a", "b", "c"); err != nil {
		t.Fatal(err)
	}
	<-done
	if !slices.Equal(order, []int64{1, 2, 2, 3}) {
		t.Fatalf("order %v", order)
	}
	answer := make(chan error, 1)
	n.OnCommit(epoch, next+100, func(err error) { answer <- err })
	n.mustClose(t)
	if err := <-answer; protocol.CodeOf(err) != protocol.NotController {
		t.Fatalf("after Close: %v", err)
	}
}

func TestResign(t *testing.T) {
	n := mustStart(t, vfs.NewMem())
	defer n.mustClose(t)
	epoch, next := n.r.leads(0)
	for range 20 {
		answer := make(chan error, 1)
		n.OnCommit(epoch, next+1, func(err error) { answer <- err })
		n.Resign(epoch)
		if err := <-answer; protocol.CodeOf(err) != protocol.NotController {
			t.Fatal(err)
		}
		if _, err := n.Propose(epoch, next, [][]byte{{1}}); protocol.CodeOf(err) != protocol.NotController {
			t.Fatal(err)
		}
		before, end := epoch, next
		if epoch, next = n.r.leads(before); epoch != before+1 || next != end+1 {
			t.Fatalf("epoch %d at %d after %d at %d", epoch, next, before, end)
		}
	}
	if err := n.write(epoch, next, "a"); err != nil {
		t.Fatal(err)
	}
}

// TestResignUnderLoad: what was answered nil is in the log, once, and offsets are dense, whatever happens to leadership.
func TestResignUnderLoad(t *testing.T) {
	n := mustStart(t, vfs.NewMem())
	acked := map[string]int64{}
	var mu sync.Mutex
	var pending sync.WaitGroup
	epoch, next := n.r.leads(0)
	for i := range 3000 {
		switch i % 300 {
		case 150:
			pending.Wait()
		case 299:
			n.Resign(epoch)
		}
		value := fmt.Sprint("record ", i)
		end, err := n.Propose(epoch, next, [][]byte{[]byte(value)})
		if err != nil {
			epoch, next = n.r.leads(epoch)
			continue
		}
		pending.Add(1)
		n.OnCommit(epoch, end, func(err error) {
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				acked[value] = end - 1
			}
			pending.Done()
		})
		next = end
	}
	pending.Wait()
	n.mustClose(t)
	found := map[string]int64{}
	offset := int64(0)
	for _, b := range n.log.all() {
		for r, err := range b.Records(1 << 20) {
			if err != nil || r.Offset != offset {
				t.Fatalf("offset %d, want %d, %v", r.Offset, offset, err)
			}
			if _, again := found[string(r.Value)]; again && !b.IsControl() {
				t.Fatalf("%s is there twice", r.Value)
			}
			found[string(r.Value)] = offset
			offset++
		}
	}
	for value, offset := range acked {
		if found[value] != offset {
			t.Fatalf("%s was committed at %d, is at %d", value, offset, found[value])
		}
	}
	if len(acked) < 500 {
		t.Fatalf("only %d of 3000 committed", len(acked))
	}
	if s := n.log.hw; s != offset {
		t.Fatalf("high watermark %d, want %d", s, offset)
	}
}

func TestDiskFaults(t *testing.T) {
	f := func(name string, breakIt func(n *testNode, fsys *vfs.Mem)) {
		t.Run(name, func(t *testing.T) {
			fsys := vfs.NewMem()
			n := mustStart(t, fsys)
			epoch, next := n.r.leads(0)
			breakIt(n, fsys)
			err := n.write(epoch, next, "x")
			if c := protocol.CodeOf(err); c != protocol.KafkaStorageError && c != protocol.NotController {
				t.Fatalf("write answered %v", err)
			}
			n.r.await(func() bool { return n.r.fault != nil })
			if !errors.Is(n.r.fault, syscall.EIO) || protocol.CodeOf(n.r.fault) != protocol.KafkaStorageError {
				t.Fatalf("fault %v", n.r.fault)
			}
			if n.r.epoch != 0 {
				t.Fatal("did not resign")
			}
			if err := n.Writable(epoch); protocol.CodeOf(err) != protocol.NotController {
				t.Fatal(err)
			}
			answered := false
			n.OnCommit(epoch, next, func(err error) { answered = protocol.CodeOf(err) == protocol.KafkaStorageError })
			if !answered {
				t.Fatal("a waiter after the fault was not told of it")
			}
			_ = n.Close() // it may report the fault again
		})
	}
	f("log", func(n *testNode, _ *vfs.Mem) { n.log.fail(syscall.EIO) })
	f("store", func(_ *testNode, fsys *vfs.Mem) {
		fsys.SetHook(func(op vfs.Op, name string) error {
			if strings.Contains(name, "/raft/log") {
				return syscall.EIO
			}
			return nil
		})
	})
}

func TestSnapshotsBoundTheStore(t *testing.T) {
	fsys := vfs.NewMem()
	n := mustStart(t, fsys)
	epoch, next := n.r.leads(0)
	value := strings.Repeat("x", 1000)
	for range 50 {
		if err := n.write(epoch, next, slices.Repeat([]string{value}, 200)...); err != nil {
			t.Fatal(err)
		}
		next += 200
	}
	n.store.mu.Lock()
	entries, size := len(n.store.entries), n.store.size
	n.store.mu.Unlock()
	if entries > 3*snapshotEntries || size > 3*snapshotBytes {
		t.Fatalf("%d entries, %d bytes in the store after 10000 batches", entries, size)
	}
	n.mustClose(t)
	n = mustStart(t, fsys)
	defer n.mustClose(t)
	if _, after := n.r.leads(0); after != next+1 {
		t.Fatalf("next offset %d, want %d", after, next+1)
	}
	if len(n.r.batches) != 1 {
		t.Fatalf("%d batches were applied again after a clean stop", len(n.r.batches)-1)
	}
}

func TestNothingIsLeftRunning(t *testing.T) {
	before := runtime.NumGoroutine()
	for range 20 {
		n := mustStart(t, vfs.NewMem())
		n.r.leads(0)
		n.mustClose(t)
	}
	for try := 0; runtime.NumGoroutine() > before; try++ {
		if try == 100 {
			var b bytes.Buffer
			b.Grow(1 << 16)
			stacks := b.AvailableBuffer()[:1<<16]
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(10 * time.Millisecond) // goroutines that have been told to end do so in their own time
	}
}

func TestSeveralControllersAreRefused(t *testing.T) {
	log, err := openTestLog(vfs.NewMem(), testDir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open(Options{Self: testVoter, Others: []Voter{{ID: 2}}, Logger: zap.NewNop()}, log); err == nil {
		t.Fatal("no error")
	}
}
