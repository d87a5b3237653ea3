package storage

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

// The machine loses power before every single file operation of a workload. What is
// then on the disk, synced or by chance, is opened, and must be a log that the workload
// could have left: nothing below the recovery point missing, no gap, no batch that was
// not written, producers as the batches say.

var (
	crashSeeds = flag.Uint64("crash.seeds", 4, "workloads that TestCrashAnywhere runs")
	crashFrom  = flag.Uint64("crash.from", 0, "the first seed")
	crashSteps = flag.Int("crash.steps", 60, "steps of each")
)

// written is what the workload knows of one partition.
type written struct {
	id     protocol.UUID
	log    *Log
	now    []record.Batch            // from offset 0 on, as it stands
	ever   map[int64]map[string]bool // every batch ever appended, by base offset
	seq    int32                     // of its producer
	open   bool                      // its producer has a transaction open
	lowest int64                     // smallest log end that a crash may leave, truncations considered
	config LogConfig
}

func (w *written) end() int64 {
	if n := len(w.now); n > 0 {
		return w.now[n-1].LastOffset() + 1
	}
	return 0
}

type crashRun struct {
	t       *testing.T
	rng     *rand.Rand
	fs      *vfs.Mem
	m       *Manager
	parts   map[protocol.TopicPartition]*written
	clean   bool // a clean stop is under way or done
	states  int
	step    string
	nextID  byte
	crashes *rand.Rand
}

var crashTPs = []protocol.TopicPartition{{Topic: "a", Partition: 0}, {Topic: "a", Partition: 1}}

func crashOptions() Options {
	o := fixtureOptions()
	o.FileDeleteDelay, o.RecoveryThreadsPerDir, o.OpenFilesMax = 0, 1, 16
	return o
}

func (r *crashRun) keep(tp protocol.TopicPartition, id protocol.UUID) Decision {
	w := r.parts[tp]
	if w == nil || w.id != id {
		return Decision{}
	}
	return Decision{Keep: true, Config: w.config}
}

func (r *crashRun) start() {
	m, err := Open(r.fs, []string{"/data"}, crashOptions())
	must(r.t, err)
	must(r.t, m.Load(context.Background(), r.keep))
	r.m = m
	for tp, w := range r.parts {
		if w.log = m.Get(tp); w.log == nil {
			r.t.Fatalf("%s: no log after a clean stop", tp)
		}
		if w.log.LogEndOffset() != w.end() {
			r.t.Fatalf("%s: ends at %d after a clean stop, want %d", tp, w.log.LogEndOffset(), w.end())
		}
		w.log.SetHighWatermark(w.end())
	}
	r.clean = false
}

func (r *crashRun) part() *written {
	tp := crashTPs[r.rng.IntN(len(crashTPs))]
	w := r.parts[tp]
	if w == nil {
		r.nextID++
		c := smallConfig()
		c.SegmentBytes = 700
		w = &written{id: protocol.UUID{9, r.nextID}, ever: map[int64]map[string]bool{}, config: c}
		if r.rng.IntN(3) == 0 {
			w.config.FlushMessages = 1 + r.rng.Int64N(4)
		}
		r.parts[tp] = w
		l, err := r.m.Create(tp, w.id, w.config, protocol.UUID{})
		must(r.t, err)
		w.log = l
	}
	return w
}

func (r *crashRun) append(w *written) {
	n := 1 + r.rng.IntN(3)
	var b record.Batch
	o := Client
	switch r.rng.IntN(4) {
	case 0:
		b = sent(7, 0, w.seq, n, true)
	case 1:
		if w.open {
			b, o = endTxn(7, 0, r.rng.IntN(2) == 0, 0), Coordinator
		} else {
			b = sent(7, 0, w.seq, n, false)
		}
	default:
		b = batch(n, t0+r.rng.Int64N(1000), 20+r.rng.IntN(150))
	}
	// Known before it is written: a crash may leave it.
	stamped := slices.Clone(b)
	stamped.SetBaseOffset(w.log.LogEndOffset())
	stamped.SetPartitionLeaderEpoch(1)
	at := stamped.BaseOffset()
	if w.ever[at] == nil {
		w.ever[at] = map[string]bool{}
	}
	w.ever[at][string(stamped)] = true
	if _, err := w.log.AppendAsLeader(b, 1, o, t0); err != nil {
		r.t.Fatal(err)
	}
	w.now = append(w.now, slices.Clone(b))
	if b.HasProducerID() {
		w.open = b.IsTransactional() && !b.IsControl()
		if !b.IsControl() {
			w.seq += int32(n)
		}
	}
	if w.config.FlushMessages < 100 && w.log.RecoveryPoint() < w.end()-w.config.FlushMessages {
		r.t.Fatalf("recovery point %d of %d with flush.messages %d", w.log.RecoveryPoint(), w.end(), w.config.FlushMessages)
	}
}

// run does one step of the workload.
func (r *crashRun) run() {
	w := r.part()
	switch n := r.rng.IntN(100); {
	case n < 55:
		r.step = "append"
		r.append(w)
	case n < 62:
		r.step = "flush"
		must(r.t, w.log.Flush())
	case n < 70:
		r.step = "background flush"
		r.m.drainFlushes(context.Background())
	case n < 76:
		r.step = "checkpoint"
		r.m.CheckpointRecoveryPoints()
		r.m.CheckpointHighWatermarks()
		r.m.CheckpointLogStarts()
	case n < 82:
		r.step = "delete records"
		w.log.SetHighWatermark(w.end())
		_, err := w.log.DeleteRecordsBefore(r.rng.Int64N(w.log.LastStableOffset() + 1))
		must(r.t, err)
	case n < 88:
		r.step = "retention"
		_, err := w.log.DeleteOldSegments(t0)
		must(r.t, err)
		r.m.removeDue(time.Now().Add(time.Hour))
	case n < 92:
		r.step = "truncate"
		r.truncate(w)
	case n < 94:
		r.step = "delete"
		for tp, p := range r.parts {
			if p == w {
				delete(r.parts, tp)
				must(r.t, r.m.Delete(tp))
			}
		}
		r.m.removeDue(time.Now().Add(time.Hour))
	case n < 97:
		r.step = "clean stop"
		r.clean = true
		must(r.t, r.m.Close(context.Background(), 5))
		r.start()
	default:
		r.step = "new epoch"
		must(r.t, w.log.AssignEpochStart(1, w.end()))
	}
}

func (r *crashRun) truncate(w *written) {
	i := len(w.now) - r.rng.IntN(3)
	if i <= 0 || i >= len(w.now) {
		return
	}
	to := w.now[i].BaseOffset()
	if to < w.log.LogStartOffset() {
		return
	}
	w.now = w.now[:i]
	w.lowest = min(w.lowest, to)
	w.log.SetHighWatermark(0)
	_, err := w.log.TruncateTo(to)
	must(r.t, err)
	w.seq, w.open = 0, false
	for _, p := range w.log.Producers() {
		w.seq, w.open = p.LastSequence+1, p.CurrentTxnStartOffset >= 0
	}
}

// crash is called before every operation.
func (r *crashRun) crash(op vfs.Op, name string) error {
	if !op.Changes() || r.t.Failed() {
		return nil
	}
	// On a goroutine of its own: a failing check ends it, and the caller may be one of the
	// Manager's.
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 2 {
			r.states++
			r.recover(r.fs.Crash(r.crashes), fmt.Sprintf("%s, before %s of %s", r.step, op, name))
		}
	})
	wg.Wait()
	return nil
}

// recover opens what a crash left.
func (r *crashRun) recover(fs *vfs.Mem, when string) {
	left := map[protocol.TopicPartition][]string{}
	for tp := range r.parts {
		left[tp] = list(fs, "/data/"+tp.String())
	}
	m, err := Open(fs, []string{"/data"}, crashOptions())
	if err != nil {
		r.t.Fatalf("%s: %v", when, err)
	}
	if err := m.Load(context.Background(), r.keep); err != nil {
		for tp, w := range r.parts {
			if w.log != nil {
				r.t.Logf("%s: start %d, recovery point %d, end %d", tp, w.log.LogStartOffset(), w.log.RecoveryPoint(), w.log.LogEndOffset())
			}
		}
		for _, e := range files(r.t, fs, "/data") {
			r.t.Logf("%s: %v", e, list(fs, "/data/"+e))
		}
		r.t.Fatalf("%s: %v", when, err)
	}
	for _, d := range m.Dirs() {
		if d.Err != nil {
			r.t.Fatalf("%s: directory offline: %v", when, d.Err)
		}
	}
	for tp, w := range r.parts {
		l := m.Get(tp)
		if l == nil {
			if w.log != nil && w.log.RecoveryPoint() > 0 {
				r.t.Fatalf("%s: %s is gone, it was flushed to %d", when, tp, w.log.RecoveryPoint())
			}
			continue
		}
		r.survived(l, w, left[tp], when)
	}
	// It can be worked on, and stopped cleanly.
	ends := map[protocol.TopicPartition]int64{}
	for tp := range r.parts {
		if l := m.Get(tp); l != nil {
			ends[tp] = l.LogEndOffset()
			lead(r.t, l, batch(1, t0, 5))
		}
	}
	must(r.t, m.Close(context.Background(), 1))
	m, err = Open(fs, []string{"/data"}, crashOptions())
	must(r.t, err)
	must(r.t, m.Load(context.Background(), r.keep))
	for tp, end := range ends {
		if got := m.Get(tp).LogEndOffset(); got != end+1 {
			r.t.Fatalf("%s: %s ends at %d after a clean stop, want %d", when, tp, got, end+1)
		}
	}
}

// list shows a directory's files and sizes, or a file's content.
func list(fs vfs.FS, name string) []string {
	var all []string
	entries, err := fs.List(name)
	if err != nil {
		text, _ := readFile(fs, name, 1000)
		return []string{string(text)}
	}
	for _, e := range entries {
		all = append(all, fmt.Sprint(e.Name, " ", e.Size))
	}
	return all
}

// survived checks one log after a crash.
func (r *crashRun) survived(l *Log, w *written, left []string, when string) {
	fatal := func(format string, args ...any) {
		r.t.Helper()
		r.t.Logf("left: %v, then %v; checkpoints %v %v", left, list(l.fs, l.dir()), list(l.fs, "/data/"+recoveryPointFile), list(l.fs, "/data/"+logStartFile))
		r.t.Logf("workload: %v, start %d, recovery point %d, end %d", list(r.fs, l.dir()), w.log.LogStartOffset(), w.log.RecoveryPoint(), w.log.LogEndOffset())
		r.t.Fatalf("%s: %s: %s", when, l.tp, fmt.Sprintf(format, args...))
	}
	start, end := l.LogStartOffset(), l.LogEndOffset()
	var durable, known int64
	if w.log != nil {
		durable, known = w.log.RecoveryPoint(), w.log.LogStartOffset()
	}
	if end < durable {
		fatal("ends at %d, everything below %d was flushed", end, durable)
	}
	if start > known {
		fatal("starts at %d, past the workload's %d", start, known)
	}
	next, producers := start, map[int64]ProducerState{}
	for i, b := range readAll(r.t, l, start) {
		if b.BaseOffset() != next && !(i == 0 && b.BaseOffset() < next) {
			fatal("a gap: batch at %d after %d", b.BaseOffset(), next)
		}
		if !w.ever[b.BaseOffset()][string(b)] {
			fatal("the batch at %d was never written", b.BaseOffset())
		}
		next = b.LastOffset() + 1
		if next <= durable && !slices.ContainsFunc(w.now, func(o record.Batch) bool { return bytes.Equal(o, b) }) {
			fatal("the batch at %d is not the one that was flushed", b.BaseOffset())
		}
		// What the workload deleted it may have forgotten who wrote; the deletion itself counts
		// only from the next checkpoint on.
		if b.HasProducerID() && b.LastOffset() >= known {
			p, ok := producers[b.ProducerID()]
			switch {
			case b.IsControl():
				p.CurrentTxnStartOffset = -1
			case b.IsTransactional() && (!ok || p.CurrentTxnStartOffset < 0):
				p.CurrentTxnStartOffset = b.BaseOffset()
			case !ok:
				p.CurrentTxnStartOffset = -1
			}
			if !b.IsControl() {
				p.LastSequence = b.LastSequence()
			}
			producers[b.ProducerID()] = p
		}
	}
	if next != end {
		fatal("batches end at %d, the log at %d", next, end)
	}
	for _, p := range l.Producers() {
		want, ok := producers[p.ProducerID]
		if !ok {
			continue // its batches are below the log start
		}
		open := p.CurrentTxnStartOffset >= 0
		if want.LastSequence != 0 && p.LastSequence != want.LastSequence || open != (want.CurrentTxnStartOffset >= 0) {
			fatal("producer %+v, its batches say %+v", p, want)
		}
		delete(producers, p.ProducerID)
	}
	for pid, p := range producers {
		fatal("producer %d is forgotten: %+v", pid, p)
	}
}

func TestCrashAnywhere(t *testing.T) {
	states := 0
	for seed := *crashFrom; seed < *crashFrom+*crashSeeds; seed++ {
		r := &crashRun{t: t, rng: rand.New(rand.NewPCG(seed, 3)), crashes: rand.New(rand.NewPCG(seed, 4)),
			fs: vfs.NewCrashable(), parts: map[protocol.TopicPartition]*written{}}
		must(t, r.fs.MkdirAll("/data"))
		must(t, r.fs.SyncDir("/"))
		r.start()
		r.fs.SetHook(r.crash)
		for range *crashSteps {
			if r.run(); t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
		states += r.states
	}
	t.Logf("%d states after a crash opened", states)
}
