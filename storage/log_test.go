package storage

import (
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

func TestAppendAndRead(t *testing.T) {
	fs := vfs.NewMem()
	l := open(t, fs, smallConfig(), true, 0)
	for i := range 20 {
		info := lead(t, l, batch(3, t0+int64(i), 60))
		if info.BaseOffset != int64(3*i) || info.LastOffset != int64(3*i+2) || info.LogAppendTime != -1 {
			t.Fatalf("append %d: %+v", i, info)
		}
	}
	if n := l.SegmentCount(); n < 5 {
		t.Errorf("%d segments", n)
	}
	check := func(l *Log) {
		t.Helper()
		all := readAll(t, l, 0)
		if len(all) != 20 {
			t.Fatalf("%d batches", len(all))
		}
		for i, b := range all {
			if b.BaseOffset() != int64(3*i) || b.MaxTimestamp() != t0+int64(i)+2 {
				t.Errorf("batch %d: offset %d, timestamp %d", i, b.BaseOffset(), b.MaxTimestamp())
			}
		}
		for offset := range int64(60) {
			r, err := l.Read(offset, 1, true, LogEnd)
			must(t, err)
			if b := batchesOf(t, &r); len(b) != 1 || b[0].BaseOffset() != offset/3*3 {
				t.Errorf("read at %d: %d batches", offset, len(b))
			}
			r.Release()
		}
		r, err := l.Read(60, 1000, true, LogEnd)
		if err != nil || r.Size != 0 {
			t.Errorf("read at the end: %+v, %v", r, err)
		}
		for _, offset := range []int64{-1, 61} {
			_, err := l.Read(offset, 1000, true, LogEnd)
			wantCode(t, err, protocol.OffsetOutOfRange)
		}
	}
	check(l)
	must(t, l.Close())
	check(open(t, fs, smallConfig(), true, 60))
	check(open(t, fs, smallConfig(), false, 0))
	check(open(t, fs, smallConfig(), false, 60))
}

func TestReadLimits(t *testing.T) {
	l := open(t, vfs.NewMem(), DefaultLogConfig(), true, 0)
	size := len(batch(1, t0, 10))
	for range 10 {
		lead(t, l, batch(1, t0, 10))
	}
	l.SetHighWatermark(7)
	f := func(offset int64, maxBytes int, minOne bool, bound Bound, want int) {
		t.Helper()
		r, err := l.Read(offset, maxBytes, minOne, bound)
		must(t, err)
		defer r.Release()
		if r.Size != want*size {
			t.Errorf("read(%d, %d, %v, %v): %d bytes, want %d batches of %d", offset, maxBytes, minOne, bound, r.Size, want, size)
		}
		if r.HighWatermark != 7 || r.LastStableOffset != 7 || r.LogStartOffset != 0 || r.LogEndOffset != 10 {
			t.Errorf("%+v", r)
		}
	}
	for range 2 { // with and without marks of earlier reads
		f(0, 1<<20, false, LogEnd, 10)
		f(0, 1<<20, false, HighWatermark, 7)
		f(6, 1<<20, false, HighWatermark, 1)
		f(7, 1<<20, true, HighWatermark, 0)
		f(9, 1<<20, true, HighWatermark, 0)
		f(2, 3*size, false, LogEnd, 3)
		f(2, 3*size+size-1, false, LogEnd, 3)
		f(2, size-1, false, LogEnd, 0)
		f(2, size-1, true, LogEnd, 1)
		f(2, 0, true, LogEnd, 1)
		f(2, 0, false, LogEnd, 0)
		f(5, 1<<20, false, LogEnd, 5)
	}
}

func TestFilesOfALog(t *testing.T) {
	fs := vfs.NewMem()
	l := open(t, fs, smallConfig(), true, 0)
	if got := strings.Join(files(t, fs, "/d/t-0"), " "); got != "00000000000000000000.log partition.metadata" {
		t.Errorf("new: %s", got)
	}
	must(t, l.AssignEpochStart(3, 0))
	must(t, l.Close())
	// As Kafka leaves an empty partition: facts, 9.
	want := []string{"00000000000000000000.index", "00000000000000000000.log", "00000000000000000000.timeindex", "leader-epoch-checkpoint", "partition.metadata"}
	if got := files(t, fs, "/d/t-0"); !slices.Equal(got, want) {
		t.Errorf("closed empty: %v", got)
	}
	text, err := readFile(fs, "/d/t-0/leader-epoch-checkpoint", 100)
	must(t, err)
	if string(text) != "0\n1\n3 0\n" {
		t.Errorf("%q", text)
	}
	text, err = readFile(fs, "/d/t-0/partition.metadata", 100)
	must(t, err)
	if string(text) != "version: 0\ntopic_id: AQAAAAAAAAAAAAAAAAAAAA" {
		t.Errorf("%q", text)
	}
	l = open(t, fs, smallConfig(), true, 0)
	lead(t, l, batch(1, t0, 10))
	must(t, l.Close())
	if got := files(t, fs, "/d/t-0"); !slices.Contains(got, "00000000000000000001.snapshot") {
		t.Errorf("closed: %v", got)
	}
	i, err := fs.Stat("/d/t-0/00000000000000000000.timeindex")
	must(t, err)
	if i.Size != 12 {
		t.Errorf("time index of %d bytes, want the largest timestamp's entry", i.Size)
	}
}

func TestProducerChecks(t *testing.T) {
	l := open(t, vfs.NewMem(), DefaultLogConfig(), true, 0)
	f := func(b record.Batch, o Origin, code protocol.ErrorCode) AppendInfo {
		t.Helper()
		end := l.LogEndOffset()
		info, err := l.AppendAsLeader(b, 0, o, t0)
		if code == protocol.None {
			must(t, err)
		} else {
			wantCode(t, err, code)
			if l.LogEndOffset() != end {
				t.Error("a refused batch was appended")
			}
		}
		return info
	}
	f(sent(1, 0, 17, 2, false), Client, protocol.None) // an unknown producer may begin anywhere
	f(sent(1, 0, 19, 2, false), Client, protocol.None)
	f(sent(1, 0, 22, 1, false), Client, protocol.OutOfOrderSequenceNumber)
	if d := f(sent(1, 0, 17, 2, false), Client, protocol.None); !d.Duplicate || d.BaseOffset != 0 || d.LastOffset != 1 || d.LogAppendTime != t0+1 {
		t.Errorf("duplicate: %+v", d)
	}
	f(sent(1, 0, 17, 1, false), Client, protocol.OutOfOrderSequenceNumber)
	for i := range int32(5) {
		f(sent(1, 0, 21+i, 1, false), Client, protocol.None)
	}
	f(sent(1, 0, 19, 2, false), Client, protocol.OutOfOrderSequenceNumber) // the sixth last
	if d := f(sent(1, 0, 21, 1, false), Client, protocol.None); !d.Duplicate || d.BaseOffset != 4 {
		t.Errorf("fifth last: %+v", d)
	}
	f(sent(1, 1, 1, 1, false), Client, protocol.OutOfOrderSequenceNumber)
	f(sent(1, 1, 0, 1, false), Client, protocol.None)
	f(sent(1, 0, 26, 1, false), Client, protocol.InvalidProducerEpoch)
	// From 2^31-1 on to 0.
	f(sent(2, 0, 1<<31-2, 2, false), Client, protocol.None)
	f(sent(2, 0, 0, 1, false), Client, protocol.None)
	f(sent(3, 0, 1<<31-1, 2, false), Client, protocol.None)
	f(sent(3, 0, 1, 1, false), Client, protocol.None)
	// Transactions.
	f(sent(4, 0, 0, 1, true), Client, protocol.None)
	f(sent(4, 0, 1, 1, false), Client, protocol.InvalidTxnState)
	f(endTxn(4, 0, false, 5), Coordinator, protocol.None)
	f(endTxn(4, 0, false, 4), Coordinator, protocol.TransactionCoordinatorFenced)
	f(endTxn(4, 0, false, 5), Coordinator, protocol.None)
	f(sent(4, 0, 1, 1, false), Client, protocol.None)
	f(endTxn(1, 0, false, 5), Coordinator, protocol.InvalidProducerEpoch)
}

func TestMarkersOfTransactionVersion2(t *testing.T) {
	l := open(t, vfs.NewMem(), DefaultLogConfig(), true, 0)
	mark := func(epoch int16) error {
		_, err := l.AppendMarker(endTxn(1, epoch, true, 0), 0, 2, t0)
		return err
	}
	lead(t, l, sent(1, 5, 0, 1, true))
	wantCode(t, mark(5), protocol.InvalidProducerEpoch)
	must(t, mark(6))
	must(t, mark(6)) // sent again
	lead(t, l, sent(1, 6, 0, 1, true))
}

func TestLastStableOffset(t *testing.T) {
	l := open(t, vfs.NewMem(), smallConfig(), true, 0)
	f := func(step string, want int64) {
		t.Helper()
		l.SetHighWatermark(l.LogEndOffset())
		if got := l.LastStableOffset(); got != want {
			t.Errorf("%s: last stable offset %d, want %d", step, got, want)
		}
	}
	lead(t, l, batch(2, t0, 10))
	f("plain", 2)
	lead(t, l, sent(1, 0, 0, 2, true))
	f("first open", 2)
	lead(t, l, sent(2, 0, 0, 1, true))
	f("second open", 2)
	mark := func(pid int64, abort bool) {
		_, err := l.AppendMarker(endTxn(pid, 0, abort, 0), 0, 1, t0)
		must(t, err)
	}
	mark(1, true)
	// The marker is at the high watermark, not below it.
	if got := l.LastStableOffset(); got != 2 {
		t.Errorf("before the high watermark passes the marker: %d", got)
	}
	f("first aborted", 4)
	lead(t, l, batch(1, t0, 10))
	f("plain", 4)
	mark(2, false)
	f("second committed", 8)

	aborted := func(l *Log, offset int64, want ...AbortedTxn) {
		t.Helper()
		r, err := l.Read(offset, 1<<20, true, LastStable)
		must(t, err)
		defer r.Release()
		if r.Aborted == nil || !slices.Equal(r.Aborted, want) {
			t.Errorf("aborted from %d: %+v, want %+v", offset, r.Aborted, want)
		}
	}
	aborted(l, 0, AbortedTxn{1, 2})
	aborted(l, 5, AbortedTxn{1, 2})
	aborted(l, 6)
	r, err := l.Read(0, 1<<20, true, HighWatermark)
	must(t, err)
	if r.Aborted != nil {
		t.Errorf("read_uncommitted got a list of aborted transactions")
	}
}

func TestOffsetForTimestamp(t *testing.T) {
	l := open(t, vfs.NewMem(), smallConfig(), true, 0)
	b := record.NewBuilder(record.NewOptions())
	for _, d := range []int64{0, 10, 5} {
		b.Append(t0+d, nil, []byte("x"))
	}
	lead(t, l, b.Build())
	lead(t, l, batch(1, t0+7, 10))
	l.SetHighWatermark(4)
	f := func(ts, offset, stamp int64) {
		t.Helper()
		o, err := l.OffsetForTimestamp(ts, HighWatermark)
		must(t, err)
		if o.Offset != offset || o.Timestamp != stamp || o.Found != (offset >= 0) {
			t.Errorf("timestamp %d: %+v, want %d %d", ts, o, offset, stamp)
		}
	}
	for ts, want := range map[int64]int64{0: 0, t0: 0, t0 + 1: 1, t0 + 5: 1, t0 + 7: 1, t0 + 10: 1} {
		f(ts, want, t0+10*want)
	}
	f(t0+11, -1, -1)
	f(MaxTimestamp, 1, t0+10)
	l.SetHighWatermark(1)
	f(t0+1, -1, -1)
	f(MaxTimestamp, -1, -1)
}

func TestDeleteRecords(t *testing.T) {
	fs := vfs.NewMem()
	l := open(t, fs, smallConfig(), true, 0)
	must(t, l.AssignEpochStart(1, 0))
	for range 10 {
		lead(t, l, batch(2, t0, 100))
	}
	l.SetHighWatermark(10)
	f := func(offset, want int64, code protocol.ErrorCode) {
		t.Helper()
		got, err := l.DeleteRecordsBefore(offset)
		if code != protocol.None {
			wantCode(t, err, code)
		} else if err != nil || got != want {
			t.Errorf("DeleteRecords %d: %d, %v", offset, got, err)
		}
	}
	f(3, 3, protocol.None)
	f(3, 3, protocol.None)
	f(1, 3, protocol.None)
	f(11, -1, protocol.OffsetOutOfRange)
	f(-2, -1, protocol.OffsetOutOfRange)
	r, err := l.Read(3, 1, true, HighWatermark)
	must(t, err)
	if b := batchesOf(t, &r); len(b) != 1 || b[0].BaseOffset() != 2 {
		t.Error("fetch at 3")
	}
	r.Release()
	_, err = l.Read(2, 1, true, HighWatermark)
	wantCode(t, err, protocol.OffsetOutOfRange)
	o, err := l.OffsetForTimestamp(0, HighWatermark)
	if err != nil || o.Offset != 3 {
		t.Errorf("%+v %v", o, err)
	}
	f(-1, 10, protocol.None)
	if got := l.Epochs(); len(got) != 2 || got[0] != (EpochEntry{1, 10}) && got[1].Epoch != 0 {
		t.Logf("epochs %v", got)
	}
	n, err := l.DeleteOldSegments(t0)
	if err != nil || n == 0 || l.LogStartOffset() != 10 {
		t.Errorf("%d segments deleted, %v; start %d", n, err, l.LogStartOffset())
	}
	if info := lead(t, l, batch(1, t0, 10)); info.BaseOffset != 20 {
		t.Errorf("%+v", info)
	}
}
