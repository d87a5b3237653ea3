package storage

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
)

// TestReadersMeetNobody reads while a writer appends, rolls, truncates, deletes and
// flushes; the race detector and the checksums judge.
func TestReadersMeetNobody(t *testing.T) {
	fs := vfs.NewMem()
	m, err := Open(fs, []string{"/data"}, crashOptions())
	must(t, err)
	must(t, m.Load(context.Background(), keepAll))
	m.Start()
	c := smallConfig()
	c.RetentionMs = -1
	l := create(t, m, "a", c)
	var stop atomic.Bool
	var wg sync.WaitGroup
	var reads atomic.Int64
	for i := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 0))
			for !stop.Load() {
				start, end := l.LogStartOffset(), l.LogEndOffset()
				from := start + rng.Int64N(end-start+1)
				r, err := l.Read(from, 1+rng.IntN(2000), true, Bound(rng.IntN(3)))
				if errors.Is(err, protocol.OffsetOutOfRange) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				for _, s := range r.Slices {
					buf := make([]byte, s.Length)
					_ = s.ReadFull(buf) // the file may have been cut since
				}
				r.Release()
				if _, err := l.OffsetForTimestamp(t0+rng.Int64N(5000), HighWatermark); err != nil {
					t.Error(err)
					return
				}
				l.Producers()
				l.Size()
				reads.Add(1)
			}
		})
	}
	rng := rand.New(rand.NewPCG(9, 9))
	deadline := time.Now().Add(300 * time.Millisecond)
	for i := int64(0); time.Now().Before(deadline); i++ {
		lead(t, l, batch(1+rng.IntN(3), t0+i, rng.IntN(200)))
		l.SetHighWatermark(l.LogEndOffset() - rng.Int64N(3))
		switch rng.IntN(40) {
		case 0:
			_, err := l.TruncateTo(max(l.LogStartOffset(), l.LogEndOffset()-5))
			must(t, err)
		case 1:
			_, err := l.DeleteRecordsBefore(max(l.LogStartOffset(), l.HighWatermark()-50))
			must(t, err)
			_, err = l.DeleteOldSegments(t0)
			must(t, err)
		case 2:
			must(t, l.Flush())
		case 3:
			must(t, l.TruncateFully(l.LogEndOffset()+3))
		}
	}
	stop.Store(true)
	wg.Wait()
	if reads.Load() == 0 || m.files.openCount() > openFilesMin {
		t.Errorf("%d reads, %d files open", reads.Load(), m.files.openCount())
	}
	must(t, m.Close(context.Background(), 1))
}

// TestTruncateWithinBatch: the batch goes as a whole, the log still ends at the offset.
func TestTruncateWithinBatch(t *testing.T) {
	l := open(t, vfs.NewMem(), DefaultLogConfig(), true, 0)
	lead(t, l, batch(3, t0, 10))
	lead(t, l, batch(3, t0, 10))
	must(t, l.AssignEpochStart(3, 6))
	cut, err := l.TruncateTo(4)
	must(t, err)
	if !cut || l.LogEndOffset() != 4 || l.LatestEpoch() != 0 {
		t.Errorf("%v, ends at %d, epoch %d", cut, l.LogEndOffset(), l.LatestEpoch())
	}
	if all := readAll(t, l, 0); len(all) != 1 {
		t.Errorf("%d batches", len(all))
	}
	if info := lead(t, l, batch(1, t0, 10)); info.BaseOffset != 4 {
		t.Errorf("%+v", info)
	}
	r, err := l.Read(3, 1000, true, LogEnd)
	must(t, err)
	if b := batchesOf(t, &r); len(b) != 1 || b[0].BaseOffset() != 4 {
		t.Error("a read in the gap finds the next batch")
	}
	r.Release()
}

// TestRoll follows facts of Kafka 4.4: size, record time, clock, full index.
func TestRoll(t *testing.T) {
	f := func(name string, change func(*LogConfig), first, second int64, nowMs int64, want int) {
		t.Helper()
		c := DefaultLogConfig()
		c.SegmentMs = 1000
		change(&c)
		l := open(t, vfs.NewMem(), c, true, 0)
		_, err := l.AppendAsLeader(batch(1, first, 10), 0, Client, t0)
		must(t, err)
		_, err = l.AppendAsLeader(batch(1, second, 10), 0, Client, nowMs)
		must(t, err)
		if n := l.SegmentCount(); n != want {
			t.Errorf("%s: %d segments, want %d", name, n, want)
		}
	}
	same := func(*LogConfig) {}
	f("record time within segment.ms", same, t0, t0+1000, t0+1_000_000, 1)
	f("record time beyond", same, t0, t0+1001, t0, 2)
	f("record time back", same, t0, t0-50_000, t0+1_000_000, 1)
	f("without timestamps, by the clock", same, -1, -1, t0*2, 2)
	f("compacted: max.compaction.lag.ms", func(c *LogConfig) { c.CleanupCompact, c.MaxCompactionLagMs = true, 500 }, t0, t0+501, t0, 2)
	f("size", func(c *LogConfig) { c.SegmentBytes = int32(2*len(batch(1, t0, 10)) - 1) }, t0, t0, t0, 2)
	f("exactly", func(c *LogConfig) { c.SegmentBytes = int32(2 * len(batch(1, t0, 10))) }, t0, t0, t0, 1)
	f("index full", func(c *LogConfig) { c.SegmentIndexBytes = 16 }, t0, t0, t0, 2) // the time index keeps a place free
	l := open(t, vfs.NewMem(), smallConfig(), true, 0)
	_, err := l.AppendAsLeader(batch(1, t0, 1000), 0, Client, t0)
	wantCode(t, err, protocol.RecordListTooLarge)
}

// TestIndexEntries: which entries Kafka makes, and that every lookup agrees with a scan.
func TestIndexEntries(t *testing.T) {
	c := DefaultLogConfig()
	c.IndexIntervalBytes = 200
	fs := vfs.NewMem()
	l := open(t, fs, c, true, 0)
	size := len(batch(1, t0, 50))
	for i := range 2000 {
		lead(t, l, batch(1, t0+int64(i), 50))
	}
	s := l.active()
	per := 200/size + 1 // batches until the bytes since the last entry exceed the interval
	if want := (2000 - 1) / per; s.offsets.entries() != want || s.times.entries() != want {
		t.Errorf("%d and %d entries, want %d", s.offsets.entries(), s.times.entries(), want)
	}
	if s.offsets.count == 0 || len(s.offsets.pending) == 0 {
		t.Errorf("%d entries on disk, %d bytes pending: the test wants both", s.offsets.count, len(s.offsets.pending))
	}
	file, err := s.openLog()
	must(t, err)
	defer file.Release()
	for target := range int64(2000) {
		got, ok, err := s.find(file, target, s.size.Load())
		must(t, err)
		if !ok || got.baseOffset != target || got.pos != target*int64(size) {
			t.Fatalf("offset %d found at %+v", target, got)
		}
		pos, next, err := s.boundary(file, got.pos, got.pos+777, s.size.Load())
		must(t, err)
		if want := min(got.pos+777/int64(size)*int64(size), s.size.Load()); pos != want || next >= 0 && next != pos/int64(size) {
			t.Fatalf("boundary after %d is %d (offset %d), want %d", got.pos, pos, next, want)
		}
	}
	must(t, l.Close())
	info, err := fs.Stat("/d/t-0/" + offsetName(0, timeSuffix))
	must(t, err)
	if n := info.Size / timeEntrySize; n != int64((2000-1)/per+1) {
		t.Errorf("%d time entries after close, want one more for the largest timestamp", n)
	}
}

// TestDamagedIndexes: Kafka does not check index contents; neither do lookups believe them.
func TestDamagedIndexes(t *testing.T) {
	for name, damage := range map[string]func([]byte){
		"zeros": func(b []byte) { clear(b) },
		"ones":  func(b []byte) { fill(b, 0xff) },
		"random": func(b []byte) {
			r := rand.New(rand.NewPCG(1, 1))
			for i := range b {
				b[i] = byte(r.Uint32())
			}
		},
		"half": func(b []byte) { clear(b[len(b)/2:]) },
	} {
		fs := vfs.NewMem()
		l := open(t, fs, smallConfig(), true, 0)
		for i := range 40 {
			lead(t, l, batch(1, t0+int64(i), 60))
		}
		must(t, l.Close())
		for _, n := range files(t, fs, "/d/t-0") {
			if len(n) > 6 && n[len(n)-6:] == indexSuffix {
				b, err := readFile(fs, "/d/t-0/"+n, 1<<20)
				must(t, err)
				damage(b)
				must(t, writeFile(fs, "/d/t-0/"+n, b, false))
			}
		}
		l = open(t, fs, smallConfig(), true, 40)
		if got := readAll(t, l, 0); len(got) != 40 {
			t.Errorf("%s: %d batches", name, len(got))
		}
		for i := range int64(40) {
			r, err := l.Read(i, 1, true, LogEnd)
			must(t, err)
			if b := batchesOf(t, &r); b[0].BaseOffset() != i {
				t.Errorf("%s: offset %d found at %d", name, i, b[0].BaseOffset())
			}
			r.Release()
		}
		lead(t, l, batch(1, t0, 10))
		must(t, l.Close())
	}
}

func fill(b []byte, v byte) {
	for i := range b {
		b[i] = v
	}
}
