package record

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// Large outputs go through every path of the decompressors: one buffer, a stream, a wide window.
func TestLargeOutputs(t *testing.T) {
	text := bytes.Repeat([]byte("epoch segment replica broker offset 0123456789 "), 300000) // 14 MB
	for i := range text {
		if i%997 == 0 {
			text[i] = byte(i / 997)
		}
	}
	for _, size := range []int{100, 130 << 10, 900 << 10, 3 << 20, len(text)} {
		o := NewOptions()
		for o.Codec = Gzip; o.Codec <= Zstd; o.Codec++ {
			b := NewBuilder(o)
			b.Append(1, nil, text[:size])
			checkRecords(t, b.Build(), []Record{{Timestamp: 1, Value: text[:size]}})
		}
		z, err := zstd.NewWriter(nil, zstd.WithWindowSize(64<<20), zstd.WithSingleSegment(size%2 == 0))
		if err != nil {
			t.Fatal(err)
		}
		o.Codec = None
		b := NewBuilder(o)
		b.Append(1, nil, text[:size])
		plain := b.Build()
		wide := append(bytes.Clone(plain[:HeaderSize]), z.EncodeAll(plain[HeaderSize:], nil)...)
		wide = with(wide, func(b Batch) { set32(posLength, int32(len(b)-Overhead))(b); b[posAttributes+1] |= byte(Zstd) })
		checkRecords(t, wide, []Record{{Timestamp: 1, Value: text[:size]}})
	}
}

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// What a batch claims is not what is allocated for it.
func TestClaimsAllocateNothing(t *testing.T) {
	f := func(name string, codec Codec, payload []byte) {
		t.Helper()
		b := framed(codec, func([]byte) []byte { return payload })
		got := allocated(func() {
			for range 20 {
				if _, _, err := Validate(b, plainRules(), now); err == nil {
					t.Errorf("%s is accepted", name)
				}
				for range b.Records(MaxDecompressed) {
				}
			}
		})
		if got > 40<<20 { // 20 times two passes: a megabyte a pass is the decoders' fixed memory
			t.Errorf("%s: %d bytes allocated", name, got)
		}
	}
	f("zstd window", Zstd, []byte{0x28, 0xb5, 0x2f, 0xfd, 0, 17 << 3, 1, 0, 0})
	f("zstd content size", Zstd, []byte{0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x60, 1, 0, 0})
	f("zstd huge content size", Zstd, []byte{0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0})
	f("snappy block", Snappy, []byte{0xff, 0xff, 0xff, 0xff, 0x07, 0, 0})
	f("snappy chunk", Snappy, append(bytes.Clone(xerialMagic[:]), 0, 0, 0, 1, 0, 0, 0, 1, 0x1f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x07))
	f("lz4 block size", LZ4, []byte{4, 0x22, 0x4d, 0x18, 0x60, 0x70, 0x73, 0xff, 0xff, 0x3f, 0})
	record := appendVarint(nil, 1<<30)
	f("record length", Gzip, appendGzip(nil, append(record, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff, 7), 1))
}

func FuzzBatch(f *testing.F) {
	for _, name := range []string{"codec-gzip", "codec-snappy", "codec-lz4", "codec-zstd", "shapes", "append-time", "txn", "compacted", "legacy-v0", "legacy-v1"} {
		for _, b := range readBatches(f, name) {
			if len(b) < 8000 {
				f.Add([]byte(b))
			}
		}
	}
	for _, s := range framings() {
		f.Add([]byte(s.batch))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := allocated(func() { exercise(t, data) })
		if limit := uint64(64<<20 + 400*len(data)); got > limit {
			t.Errorf("%d bytes allocated for %d", got, len(data))
		}
	})
}

// exercise reads data as batches in every way there is.
func exercise(t *testing.T, data []byte) {
	rest := data
	for {
		b, tail, err := Next(rest)
		if err != nil {
			break
		}
		if len(b)+len(tail) != len(rest) || len(b) != b.Size() {
			t.Fatalf("%d + %d bytes of %d", len(b), len(tail), len(rest))
		}
		rest = tail
		for range b.Messages(1 << 20) {
			continue
		}
		fullError, count := error(nil), 0
		var stamps []Stamp
		for r, err := range b.Records(1 << 20) {
			if fullError = err; err == nil {
				stamps = append(stamps, Stamp{r.Offset, r.Timestamp})
			}
			if count++; count > 10000 {
				break
			}
		}
		for i, s := range stamps { // the two walks see the same
			next := 0
			for got, err := range b.Stamps(1 << 20) {
				if next == i && (err != nil || got != s) {
					t.Fatalf("record %d: %+v, %v; want %+v", i, got, err, s)
				}
				if next++; next > i {
					break
				}
			}
			if i == 20 {
				break
			}
		}
		if _, _, err := b.ControlRecord(); err == nil && fullError == nil && b.Count() == 1 && len(stamps) != 1 {
			t.Fatal("a control record that cannot be read")
		}
		b.VerifyCRC()
	}
	r := plainRules()
	for _, target := range []Codec{AsSent, None, LZ4} {
		r.Target, r.MaxDecompressed = target, 1<<20
		in := bytes.Clone(data)
		if first, _, err := Next(in); err == nil && first.Magic() == Magic2 {
			first.SetBaseOffset(0)
			first.UpdateCRC()
		}
		b, v, err := Validate(in, r, now)
		if err != nil {
			continue
		}
		if !b.VerifyCRC() || v.MaxTimestamp != b.MaxTimestamp() {
			t.Fatalf("accepted with CRC %v, max timestamp %d", b.VerifyCRC(), v.MaxTimestamp)
		}
		n := int32(0)
		for _, err := range b.Records(1 << 20) {
			if err != nil {
				t.Fatalf("accepted, but record %d: %v", n, err)
			}
			n++
		}
		if n != b.Count() {
			t.Fatalf("accepted with %d records of %d", n, b.Count())
		}
	}
}

func FuzzSkipPlain(f *testing.F) {
	for _, b := range readBatches(f, "shapes") {
		f.Add([]byte(b.Payload()))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		fast, slow := cursor{buf: data}, cursor{buf: data}
		var r, s raw
		if !fast.skipPlain(&r) {
			if fast.pos != 0 {
				t.Fatal("consumed without success")
			}
			return
		}
		if !slow.readRecord(&s) || slow.pos != fast.pos || r.hasKey != s.hasKey || r.offsetDelta != s.offsetDelta || r.timestampDelta != s.timestampDelta {
			t.Fatalf("%+v at %d, %+v at %d: %v", r, fast.pos, s, slow.pos, slow.err)
		}
	})
}
