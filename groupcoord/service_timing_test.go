package groupcoord

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

func ready(b *testBroker) {
	b.lead()
	for p := range b.logs {
		for st := ""; st != "Active"; time.Sleep(time.Millisecond) {
			state, _ := b.shards[int32(p)].rsm.State()
			st = state.String()
		}
	}
}

func cpu() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkCommit is one OffsetCommit of one partition through the service, the log in memory.
func BenchmarkCommit(b *testing.B) {
	for _, clients := range []int{1, 50} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			t := newBroker(b, 50)
			defer func() { t.Close() }()
			ready(t)
			b.ReportAllocs()
			b.SetParallelism(max(1, clients/runtime.GOMAXPROCS(0)))
			before := cpu()
			b.RunParallel(func(p *testing.PB) {
				req := kmsg.NewPtrOffsetCommitRequest()
				req.SetVersion(8)
				req.Group, req.Generation = "group", -1
				req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: "topic", Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Offset: 1}}}}
				for p.Next() {
					if r := t.OffsetCommit(context.Background(), req); r.Topics[0].Partitions[0].ErrorCode != 0 {
						b.Error(protocol.ErrorCode(r.Topics[0].Partitions[0].ErrorCode))
					}
				}
			})
			b.ReportMetric(float64(cpu()-before)/1e3/float64(b.N), "cpu-µs/op")
		})
	}
}

// BenchmarkHeartbeat is one heartbeat of a stable member.
func BenchmarkHeartbeat(b *testing.B) {
	t := newBroker(b, 50)
	defer func() { t.Close() }()
	ready(t)
	j := t.join("g", "", 3)
	t.sync("g", j.MemberID, 1, "x")
	b.ReportAllocs()
	for b.Loop() {
		if code := t.beat("g", j.MemberID, 1); code != protocol.None {
			b.Fatal(code)
		}
	}
}

// BenchmarkLoad is a coordinator reading one partition: 10,000 groups, or a million commits of a thousand groups.
func BenchmarkLoad(b *testing.B) {
	load := func(name string, groups, commits int, members bool) {
		b.Run(name, func(b *testing.B) {
			t := newBroker(b, 1)
			defer func() { t.Close() }()
			ready(t)
			req := kmsg.NewPtrOffsetCommitRequest()
			req.SetVersion(8)
			req.Generation = -1
			for i := range commits {
				if i%100 == 0 {
					req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: fmt.Sprint("topic-", i/100%100)}}
					req.Group = fmt.Sprint("group-", i/100%groups)
				}
				req.Topics[0].Partitions = append(req.Topics[0].Partitions, kmsg.OffsetCommitRequestTopicPartition{Partition: int32(i % 100), Offset: int64(i)})
				if i%100 == 99 {
					t.OffsetCommit(context.Background(), req)
				}
			}
			if members {
				for i := range groups {
					g := fmt.Sprint("group-", i)
					if j := t.join(g, "", 3); j.ErrorCode == 0 {
						t.sync(g, j.MemberID, 1, "assignment")
					}
				}
			}
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			b.ResetTimer()
			for b.Loop() {
				t.crash()
				ready(t)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			_, end := t.logs[0].Bounds()
			b.ReportMetric(float64(b.Elapsed().Microseconds())*1000/float64(b.N)/float64(end), "ns/record")
			b.ReportMetric(float64(end), "records")
		})
	}
	load("10000 groups with a member and 10 commits each", 10_000, 100_000, true)
	load("a million commits of 1000 groups", 1000, 1_000_000, false)
}

// TestIdle: 50 shards that nobody uses have no goroutine and next to no memory.
func TestIdle(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	b := newBroker(t, 50)
	defer func() { b.Close() }()
	ready(b)
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > goroutines && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	eq(t, "goroutines", runtime.NumGoroutine()-goroutines, 0)
	runtime.GC()
	runtime.ReadMemStats(&after)
	if used := int64(after.HeapAlloc) - int64(before.HeapAlloc); used > 50*8<<10 {
		t.Errorf("50 idle shards take %d bytes", used)
	}
}
