package quorum

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
	"github.com/ottla/ottla/storage"
)

// clone is a disk after a power loss, and what must be on it.
type clone struct {
	fsys *vfs.Mem
	what string
	must int // an index into something that only grows
}

// crashes collects clones at every operation that changes the disk.
type crashes struct {
	mu     sync.Mutex
	clones []clone
	must   func() int
}

func (c *crashes) watch(fsys *vfs.Mem, each int, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	fsys.SetHook(func(op vfs.Op, name string) error {
		if op.Changes() {
			c.mu.Lock()
			defer c.mu.Unlock()
			for range each {
				c.clones = append(c.clones, clone{fsys.Crash(rng), fmt.Sprintf("%d: before %s %s", len(c.clones), op, name), c.must()})
			}
		}
		return nil
	})
}

// storeModel is a naive store. Its history has a line for each frame written, in order.
type storeModel struct {
	values  map[string]string
	entries map[uint64]string
	snap    uint64
	history []string
	durable int // index into history: this or something later must survive
}

func (m *storeModel) note() { m.history = append(m.history, m.String()) }

func (m *storeModel) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "snapshot %d, %v, entries", m.snap, m.values)
	for _, i := range sortedKeysOf(m.entries) {
		fmt.Fprintf(&b, " %d=%s", i, m.entries[i])
	}
	return b.String()
}

func sortedKeysOf(m map[uint64]string) (keys []uint64) {
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// modelOf is what a store says it holds.
func modelOf(t *testing.T, s *store) string {
	m := storeModel{values: map[string]string{}, entries: map[uint64]string{}, snap: s.snap.index}
	for k, v := range s.values {
		m.values[k] = string(v)
	}
	first, _ := s.FirstIndex()
	last, _ := s.LastIndex()
	for i := first; i > 0 && i <= last; i++ {
		var l raft.Log
		if err := s.GetLog(i, &l); err != nil || l.Index != i {
			t.Fatalf("entry %d: %+v, %v", i, l, err)
		}
		m.entries[i] = fmt.Sprint(l.Term, string(l.Data))
	}
	return m.String()
}

// storeWorkload does random operations on both. It stops at the first error.
func storeWorkload(s *store, m *storeModel, rng *rand.Rand, steps int) error {
	if err := s.reset(1, snapshot{index: 1, term: 1, configIndex: 1, configuration: raft.Configuration{Servers: []raft.Server{{ID: "1", Address: "1"}}}}); err != nil {
		return err
	}
	*m = storeModel{values: map[string]string{keyTerm: string(putUint64(1))}, entries: map[uint64]string{}, snap: 1}
	m.note()
	next, oldest := uint64(2), uint64(2)
	for step := range steps {
		switch rng.IntN(10) {
		default: // append
			var logs []*raft.Log
			for range 1 + rng.IntN(3) {
				l := &raft.Log{Index: next, Term: uint64(step), Data: fmt.Append(nil, "e", rng.IntN(1000), strings.Repeat("x", rng.IntN(100)))}
				if rng.IntN(5) == 0 {
					l.Data = fmt.Append(nil, strings.Repeat("y", 20000))
				}
				logs = append(logs, l)
				m.entries[next] = fmt.Sprint(l.Term, string(l.Data))
				m.note()
				next++
			}
			if err := s.StoreLogs(logs); err != nil {
				return err
			}
			m.durable = len(m.history) - 1
		case 0: // vote in a new term
			m.values[keyTerm] = string(putUint64(uint64(step)))
			m.note()
			if err := s.SetUint64([]byte(keyTerm), uint64(step)); err != nil {
				return err
			}
			m.values[keyVote] = fmt.Sprint(step)
			m.note()
			if err := s.Set([]byte(keyVote), fmt.Append(nil, step)); err != nil {
				return err
			}
			m.durable = len(m.history) - 1
		case 1: // snapshot, and drop what it covers
			if next == oldest {
				continue
			}
			index := oldest + uint64(rng.IntN(int(next-oldest)))
			m.snap = index
			m.note()
			sink, _ := snapshots{s}.Create(1, index, uint64(step), s.snap.configuration, 1, nil)
			_, _ = sink.Write(fmt.Append(nil, "state ", index))
			if err := sink.Close(); err != nil {
				return err
			}
			m.durable = len(m.history) - 1
			for i := oldest; i <= index; i++ {
				delete(m.entries, i)
			}
			m.note()
			if err := s.DeleteRange(oldest, index); err != nil {
				return err
			}
			oldest = index + 1
		case 2: // another leader's entries take the place of the newest
			if next-oldest < 2 {
				continue
			}
			from := next - 1
			delete(m.entries, from)
			m.note()
			if err := s.DeleteRange(from, next-1); err != nil {
				return err
			}
			next = from
		}
	}
	return nil
}

func TestStoreAgainstModel(t *testing.T) {
	for seed := range uint64(10) {
		fsys := vfs.NewMem()
		if err := fsys.MkdirAll("d"); err != nil {
			t.Fatal(err)
		}
		s, err := openStore(fsys, "d/raft", false)
		if err != nil {
			t.Fatal(err)
		}
		var m storeModel
		if err := storeWorkload(s, &m, rand.New(rand.NewPCG(seed, 0)), 200); err != nil {
			t.Fatal(err)
		}
		if got := modelOf(t, s); got != m.String() {
			t.Fatalf("seed %d: have\n%s\nwant\n%s", seed, got, m.String())
		}
		if err := s.close(); err != nil {
			t.Fatal(err)
		}
		if s, err = openStore(fsys, "d/raft", false); err != nil {
			t.Fatal(err)
		}
		if got := modelOf(t, s); got != m.String() || s.cut != 0 {
			t.Fatalf("seed %d, opened again: have\n%s\nwant\n%s", seed, got, m.String())
		}
		if s.size > s.liveSize()+2*rewriteExcess {
			t.Fatalf("seed %d: %d bytes for %d", seed, s.size, s.liveSize())
		}
	}
}

// TestStoreSurvivesAnyCrash loses power before every operation. What is found is what was there at some moment, and
// not before the last moment that somebody was told of.
func TestStoreSurvivesAnyCrash(t *testing.T) {
	tried := 0
	for seed := range uint64(6) {
		fsys := vfs.NewCrashable()
		if err := fsys.MkdirAll("d"); err != nil {
			t.Fatal(err)
		}
		if err := fsys.SyncDir("/"); err != nil {
			t.Fatal(err)
		}
		var m storeModel
		c := crashes{must: func() int {
			if m.history == nil {
				return -1
			}
			return m.durable
		}}
		c.watch(fsys, 2, seed)
		s, err := openStore(fsys, "d/raft", false)
		if err != nil {
			t.Fatal(err)
		}
		if err := storeWorkload(s, &m, rand.New(rand.NewPCG(seed, 0)), 100); err != nil {
			t.Fatal(err)
		}
		for _, c := range c.clones {
			tried++
			s, err := openStore(c.fsys, "d/raft", false)
			if err != nil {
				t.Fatalf("seed %d, %s: %v", seed, c.what, err)
			}
			if s.empty() && c.must < 0 {
				continue
			}
			if got := modelOf(t, s); !slices.Contains(m.history[max(0, c.must):], got) {
				t.Fatalf("seed %d, %s: have\n%s\nat least\n%s", seed, c.what, got, m.history[c.must])
			}
		}
	}
	t.Logf("%d states", tried)
}

// TestStoreSurfacesEveryFault fails each operation in turn. The error comes out, nothing is written after it (the term
// excepted, of which Raft takes no error), and what was durable before is there after a reopen.
func TestStoreSurfacesEveryFault(t *testing.T) {
	for i := 1; ; i++ {
		fsys := vfs.NewMem()
		if err := fsys.MkdirAll("d"); err != nil {
			t.Fatal(err)
		}
		s, err := openStore(fsys, "d/raft", false)
		if err != nil {
			t.Fatal(err)
		}
		reported := 0
		s.onFault(func(error) { reported++ })
		fsys.FailAt(i, syscall.ENOSPC, false)
		var m storeModel
		err = storeWorkload(s, &m, rand.New(rand.NewPCG(1, 0)), 50)
		fsys.SetHook(nil)
		if err == nil {
			if reported != 0 {
				t.Fatalf("operation %d: a fault was reported but not returned", i)
			}
			t.Logf("%d operations", i-1)
			return
		}
		if reported != 1 {
			t.Fatalf("operation %d: reported %d times: %v", i, reported, err)
		}
		if err := s.StoreLog(&raft.Log{Index: 9999}); err == nil {
			t.Fatalf("operation %d: stored after %v", i, s.err)
		}
		if err := s.SetUint64([]byte(keyTerm), 77); err != nil {
			t.Fatalf("operation %d: the term answered %v, which makes Raft panic", i, err)
		}
		_ = s.close() // reports the fault again
		if s, err = openStore(fsys, "d/raft", false); err != nil {
			t.Fatalf("operation %d: %v", i, err)
		}
		if m.history == nil && s.empty() {
			continue
		}
		if got := modelOf(t, s); m.history != nil && !slices.Contains(m.history[m.durable:], got) {
			t.Fatalf("operation %d: have\n%s\nat least\n%s", i, got, m.history[m.durable])
		}
	}
}

// TestNodeSurvivesAnyCrash loses power before every operation of starts, writes, snapshots and stops. Afterwards the
// node leads a new epoch, and what was acknowledged is where it was, in a log without gaps.
func TestNodeSurvivesAnyCrash(t *testing.T) {
	w := crashWorkload{fsys: vfs.NewCrashable(), open: func(fsys vfs.FS) (metaLog, error) { return openTestLog(fsys, testDir) }}
	if _, err := openTestLog(w.fsys, testDir); err != nil { // durably there, as storage makes it
		t.Fatal(err)
	}
	for _, dir := range []string{"/", "data", testDir} {
		if err := w.fsys.SyncDir(dir); err != nil {
			t.Fatal(err)
		}
	}
	w.run(t, 4)
}

// TestNodeSurvivesAnyCrashWithStorage is the same with the real log.
func TestNodeSurvivesAnyCrashWithStorage(t *testing.T) {
	w := crashWorkload{fsys: vfs.NewCrashable(), open: func(fsys vfs.FS) (metaLog, error) { return openStorageLog(fsys, testDir) }}
	if err := errors.Join(w.fsys.Mkdir("data"), w.fsys.SyncDir("/")); err != nil { // the log directory
		t.Fatal(err)
	}
	w.run(t, 4)
}

func openStorageLog(fsys vfs.FS, dir string) (metaLog, error) {
	l, err := storage.OpenLog(storage.LogOptions{
		FS: fsys, Dir: dir, TopicPartition: protocol.TopicPartition{Topic: "__cluster_metadata"}, TopicID: protocol.MetadataTopicID,
		Config: storage.DefaultLogConfig(), Logger: zap.NewNop(),
	})
	if err != nil {
		return nil, err
	}
	return kafkaLog{l}, nil
}

type crashWorkload struct {
	fsys *vfs.Mem
	open func(vfs.FS) (metaLog, error)

	mu     sync.Mutex
	acked  []string // "offset value"
	epochs []int32  // that were led
}

func (w *crashWorkload) start(fsys *vfs.Mem) (*testNode, metaLog, error) {
	log, err := w.open(fsys)
	if err != nil {
		return nil, nil, err
	}
	n, err := startNodeOn(fsys, log, testVoter, zap.NewNop())
	return n, log, err
}

func (w *crashWorkload) run(t *testing.T, each int) {
	c := crashes{must: func() int { w.mu.Lock(); defer w.mu.Unlock(); return len(w.acked)<<16 | len(w.epochs) }}
	c.watch(w.fsys, each, 1)
	for round := range 3 {
		w.round(t, round)
	}
	w.fsys.SetHook(nil)
	for _, c := range c.clones {
		w.check(t, c)
	}
	t.Logf("%d states", len(c.clones))
}

// round is a start, a few writes with a snapshot among them, and a stop.
func (w *crashWorkload) round(t *testing.T, round int) {
	n, log, err := w.start(w.fsys)
	if err != nil {
		t.Fatal(err)
	}
	epoch, next := n.r.leads(0)
	w.mu.Lock()
	w.epochs = append(w.epochs, epoch)
	w.mu.Unlock()
	for i := range 12 {
		value := fmt.Sprint("round ", round, " value ", i)
		if err := n.write(epoch, next, value); err != nil {
			t.Fatal(err)
		}
		w.mu.Lock()
		w.acked = append(w.acked, fmt.Sprint(next, " ", value))
		w.mu.Unlock()
		next++
		if i == 6 {
			if err := n.Snapshot(); err != nil {
				t.Fatal(err)
			}
		}
	}
	n.mustClose(t)
	if l, ok := log.(kafkaLog); ok {
		err = l.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// check starts a node on what a crash left.
func (w *crashWorkload) check(t *testing.T, c clone) {
	n, log, err := w.start(c.fsys)
	if err != nil {
		t.Fatalf("%s: %v", c.what, err)
	}
	epoch, _ := n.r.leads(0)
	n.mustClose(t)
	for _, before := range w.epochs[:c.must&0xffff] {
		if epoch <= before {
			t.Fatalf("%s: leads epoch %d after epoch %d", c.what, epoch, before)
		}
	}
	found := map[string]bool{}
	offset := int64(0)
	for offset < log.LogEndOffset() {
		all, err := log.readBatches(offset, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for len(all) > 0 {
			var b record.Batch
			if b, all, err = record.Next(all); err != nil || b.BaseOffset() != offset {
				t.Fatalf("%s: batch at %d, want %d, %v", c.what, b.BaseOffset(), offset, err)
			}
			for r, err := range b.Records(1 << 20) {
				if err != nil {
					t.Fatal(err)
				}
				found[fmt.Sprint(r.Offset, " ", string(r.Value))] = true
			}
			offset = b.NextOffset()
		}
	}
	for _, a := range w.acked[:c.must>>16] {
		if !found[a] {
			t.Fatalf("%s: lost %q", c.what, a)
		}
	}
}
