package msg

import (
	"bufio"
	"encoding/hex"
	"errors"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/ottla/ottla/protocol"
)

// lines reads a file of testdata: fields separated by blanks, # comments.
func lines(t testing.TB, name string) [][]string {
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out [][]string
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if !strings.HasPrefix(in.Text(), "#") {
			out = append(out, strings.Fields(in.Text()))
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func unhex(t testing.TB, s string) []byte {
	if s == "-" {
		return nil
	}
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestVectors decodes what Kafka's own classes wrote, every schema in every version, and encodes the same bytes.
func TestVectors(t *testing.T) {
	seen := map[string]bool{}
	for _, l := range lines(t, "vectors.txt") {
		v, _ := strconv.Atoi(l[1])
		b := unhex(t, l[2])
		fresh, ok := all[l[0]]
		if !ok {
			t.Fatalf("no type for %s", l[0])
		}
		seen[l[0]+l[1]] = true
		m := fresh()
		if err := Decode(b, m, int16(v)); err != nil {
			t.Errorf("%s %x: %v", l[0], b, err)
			continue
		}
		again, err := Append(nil, m, int16(v))
		if err != nil || string(again) != string(b) {
			t.Errorf("%s version %d: %x became %x, %v", l[0], v, b, again, err)
		}
		if len(b) > 0 {
			if err := Decode(b[:len(b)-1], fresh(), int16(v)); !errors.Is(err, ErrCorrupt) {
				t.Errorf("%s version %d without its last byte: %v", l[0], v, err)
			}
		}
		if err := Decode(append(b, 0), fresh(), int16(v)); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%s version %d with a byte more: %v", l[0], v, err)
		}
	}
	for name, fresh := range all {
		lo, hi := fresh().Versions()
		for v := lo; v <= hi; v++ {
			if !seen[name+strconv.Itoa(int(v))] {
				t.Errorf("no vector of %s version %d", name, v)
			}
		}
		if err := Decode(nil, fresh(), hi+1); protocol.CodeOf(err) != protocol.UnsupportedVersion {
			t.Errorf("%s version %d: %v", name, hi+1, err)
		}
	}
}

var controls = map[byte]func() Message{
	2: func() Message { return NewLeaderChangeMessage() }, 3: func() Message { return NewSnapshotHeaderRecord() },
	4: func() Message { return NewSnapshotFooterRecord() }, 5: func() Message { return NewKRaftVersionRecord() },
	6: func() Message { return NewVotersRecord() },
}

// TestRecords decodes records that a Kafka 4.4 broker wrote to its internal topics, and encodes the same bytes.
func TestRecords(t *testing.T) {
	coordinators := map[string][2]func(int16) Record{
		"group":       {NewGroupKey, NewGroupValue},
		"share":       {NewShareKey, NewShareValue},
		"transaction": {NewTransactionKey, NewTransactionValue},
	}
	for _, l := range lines(t, "records.txt") {
		key, value := unhex(t, l[1]), unhex(t, l[2])
		switch l[0] {
		case "control":
			if key[3] <= 1 { // transaction markers say their version in front, the others in their first field
				same(t, value[2:], NewEndTxnMarker(), 0, value[2:])
				continue
			}
			same(t, value, controls[key[3]](), 0, value)
		case "metadata":
			same(t, value[3:], NewMetadataRecord(int16(value[1])), int16(value[2]), value[3:])
		default:
			id, err := KeyID(key)
			if err != nil {
				t.Fatal(err)
			}
			k := coordinators[l[0]][0](id)
			if err := DecodeKey(key, k); err != nil {
				t.Errorf("%x: %v", key, err)
			}
			if again, err := AppendKey(nil, k); err != nil || string(again) != string(key) {
				t.Errorf("key %x became %x, %v", key, again, err)
			}
			if value == nil {
				continue
			}
			v := coordinators[l[0]][1](id)
			version, err := DecodeValue(value, v)
			if err != nil {
				t.Errorf("%x: %v", value, err)
			}
			if again, err := AppendValue(nil, v, version); err != nil || string(again) != string(value) {
				t.Errorf("%s %x became %x, %v", v.Schema(), value, again, err)
			}
		}
	}
}

func same(t *testing.T, b []byte, m Message, v int16, want []byte) {
	t.Helper()
	if err := Decode(b, m, v); err != nil {
		t.Errorf("%x: %v", b, err)
		return
	}
	if again, err := Append(nil, m, v); err != nil || string(again) != string(want) {
		t.Errorf("%s: %x became %x, %v", m.Schema(), b, again, err)
	}
}

// TestRefused lists what a version cannot carry and what bytes may not say.
func TestRefused(t *testing.T) {
	b := NewRegisterBrokerRecord()
	b.LogDirs = []protocol.UUID{{1}}
	if _, err := Append(nil, b, 2); protocol.CodeOf(err) != protocol.UnsupportedVersion {
		t.Errorf("log directories in version 2: %v", err)
	}
	p := NewPartitionRecord()
	p.EligibleLeaderReplicas = []int32{1}
	late, err := Append(nil, p, 2)
	if err != nil {
		t.Fatal(err)
	}
	late = append(late[:43:43], late[44:]...) // without the empty list of directories that version 1 brought
	head := strings.Repeat("00", 20)          // partition and topic id
	for name, text := range map[string]string{
		"tag 1 is not valid in version 0": hex.EncodeToString(late),
		"array: 126 elements":             head + "7f",
		"varint: longer than 5 bytes":     head + "ffffffffff01",
		"null where the version has none": head + "00",
		"uuid: have 1 bytes, need 16":     "0000000000",
	} {
		err := Decode(unhex(t, text), NewPartitionRecord(), 0)
		if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestNativeMember: Kafka takes an absent ClassicMemberMetadata for an empty one, so null must be written.
func TestNativeMember(t *testing.T) {
	m := NewConsumerGroupMemberMetadataValue()
	b, err := Append(nil, m, 0)
	if err != nil || !strings.HasSuffix(hex.EncodeToString(b), "01000100") {
		t.Fatalf("%x, %v", b, err)
	}
	// The same without the tag section's only tag: 00 in its place.
	m.ClassicMemberMetadata = &ConsumerGroupMemberMetadataValueClassicMemberMetadata{}
	got := NewConsumerGroupMemberMetadataValue()
	if err := Decode(append(b[:len(b)-4:len(b)-4], 0), got, 0); err != nil || !reflect.DeepEqual(got, m) {
		t.Fatalf("%+v, %v", got, err)
	}
}

// FuzzDecode: no bytes make a decoder panic, and what decodes also encodes to something that decodes to the same.
func FuzzDecode(f *testing.F) {
	for _, l := range lines(f, "vectors.txt") {
		v, _ := strconv.Atoi(l[1])
		f.Add(l[0], int16(v), unhex(f, l[2]))
	}
	f.Fuzz(func(t *testing.T, name string, v int16, b []byte) {
		fresh, ok := all[name]
		if !ok {
			return
		}
		m := fresh()
		if Decode(b, m, v) != nil {
			return
		}
		again, err := Append(nil, m, v)
		if err != nil {
			t.Fatalf("%s version %d: %x decodes to %+v, which does not encode: %v", name, v, b, m, err)
		}
		n := fresh()
		if err := Decode(again, n, v); err != nil {
			t.Fatalf("%s version %d: %x became %x: %v", name, v, b, again, err)
		}
	})
}
