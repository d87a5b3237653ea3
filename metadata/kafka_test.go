package metadata

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
	"github.com/ottla/ottla/protocol/record"
)

const testLog = "testdata/00000000000000000000.log"

// kafkaBatches are the batches of a log that Kafka wrote.
func kafkaBatches(t testing.TB) []record.Batch {
	buf, err := os.ReadFile(testLog)
	if err != nil {
		t.Fatal(err)
	}
	var list []record.Batch
	for len(buf) > 0 {
		b, rest, err := record.Next(buf)
		if err != nil {
			t.Fatal(err)
		}
		list, buf = append(list, b), rest
	}
	return list
}

// imageAt replays Kafka's log up to end, which is not included.
func imageAt(t testing.TB, end int64) *Image {
	f := NewFollower(New())
	for _, b := range kafkaBatches(t) {
		if b.BaseOffset() >= end {
			break
		}
		if err := f.Batch(b); err != nil {
			t.Fatal(err)
		}
	}
	steps, err := f.Take()
	if err != nil {
		t.Fatal(err)
	}
	return steps[len(steps)-1].Image
}

func readKafkaSnapshot(t testing.TB, name string) *Image {
	id, ok := ParseSnapshotName(name)
	if !ok {
		t.Fatal(name)
	}
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	i, err := ReadSnapshot(f, id)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// dump is the image as text, record by record, for comparing.
func dump(i *Image) []string {
	out := []string{fmt.Sprint(i.Offset, i.Epoch, i.Timestamp, i.kraftVersion, i.voters, i.topicsByID.len(), i.partitions)}
	for r := range i.Records() {
		b, err := EncodeRecord(nil, r, VersionFor(r, i.MetadataVersion()))
		if err != nil {
			panic(err)
		}
		out = append(out, fmt.Sprintf("%T %x", r, b))
	}
	return out
}

func equal(t testing.TB, got, want *Image) {
	t.Helper()
	g, w := dump(got), dump(want)
	for n := range max(len(g), len(w)) {
		switch {
		case n >= len(g):
			t.Fatalf("missing from record %d on: %s", n, w[n])
		case n >= len(w):
			t.Fatalf("too much from record %d on: %s", n, g[n])
		case g[n] != w[n]:
			t.Fatalf("record %d: have %s\nwant %s", n, g[n], w[n])
		}
	}
}

// TestKafkaSnapshots: Kafka's log replayed here gives what Kafka wrote into its snapshots, and what is written here
// reads back as the same.
func TestKafkaSnapshots(t *testing.T) {
	for _, name := range []string{"00000000000000000650-0000000005.checkpoint", "00000000000000000699-0000000005.checkpoint"} {
		want := readKafkaSnapshot(t, name)
		got := imageAt(t, want.Offset+1)
		equal(t, got, want)

		var file bytes.Buffer
		if err := WriteSnapshot(&file, got); err != nil {
			t.Fatal(err)
		}
		again, err := ReadSnapshot(bytes.NewReader(file.Bytes()), got.ID())
		if err != nil {
			t.Fatal(err)
		}
		equal(t, again, want)
		sameRecords(t, file.Bytes(), name)
		for cut := 0; cut < file.Len(); cut += 13 {
			if _, err := ReadSnapshot(bytes.NewReader(file.Bytes()[:cut]), got.ID()); err == nil {
				t.Fatalf("a snapshot cut at %d of %d bytes was accepted", cut, file.Len())
			}
		}
	}
}

// sameRecords: the file holds the same records as Kafka's, value by value, though maps give them another order.
func sameRecords(t *testing.T, file []byte, name string) {
	kafka, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if g, w := values(t, file), values(t, kafka); !slices.Equal(g, w) {
		for n := range min(len(g), len(w)) {
			if g[n] != w[n] {
				t.Fatalf("%s\nKafka wrote\n%s", g[n], w[n])
			}
		}
		t.Fatalf("%d records, Kafka wrote %d", len(g), len(w))
	}
}

func values(t *testing.T, file []byte) []string {
	var out []string
	for len(file) > 0 {
		b, rest, err := record.Next(file)
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range b.Records(1 << 20) {
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(r.Value, []byte("meta-gone")) { // see snapshotReader.orphan
				out = append(out, fmt.Sprintf("%x %x", r.Key, sortedFeatures(t, r)))
			}
		}
		file = rest
	}
	slices.Sort(out)
	return out
}

// sortedFeatures is the record's value with a broker's or controller's features in the order used here; Kafka writes
// them in that of a hash map.
func sortedFeatures(t *testing.T, r record.Record) []byte {
	if r.Key != nil {
		return r.Value
	}
	rec, v, err := DecodeRecord(r.Value)
	if err != nil {
		t.Fatal(err)
	}
	switch rec := rec.(type) {
	case *msg.RegisterBrokerRecord:
		slices.SortFunc(rec.Features, func(a, b msg.RegisterBrokerRecordBrokerFeature) int { return strings.Compare(a.Name, b.Name) })
	case *msg.RegisterControllerRecord:
		slices.SortFunc(rec.Features, func(a, b msg.RegisterControllerRecordControllerFeature) int { return strings.Compare(a.Name, b.Name) })
	}
	b, err := EncodeRecord(nil, rec, v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestKafkaLog looks at what Kafka's tools say is in the log.
func TestKafkaLog(t *testing.T) {
	i := imageAt(t, 650)
	if got := i.Features(); !reflect.DeepEqual(got, []Level{
		{ELRVersion, 1}, {GroupVersion, 1}, {KRaftVersion, 1}, {MetadataVersion, 33}, {ShareVersion, 2}, {StreamsVersion, 1}, {TransactionVersion, 2},
	}) {
		t.Errorf("features %v", got)
	}
	if i.Topic("meta-gone") != nil || i.Topic("meta") == nil || len(i.Topic("meta").Partitions) != 4 {
		t.Errorf("topic meta %+v, meta-gone %+v", i.Topic("meta"), i.Topic("meta-gone"))
	}
	if i.SCRAM(1, "admin") == nil && i.SCRAM(2, "admin") == nil {
		t.Error("SCRAM user admin is missing")
	}
	if i.SCRAM(1, "gone") != nil || i.SCRAM(2, "gone") != nil {
		t.Error("SCRAM user gone is there")
	}
	acls, quotas, tokens := 0, 0, 0
	for range i.ACLs() {
		acls++
	}
	for range i.Quotas() {
		quotas++
	}
	for range i.Tokens() {
		tokens++
	}
	t.Log("ACLs, quotas, tokens:", acls, quotas, tokens, "topics:", i.TopicCount(), "partitions:", i.PartitionCount(), "next producer id:", i.NextProducerID())
	if acls == 0 || quotas == 0 || tokens != 1 {
		t.Errorf("%d ACLs, %d quotas, %d tokens", acls, quotas, tokens)
	}
}

// TestBootstrapCheckpoint reads what `kafka-storage format` leaves for the first start.
func TestBootstrapCheckpoint(t *testing.T) {
	i := readKafkaSnapshot(t, "00000000000000000000-0000000000.checkpoint")
	if i.Offset != -1 || i.Feature(MetadataVersion) != 33 || i.Feature(KRaftVersion) != 1 || len(i.Voters()) != 1 || i.SCRAM(1, "admin") == nil {
		t.Errorf("%v", dump(i))
	}
}

// TestRecordVectors checks the framing against bytes of a real log.
func TestRecordVectors(t *testing.T) {
	unfence := msg.NewBrokerRegistrationChangeRecord()
	unfence.BrokerID, unfence.BrokerEpoch, unfence.Fenced = 5, 17, -1
	for _, c := range []struct {
		r    Record
		want string
	}{
		{&msg.NoOpRecord{}, "01140000"},
		{&msg.FeatureLevelRecord{Name: MetadataVersion, FeatureLevel: 33}, "010c0011" + hex.EncodeToString([]byte("metadata.version")) + "002100"},
		{unfence, "011100" + "00000005" + "0000000000000011" + "010001ff"},
	} {
		b, err := EncodeRecord(nil, c.r, VersionFor(c.r, LatestLevel))
		if err != nil || hex.EncodeToString(b) != c.want {
			t.Errorf("%T: %x, %v, want %s", c.r, b, err, c.want)
		}
		r, _, err := DecodeRecord(b)
		if err != nil || !reflect.DeepEqual(r, c.r) {
			t.Errorf("%x: %+v, %v", b, r, err)
		}
	}
	for text, want := range map[string]string{
		"":             "frame version at byte 0",
		"02140000":     "frame version 2",
		"011e0000":     "type 30",
		"01060000":     "type 6",
		"01140100":     "versions 0 to 0, not 1",
		"0114000000":   "1 bytes left over",
		"01ffffff7f00": "type at byte 1",
	} {
		b, _ := hex.DecodeString(text)
		if _, _, err := DecodeRecord(b); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// TestKafkaVersions: records of Kafka's log are encoded in the version in which Kafka wrote them.
func TestKafkaVersions(t *testing.T) {
	for _, b := range kafkaBatches(t) {
		if b.IsControl() {
			continue
		}
		for r, err := range b.Records(1 << 20) {
			if err != nil {
				t.Fatal(err)
			}
			rec, v, err := DecodeRecord(r.Value)
			if err != nil {
				t.Fatal(err)
			}
			if got := VersionFor(rec, LatestLevel); got != v {
				t.Errorf("offset %d: %T in version %d, Kafka wrote %d", r.Offset, rec, got, v)
			}
		}
	}
}

func TestUnknownControlRecord(t *testing.T) {
	_, err := decodeControl([]byte{0, 0, 0, 9}, []byte{0, 0})
	if !errors.Is(err, msg.ErrCorrupt) {
		t.Error(err)
	}
	if _, err := decodeControl([]byte{0, 0, 0, 2}, []byte{0, 9}); protocol.CodeOf(err) != protocol.UnsupportedVersion {
		t.Error(err)
	}
	if _, err := ReadSnapshot(strings.NewReader(""), SnapshotID{}); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Error(err)
	}
}

// FuzzReadSnapshot: no bytes make the reader panic or ask for memory they do not pay for, and what it accepts can be
// written and read again. CRCs are set right, so that damage reaches the records.
func FuzzReadSnapshot(f *testing.F) {
	for _, name := range []string{"00000000000000000650-0000000005.checkpoint", "00000000000000000000-0000000000.checkpoint"} {
		file, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file, 0, byte(0))
		f.Add(file, 300, byte(0x40))
	}
	f.Fuzz(func(t *testing.T, file []byte, at int, flip byte) {
		file = bytes.Clone(file)
		if at >= 0 && at < len(file) {
			file[at] ^= flip
		}
		for rest := file; len(rest) >= record.HeaderSize; {
			b, next, err := record.Next(rest)
			if err != nil || b.Magic() != record.Magic2 {
				break
			}
			b.UpdateCRC()
			rest = next
		}
		i, err := ReadSnapshot(bytes.NewReader(file), SnapshotID{EndOffset: 650, Epoch: 5})
		if err != nil {
			return
		}
		var again bytes.Buffer
		if err := WriteSnapshot(&again, i); err != nil {
			t.Fatal(err)
		}
		j, err := ReadSnapshot(&again, i.ID())
		if err != nil {
			t.Fatal(err)
		}
		equal(t, j, i)
	})
}
