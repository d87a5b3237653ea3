package quorum

import (
	"errors"
	"fmt"
	"sync"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol/record"
)

// testLog is a naive metadata log: one file, not synced by appends, cut at the first bad batch when opened, as
// Kafka's recovery does it.
type testLog struct {
	mu      sync.Mutex
	f       vfs.File
	start   int64 // offset of the first batch
	batches []record.Batch
	size    int64
	hw      int64
	failing error
}

func openTestLog(fsys vfs.FS, dir string) (*testLog, error) {
	if err := fsys.MkdirAll(dir); err != nil {
		return nil, err
	}
	f, err := fsys.Create(dir + "/00000000000000000000.log")
	if err != nil {
		return nil, err
	}
	l := &testLog{f: f}
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		return nil, err
	}
	for {
		batch, rest, err := record.Next(b)
		if err != nil || !batch.VerifyCRC() || len(l.batches) > 0 && batch.BaseOffset() != l.LogEndOffset() {
			break
		}
		l.keep(batch)
		b = rest
	}
	return l, f.Truncate(l.size)
}

func (l *testLog) keep(b record.Batch) {
	if len(l.batches) == 0 {
		l.start = b.BaseOffset()
	}
	l.batches = append(l.batches, append(record.Batch(nil), b...))
	l.size += int64(len(b))
}

func (l *testLog) LogStartOffset() int64 { l.mu.Lock(); defer l.mu.Unlock(); return l.start }
func (l *testLog) LogEndOffset() int64   { l.mu.Lock(); defer l.mu.Unlock(); return l.end() }

func (l *testLog) end() int64 {
	if len(l.batches) == 0 {
		return l.start
	}
	return l.batches[len(l.batches)-1].NextOffset()
}

func (l *testLog) LatestEpoch() int32 {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.batches) == 0 {
		return -1
	}
	return l.batches[len(l.batches)-1].PartitionLeaderEpoch()
}

func (l *testLog) SetHighWatermark(offset int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hw = max(l.start, min(offset, l.end()))
	return l.hw
}

func (l *testLog) Flush() error {
	if err := l.fault(); err != nil {
		return err
	}
	return l.f.Sync()
}

func (l *testLog) fail(err error) { l.mu.Lock(); defer l.mu.Unlock(); l.failing = err }
func (l *testLog) fault() error   { l.mu.Lock(); defer l.mu.Unlock(); return l.failing }

func (l *testLog) appendBatches(all []byte, epoch int32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failing != nil {
		return l.failing
	}
	if _, err := l.f.WriteAt(all, l.size); err != nil {
		return err
	}
	for len(all) > 0 {
		b, rest, err := record.Next(all)
		if err != nil {
			return err
		}
		if !b.VerifyCRC() || len(l.batches) > 0 && b.BaseOffset() != l.end() || b.PartitionLeaderEpoch() > epoch {
			return fmt.Errorf("batch at %d does not belong at %d", b.BaseOffset(), l.end())
		}
		l.keep(b)
		all = rest
	}
	return nil
}

func (l *testLog) readBatches(offset int64, maxBytes int) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if offset < l.start || offset > l.end() {
		return nil, errors.New("out of range")
	}
	var out []byte
	for _, b := range l.batches {
		if b.LastOffset() >= offset && (len(out) == 0 || len(out)+len(b) <= maxBytes) {
			out = append(out, b...)
		}
	}
	return out, nil
}

func (l *testLog) all() []record.Batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]record.Batch(nil), l.batches...)
}
