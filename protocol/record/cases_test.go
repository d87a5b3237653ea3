package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/ottla/ottla/protocol"
)

// The right values of these cases were measured on Apache Kafka 4.4.0.

const now = 1700000000000

func code(err error) protocol.ErrorCode { return protocol.CodeOf(err) }

// batchOf is a produced batch with one record a timestamp.
func batchOf(codec Codec, timestamps ...int64) Batch {
	o := NewOptions()
	o.Codec = codec
	b := NewBuilder(o)
	for _, ts := range timestamps {
		b.Append(ts, []byte("k"), []byte("v"))
	}
	return bytes.Clone(b.Build())
}

// with is b after a change, with the right CRC.
func with(b Batch, change func(Batch)) Batch {
	c := Batch(bytes.Clone(b))
	change(c)
	c.UpdateCRC()
	return c
}

func setAttribute(bits byte) func(Batch) { return func(b Batch) { b[posAttributes+1] |= bits } }
func set32(at int, v int32) func(Batch) {
	return func(b Batch) { binary.BigEndian.PutUint32(b[at:], uint32(v)) }
}
func set64(at int, v int64) func(Batch) {
	return func(b Batch) { binary.BigEndian.PutUint64(b[at:], uint64(v)) }
}

// B14: leader epoch and max timestamp are the leader's business, the base offset must be 0.
func TestHeaderFieldsTheLeaderOverwrites(t *testing.T) {
	for _, codec := range []Codec{None, Gzip} {
		sent := batchOf(codec, 1000, 1005)
		for _, epoch := range []int32{0, 77} {
			b := with(sent, set32(posLeaderEpoch, epoch))
			if _, _, err := Validate(b, plainRules(), now); err != nil {
				t.Errorf("leader epoch %d: %v", epoch, err)
			}
		}
		if _, _, err := Validate(with(sent, set64(posBaseOffset, 12345)), plainRules(), now); code(err) != protocol.InvalidRecord {
			t.Errorf("base offset 12345: %v", err)
		}
		b, v, err := Validate(with(sent, set64(posMaxTimestamp, -1)), plainRules(), now)
		if err != nil || v.MaxTimestamp != 1005 || !bytes.Equal(b, sent) {
			t.Errorf("%s, max timestamp −1: %v %+v", codec, err, v)
		}
	}
}

// B15: LogAppendTime.
func TestLogAppendTime(t *testing.T) {
	r := plainRules()
	r.TimestampType, r.TimestampBeforeMaxMs = LogAppendTime, 10
	for _, codec := range []Codec{None, Gzip, LZ4} {
		sent := batchOf(codec, 1000, 1005, now*1000)
		b, v, err := Validate(bytes.Clone(sent), r, now)
		if err != nil || v.MaxTimestamp != now {
			t.Fatalf("%s: %v %+v", codec, err, v)
		}
		want := with(sent, func(b Batch) { setAttribute(attrLogAppendTime)(b); set64(posMaxTimestamp, now)(b) })
		if !bytes.Equal(b, want) {
			t.Errorf("%s:\n got %x\nwant %x", codec, b, want)
		}
		for rec, err := range b.Records(MaxDecompressed) {
			if err != nil || rec.Timestamp != now {
				t.Errorf("%s: %v, timestamp %d", codec, err, rec.Timestamp)
			}
		}
	}
	flagged := with(batchOf(None, now, now+5), setAttribute(attrLogAppendTime))
	if _, _, err := Validate(bytes.Clone(flagged), r, now); code(err) != protocol.InvalidTimestamp {
		t.Errorf("the flag on a LogAppendTime topic: %v", err)
	}
	b, _, err := Validate(bytes.Clone(flagged), plainRules(), now)
	if err != nil || b.TimestampType() != CreateTime || !b.VerifyCRC() {
		t.Errorf("the flag on a CreateTime topic: %v, %s", err, b.TimestampType())
	}
}

// B16: a compacted topic wants keys.
func TestNullKeyOnCompactedTopic(t *testing.T) {
	r := plainRules()
	r.Compacted = true
	build := func(codec Codec, keys ...[]byte) Batch {
		o := NewOptions()
		o.Codec = codec
		b := NewBuilder(o)
		for _, k := range keys {
			b.Append(now, k, nil)
		}
		return bytes.Clone(b.Build())
	}
	for _, codec := range []Codec{None, Zstd} {
		_, _, err := Validate(build(codec, []byte("k"), nil), r, now)
		var rejection *Rejection
		if !errors.As(err, &rejection) || rejection.Code != protocol.InvalidRecord || len(rejection.Records) != 1 ||
			rejection.Records[0].Index != 1 || rejection.Records[0].Message == "" || rejection.Message == "" {
			t.Errorf("%s: %+v", codec, err)
		}
		if _, _, err := Validate(build(codec, []byte{}, []byte("tombstone")), r, now); err != nil {
			t.Errorf("%s: zero-length key: %v", codec, err)
		}
	}
}

// B17: null is not empty; a null header key is refused. (TestRoundTrip has the rest.)
func TestNullHeaderKey(t *testing.T) {
	for _, codec := range []Codec{None, Snappy} {
		record := []byte{0, 0, 0, 1, 1, 2, 1, 1} // attributes, deltas, null key, null value, one header: null, null
		payload := append(appendVarint(nil, int64(len(record))), record...)
		b := append(batchOf(codec, now)[:HeaderSize], appendCompressed(nil, payload, codec, DefaultLevels())...)
		binary.BigEndian.PutUint32(b[posLength:], uint32(len(b)-Overhead))
		b.UpdateCRC()
		if _, _, err := Validate(b, plainRules(), now); code(err) != protocol.InvalidRecord {
			t.Errorf("%s: %v", codec, err)
		}
		for _, err := range b.Records(MaxDecompressed) {
			if code(err) != protocol.InvalidRecord {
				t.Errorf("%s, reading: %v", codec, err)
			}
		}
	}
}

// B18: malformed batches. Codes only: Kafka says nothing else about them either.
func TestMalformedBatches(t *testing.T) {
	one, two := batchOf(None, now), batchOf(None, now, now)
	wrongCRC := Batch(bytes.Clone(one))
	wrongCRC[len(wrongCRC)-1] ^= 1
	magic := func(m byte) Batch { return with(one, func(b Batch) { b[posMagic] = m }) }
	stretched := with(two, func(b Batch) { b[posLastOffsetDelta+3] = 5 })
	gap := bytes.Clone(two)
	gap[len(gap)-6] = 10 // the second record's offset delta: 5
	gapBatch := with(gap, func(Batch) {})
	f := func(name string, in []byte, want protocol.ErrorCode) {
		t.Helper()
		_, _, err := Validate(bytes.Clone(in), plainRules(), now)
		if code(err) != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		if r := (*Rejection)(nil); errors.As(err, &r) && (r.Message != "" && name != "magic 3" || r.Records != nil) {
			t.Errorf("%s: text for the producer: %q", name, r.Message)
		}
	}
	f("CRC", wrongCRC, protocol.CorruptMessage)
	f("magic 1", magic(1), protocol.InvalidRecord)
	f("magic 3", magic(3), protocol.CorruptMessage)
	f("two batches", append(bytes.Clone(one), one...), protocol.InvalidRecord)
	f("zero records", with(one, func(b Batch) { set32(posCount, 0)(b); set32(posLastOffsetDelta, -1)(b) }), protocol.InvalidRecord)
	f("zero bytes", nil, protocol.InvalidRecord)
	f("count 2 with one record", with(one, func(b Batch) { set32(posCount, 2)(b); set32(posLastOffsetDelta, 1)(b) }), protocol.InvalidRecord)
	f("count 1 with two records", with(two, func(b Batch) { set32(posCount, 1)(b); set32(posLastOffsetDelta, 0)(b) }), protocol.InvalidRecord)
	f("last offset delta 5 with one record", with(one, set32(posLastOffsetDelta, 5)), protocol.InvalidRecord)
	f("last offset delta 5 with two records", stretched, protocol.InvalidRecord)
	f("control", with(one, setAttribute(attrControl)), protocol.InvalidRecord)
	f("codec 5", with(one, setAttribute(5)), protocol.UnknownServerError)
	f("3 bytes cut off", one[:len(one)-3], protocol.InvalidRecord)
	f("3 stray bytes", append(bytes.Clone(one), 1, 2, 3), protocol.None)
	f("producer without sequence", with(one, set64(posProducerID, 7)), protocol.InvalidRecord)
	f("uncompressed offsets 0, 5 are not checked", gapBatch, protocol.None)
}

// Offset deltas with gaps: refused when the batch is kept compressed, renumbered when it is not.
func TestOffsetDeltaGaps(t *testing.T) {
	o := NewOptions()
	o.Codec = Gzip
	b := NewBuilder(o)
	b.Append(now, nil, []byte("a"))
	b.AppendAt(5, now, nil, []byte("b"))
	sent := with(bytes.Clone(b.Build()), set32(posLastOffsetDelta, 1))
	if _, _, err := Validate(bytes.Clone(sent), plainRules(), now); code(err) != protocol.UnknownServerError {
		t.Errorf("same codec: %v", err)
	}
	r := plainRules()
	r.Target = Zstd
	got, v, err := Validate(bytes.Clone(sent), r, now)
	if err != nil || !v.Recompressed || got.Codec() != Zstd {
		t.Fatalf("%v %+v", err, v)
	}
	checkRecords(t, got, []Record{{Offset: 0, Timestamp: now, Value: []byte("a")}, {Offset: 1, Timestamp: now, Value: []byte("b")}})
}

// Sizes and the timestamps allowed; a timestamp decides the code over a missing key.
func TestLimits(t *testing.T) {
	f := func(name string, b Batch, change func(*Rules), want protocol.ErrorCode) {
		t.Helper()
		r := plainRules()
		change(&r)
		if _, _, err := Validate(bytes.Clone(b), r, now); code(err) != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	one := batchOf(None, now)
	zeros := func(codec Codec) Batch {
		o := NewOptions()
		o.Codec = codec
		b := NewBuilder(o)
		b.Append(now, nil, make([]byte, 10000))
		return bytes.Clone(b.Build())
	}
	f("exactly max.message.bytes", one, func(r *Rules) { r.MaxMessageBytes = len(one) }, protocol.None)
	f("one more", one, func(r *Rules) { r.MaxMessageBytes = len(one) - 1 }, protocol.MessageTooLarge)
	f("segment", one, func(r *Rules) { r.SegmentBytes = len(one) - 1 }, protocol.RecordListTooLarge)
	f("too large once uncompressed", zeros(Zstd), func(r *Rules) { r.Target = None; r.MaxMessageBytes = 5000 }, protocol.MessageTooLarge)
	f("segment, recompressed", zeros(Zstd), func(r *Rules) { r.Target = None; r.SegmentBytes = 5000 }, protocol.RecordListTooLarge)
	f("record after decompression", zeros(LZ4), func(r *Rules) { r.MaxDecompressed = 10010 }, protocol.None)
	f("record after decompression, too long", zeros(LZ4), func(r *Rules) { r.MaxDecompressed = 10000 }, protocol.InvalidRecord)
	f("zstd before version 7", zeros(Zstd), func(r *Rules) { r.RefuseZstd = true }, protocol.UnsupportedCompressionType)
	f("an hour ahead", batchOf(None, now+3600000), func(*Rules) {}, protocol.None)
	f("more than an hour ahead", batchOf(None, now+3600001), func(*Rules) {}, protocol.InvalidTimestamp)
	f("old", batchOf(None, now-1001), func(r *Rules) { r.TimestampBeforeMaxMs = 1000 }, protocol.InvalidTimestamp)
	f("old enough", batchOf(None, now-1000), func(r *Rules) { r.TimestampBeforeMaxMs = 1000 }, protocol.None)
	f("no timestamp", batchOf(None, -1), func(r *Rules) { r.TimestampBeforeMaxMs = 1000 }, protocol.None)
	o := NewOptions()
	b := NewBuilder(o)
	b.Append(now, nil, nil)
	b.Append(math.MaxInt64, []byte("k"), nil)
	f("key and timestamp", b.Build(), func(r *Rules) { r.Compacted = true }, protocol.InvalidTimestamp)
}

// What the leader makes of a batch whose codec is not the topic's.
func TestRecompression(t *testing.T) {
	o := NewOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = 9, 3, 17, true
	for from := None; from <= Zstd; from++ {
		for to := None; to <= Zstd; to++ {
			for _, kind := range []TimestampType{CreateTime, LogAppendTime} {
				o.Codec = from
				b := NewBuilder(o)
				b.Append(now, []byte("a"), nil, Header{"h", nil})
				b.Append(now+7, nil, []byte("b"))
				b.Append(now+3, nil, bytes.Repeat([]byte("c"), 100000))
				r := plainRules()
				r.Target, r.TimestampType = to, kind
				got, v, err := Validate(bytes.Clone(b.Build()), r, now+1000)
				if err != nil || got.Codec() != to || v.Recompressed != (from != to) || !got.VerifyCRC() || got.TimestampType() != kind ||
					got.ProducerID() != 9 || got.ProducerEpoch() != 3 || got.BaseSequence() != 17 || got.LastSequence() != 19 || !got.IsTransactional() {
					t.Fatalf("%s to %s: %v %x", from, to, err, got[:HeaderSize])
				}
				times, newest := []int64{now, now + 7, now + 3}, int64(now+7)
				if kind == LogAppendTime {
					times, newest = []int64{now + 1000, now + 1000, now + 1000}, now+1000
				}
				if v.MaxTimestamp != newest || got.MaxTimestamp() != newest {
					t.Errorf("%s to %s: max timestamp %d", from, to, got.MaxTimestamp())
				}
				checkRecords(t, got, []Record{
					{Offset: 0, Timestamp: times[0], Key: []byte("a"), Headers: []Header{{"h", nil}}},
					{Offset: 1, Timestamp: times[1], Value: []byte("b")},
					{Offset: 2, Timestamp: times[2], Value: bytes.Repeat([]byte("c"), 100000)},
				})
			}
		}
	}
}

// framed is a batch of two records whose payload the test compressed itself.
func framed(codec Codec, compress func(records []byte) []byte) Batch {
	plain := batchOf(None, now, now+1)
	b := append(Batch(bytes.Clone(plain[:HeaderSize])), compress(plain[HeaderSize:])...)
	return with(b, func(b Batch) {
		set32(posLength, int32(len(b)-Overhead))(b)
		b[posAttributes+1] |= byte(codec)
	})
}

// lz4Frame writes the frame flavours that clients send. change sees the header before its checksum.
func lz4Frame(flags, descriptor byte, records []byte, badHeader bool) []byte {
	out := binary.LittleEndian.AppendUint32(nil, lz4Magic)
	out = append(out, flags, descriptor)
	if flags&lz4FlagContentSize != 0 {
		out = binary.LittleEndian.AppendUint64(out, uint64(len(records)))
	}
	sum := byte(xxh32(out[4:]) >> 8)
	if badHeader {
		sum++
	}
	out = append(out, sum)
	out = binary.LittleEndian.AppendUint32(out, uint32(len(records))|lz4StoredBlock)
	out = append(out, records...)
	if flags&lz4FlagBlockSum != 0 {
		out = binary.LittleEndian.AppendUint32(out, xxh32(records))
	}
	out = binary.LittleEndian.AppendUint32(out, 0)
	if flags&lz4FlagContentSum != 0 {
		out = binary.LittleEndian.AppendUint32(out, xxh32(records))
	}
	return out
}

// framings are B19's, with whether Kafka accepts them.
func framings() map[string]struct {
	batch Batch
	code  protocol.ErrorCode
} {
	type entry = struct {
		batch Batch
		code  protocol.ErrorCode
	}
	xerial := func(order binary.AppendByteOrder) func([]byte) []byte {
		return func(b []byte) []byte {
			out := order.AppendUint32(order.AppendUint32(bytes.Clone(xerialMagic[:]), 1), 1)
			block := s2.EncodeSnappy(nil, b)
			return append(binary.BigEndian.AppendUint32(out, uint32(len(block))), block...)
		}
	}
	l := func(flags, descriptor byte, badHeader bool) Batch {
		return framed(LZ4, func(b []byte) []byte { return lz4Frame(flags, descriptor, b, badHeader) })
	}
	noise := func([]byte) []byte { return bytes.Repeat([]byte{0xde, 0xad, 0xbe, 0xef, 0x42}, 20) }
	return map[string]entry{
		"snappy raw":              {framed(Snappy, func(b []byte) []byte { return s2.EncodeSnappy(nil, b) }), protocol.None},
		"snappy xerial":           {framed(Snappy, xerial(binary.BigEndian)), protocol.None},
		"snappy xerial, little":   {framed(Snappy, xerial(binary.LittleEndian)), protocol.None},
		"lz4 64 KB":               {l(0x60, 0x40, false), protocol.None},
		"lz4 4 MB":                {l(0x60, 0x70, false), protocol.None},
		"lz4 content checksum":    {l(0x64, 0x40, false), protocol.None},
		"lz4 block checksums":     {l(0x70, 0x40, false), protocol.None},
		"lz4 content size":        {l(0x68, 0x40, false), protocol.None},
		"lz4 dependent blocks":    {l(0x40, 0x40, false), protocol.UnknownServerError},
		"lz4 wrong header sum":    {l(0x60, 0x40, true), protocol.UnknownServerError},
		"lz4 noise":               {framed(LZ4, noise), protocol.UnknownServerError},
		"gzip noise":              {framed(Gzip, noise), protocol.UnknownServerError},
		"zstd noise":              {framed(Zstd, noise), protocol.UnknownServerError},
		"snappy noise":            {framed(Snappy, noise), protocol.UnknownServerError},
		"gzip members and padded": {framed(Gzip, func(b []byte) []byte { return append(appendGzip(appendGzip(nil, b[:9], 1), b[9:], 9), 0, 0, 0) }), protocol.None},
		"lz4 after the end mark":  {framed(LZ4, func(b []byte) []byte { return append(lz4Frame(0x60, 0x40, b, false), "junk"...) }), protocol.None},
	}
}

// B19: framings in the field are stored as they came.
func TestFramings(t *testing.T) {
	for name, f := range framings() {
		sent := bytes.Clone(f.batch)
		b, _, err := Validate(f.batch, plainRules(), now+1)
		if code(err) != f.code || err == nil && !bytes.Equal(b, sent) {
			t.Errorf("%s: %v, want %s", name, err, f.code)
		}
	}
}
