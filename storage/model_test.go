package storage

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

// twin is the log as a list of batches: what Log has to agree with after any sequence
// of operations, restarts included.
type twin struct {
	batches []record.Batch // whole history that was not truncated, also below start
	start   int64
	end     int64
	hw      int64
}

func (w *twin) add(b record.Batch) {
	w.batches = append(w.batches, slices.Clone(b))
	w.end = b.LastOffset() + 1
}

func (w *twin) truncate(to int64) {
	w.batches = slices.DeleteFunc(w.batches, func(b record.Batch) bool { return b.LastOffset() >= to })
	w.end, w.hw, w.start = to, min(w.hw, to), min(w.start, to)
}

func (w *twin) readable(b record.Batch) bool { return b.LastOffset() >= w.start }

// openTxns maps producers to the first offsets of their open transactions; done are the
// ended ones as (first, marker).
func (w *twin) txns() (open map[int64]int64, done [][2]int64, aborted map[int64]bool) {
	open, aborted = map[int64]int64{}, map[int64]bool{}
	for _, b := range w.batches {
		pid := b.ProducerID()
		if !b.IsTransactional() {
			continue
		}
		if !b.IsControl() {
			if _, ok := open[pid]; !ok {
				open[pid] = b.BaseOffset()
			}
			continue
		}
		m, ok, err := markerOf(b)
		if first, is := open[pid]; ok && err == nil && is {
			done = append(done, [2]int64{first, b.BaseOffset()})
			for _, d := range w.batches {
				if m.abort && !d.IsControl() && d.IsTransactional() && d.ProducerID() == pid && d.BaseOffset() >= first && d.BaseOffset() < b.BaseOffset() {
					aborted[d.BaseOffset()] = true
				}
			}
			delete(open, pid)
		}
	}
	return open, done, aborted
}

// stable is the last stable offset; known is false when it depends on data below start.
func (w *twin) stable() (offset int64, known bool) {
	open, done, _ := w.txns()
	offset = w.hw
	for _, first := range open {
		if first < w.start {
			return 0, false
		}
		offset = min(offset, first)
	}
	for _, d := range done {
		if d[1] >= w.hw {
			if d[0] < w.start {
				return 0, false
			}
			offset = min(offset, d[0])
		}
	}
	return offset, true
}

// modelRun drives a log and its twin with one seed.
type modelRun struct {
	t      *testing.T
	rng    *rand.Rand
	fs     *vfs.Mem
	l      *Log
	w      twin
	c      LogConfig
	clock  int64
	seq    map[int64]int32
	inTxn  map[int64]bool
	epoch  int32
	flush  int64 // recovery point that a checkpoint would have
	trace  []string
	starts int64
}

func (r *modelRun) fatal(format string, args ...any) {
	r.t.Helper()
	for _, s := range r.trace[max(0, len(r.trace)-30):] {
		r.t.Log(s)
	}
	r.t.Fatalf(format, args...)
}

func (r *modelRun) ok(err error) {
	r.t.Helper()
	if err != nil {
		r.fatal("%v", err)
	}
}

func (r *modelRun) step() {
	r.clock += r.rng.Int64N(50)
	ops := []struct {
		weight int
		name   string
		run    func()
	}{
		{40, "append", r.append}, {15, "produce", r.produce}, {10, "transact", r.transact}, {8, "mark", r.mark},
		{10, "follow", r.follow}, {10, "highWatermark", r.highWatermark}, {4, "truncate", r.truncate},
		{1, "truncateFully", r.truncateFully}, {4, "deleteRecords", r.deleteRecords}, {4, "retention", r.retention},
		{4, "flush", r.flushLog}, {3, "restart", r.restart}, {3, "kill", r.kill}, {3, "epoch", r.newEpoch}, {2, "retain by size", r.retainBySize},
	}
	total := 0
	for _, o := range ops {
		total += o.weight
	}
	n := r.rng.IntN(total)
	for _, o := range ops {
		if n -= o.weight; n < 0 {
			r.trace = append(r.trace, fmt.Sprintf("%s (start %d, end %d, hw %d)", o.name, r.w.start, r.w.end, r.w.hw))
			o.run()
			return
		}
	}
}

func (r *modelRun) lead(b record.Batch, o Origin) {
	r.t.Helper()
	info, err := r.l.AppendAsLeader(b, r.epoch, o, r.clock)
	r.ok(err)
	if info.BaseOffset != r.w.end || info.Duplicate {
		r.fatal("appended at %+v, want %d", info, r.w.end)
	}
	r.w.add(b)
}

func (r *modelRun) append() {
	r.lead(batch(1+r.rng.IntN(4), r.clock-r.rng.Int64N(200), r.rng.IntN(120)), Client)
}

func (r *modelRun) produce() {
	pid := r.rng.Int64N(3)
	n := 1 + r.rng.IntN(3)
	if r.inTxn[pid] {
		return
	}
	b := sent(pid, 0, r.seq[pid], n, false)
	again := slices.Clone(b)
	r.lead(b, Client)
	r.seq[pid] += int32(n)
	if info, err := r.l.AppendAsLeader(again, r.epoch, Client, r.clock); err != nil || !info.Duplicate || info.BaseOffset != b.BaseOffset() {
		r.fatal("duplicate: %+v %v", info, err)
	}
	gap := sent(pid, 0, r.seq[pid]+1, 1, false)
	if _, err := r.l.AppendAsLeader(gap, r.epoch, Client, r.clock); protocol.CodeOf(err) != protocol.OutOfOrderSequenceNumber {
		r.fatal("gap: %v", err)
	}
}

func (r *modelRun) transact() {
	pid := 10 + r.rng.Int64N(3)
	n := 1 + r.rng.IntN(3)
	for _, p := range r.l.Producers() {
		if p.ProducerID == pid && p.LastSequence < 0 {
			r.seq[pid] = 0 // a marker is all that is left of it
		}
	}
	r.lead(sent(pid, 0, r.seq[pid], n, true), Client)
	r.seq[pid] += int32(n)
	r.inTxn[pid] = true
}

func (r *modelRun) mark() {
	pid := 10 + r.rng.Int64N(3)
	b := endTxn(pid, 0, r.rng.IntN(2) == 0, 0)
	r.lead(b, Coordinator)
	r.inTxn[pid] = false
}

// follow appends several batches; those of a compacted topic have gaps between them.
func (r *modelRun) follow() {
	var all []byte
	var list []record.Batch
	next := r.w.end
	for range 1 + r.rng.IntN(4) {
		o := record.NewOptions()
		o.BaseOffset = next
		if r.c.CleanupCompact {
			o.BaseOffset += r.rng.Int64N(3)
		}
		o.PartitionLeaderEpoch = r.epoch
		b := build(o, 1+r.rng.IntN(3), r.clock, r.rng.IntN(60))
		next = b.LastOffset() + 1
		all = append(all, b...)
		list = append(list, b)
	}
	if r.rng.IntN(3) == 0 {
		all = append(all, all[:r.rng.IntN(70)]...) // a batch cut off
	}
	info, err := r.l.AppendAsFollower(all, r.epoch)
	r.ok(err)
	if info.BaseOffset != list[0].BaseOffset() || info.LastOffset != next-1 {
		r.fatal("followed %+v, want %d to %d", info, list[0].BaseOffset(), next-1)
	}
	for _, b := range list {
		r.w.add(b)
	}
}

func (r *modelRun) highWatermark() {
	hw := r.w.hw + r.rng.Int64N(max(1, r.w.end-r.w.hw+1))
	for _, b := range r.w.batches { // only whole batches are ever committed
		if b.BaseOffset() < hw && hw <= b.LastOffset() {
			hw = b.LastOffset() + 1
		}
	}
	r.w.hw = hw
	if got := r.l.SetHighWatermark(hw); got != hw {
		r.fatal("high watermark %d, want %d", got, hw)
	}
}

func (r *modelRun) truncate() {
	ends := []int64{r.w.end} // TestTruncateWithinBatch does other places
	for _, b := range r.w.batches {
		if b.LastOffset()+1 >= r.w.hw {
			ends = append(ends, b.LastOffset()+1)
		}
	}
	to := ends[r.rng.IntN(len(ends))]
	cut, err := r.l.TruncateTo(to)
	r.ok(err)
	if cut != (to < r.w.end) {
		r.fatal("truncation to %d of %d: %v", to, r.w.end, cut)
	}
	if cut {
		r.w.truncate(to)
		r.settle()
		r.forgetProducers()
	}
	r.flush = min(r.flush, to)
}

// forgetProducers makes the run's idea of its producers what the twin's log says.
func (r *modelRun) forgetProducers() {
	r.seq, r.inTxn = map[int64]int32{}, map[int64]bool{}
	for _, b := range r.w.batches {
		if b.HasProducerID() && !b.IsControl() {
			r.seq[b.ProducerID()] = b.LastSequence() + 1
		}
	}
	open, _, _ := r.w.txns()
	for pid := range open {
		r.inTxn[pid] = true
	}
	for _, p := range r.l.Producers() { // what the log does not know may begin anywhere
		r.inTxn[p.ProducerID] = p.CurrentTxnStartOffset >= 0
		r.seq[p.ProducerID] = p.LastSequence + 1
	}
}

func (r *modelRun) truncateFully() {
	to := r.w.end + r.rng.Int64N(3)
	r.w.start = to
	r.ok(r.l.TruncateFully(to))
	r.w = twin{start: to, end: to, hw: to}
	r.seq, r.inTxn = map[int64]int32{}, map[int64]bool{}
	r.flush = 0
}

func (r *modelRun) deleteRecords() {
	stable, known := r.w.stable()
	if !known {
		return
	}
	to := r.w.start + r.rng.Int64N(max(1, stable-r.w.start+1))
	got, err := r.l.DeleteRecordsBefore(to)
	r.ok(err)
	r.w.start = max(r.w.start, to)
	if got != r.w.start {
		r.fatal("log start %d, want %d", got, r.w.start)
	}
	r.starts = r.w.start
}

func (r *modelRun) retention() {
	_, err := r.l.DeleteOldSegments(r.clock)
	r.ok(err)
}

func (r *modelRun) retainBySize() {
	stable, known := r.w.stable()
	if !known || stable < r.w.hw {
		return // else open transactions would lose their data
	}
	c := r.c
	c.RetentionBytes = r.l.Size() / 2
	r.l.UpdateConfig(c)
	_, err := r.l.DeleteOldSegments(r.clock)
	r.ok(err)
	r.l.UpdateConfig(r.c)
	if r.l.Size() == 0 {
		return
	}
	r.w.start = max(r.w.start, r.l.vis.segments[0].base)
	if first := r.l.vis.segments[0].size.Load(); r.l.Size()-first >= c.RetentionBytes && r.w.hw == r.w.end {
		r.fatal("%d bytes left, %d of them in the first segment, %d wanted", r.l.Size(), first, c.RetentionBytes)
	}
}

func (r *modelRun) flushLog() {
	r.ok(r.l.Flush())
	if r.l.RecoveryPoint() != r.w.end {
		r.fatal("recovery point %d, want %d", r.l.RecoveryPoint(), r.w.end)
	}
	r.flush = r.w.end
}

func (r *modelRun) newEpoch() {
	r.epoch++
	r.ok(r.l.AssignEpochStart(r.epoch, r.w.end))
}

func (r *modelRun) restart() {
	r.ok(r.l.Close())
	r.flush = r.w.end
	r.reopen(true)
}

// kill loses nothing that was written: only the process dies.
func (r *modelRun) kill() { r.reopen(false) }

func (r *modelRun) reopen(clean bool) {
	l, err := OpenLog(LogOptions{FS: r.fs, Dir: "/d/t-0", TopicPartition: testTP, TopicID: protocol.UUID{1}, Config: r.c,
		Clean: clean, RecoveryPoint: r.flush, LogStartOffset: r.w.start})
	r.ok(err)
	r.l = l
	r.settle()
	if got := l.SetHighWatermark(r.w.hw); got != r.w.hw {
		r.fatal("high watermark %d after restart, want %d", got, r.w.hw)
	}
	if !clean {
		r.forgetProducers()
	}
	for pid := range r.seq {
		if !slices.ContainsFunc(l.Producers(), func(p ProducerState) bool { return p.ProducerID == pid }) {
			r.inTxn[pid] = false
		}
	}
}

// settle raises the high watermark over transactions that ended above it: as in Kafka
// those are forgotten when the producer state is loaded anew.
func (r *modelRun) settle() {
	if _, done, _ := r.w.txns(); slices.ContainsFunc(done, func(d [2]int64) bool { return d[1] >= r.w.hw }) {
		r.w.hw = r.w.end
		r.l.SetHighWatermark(r.w.end)
	}
}

// check compares the log with the twin.
func (r *modelRun) check() {
	r.t.Helper()
	l, w := r.l, &r.w
	if l.LogStartOffset() != w.start || l.LogEndOffset() != w.end || l.HighWatermark() != w.hw {
		r.fatal("[%d, %d) hw %d, want [%d, %d) hw %d", l.LogStartOffset(), l.LogEndOffset(), l.HighWatermark(), w.start, w.end, w.hw)
	}
	if stable, known := w.stable(); known && l.LastStableOffset() != stable {
		r.fatal("last stable offset %d, want %d", l.LastStableOffset(), stable)
	}
	var want []record.Batch
	for _, b := range w.batches {
		if w.readable(b) {
			want = append(want, b)
		}
	}
	got := readAll(r.t, l, w.start)
	if len(got) != len(want) {
		r.fatal("%d batches, want %d", len(got), len(want))
	}
	for i := range got {
		if !bytes.Equal(got[i], want[i]) {
			r.fatal("batch %d: offset %d, want %d", i, got[i].BaseOffset(), want[i].BaseOffset())
		}
	}
	r.checkRead(want)
	r.checkTime(want)
	r.checkProducers(want)
}

// checkRead reads at a random place with random limits.
func (r *modelRun) checkRead(batches []record.Batch) {
	if r.w.end == r.w.start {
		return
	}
	from := r.w.start + r.rng.Int64N(r.w.end-r.w.start)
	bound := Bound(r.rng.IntN(3))
	maxBytes := r.rng.IntN(1500)
	got, err := r.l.Read(from, maxBytes, true, bound)
	r.ok(err)
	defer got.Release()
	v := r.l.view()
	limit := v.limit(bound)
	_, _, aborted := r.w.txns()
	var all []record.Batch
	if got.Size > 0 {
		all = batchesOf(r.t, &got)
	}
	i := slices.IndexFunc(batches, func(b record.Batch) bool { return b.LastOffset() >= from })
	for j, b := range all {
		if want := batches[i+j]; !bytes.Equal(b, want) || b.LastOffset() >= limit {
			r.fatal("read at %d, bound %d: batch %d is at %d, want %d", from, limit, j, b.BaseOffset(), want.BaseOffset())
		}
	}
	if len(all) > 1 && got.Size > maxBytes {
		r.fatal("read of %d bytes, at most %d wanted", got.Size, maxBytes)
	}
	// It stops for a reason: bound, size, or the end of a segment.
	if len(all) == 0 && i < len(batches) && i >= 0 && batches[i].LastOffset() < limit {
		r.fatal("read at %d below %d is empty", from, limit)
	}
	if bound != LastStable {
		return
	}
	for _, b := range all {
		listed := slices.ContainsFunc(got.Aborted, func(a AbortedTxn) bool {
			return a.ProducerID == b.ProducerID() && a.FirstOffset <= b.BaseOffset()
		})
		if aborted[b.BaseOffset()] && !listed {
			r.fatal("read at %d: aborted batch at %d is not announced: %v", from, b.BaseOffset(), got.Aborted)
		}
	}
}

func (r *modelRun) checkTime(batches []record.Batch) {
	ts := r.clock - r.rng.Int64N(1500)
	got, err := r.l.OffsetForTimestamp(ts, LogEnd)
	r.ok(err)
	want, largest := OffsetTime{-1, -1, -1, false}, OffsetTime{-1, -1, -1, false}
	for _, b := range batches {
		for rec, err := range b.Records(record.MaxDecompressed) {
			r.ok(err)
			o := OffsetTime{rec.Offset, rec.Timestamp, b.PartitionLeaderEpoch(), true}
			if rec.Offset >= r.w.start && rec.Timestamp >= ts && !want.Found {
				want = o
			}
			if rec.Timestamp > largest.Timestamp {
				largest = o
			}
		}
	}
	if got != want {
		r.fatal("timestamp %d: %+v, want %+v", ts, got, want)
	}
	got, err = r.l.OffsetForTimestamp(MaxTimestamp, LogEnd)
	r.ok(err)
	if largest.Found && r.w.start == r.l.vis.segments[0].base && got != largest {
		r.fatal("largest timestamp: %+v, want %+v", got, largest)
	}
}

func (r *modelRun) checkProducers(batches []record.Batch) {
	want := map[int64]int32{}
	for _, b := range batches {
		if b.HasProducerID() && !b.IsControl() {
			want[b.ProducerID()] = b.LastSequence()
		}
	}
	got := map[int64]int32{}
	for _, p := range r.l.Producers() {
		got[p.ProducerID] = p.LastSequence
	}
	for pid, seq := range want {
		if got[pid] != seq {
			r.fatal("producer %d: last sequence %d, want %d", pid, got[pid], seq)
		}
	}
}

var (
	modelSeeds = flag.Uint64("model.seeds", 60, "seeds that TestModel tries")
	modelSteps = flag.Int("model.steps", 150, "operations of each")
)

func TestModel(t *testing.T) {
	for seed := range *modelSeeds {
		runModel(t, seed, *modelSteps)
	}
}

func runModel(t *testing.T, seed uint64, steps int) {
	t.Run(fmt.Sprint(seed), func(t *testing.T) {
		c := smallConfig()
		c.RetentionMs = -1
		c.IndexIntervalBytes = int32([]int{0, 50, 300, 4096}[seed%4])
		if seed%5 == 0 {
			c.SegmentBytes = 4000
		}
		c.Preallocate, c.CleanupCompact = seed%7 == 0, seed%2 == 0
		r := &modelRun{t: t, rng: rand.New(rand.NewPCG(seed, 1)), fs: vfs.NewMem(), c: c, clock: t0, seq: map[int64]int32{}, inTxn: map[int64]bool{}}
		r.l = open(t, r.fs, c, true, 0)
		for range steps {
			r.step()
			r.check()
		}
	})
}
