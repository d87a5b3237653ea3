package quorum

import (
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/ottla/ottla/internal/vfs"
)

// benchmarkDisks runs f in memory and on a disk. dir makes a new directory for the metadata log.
func benchmarkDisks(b *testing.B, f func(b *testing.B, fsys vfs.FS, dir func() string)) {
	b.Run("memory", func(b *testing.B) {
		f(b, nil, func() string { return "" })
	})
	b.Run("disk", func(b *testing.B) {
		f(b, vfs.OS(), func() string { return b.TempDir() + "/__cluster_metadata-0" })
	})
}

type benchNode struct {
	*testNode
	log metaLog
}

func (n *benchNode) close(b *testing.B) {
	n.mustClose(b)
	if err := n.log.(kafkaLog).Close(); err != nil {
		b.Fatal(err)
	}
}

// startBench starts a node and returns how long it took from Open to Became.
func startBench(b *testing.B, fsys vfs.FS, dir string) (*benchNode, time.Duration) {
	logFS, logDir := fsys, dir
	if fsys == nil {
		logFS, logDir = vfs.NewMem(), "d"
	}
	log, err := openStorageLog(logFS, logDir)
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
	return &benchNode{&testNode{Node: n, r: r}, log}, time.Since(begin)
}

func report(b *testing.B, name string, times []time.Duration) {
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), name+"-p50-µs")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), name+"-p99-µs")
}

// BenchmarkLeader measures Open to Became, in a new directory and after a stop.
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
			n.close(b)
			if fsys != nil {
				n, took = startBench(b, fsys, d)
				stopped = append(stopped, took)
				n.close(b)
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
		defer n.close(b)
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
		defer n.close(b)
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
