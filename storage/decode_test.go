package storage

import (
	"bytes"
	"encoding/hex"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
)

func TestOffsetCheckpoint(t *testing.T) {
	f := func(text string, want offsets, bad bool) {
		t.Helper()
		got, err := decodeOffsets([]byte(text))
		if bad != (err != nil) {
			t.Errorf("%q: %v", text, err)
		}
		if len(got) != len(want) {
			t.Errorf("%q: %v", text, got)
		}
		for tp, o := range want {
			if got[tp] != o {
				t.Errorf("%q: %v", text, got)
			}
		}
	}
	tp := func(topic string, p int32) protocol.TopicPartition {
		return protocol.TopicPartition{Topic: topic, Partition: p}
	}
	f("", nil, false)
	f("0\n", nil, false)
	f("0\n0\n", nil, false)
	f("0\n2\na-b 0 7\nc 12 -1\n", offsets{tp("a-b", 0): 7, tp("c", 12): -1}, false)
	f("0\r\n1\r\na 0 7\r\n", offsets{tp("a", 0): 7}, false)
	f("1\n0\n", nil, true)
	f("0\n1\n", nil, true)
	f("0\n0\na 0 1\n", nil, true)
	f("0\n1\na 0\n", nil, true)
	f("0\n1\na x 1\n", nil, true)
	f("0\n1\na 0 99999999999999999999\n", nil, true)
	f("0\n-1\n", nil, true)
	f("0\n1\na 0 1\n\n", nil, true)
	o := offsets{tp("b", 1): 5, tp("a", 10): 6, tp("a", 2): 7}
	if got := string(encodeOffsets(o)); got != "0\n3\na 2 7\na 10 6\nb 1 5\n" {
		t.Errorf("%q", got)
	}
}

func TestEpochs(t *testing.T) {
	var e epochs
	want := func(entries ...EpochEntry) {
		t.Helper()
		if got := e.list(); !slices.Equal(got, entries) {
			t.Errorf("%v, want %v", got, entries)
		}
	}
	end := func(epoch int32, wantEpoch int32, wantOffset int64) {
		t.Helper()
		if got := e.end(epoch, 100); got != (EpochEnd{wantEpoch, wantOffset}) {
			t.Errorf("end of epoch %d: %+v", epoch, got)
		}
	}
	end(0, -1, -1)
	e.assign(2, 10)
	e.assign(2, 15) // the same epoch goes on
	e.assign(4, 20)
	e.assign(7, 40)
	want(EpochEntry{2, 10}, EpochEntry{4, 20}, EpochEntry{7, 40})
	end(7, 7, 100)
	end(8, -1, -1)
	end(5, 4, 40)
	end(4, 4, 40)
	end(2, 2, 20)
	end(1, 1, 10)
	end(-1, -1, -1)
	if e.of(9) != -1 || e.of(10) != 2 || e.of(39) != 4 || e.of(1000) != 7 || e.latest() != 7 {
		t.Error("of")
	}
	e.assign(8, 40) // nothing was written in 7
	want(EpochEntry{2, 10}, EpochEntry{4, 20}, EpochEntry{8, 40})
	e.assign(6, 30) // contradicts 8
	want(EpochEntry{2, 10}, EpochEntry{4, 20}, EpochEntry{6, 30})
	e.truncateEnd(30)
	want(EpochEntry{2, 10}, EpochEntry{4, 20})
	e.truncateStart(15)
	want(EpochEntry{2, 15}, EpochEntry{4, 20})
	e.truncateStart(50)
	want(EpochEntry{4, 50})
	e.truncateStart(40)
	want(EpochEntry{4, 50})
	text, mark, dirty := e.pending()
	if !dirty || string(text) != "0\n1\n4 50\n" {
		t.Errorf("%q", text)
	}
	e.wrote(mark)
	if _, _, dirty := e.pending(); dirty {
		t.Error("dirty after it was written")
	}
	if got, err := decodeEpochs(text); err != nil || !slices.Equal(got, e.list()) {
		t.Errorf("%v %v", got, err)
	}
	for _, bad := range []string{"0\n1\n1 2 3\n", "0\n1\nx 2\n", "0\n1\n1 x\n", "2\n0\n", "0\n2\n1 1\n"} {
		if _, err := decodeEpochs([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestMetaProperties(t *testing.T) {
	const id = "8VRkYgNtSaypgo40N3awjg"
	f := func(text string, cluster string, node int32, dir string, bad bool) {
		t.Helper()
		p, err := decodeMetaProperties(text)
		if bad {
			if err == nil {
				t.Errorf("%q was read: %+v", text, p)
			}
			return
		}
		if err != nil || p.ClusterID != cluster || p.NodeID != node || (dir != "") != !p.DirectoryID.IsZero() || dir != "" && p.DirectoryID.String() != dir {
			t.Errorf("%q: %+v %v", text, p, err)
		}
	}
	// As Kafka 4.4 wrote it.
	f("#\n#Tue Dec 01 16:11:36 UTC 2026\nnode.id=1\ndirectory.id="+id+"\nversion=1\ncluster.id=b3R0bGEtZml4dHVyZS0wMQ\n", "b3R0bGEtZml4dHVyZS0wMQ", 1, id, false)
	f("! x\n cluster.id : c\nnode.id 3\nversion\t1", "c", 3, "", false)
	f("cluster.id=c\\:d\nnode.id=3\nversion=1", "c:d", 3, "", false)
	f("version=0\nbroker.id=7\n", "", 7, "", false)
	f("version=0\n", "", -1, "", false)
	f("node.id=1\nversion=1\n", "", 0, "", true)
	f("version=2\nnode.id=1\ncluster.id=c\n", "", 0, "", true)
	f("version=1\nnode.id=-1\ncluster.id=c\n", "", 0, "", true)
	f("version=1\nnode.id=1\ncluster.id=c\ndirectory.id=x\n", "", 0, "", true)
	f("", "", 0, "", true)
	dir := protocol.NewUUID()
	out := encodeMetaProperties(MetaProperties{"c", 5, dir}, time.UnixMilli(t0))
	f(string(out), "c", 5, dir.String(), false)
	if !strings.HasPrefix(string(out), "#\n#Tue Nov 14 22:13:20 UTC 2023\n") {
		t.Errorf("%q", out)
	}
}

func TestPartitionMetadataAndMarker(t *testing.T) {
	id := protocol.NewUUID()
	for _, text := range []string{"version: 0\ntopic_id: " + id.String(), "version: 0\r\ntopic_id: " + id.String() + "\n"} {
		if got, err := decodePartitionMetadata(text); err != nil || got != id {
			t.Errorf("%q: %v %v", text, got, err)
		}
	}
	if n := len(encodePartitionMetadata(id)); n != 43 {
		t.Errorf("%d bytes", n)
	}
	for _, text := range []string{"", "version: 1\ntopic_id: " + id.String(), "version: 0", "version: 0\ntopic_id: x", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA"} {
		if _, err := decodePartitionMetadata(text); err == nil {
			t.Errorf("%q was read", text)
		}
	}
	for text, want := range map[string]int64{`{"version":0,"brokerEpoch":500}`: 500, "": -1, "x": -1, `{"version":0}`: -1} {
		if got := decodeCleanShutdown([]byte(text)); got != want {
			t.Errorf("%q: %d", text, got)
		}
	}
}

func TestNames(t *testing.T) {
	if got := offsetName(42, logSuffix); got != "00000000000000000042.log" {
		t.Error(got)
	}
	if got := offsetName(math.MaxInt64, logSuffix); got != "09223372036854775807.log" {
		t.Error(got)
	}
	f := func(name string, offset int64, suffix string, ok bool) {
		t.Helper()
		o, s, k := parseOffsetName(name)
		if k != ok || ok && (o != offset || s != suffix) {
			t.Errorf("%s: %d %q %v", name, o, s, k)
		}
	}
	f("00000000000000000042.log", 42, ".log", true)
	f("00000000000000000042.log.swap", 42, ".log.swap", true)
	f("00000000000000000042-0000000001.checkpoint", 0, "", false)
	f("leader-epoch-checkpoint", 0, "", false)
	f("partition.metadata", 0, "", false)
	f("99999999999999999999.log", 0, "", false)
	f("-1.log", 0, "", false)
	f("+1.log", 0, "", false)

	d := func(name string, topic string, p int32, kind dirKind, ok bool) {
		t.Helper()
		tp, k, err := parseDirName(name)
		if ok != (err == nil) || ok && (tp.Topic != topic || tp.Partition != p || k != kind) {
			t.Errorf("%s: %v %q %v", name, tp, k, err)
		}
	}
	d("a-0", "a", 0, dirCurrent, true)
	d("a-b.c-12", "a-b.c", 12, dirCurrent, true)
	d("a-0.ed05c584ab21495ea0560da5a5b3c710-delete", "a", 0, dirDeleted, true)
	d("a.b-0.ed05c584ab21495ea0560da5a5b3c710-future", "a.b", 0, dirFuture, true)
	d("a-0.ed05c584ab21495ea0560da5a5b3c710-stray", "a", 0, dirStray, true)
	d("lost+found", "", 0, "", false)
	d("a", "", 0, "", false)
	d("-1", "", 0, "", false)
	d("a-x", "", 0, "", false)
	d("a-delete", "", 0, "", false)
}

func TestSnapshotOfKafka(t *testing.T) {
	// clean/idem-0/00000000000000000021.snapshot of the fixtures.
	raw, err := hex.DecodeString("0001908e288c0000000200000000000003eb00000000000f00000000000000130000000200000" +
		"1a23260c524ffffffffffffffffffffffff00000000000003ec0000000000020000000000000014000000000000" + "01a23260c524ffffffffffffffffffffffff")
	must(t, err)
	list, err := decodeSnapshot(raw)
	must(t, err)
	if len(list) != 2 || list[0].id != 1003 || list[0].lastSequence() != 15 || list[0].last().lastOffset != 19 ||
		list[0].last().offsetDelta != 2 || list[1].id != 1004 || list[1].lastSequence() != 2 || list[1].txnFirstOffset != -1 || list[1].coordinatorEpoch != -1 {
		t.Errorf("%+v", list)
	}
	byID := map[int64]*producer{}
	for i := range list {
		byID[list[i].id] = &list[i]
	}
	if got := encodeSnapshot(byID); !bytes.Equal(got, raw) {
		t.Errorf("%x\n%x", got, raw)
	}
	if got := encodeSnapshot(nil); len(got) != 10 {
		t.Errorf("%d bytes when empty", len(got))
	}
}

// seedFiles adds the files of a fixture that end in suffix.
func seedFiles(f *testing.F, suffix string) {
	fs := vfs.NewMem()
	unpackAll(f, fs)
	var walk func(dir string)
	walk = func(dir string) {
		entries, err := fs.List(dir)
		must(f, err)
		for _, e := range entries {
			switch {
			case e.Dir:
				walk(dir + "/" + e.Name)
			case strings.HasSuffix(e.Name, suffix) && e.Size < 4096:
				b, err := readFile(fs, dir+"/"+e.Name, 4096)
				must(f, err)
				f.Add(b)
			}
		}
	}
	walk("/data")
}

func unpackAll(f *testing.F, fs vfs.FS) {
	if _, err := os.Stat("testdata/kafka/killed.tar.gz"); err != nil {
		f.Skip(err)
	}
	unpack(f, fs, "killed")
}

func FuzzOffsetCheckpoint(f *testing.F) {
	seedFiles(f, "offset-checkpoint")
	f.Fuzz(func(t *testing.T, b []byte) {
		o, err := decodeOffsets(b)
		if err != nil {
			return
		}
		again, err := decodeOffsets(encodeOffsets(o))
		if err != nil || len(again) != len(o) {
			t.Fatalf("%v: %v", o, err)
		}
	})
}

func FuzzEpochs(f *testing.F) {
	seedFiles(f, "leader-epoch-checkpoint")
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := decodeEpochs(b)
		if err != nil {
			return
		}
		var e epochs
		for _, x := range list {
			e.assign(x.Epoch, x.StartOffset)
		}
		got := e.list()
		if !slices.IsSortedFunc(got, func(a, b EpochEntry) int { return int(a.Epoch) - int(b.Epoch) }) {
			t.Fatal(got)
		}
		for _, x := range got {
			e.end(x.Epoch, 100)
			e.of(x.StartOffset)
		}
	})
}

func FuzzSnapshot(f *testing.F) {
	seedFiles(f, ".snapshot")
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := decodeSnapshot(b)
		if err != nil {
			return
		}
		if len(b) != 10+46*len(list) {
			t.Fatalf("%d producers of %d bytes", len(list), len(b))
		}
	})
}

func FuzzTxnIndex(f *testing.F) {
	seedFiles(f, ".txnindex")
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := decodeAborted(b, 0)
		if err != nil {
			return
		}
		var again []byte
		for _, a := range list {
			again = a.append(again)
		}
		if len(again) != len(b) {
			t.Fatalf("%d bytes of %d", len(again), len(b))
		}
	})
}

func FuzzMetaProperties(f *testing.F) {
	seedFiles(f, "meta.properties")
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decodeMetaProperties(string(b))
		if err == nil && p.DirectoryID.IsReserved() && !p.DirectoryID.IsZero() {
			t.Fatal(p)
		}
	})
}

func FuzzPartitionMetadata(f *testing.F) {
	seedFiles(f, "partition.metadata")
	f.Fuzz(func(t *testing.T, b []byte) {
		if id, err := decodePartitionMetadata(string(b)); err == nil && id.IsZero() {
			t.Fatal("zero id")
		}
		decodeCleanShutdown(b)
	})
}

// FuzzSegment opens a log of arbitrary bytes, unclean and clean, and reads it.
func FuzzSegment(f *testing.F) {
	f.Add([]byte(batch(3, t0, 10)), []byte{}, []byte{})
	f.Add([]byte(append(batch(1, t0, 10), sent(1, 0, 0, 1, true)...)), offsetEntry(nil, 0, 0), timeEntry(nil, t0, 0))
	f.Add([]byte(slices.Concat(batch(1, t0, 10), batch(1, t0, 10))), offsetEntry(offsetEntry(nil, 5, 70), 1, 1<<30), timeEntry(nil, -5, -5))
	f.Fuzz(func(t *testing.T, log, index, times []byte) {
		for _, clean := range []bool{false, true} {
			fs := vfs.NewMem()
			must(t, fs.MkdirAll("/d/t-0"))
			for suffix, b := range map[string][]byte{logSuffix: log, indexSuffix: index, timeSuffix: times} {
				must(t, writeFile(fs, "/d/t-0/"+offsetName(0, suffix), b, false))
			}
			l, err := OpenLog(LogOptions{FS: fs, Dir: "/d/t-0", TopicPartition: testTP, Config: smallConfig(), Clean: clean})
			if err != nil {
				if clean {
					continue
				}
				t.Fatal(err)
			}
			end := l.LogEndOffset()
			for from, n := int64(0), 0; from < end && n < 100; n++ {
				r, err := l.Read(from, 100, true, LogEnd)
				if err != nil || r.Size == 0 {
					if !clean {
						t.Fatalf("read at %d of %d: %v", from, end, err)
					}
					break
				}
				buf := make([]byte, r.Size)
				must(t, r.Slices[0].ReadFull(buf))
				r.Release()
				from++
			}
			if _, err := l.OffsetForTimestamp(t0, LogEnd); err != nil && protocol.CodeOf(err) != protocol.CorruptMessage && !clean {
				t.Fatal(err)
			}
			_ = l.Close() // may fail when the indexes of a clean stop make no sense
		}
	})
}
