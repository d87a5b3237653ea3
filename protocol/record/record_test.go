package record

import (
	"bytes"
	"testing"
)

func TestRoundTrip(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 40000)
	want := []Record{
		{Offset: 100, Timestamp: 5, Key: nil, Value: nil, Headers: []Header{{"h", nil}, {"h", []byte{}}, {"", []byte("z")}}},
		{Offset: 101, Timestamp: 4, Key: []byte{}, Value: []byte{}},
		{Offset: 102, Timestamp: -1, Key: []byte("k"), Value: big},
		{Offset: 103, Timestamp: 1 << 40, Key: big[:70], Value: []byte("v"), Headers: []Header{{"x", big[:300]}}},
	}
	for codec := None; codec <= Zstd; codec++ {
		o := NewOptions()
		o.Codec, o.BaseOffset = codec, 100
		b := NewBuilder(o)
		for range 2 { // the second time memory is used again
			b.Reset(o)
			for _, r := range want {
				b.Append(r.Timestamp, r.Key, r.Value, r.Headers...)
			}
			batch := b.Build()
			checkRecords(t, batch, want)
			if batch.MaxTimestamp() != 1<<40 || batch.LastOffset() != 103 || batch.Count() != 4 || !batch.VerifyCRC() || batch.Codec() != codec {
				t.Errorf("%s: header %x", codec, batch[:HeaderSize])
			}
		}
	}
}

func checkRecords(t *testing.T, b Batch, want []Record) {
	t.Helper()
	i := 0
	for got, err := range b.Records(MaxDecompressed) {
		if err != nil {
			t.Fatalf("%s, record %d: %v", b.Codec(), i, err)
		}
		if i >= len(want) || !same(got, want[i]) {
			t.Fatalf("%s, record %d: got %+v", b.Codec(), i, got)
		}
		i++
	}
	if i != len(want) {
		t.Fatalf("%s: %d records, want %d", b.Codec(), i, len(want))
	}
}

func same(a, b Record) bool {
	if a.Offset != b.Offset || a.Timestamp != b.Timestamp || !sameBytes(a.Key, b.Key) || !sameBytes(a.Value, b.Value) || len(a.Headers) != len(b.Headers) {
		return false
	}
	for i := range a.Headers {
		if a.Headers[i].Key != b.Headers[i].Key || !sameBytes(a.Headers[i].Value, b.Headers[i].Value) {
			return false
		}
	}
	return true
}

// sameBytes tells null from empty.
func sameBytes(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }
