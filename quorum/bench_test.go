package quorum

import (
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/ottla/ottla/internal/vfs"
)

// disks are where benchmarks run: Dir is the directory of the metadata log.
func benchmarkDisks(b *testing.B, f func(b *testing.B, fsys vfs.FS, dir func() string)) {
	b.Run("memory", func(b *testing.B) {
		f(b, nil, func() string { return "" })
	})
	b.Run("disk", func(b *testing.B) {
		f(b, vfs.OS(), b.TempDir)
	})
}

// startBench starts a node and returns how long it took from Open to Became.
func startBench(b *testing.B, fsys vfs.FS, dir string) (*testNode, time.Duration) {
	logFS, logDir := fsys, dir
	if fsys == nil {
		logFS, logDir = vfs.NewMem(), "d"
	}
	log, err := openTestLog(logFS, logDir)
	if err != nil {
		b.Fatal(err)
	}
	r := newReporter()
	begin := time.Now()
	n, err := open(Options{Self: testVoter, FS: fsys, Dir: dir, Listener: r, Logger: zap.NewNop()}, log)
	if err != nil {
		b.Fatal(err)
	}
	if err := n.Start(); err != nil {
		b.Fatal(err)
	}
	r.leads(0)
	return &testNode{n, log, r}, time.Since(begin)
}

func report(b *testing.B, name string, times []time.Duration) {
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), name+"-p50-µs")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), name+"-p99-µs")
}

// BenchmarkLeader measures Open to Became: in a new directory, after a stop, and after a kill with entries to apply.
func BenchmarkLeader(b *testing.B) {
	benchmarkDisks(b, func(b *testing.B, fsys vfs.FS, dir func() string) {
		var fresh, stopped []time.Duration
		for b.Loop() {
			d := dir()
			n, took := startBench(b, fsys, d)
			fresh = append(fresh, took)
			epoch, next := n.r.leads(0)
			if err := n.write(epoch, next, slices.Repeat([]string{"a record of some length, as they are"}, 100)...); err != nil {
				b.Fatal(err)
			}
			n.mustClose(b)
			if fsys != nil {
				n, took = startBench(b, fsys, d)
				stopped = append(stopped, took)
				n.mustClose(b)
			}
		}
		report(b, "fresh", fresh)
		if stopped != nil {
			report(b, "restart", stopped)
		}
	})
}

// BenchmarkCommit measures Propose to OnCommit of 200 byte records.
func BenchmarkCommit(b *testing.B) {
	value := make([]byte, 200)
	benchmarkDisks(b, func(b *testing.B, fsys vfs.FS, dir func() string) {
		n, _ := startBench(b, fsys, dir())
		defer n.mustClose(b)
		epoch, next := n.r.leads(0)
		var times []time.Duration
		done := make(chan error, 1)
		for b.Loop() {
			begin := time.Now()
			end, err := n.Propose(epoch, next, [][]byte{value})
			if err != nil {
				b.Fatal(err)
			}
			n.OnCommit(epoch, end, func(err error) { done <- err })
			if err := <-done; err != nil {
				b.Fatal(err)
			}
			times = append(times, time.Since(begin))
			next = end
		}
		report(b, "commit", times)
	})
}

// BenchmarkPipeline has up to 64 batches under way.
func BenchmarkPipeline(b *testing.B) {
	value := make([]byte, 200)
	benchmarkDisks(b, func(b *testing.B, fsys vfs.FS, dir func() string) {
		n, _ := startBench(b, fsys, dir())
		defer n.mustClose(b)
		epoch, next := n.r.leads(0)
		room := make(chan struct{}, 64)
		var all sync.WaitGroup
		for b.Loop() {
			room <- struct{}{}
			end, err := n.Propose(epoch, next, [][]byte{value})
			if err != nil {
				b.Fatal(err)
			}
			all.Add(1)
			n.OnCommit(epoch, end, func(error) { <-room; all.Done() })
			next = end
		}
		all.Wait()
	})
}
