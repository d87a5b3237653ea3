package conformance

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/pierrec/lz4/v4"
)

// The tests build their batches themselves, field by field, so that a fault in
// the product's builder cannot hide one in its validator.

type header struct {
	key   string
	value []byte
	null  bool // null key
}

type rec struct {
	ts         int64 // absolute
	delta      int32 // offset delta; −1 = position
	key, value []byte
	headers    []header
}

type batch struct {
	base      int64
	epoch     int32
	magic     int8
	attrs     int16
	lastDelta int32 // −1 = count−1
	count     int32 // −1 = len(recs)
	maxTs     int64 // noTs = computed
	pid       int64
	pepoch    int16
	seq       int32
	recs      []rec
	compress  func([]byte) []byte
	payload   []byte // replaces the encoded records
	badCRC    bool
}

const noTs = -1 << 62

func newBatch(recs ...rec) batch {
	return batch{epoch: -1, magic: 2, lastDelta: -1, count: -1, maxTs: noTs, pid: -1, pepoch: -1, seq: -1, recs: recs}
}

// r is a record of now with a value.
func r(value string) rec { return rec{ts: time.Now().UnixMilli(), delta: -1, value: []byte(value)} }

func rt(ts int64, value string) rec { return rec{ts: ts, delta: -1, value: []byte(value)} }

func kv(key, value []byte) rec {
	return rec{ts: time.Now().UnixMilli(), delta: -1, key: key, value: value}
}

func varbytes(dst, b []byte) []byte {
	if b == nil {
		return binary.AppendVarint(dst, -1)
	}
	return append(binary.AppendVarint(dst, int64(len(b))), b...)
}

func (r rec) encode(dst []byte, base int64, position int32) []byte {
	if r.delta < 0 {
		r.delta = position
	}
	b := []byte{0}
	b = binary.AppendVarint(b, r.ts-base)
	b = binary.AppendVarint(b, int64(r.delta))
	b = varbytes(b, r.key)
	b = varbytes(b, r.value)
	b = binary.AppendVarint(b, int64(len(r.headers)))
	for _, h := range r.headers {
		if h.null {
			b = varbytes(b, nil)
		} else {
			b = varbytes(b, append([]byte{}, h.key...))
		}
		b = varbytes(b, h.value)
	}
	dst = binary.AppendVarint(dst, int64(len(b)))
	return append(dst, b...)
}

func (b batch) encode() []byte {
	var base, maxTs int64
	var payload []byte
	if len(b.recs) > 0 {
		base, maxTs = b.recs[0].ts, b.recs[0].ts
	}
	for i, r := range b.recs {
		payload = r.encode(payload, base, int32(i))
		maxTs = max(maxTs, r.ts)
	}
	if b.compress != nil {
		payload = b.compress(payload)
	}
	if b.payload != nil {
		payload = b.payload
	}
	if b.count < 0 {
		b.count = int32(len(b.recs))
	}
	if b.lastDelta < 0 {
		b.lastDelta = b.count - 1
	}
	if b.maxTs != noTs {
		maxTs = b.maxTs
	}
	e := binary.BigEndian
	out := e.AppendUint64(nil, uint64(b.base))
	out = e.AppendUint32(out, uint32(49+len(payload)))
	out = e.AppendUint32(out, uint32(b.epoch))
	out = append(out, byte(b.magic), 0, 0, 0, 0)
	out = e.AppendUint16(out, uint16(b.attrs))
	out = e.AppendUint32(out, uint32(b.lastDelta))
	out = e.AppendUint64(out, uint64(base))
	out = e.AppendUint64(out, uint64(maxTs))
	out = e.AppendUint64(out, uint64(b.pid))
	out = e.AppendUint16(out, uint16(b.pepoch))
	out = e.AppendUint32(out, uint32(b.seq))
	out = e.AppendUint32(out, uint32(b.count))
	out = append(out, payload...)
	crc := crc32.Checksum(out[21:], crc32.MakeTable(crc32.Castagnoli))
	if b.badCRC {
		crc++
	}
	e.PutUint32(out[17:], crc)
	return out
}

func one(value string) []byte { return newBatch(r(value)).encode() }

// stored is what a test looks at in a fetched batch.
type stored struct {
	base          int64
	epoch         int32
	attrs         int16
	lastDelta     int32
	baseTs, maxTs int64
	pid           int64
	pepoch        int16
	seq, count    int32
	raw           []byte
	crcOK         bool
}

// split cuts fetched bytes into whole batches; a cut-off last one is dropped.
func split(t *testing.T, b []byte) []stored {
	t.Helper()
	var out []stored
	e := binary.BigEndian
	for len(b) >= 61 {
		size := int(e.Uint32(b[8:])) + 12
		if size > len(b) {
			break
		}
		x := b[:size]
		out = append(out, stored{
			base: int64(e.Uint64(x)), epoch: int32(e.Uint32(x[12:])), attrs: int16(e.Uint16(x[21:])),
			lastDelta: int32(e.Uint32(x[23:])), baseTs: int64(e.Uint64(x[27:])), maxTs: int64(e.Uint64(x[35:])),
			pid: int64(e.Uint64(x[43:])), pepoch: int16(e.Uint16(x[51:])), seq: int32(e.Uint32(x[53:])),
			count: int32(e.Uint32(x[57:])), raw: x,
			crcOK: crc32.Checksum(x[21:], crc32.MakeTable(crc32.Castagnoli)) == e.Uint32(x[17:]),
		})
		b = b[size:]
	}
	return out
}

func gz(b []byte) []byte {
	var buf bytes.Buffer
	w := gzip.NewWriter(&buf)
	w.Write(b)
	w.Close()
	return buf.Bytes()
}

func rawSnappy(b []byte) []byte { return snappy.Encode(nil, b) }

func xerialSnappy(order binary.AppendByteOrder) func([]byte) []byte {
	return func(b []byte) []byte {
		out := []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}
		out = order.AppendUint32(out, 1)
		out = order.AppendUint32(out, 1)
		block := snappy.Encode(nil, b)
		return append(binary.BigEndian.AppendUint32(out, uint32(len(block))), block...)
	}
}

func lz4With(opts ...lz4.Option) func([]byte) []byte {
	return func(b []byte) []byte {
		var buf bytes.Buffer
		w := lz4.NewWriter(&buf)
		if err := w.Apply(opts...); err != nil {
			panic(err)
		}
		w.Write(b)
		w.Close()
		return buf.Bytes()
	}
}

// lz4HeaderChecksum is the second byte of the xxHash32 (seed 0) of a two byte
// LZ4 frame descriptor.
func lz4HeaderChecksum(descriptor []byte) byte {
	const p1, p2, p3, p5 = 2654435761, 2246822519, 3266489917, 374761393
	h := uint32(p5) + uint32(len(descriptor))
	for _, b := range descriptor {
		h += uint32(b) * p5
		h = (h<<11 | h>>21) * p1
	}
	h = (h ^ h>>15) * p2
	h = (h ^ h>>13) * p3
	h ^= h >> 16
	return byte(h >> 8)
}
