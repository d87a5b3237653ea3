package conformance

import (
	"bytes"
	"encoding/binary"
	"math/rand"
	"testing"
	"time"

	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestHeaderFieldsOverwritten is case B14.
func TestHeaderFieldsOverwritten(t *testing.T) {
	c := connect(t)
	topic := unique("b14")
	createTopic(c, topic, 1)
	for _, epoch := range []int32{0, 77} {
		b := newBatch(r("x"))
		b.epoch = epoch
		mustProduce(c, topic, 0, b.encode())
	}
	moved := newBatch(r("x"))
	moved.base = 12345
	eq(t, "base offset not 0", produce(c, 9, topic, 0, moved.encode()).ErrorCode, 87)
	for i, compress := range []func([]byte) []byte{nil, gz} {
		now := time.Now().UnixMilli()
		b := newBatch(rt(now, "a"), rt(now+50, "b"))
		b.maxTs, b.compress = -1, compress
		if compress != nil {
			b.attrs = 1
		}
		base := mustProduce(c, topic, 0, b.encode())
		got := split(t, fetch(c, topic, 0, base).RecordBatches)[0]
		eq(t, "max timestamp", got.maxTs, now+50)
		eq(t, "crc", got.crcOK, true)
		eq(t, "base", base, int64(2+2*i))
	}
	for _, b := range split(t, fetch(c, topic, 0, 0).RecordBatches) {
		eq(t, "leader epoch", b.epoch, 0)
	}
}

// TestLogAppendTime is case B15.
func TestLogAppendTime(t *testing.T) {
	c := connect(t)
	topic := unique("b15")
	createTopic(c, topic, 1, "message.timestamp.type", "LogAppendTime")
	before := time.Now().UnixMilli()
	var last int64
	for _, b := range []batch{
		newBatch(rt(1000, "a"), rt(1005, "b")),
		{epoch: -1, magic: 2, attrs: 1, lastDelta: -1, count: -1, maxTs: noTs, pid: -1, pepoch: -1, seq: -1,
			recs: []rec{rt(1000, "a"), rt(1005, "b")}, compress: gz},
		newBatch(rt(time.Now().UnixMicro(), "far ahead")),
	} {
		p := produce(c, 9, topic, 0, b.encode())
		eq(t, "error", p.ErrorCode, 0)
		if p.LogAppendTime < before || p.LogAppendTime > time.Now().UnixMilli() {
			t.Errorf("log append time %d is not the broker's clock", p.LogAppendTime)
		}
		got := split(t, fetch(c, topic, 0, p.BaseOffset).RecordBatches)[0]
		eq(t, "bit 3", got.attrs&8, 8)
		eq(t, "max timestamp", got.maxTs, p.LogAppendTime)
		eq(t, "base timestamp", got.baseTs, b.recs[0].ts)
		eq(t, "crc", got.crcOK, true)
		last = p.LogAppendTime
	}
	eq(t, "lookup of 1000", listOffset(c, topic, 0, 1000).Offset, 0)
	eq(t, "lookup later", listOffset(c, topic, 0, last+1).Offset, -1)
	eq(t, "max timestamp's stamp", listOffset(c, topic, 0, -3).Timestamp, last)

	plain := unique("b15-create")
	createTopic(c, plain, 1)
	b := newBatch(r("x"))
	b.attrs = 8
	p := produce(c, 9, plain, 0, b.encode())
	eq(t, "bit 3 on a CreateTime topic", p.ErrorCode, 0)
	eq(t, "log append time", p.LogAppendTime, -1)
	got := split(t, fetch(c, plain, 0, 0).RecordBatches)[0]
	eq(t, "bit 3 cleared", got.attrs&8, 0)
	eq(t, "crc", got.crcOK, true)
}

// TestNullKeyOnCompacted is case B16.
func TestNullKeyOnCompacted(t *testing.T) {
	c := connect(t)
	topic := unique("b16")
	createTopic(c, topic, 1, "cleanup.policy", "compact")
	bad := newBatch(kv([]byte("k"), []byte("v")), kv(nil, []byte("v"))).encode()
	p := produce(c, 9, topic, 0, bad)
	eq(t, "v9", p.ErrorCode, 87)
	eq(t, "record errors", len(p.ErrorRecords), 1)
	if len(p.ErrorRecords) == 1 {
		eq(t, "batch index", p.ErrorRecords[0].RelativeOffset, 1)
	}
	eq(t, "message", deref(p.ErrorMessage) != "", true)
	eq(t, "v7", produce(c, 7, topic, 0, bad).ErrorCode, 87)
	eq(t, "nothing stored", listOffset(c, topic, 0, -1).Offset, 0)
	mustProduce(c, topic, 0, newBatch(kv([]byte{}, []byte("v"))).encode())
	mustProduce(c, topic, 0, newBatch(kv([]byte("k"), nil)).encode())
}

// TestNullIsNotEmpty is case B17.
func TestNullIsNotEmpty(t *testing.T) {
	c := connect(t)
	topic := unique("b17")
	createTopic(c, topic, 1)
	first := kv(nil, nil)
	first.headers = []header{{key: "h"}, {key: "h", value: []byte{}}, {key: "", value: []byte("z")}}
	sent := newBatch(first, kv([]byte{}, []byte{})).encode()
	mustProduce(c, topic, 0, sent)
	got := fetch(c, topic, 0, 0).RecordBatches
	eq(t, "stored as sent", bytes.Equal(got[21:], sent[21:]), true)
	bad := kv(nil, nil)
	bad.headers = []header{{null: true, value: []byte("x")}}
	eq(t, "null header key", produce(c, 9, topic, 0, newBatch(bad).encode()).ErrorCode, 87)
}

// TestMalformedBatches is case B18.
func TestMalformedBatches(t *testing.T) {
	c := connect(t)
	topic := unique("b18")
	createTopic(c, topic, 1)
	with := func(change func(*batch), recs ...rec) []byte {
		b := newBatch(recs...)
		change(&b)
		return b.encode()
	}
	two := append(one("a"), one("b")...)
	cut := one("abcdef")
	cut = cut[:len(cut)-3]
	for _, x := range []struct {
		name  string
		bytes []byte
		code  int16
	}{
		{"wrong crc", with(func(b *batch) { b.badCRC = true }, r("a")), 2},
		{"magic 1", with(func(b *batch) { b.magic = 1 }, r("a")), 87},
		{"magic 3", with(func(b *batch) { b.magic = 3 }, r("a")), 2},
		{"two batches", two, 87},
		{"zero records", with(func(b *batch) { b.lastDelta = 0 }), 87},
		{"zero bytes", []byte{}, 87},
		{"count 2 with 1", with(func(b *batch) { b.count, b.lastDelta = 2, 1 }, r("a")), 87},
		{"count 1 with 2", with(func(b *batch) { b.count, b.lastDelta = 1, 0 }, r("a"), r("b")), 87},
		{"last offset delta 5", with(func(b *batch) { b.lastDelta = 5 }, r("a")), 87},
		{"control bit", with(func(b *batch) { b.attrs = 32 }, r("a")), 87},
		{"codec 5", with(func(b *batch) { b.attrs = 5 }, r("a")), -1},
		{"cut off", cut, 87},
		{"transactional without id", with(func(b *batch) { b.attrs, b.pid, b.pepoch, b.seq = 16, 5, 0, 0 }, r("a")), 53},
	} {
		if got := produce(c, 9, topic, 0, x.bytes); got.ErrorCode != x.code {
			t.Errorf("%s: error %d, want %d", x.name, got.ErrorCode, x.code)
		}
	}
	deltas := with(func(b *batch) { b.lastDelta = 5 }, r("a"), rec{ts: time.Now().UnixMilli(), delta: 5, value: []byte("b")})
	eq(t, "offset deltas 0,5", produce(c, 9, topic, 0, deltas).ErrorCode, 87)
	eq(t, "acks 2", produceAcks(c, 9, topic, 0, 2, one("a")).ErrorCode, 21)
	eq(t, "acks -2", produceAcks(c, 9, topic, 0, -2, one("a")).ErrorCode, 21)
	eq(t, "log end", listOffset(c, topic, 0, -1).Offset, 0)
	eq(t, "stray bytes", produce(c, 9, topic, 0, append(one("a"), 1, 2, 3)).ErrorCode, 0)
	eq(t, "log goes on", mustProduce(c, topic, 0, one("b")), 1)
}

// TestAcksZero: no answer, the next request's answer comes first.
func TestAcksZero(t *testing.T) {
	c := connect(t)
	topic := unique("acks0")
	createTopic(c, topic, 1)
	req := produceRequest(topic, 0, 0, one("x"))
	req.SetVersion(9)
	c.send(req)
	metadata(c, 12, topic)
	eventually(t, "the record", func() bool { return listOffset(c, topic, 0, -1).Offset == 1 })
}

// TestCompressionFramings is case B19.
func TestCompressionFramings(t *testing.T) {
	c := connect(t)
	topic := unique("b19")
	createTopic(c, topic, 1)
	noise := make([]byte, 300)
	rand.New(rand.NewSource(1)).Read(noise)
	lz := func(opts ...lz4.Option) func([]byte) []byte {
		return lz4With(append([]lz4.Option{lz4.ChecksumOption(false)}, opts...)...)
	}
	badHC := func(b []byte) []byte {
		out := lz(lz4.BlockSizeOption(lz4.Block64Kb))(b)
		out[6] ^= 0xff
		return out
	}
	dependent := func(b []byte) []byte {
		out := lz(lz4.BlockSizeOption(lz4.Block64Kb))(b)
		out[4] &^= 0x20
		out[6] = lz4HeaderChecksum(out[4:6])
		return out
	}
	random := func([]byte) []byte { return noise }
	for _, x := range []struct {
		name     string
		codec    int16
		compress func([]byte) []byte
		code     int16
	}{
		{"snappy raw", 2, rawSnappy, 0},
		{"snappy xerial", 2, xerialSnappy(binary.BigEndian), 0},
		{"snappy xerial little endian", 2, xerialSnappy(binary.LittleEndian), 0},
		{"lz4 64K", 3, lz(lz4.BlockSizeOption(lz4.Block64Kb)), 0},
		{"lz4 4M", 3, lz(lz4.BlockSizeOption(lz4.Block4Mb)), 0},
		{"lz4 content checksum", 3, lz4With(lz4.ChecksumOption(true)), 0},
		{"lz4 block checksums", 3, lz(lz4.BlockChecksumOption(true)), 0},
		{"lz4 content size", 3, lz(lz4.SizeOption(100)), -1},
		{"lz4 dependent blocks", 3, dependent, -1},
		{"lz4 header checksum", 3, badHC, -1},
		{"lz4 noise", 3, random, -1},
		{"gzip noise", 1, random, -1},
	} {
		b := newBatch(r("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), r("b"))
		b.attrs, b.compress = x.codec, x.compress
		sent := b.encode()
		got := produce(c, 9, topic, 0, sent)
		if got.ErrorCode != x.code {
			t.Errorf("%s: error %d, want %d", x.name, got.ErrorCode, x.code)
			continue
		}
		if x.code == 0 {
			back := split(t, fetch(c, topic, 0, got.BaseOffset).RecordBatches)[0].raw
			eq(t, x.name+" stored as sent", bytes.Equal(back[21:], sent[21:]), true)
		}
	}
}

// TestRecompression: the topic's compression.type decides what is stored.
func TestRecompression(t *testing.T) {
	c := connect(t)
	for name, codec := range map[string]int16{"gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4, "uncompressed": 0} {
		topic := unique("recompress")
		createTopic(c, topic, 1, "compression.type", name)
		b := newBatch(r("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"), r("b"))
		b.attrs, b.compress = 2, rawSnappy
		if codec == 2 {
			b.attrs, b.compress = 1, gz
		}
		b.pid, b.pepoch, b.seq = 4_000_000_019, 3, 0
		mustProduce(c, topic, 0, b.encode())
		got := split(t, fetch(c, topic, 0, 0).RecordBatches)[0]
		eq(t, name+" codec", got.attrs&7, codec)
		eq(t, name+" crc", got.crcOK, true)
		eq(t, name+" producer", got.pid, b.pid)
		eq(t, name+" epoch", got.pepoch, 3)
		eq(t, name+" count", got.count, 2)
		switch codec {
		case 2:
			eq(t, "xerial header", bytes.HasPrefix(got.raw[61:], []byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0, 0, 0, 0, 1, 0, 0, 0, 1}), true)
		case 3:
			eq(t, "lz4 frame header", bytes.HasPrefix(got.raw[61:], []byte{4, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82}), true)
		case 0:
			want := b
			want.attrs, want.compress = 0, nil
			eq(t, "records as they were", bytes.Equal(got.raw[61:], want.encode()[61:]), true)
		}
	}
}

func initProducer(c *conn) *kmsg.InitProducerIDResponse {
	c.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		req := kmsg.NewPtrInitProducerIDRequest()
		req.TransactionTimeoutMillis = 60000
		req.ProducerID, req.ProducerEpoch = -1, -1
		r := do[*kmsg.InitProducerIDResponse](c, 4, req)
		if r.ErrorCode == 14 && time.Now().Before(deadline) {
			continue
		}
		return r
	}
}

// TestDuplicateWindow is case B37.
func TestDuplicateWindow(t *testing.T) {
	c := connect(t)
	topic := unique("b37")
	createTopic(c, topic, 1)
	id := initProducer(c)
	eq(t, "InitProducerId", id.ErrorCode, 0)
	eq(t, "epoch", id.ProducerEpoch, 0)
	b := newBatch(r("x"))
	b.pid, b.pepoch = id.ProducerID, id.ProducerEpoch
	send := func(seq int32, recs ...rec) kmsg.ProduceResponseTopicPartition {
		t.Helper()
		b.seq = seq
		if len(recs) > 0 {
			b.recs = recs
		}
		return produce(c, 9, topic, 0, b.encode())
	}
	for i := range int32(7) {
		eq(t, "append", send(i).ErrorCode, 0)
	}
	for _, seq := range []int32{6, 2} {
		p := send(seq)
		eq(t, "duplicate", p.ErrorCode, 0)
		eq(t, "its offset", p.BaseOffset, int64(seq))
	}
	eq(t, "sequence 1", send(1).ErrorCode, 45)
	eq(t, "sequence 0", send(0).ErrorCode, 45)
	eq(t, "sequence 9", send(9).ErrorCode, 45)
	eq(t, "log end", listOffset(c, topic, 0, -1).Offset, 7)
	p := send(7)
	eq(t, "sequence 7", p.ErrorCode, 0)
	eq(t, "its offset", p.BaseOffset, 7)
	eq(t, "partly overlapping", send(7, r("x"), r("y")).ErrorCode, 45)
}

// TestUnknownProducers is case B38.
func TestUnknownProducers(t *testing.T) {
	c := connect(t)
	topic := unique("b38")
	createTopic(c, topic, 1)
	send := func(pid int64, epoch int16, seq int32) int16 {
		t.Helper()
		b := newBatch(r("x"))
		b.pid, b.pepoch, b.seq = pid, epoch, seq
		return produce(c, 9, topic, 0, b.encode()).ErrorCode
	}
	const a, b = 4_000_000_038, 4_000_000_039
	eq(t, "never issued, from 0", send(a, 0, 0), 0)
	eq(t, "never issued, from 5", send(b, 0, 5), 0)
	eq(t, "then 6", send(b, 0, 6), 0)
	eq(t, "epoch+1, sequence 3", send(b, 1, 3), 45)
	eq(t, "epoch+1, sequence 0", send(b, 1, 0), 0)
	eq(t, "the old epoch", send(b, 0, 7), 47)
	eq(t, "sequence -1", send(b, 1, -1), 87)
}
