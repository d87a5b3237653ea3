package storage

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

func benchLog(b *testing.B, c LogConfig) *Log {
	b.Helper()
	l, err := OpenLog(LogOptions{FS: vfs.OS(), Dir: b.TempDir() + "/t-0", TopicPartition: testTP, Config: c, Clean: true})
	must(b, err)
	return l
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{1 << 10, 16 << 10, 1 << 20} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			l := benchLog(b, DefaultLogConfig())
			batch := batch(1, t0, size)
			b.SetBytes(int64(len(batch)))
			b.ReportAllocs()
			for range b.N {
				if _, err := l.AppendAsLeader(batch, 0, Client, t0); err != nil {
					b.Fatal(err)
				}
				if l.Size() > 2<<30 { // keep the disk small
					b.StopTimer()
					must(b, l.TruncateFully(0))
					b.StartTimer()
				}
			}
		})
	}
}

func BenchmarkAppendIdempotent(b *testing.B) {
	l := benchLog(b, DefaultLogConfig())
	o := record.NewOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence = 1, 0, 0
	batch := build(o, 1, t0, 1<<10)
	b.SetBytes(int64(len(batch)))
	b.ReportAllocs()
	for i := range b.N {
		putSequence(batch, int32(i&0x7fffffff))
		if _, err := l.AppendAsLeader(batch, 0, Client, t0); err != nil {
			b.Fatal(err)
		}
	}
}

func putSequence(b record.Batch, s int32) {
	for i := range 4 {
		b[53+i] = byte(s >> (24 - 8*i))
	}
}

// BenchmarkReadTail is a consumer that follows the writer: one append, one read.
func BenchmarkReadTail(b *testing.B) {
	l := benchLog(b, DefaultLogConfig())
	batch := batch(1, t0, 1<<10)
	b.ReportAllocs()
	for i := range b.N {
		if _, err := l.AppendAsLeader(batch, 0, Client, t0); err != nil {
			b.Fatal(err)
		}
		l.SetHighWatermark(int64(i + 1))
		r, err := l.Read(int64(i), 1<<20, true, HighWatermark)
		if err != nil || r.Size != len(batch) {
			b.Fatal(r.Size, err)
		}
		r.Release()
	}
}

// BenchmarkRead reads 1 MiB at a time: in order, and from random places.
func BenchmarkRead(b *testing.B) {
	c := DefaultLogConfig()
	c.SegmentBytes = 64 << 20
	l := benchLog(b, c)
	batch := batch(1, t0, 1<<10)
	const n = 200_000
	for range n {
		if _, err := l.AppendAsLeader(batch, 0, Client, t0); err != nil {
			b.Fatal(err)
		}
	}
	l.SetHighWatermark(n)
	for _, random := range []bool{false, true} {
		b.Run(map[bool]string{false: "sequential", true: "random"}[random], func(b *testing.B) {
			b.ReportAllocs()
			from := int64(0)
			for i := range b.N {
				if random {
					from = int64(uint64(i) * 0x9E3779B97F4A7C15 % n)
				}
				r, err := l.Read(from, 1<<20, true, HighWatermark)
				if err != nil || r.Size == 0 {
					b.Fatal(r.Size, err)
				}
				from = (from + int64(r.Size/len(batch))) % n
				r.Release()
			}
		})
	}
}

func BenchmarkOffsetForTimestamp(b *testing.B) {
	l := benchLog(b, DefaultLogConfig())
	for i := range 100_000 {
		if _, err := l.AppendAsLeader(batch(1, t0+int64(i), 100), 0, Client, t0); err != nil {
			b.Fatal(err)
		}
	}
	for i := range b.N {
		want := int64(uint64(i) * 0x9E3779B97F4A7C15 % 100_000)
		if o, err := l.OffsetForTimestamp(t0+want, LogEnd); err != nil || o.Offset != want {
			b.Fatal(o, err)
		}
	}
}

// TestManyPartitions makes, opens and stops many partitions on disk. -partitions 10000
// prints the figures of the design; the default only sees that it works.
func TestManyPartitions(t *testing.T) {
	n := 200
	if s := os.Getenv("OTTLA_PARTITIONS"); s != "" {
		n, _ = strconv.Atoi(s)
	}
	dir := t.TempDir()
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	measure := func(what string, f func()) {
		begun := time.Now()
		f()
		t.Logf("%s: %v, heap %d KiB, %d goroutines", what, time.Since(begun).Round(time.Millisecond), heap()>>10, runtime.NumGoroutine())
	}
	base := heap()
	var m *Manager
	open := func() {
		m = openManager(t, vfs.OS(), nil, dir)
		if n := len(m.Logs()); n > 0 && m.files.openCount() > DefaultOptions().OpenFilesMax {
			t.Errorf("%d files open", m.files.openCount())
		}
	}
	measure("open empty", open)
	measure(fmt.Sprint("create ", n), func() {
		for i := range n {
			_, err := m.Create(protocol.TopicPartition{Topic: "t", Partition: int32(i)}, protocol.UUID{1}, DefaultLogConfig(), protocol.UUID{})
			must(t, err)
		}
	})
	goroutines := runtime.NumGoroutine()
	measure("append to each", func() {
		b := batch(1, t0, 100)
		for _, l := range m.Logs() {
			lead(t, l, b)
		}
	})
	if per := int64(heap()-base) / int64(n); per > 16<<10 { // negative when earlier tests left garbage
		t.Errorf("%d bytes of heap a partition", per)
	}
	if runtime.NumGoroutine() > goroutines {
		t.Errorf("%d goroutines more", runtime.NumGoroutine()-goroutines)
	}
	measure("close", func() { must(t, m.Close(context.Background(), 1)) })
	measure("open clean", open)
	must(t, m.unlock())
	measure("open unclean", open)
	if len(m.Logs()) != n {
		t.Errorf("%d logs", len(m.Logs()))
	}
	measure("close", func() { must(t, m.Close(context.Background(), 1)) })
}
