package storage

import (
	"bytes"
	"fmt"
	"testing"

	"go.uber.org/zap"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

// t0 is when the tests' records are from, ms.
const t0 = int64(1700000000000)

var testTP = protocol.TopicPartition{Topic: "t", Partition: 0}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// smallConfig rolls after a few batches and indexes nearly all of them.
func smallConfig() LogConfig {
	c := DefaultLogConfig()
	c.SegmentBytes, c.IndexIntervalBytes, c.FileDeleteDelayMs = 1000, 50, 0
	return c
}

func open(t testing.TB, fs vfs.FS, c LogConfig, clean bool, recovery int64) *Log {
	t.Helper()
	l, err := OpenLog(LogOptions{FS: fs, Dir: "/d/t-0", TopicPartition: testTP, TopicID: protocol.UUID{1}, Config: c,
		Clean: clean, RecoveryPoint: recovery, Logger: zap.NewNop()})
	must(t, err)
	return l
}

// batch is one batch of n records with timestamps from ts on and values of size bytes.
func batch(n int, ts int64, size int) record.Batch {
	return build(record.NewOptions(), n, ts, size)
}

func build(o record.Options, n int, ts int64, size int) record.Batch {
	b := record.NewBuilder(o)
	for i := range n {
		b.Append(ts+int64(i), []byte(fmt.Sprint("k", i)), bytes.Repeat([]byte{'v'}, size))
	}
	return b.Build()
}

// sent is a batch of a producer.
func sent(pid int64, epoch int16, seq int32, n int, txn bool) record.Batch {
	o := record.NewOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = pid, epoch, seq, txn
	return build(o, n, t0, 10)
}

func endTxn(pid int64, epoch int16, abort bool, coordinatorEpoch int32) record.Batch {
	o := record.NewOptions()
	o.ProducerID, o.ProducerEpoch = pid, epoch
	kind := record.Commit
	if abort {
		kind = record.Abort
	}
	return record.NewMarker(o, t0, kind, coordinatorEpoch)
}

func lead(t testing.TB, l *Log, b record.Batch) AppendInfo {
	t.Helper()
	i, err := l.AppendAsLeader(b, 0, Client, t0)
	must(t, err)
	return i
}

// readAll reads a log to its end, batch by batch.
func readAll(t testing.TB, l *Log, from int64) []record.Batch {
	t.Helper()
	var all []record.Batch
	for {
		r, err := l.Read(from, 300, true, LogEnd)
		must(t, err)
		if r.Size == 0 {
			return all
		}
		for _, b := range batchesOf(t, &r) {
			all = append(all, b)
			from = b.LastOffset() + 1
		}
		r.Release()
	}
}

func batchesOf(t testing.TB, r *Read) []record.Batch {
	t.Helper()
	var all []record.Batch
	for _, s := range r.Slices {
		buf := make([]byte, s.Length)
		must(t, s.ReadFull(buf))
		for len(buf) > 0 {
			b, rest, err := record.Next(buf)
			must(t, err)
			if !b.VerifyCRC() {
				t.Fatalf("batch at offset %d has a wrong checksum", b.BaseOffset())
			}
			all = append(all, b)
			buf = rest
		}
	}
	return all
}

func wantCode(t testing.TB, err error, code protocol.ErrorCode) {
	t.Helper()
	if err == nil || protocol.CodeOf(err) != code {
		t.Errorf("error %v, want %v", err, code)
	}
}

func files(t testing.TB, fs vfs.FS, dir string) []string {
	t.Helper()
	list, err := fs.List(dir)
	must(t, err)
	var names []string
	for _, e := range list {
		names = append(names, e.Name)
	}
	return names
}
