package record

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ottla/ottla/protocol"
)

// The files in testdata are batches out of segments that Apache Kafka 4.4.0 wrote, and what its
// Java consumer read from them.

type expected struct {
	Offset    int64       `json:"o"`
	Epoch     int32       `json:"le"`
	Timestamp int64       `json:"ts"`
	Type      string      `json:"tt"`
	Key       *string     `json:"k"`
	Value     *string     `json:"v"`
	Headers   [][]*string `json:"h"`
}

func readExpected(t *testing.T, name string) []expected {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var out []expected
	for line := range bytes.Lines(data) {
		var e expected
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func readBatches(t testing.TB, name string) []Batch {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".log")
	if err != nil {
		t.Fatal(err)
	}
	var out []Batch
	for len(data) > 0 {
		b, rest, err := Next(data)
		if err != nil {
			t.Fatal(err)
		}
		out, data = append(out, b), rest
	}
	return out
}

// matches compares bytes with their text in the expectation: s: ASCII, x: hex, sha256:length:digest.
func matches(got []byte, want *string) bool {
	if want == nil || got == nil {
		return want == nil && got == nil
	}
	sum := sha256.Sum256(got)
	switch kind, rest, _ := strings.Cut(*want, ":"); kind {
	case "s":
		return string(got) == rest
	case "x":
		return hex.EncodeToString(got) == rest
	default:
		return fmt.Sprintf("%d:%x", len(got), sum) == rest
	}
}

func TestReadsWhatKafkaWrote(t *testing.T) {
	f := func(log, expectation string) {
		t.Helper()
		want := readExpected(t, expectation)
		for _, b := range readBatches(t, log) {
			if !b.VerifyCRC() {
				t.Errorf("%s: CRC of the batch at %d", log, b.BaseOffset())
			}
			for r, err := range b.Records(MaxDecompressed) {
				if err != nil {
					t.Fatalf("%s: batch at %d: %v", log, b.BaseOffset(), err)
				}
				if b.IsControl() {
					continue
				}
				w := want[0]
				want = want[1:]
				ok := r.Offset == w.Offset && r.Timestamp == w.Timestamp && b.TimestampType().String() == w.Type && b.PartitionLeaderEpoch() == w.Epoch &&
					matches(r.Key, w.Key) && matches(r.Value, w.Value) && len(r.Headers) == len(w.Headers)
				for i := range w.Headers {
					ok = ok && matches([]byte(r.Headers[i].Key), w.Headers[i][0]) && matches(r.Headers[i].Value, w.Headers[i][1])
				}
				if !ok {
					t.Fatalf("%s: got %+v, Kafka read %+v", log, r, w)
				}
			}
		}
		if len(want) != 0 {
			t.Errorf("%s: %d records are missing", log, len(want))
		}
	}
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		f("codec-"+codec, "codec")
	}
	for _, codec := range []string{"gzip", "snappy", "lz4", "zstd"} {
		f("recompress-"+codec, "codec")
	}
	for _, name := range []string{"shapes", "append-time", "compacted", "idem", "txn"} {
		f(name, name)
	}
}

// Segments with messages of formats 0 and 1, plain and under every codec, and one batch of format 2.
func TestReadsOldFormats(t *testing.T) {
	for _, name := range []string{"legacy-v0", "legacy-v1"} {
		want := readExpected(t, name)
		for _, b := range readBatches(t, name) {
			if !b.VerifyCRC() {
				t.Errorf("%s: CRC of the message at %d", name, b.BaseOffset())
			}
			records, kind := b.Messages(MaxDecompressed), b.TimestampType().String()
			switch b.Magic() {
			case 0:
				kind = "NoTimestampType"
			case Magic2:
				records = b.Records(MaxDecompressed)
			}
			for r, err := range records {
				if err != nil {
					t.Fatalf("%s: message at %d: %v", name, b.BaseOffset(), err)
				}
				w := want[0]
				want = want[1:]
				if r.Offset != w.Offset || r.Timestamp != w.Timestamp || kind != w.Type || !matches(r.Key, w.Key) || !matches(r.Value, w.Value) {
					t.Fatalf("%s: got %s %+v, Kafka read %+v", name, kind, r, w)
				}
			}
		}
		if len(want) != 0 {
			t.Errorf("%s: %d records are missing", name, len(want))
		}
	}
}

func TestBadMessages(t *testing.T) {
	sets := readBatches(t, "legacy-v1")
	var set Batch // a compressed one
	for _, b := range sets {
		if b.Magic() == 1 && b.Codec() == Gzip {
			set = b
		}
	}
	f := func(name string, b Batch, limit int) {
		t.Helper()
		for _, err := range b.Messages(limit) {
			if err != nil {
				return
			}
		}
		t.Errorf("%s: no error", name)
	}
	f("cut short", set[:len(set)-1], MaxDecompressed)
	f("larger than allowed", set, 20)
	zstd := bytes.Clone(set)
	zstd[messageAttributes] = byte(Zstd)
	f("a codec that came later", zstd, MaxDecompressed)
	key := bytes.Clone(sets[0])
	key[messageTimestamp+timestampSize] = 0x7f
	f("a key longer than the message", key, MaxDecompressed)
	var two Batch
	for _, b := range sets {
		if b.Magic() == Magic2 {
			two = b
		}
	}
	f("format 2", two, MaxDecompressed)
}

// What the builder makes of the records of an uncompressed batch of Kafka's are Kafka's bytes.
func TestBuildsWhatKafkaBuilt(t *testing.T) {
	built := 0
	for _, name := range []string{"codec-none", "shapes", "append-time", "idem", "txn", "compacted"} {
		for _, b := range readBatches(t, name) {
			if b.Codec() != None || b.HasDeleteHorizon() || b.Count() == 0 || b.Count() != b.LastOffsetDelta()+1 {
				continue
			}
			o := Options{
				BaseOffset: b.BaseOffset(), PartitionLeaderEpoch: b.PartitionLeaderEpoch(),
				ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(), BaseSequence: b.BaseSequence(),
				Transactional: b.IsTransactional(), Control: b.IsControl(),
			}
			o.TimestampType, o.AppendTime = b.TimestampType(), b.MaxTimestamp()
			builder := NewBuilder(o)
			raw := append(Batch(nil), b...)
			raw[posAttributes+1] &^= attrLogAppendTime // so that the records' own timestamps come out
			for r, err := range raw.Records(MaxDecompressed) {
				if err != nil {
					t.Fatal(err)
				}
				builder.Append(r.Timestamp, r.Key, r.Value, r.Headers...)
			}
			if got := builder.Build(); !bytes.Equal(got, b) {
				t.Errorf("%s at %d:\n got %x\nwant %x", name, b.BaseOffset(), got, b)
			}
			built++
		}
	}
	if built < 30 {
		t.Errorf("only %d batches were compared", built)
	}
}

// Kafka validated these batches when they were produced: the same rules must accept them again and
// find nothing to rewrite but what the leader wrote.
func TestValidatesWhatKafkaAccepted(t *testing.T) {
	for _, name := range []string{"codec-none", "codec-gzip", "codec-snappy", "codec-lz4", "codec-zstd", "shapes", "append-time", "idem"} {
		for _, b := range readBatches(t, name) {
			r := plainRules()
			r.TimestampAfterMaxMs = 1 << 62
			b.SetBaseOffset(0)
			b.SetPartitionLeaderEpoch(NoLeaderEpoch)
			if b.TimestampType() == LogAppendTime {
				continue
			}
			sent := bytes.Clone(b)
			got, v, err := Validate(b, r, 1796141505230)
			if err != nil || !bytes.Equal(got, sent) || v.MaxTimestamp != b.MaxTimestamp() || v.Recompressed {
				t.Errorf("%s: %v, %+v", name, err, v)
			}
		}
	}
}

func TestMarkers(t *testing.T) {
	count := 0
	for _, b := range readBatches(t, "txn") {
		if !b.IsControl() {
			continue
		}
		count++
		kind, value, err := b.ControlRecord()
		if err != nil || kind != Abort && kind != Commit || len(b) != 78 {
			t.Fatalf("%d bytes, type %d: %v", len(b), kind, err)
		}
		epoch, err := ParseMarker(value)
		if err != nil {
			t.Fatal(err)
		}
		o := Options{BaseOffset: b.BaseOffset(), PartitionLeaderEpoch: b.PartitionLeaderEpoch(), ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch()}
		if got := NewMarker(o, b.BaseTimestamp(), kind, epoch); !bytes.Equal(got, b) {
			t.Errorf("\n got %x\nwant %x", got, b)
		}
	}
	if count == 0 {
		t.Error("the fixture has no marker")
	}
}

// Old messages can be split and served; reading into them is refused, not guessed.
func TestOldMessagesAreSplit(t *testing.T) {
	f := func(name string, magic int8, lastOffsets ...int64) {
		t.Helper()
		batches := readBatches(t, name)
		for i, b := range batches {
			if i < len(lastOffsets) && (b.Magic() != magic || b.LastOffset() != lastOffsets[i] || !b.VerifyCRC() || b.HasProducerID() || b.PartitionLeaderEpoch() != -1) {
				t.Errorf("%s %d: magic %d, last offset %d", name, i, b.Magic(), b.LastOffset())
			}
			for _, err := range b.Records(MaxDecompressed) {
				if b.Magic() < Magic2 && !errors.Is(err, protocol.UnsupportedForMessageFormat) {
					t.Errorf("%s %d: %v", name, i, err)
				}
			}
		}
	}
	f("legacy-v0", 0, 0, 1, 2, 3, 4, 9, 14, 19)
	f("legacy-v1", 1, 0, 1, 2, 3, 4, 9, 14, 19)
}

// OTTLA_SEGMENTS names a directory with *.log files of Kafka's: all their batches must read.
func TestWholeSegments(t *testing.T) {
	dir := os.Getenv("OTTLA_SEGMENTS")
	if dir == "" {
		t.Skip("OTTLA_SEGMENTS is not set")
	}
	batches, records := 0, 0
	root := os.DirFS(dir)
	walk(t, root, func(name string, data []byte) {
		for len(data) > 0 && len(bytes.Trim(data, "\x00")) > 0 {
			b, rest, err := Next(data)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			data = rest
			batches++
			n := int32(0)
			for _, err := range b.Records(MaxDecompressed) {
				if err != nil && b.Magic() == Magic2 {
					t.Errorf("%s at %d: %v", name, b.BaseOffset(), err)
				}
				n++
			}
			records += int(n)
			if n != b.Count() || !b.VerifyCRC() && b.Magic() > 0 {
				t.Errorf("%s at %d: %d records, CRC %v", name, b.BaseOffset(), n, b.VerifyCRC())
			}
		}
	})
	t.Logf("%d batches, %d records", batches, records)
}
