package storage

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

// faultRun is a fixed workload on two directories, of which the first one's disk fails at
// some operation.
type faultRun struct {
	t       *testing.T
	fs      *vfs.Mem
	m       *Manager
	dirs    [2]protocol.UUID
	acked   [2][]record.Batch
	failed  bool // the workload has met the fault
	offline []DirState
	mu      sync.Mutex
}

var faultTPs = [2]protocol.TopicPartition{{Topic: "bad", Partition: 0}, {Topic: "good", Partition: 0}}

func (r *faultRun) options() Options {
	o := crashOptions()
	o.OnDirFailure = func(d DirState) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.offline = append(r.offline, d)
	}
	return o
}

// try notes whether an operation on the first directory failed, and how.
func (r *faultRun) try(err error) bool {
	r.t.Helper()
	if err == nil {
		return true
	}
	r.failed = true
	if code := protocol.CodeOf(err); code != protocol.KafkaStorageError && code != protocol.NotLeaderOrFollower {
		r.t.Fatalf("the fault came out as %v", err)
	}
	return false
}

func (r *faultRun) workload() {
	c := smallConfig()
	c.FlushMessages = 7
	var logs [2]*Log
	for i := range logs {
		l, err := r.m.Create(faultTPs[i], protocol.UUID{8, byte(i)}, c, r.dirs[i])
		if i == 1 {
			must(r.t, err)
		} else if !r.try(err) {
			continue
		}
		logs[i] = l
	}
	for n := range 24 {
		for i, l := range logs {
			if l == nil {
				continue
			}
			b := batch(2, t0+int64(n), 50)
			if n%3 == 0 {
				b = sent(1, 0, int32(2*(n/3)), 2, false)
			}
			_, err := l.AppendAsLeader(b, 1, Client, t0)
			if i == 1 {
				must(r.t, err)
			} else if !r.try(err) {
				continue
			}
			r.acked[i] = append(r.acked[i], slices.Clone(b))
		}
		switch n {
		case 8, 16:
			r.m.drainFlushes(context.Background())
			r.m.CheckpointRecoveryPoints()
			r.m.CheckpointHighWatermarks()
			r.m.CheckpointLogStarts()
		case 12:
			for _, l := range logs {
				if l != nil {
					l.SetHighWatermark(l.LogEndOffset())
					_, err := l.DeleteRecordsBefore(9)
					ok := r.try(err)
					if ok {
						_, err = l.DeleteOldSegments(t0)
						r.try(err)
					}
				}
			}
		}
	}
	r.check(1, logs[1])
	if logs[0] != nil {
		r.read(logs[0])
	}
}

// read reads what can be read while the disk may be failing: never wrong bytes.
func (r *faultRun) read(l *Log) {
	for from := l.LogStartOffset(); from < l.LogEndOffset(); {
		got, err := l.Read(from, 1<<20, true, LogEnd)
		if !r.try(err) {
			return
		}
		buf := make([]byte, got.Size)
		err = got.Slices[0].ReadFull(buf)
		got.Release()
		if err != nil {
			return // the disk failed under whoever sends the slice
		}
		for len(buf) > 0 {
			b, rest, err := record.Next(buf)
			must(r.t, err)
			from, buf = b.LastOffset()+1, rest
		}
	}
}

func (r *faultRun) check(i int, l *Log) {
	r.t.Helper()
	want := slices.DeleteFunc(slices.Clone(r.acked[i]), func(b record.Batch) bool { return b.LastOffset() < l.LogStartOffset() })
	got := readAll(r.t, l, l.LogStartOffset())
	for j := range want {
		if j >= len(got) || !bytes.Equal(got[j], want[j]) {
			r.t.Fatalf("%s: %d batches, batch %d of the %d acknowledged is missing or another", l.tp, len(got), j, len(want))
		}
	}
}

func (r *faultRun) open() {
	m, err := Open(r.fs, []string{"/bad", "/good"}, r.options())
	must(r.t, err)
	r.m = m
	for i, d := range m.Dirs() {
		if d.Err == nil {
			r.dirs[i] = d.ID
		}
	}
	must(r.t, m.Load(context.Background(), keepAll))
}

// TestFaultAnywhere fails every operation on one directory in turn.
func TestFaultAnywhere(t *testing.T) {
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC} {
		for _, forever := range []bool{false, true} {
			n := 1
			for ; faulty(t, n, cause, forever); n++ {
			}
			t.Logf("%v (for ever: %v): %d operations failed", cause, forever, n-1)
		}
	}
}

// faulty runs the workload with the n-th operation failing; false if there are fewer.
func faulty(t *testing.T, n int, cause error, forever bool) bool {
	r := &faultRun{t: t, fs: vfs.NewMem()}
	r.open()
	met, count := false, 0
	var mu sync.Mutex
	r.fs.SetHook(func(op vfs.Op, name string) error {
		if len(name) < 4 || name[:4] != "/bad" {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		count++
		if count == n || forever && count > n {
			met = true
			return cause
		}
		return nil
	})
	r.workload()
	err := r.m.Close(context.Background(), 3)
	r.fs.SetHook(nil)
	if !met {
		must(t, err)
		return false
	}
	r.m.failing.Wait()
	name := fmt.Sprintf("operation %d fails with %v", n, cause)
	if states := r.m.Dirs(); states[1].Err != nil || states[0].Err != nil && !errors.Is(states[0].Err, cause) {
		t.Fatalf("%s: directories %+v", name, states)
	} else if states[0].Err != nil && (len(r.offline) != 1 || r.offline[0].Path != "/bad") {
		t.Fatalf("%s: told %+v", name, r.offline)
	} else if r.failed && states[0].Err == nil {
		t.Fatalf("%s: the workload failed, the directory is online", name)
	}
	// The disk is whole again: nothing acknowledged is lost, for nothing lost power.
	r.open()
	for i, tp := range faultTPs {
		l := r.m.Get(tp)
		if l == nil {
			if len(r.acked[i]) > 0 {
				t.Fatalf("%s: %s is gone", name, tp)
			}
			continue
		}
		r.check(i, l)
	}
	must(t, r.m.Close(context.Background(), 4))
	return true
}

func TestFaultWhileLoading(t *testing.T) {
	fs := vfs.NewMem()
	r := &faultRun{t: t, fs: fs}
	r.open()
	r.workload()
	must(t, r.m.Close(context.Background(), 1))
	for n := 1; ; n++ {
		count := 0
		var mu sync.Mutex
		fs.SetHook(func(op vfs.Op, name string) error {
			mu.Lock()
			defer mu.Unlock()
			if len(name) >= 4 && name[:4] == "/bad" {
				if count++; count == n {
					return syscall.EIO
				}
			}
			return nil
		})
		m, err := Open(fs, []string{"/bad", "/good"}, r.options())
		must(t, err)
		must(t, m.Load(context.Background(), keepAll))
		m.failing.Wait()
		fs.SetHook(nil)
		r.check(1, m.Get(faultTPs[1]))
		if count < n {
			if m.Dirs()[0].Err != nil {
				t.Fatal(m.Dirs()[0].Err)
			}
			r.check(0, m.Get(faultTPs[0]))
			must(t, m.Close(context.Background(), 1))
			t.Logf("%d operations failed", n-1)
			return
		}
		if m.Dirs()[0].Err == nil || m.Get(faultTPs[0]) != nil {
			t.Fatalf("operation %d failed: %+v", n, m.Dirs()[0])
		}
		must(t, m.unlock())
	}
}
