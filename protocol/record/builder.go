package record

import "encoding/binary"

// Options are the fields of the batch that a Builder makes. The zero value of the producer fields
// is a producer with id 0, so start from NewOptions.
type Options struct {
	Codec                Codec
	Levels               Levels
	BaseOffset           int64
	PartitionLeaderEpoch int32
	TimestampType        TimestampType
	AppendTime           int64 // max timestamp in ms of a LogAppendTime batch
	ProducerID           int64
	ProducerEpoch        int16
	BaseSequence         int32
	Transactional        bool
	Control              bool
}

// NewOptions are those of a plain, uncompressed batch without a producer and without a leader epoch.
func NewOptions() Options {
	return Options{
		Levels: DefaultLevels(), PartitionLeaderEpoch: NoLeaderEpoch,
		ProducerID: NoProducerID, ProducerEpoch: NoProducerEpoch, BaseSequence: NoSequence,
	}
}

// Builder makes one batch at a time, growing with what is appended. It is for one goroutine.
type Builder struct {
	o             Options
	buf           []byte // header and records, uncompressed
	out           []byte // the compressed batch
	count         int32
	lastOffset    int64
	baseTimestamp int64
	maxTimestamp  int64
	horizon       bool // baseTimestamp is the delete horizon
}

// NewBuilder is a builder that has begun a batch with o.
func NewBuilder(o Options) *Builder {
	b := new(Builder)
	b.Reset(o)
	return b
}

// Reset begins the next batch; the memory of the one built before is used again.
func (b *Builder) Reset(o Options) {
	if cap(b.buf) < HeaderSize {
		b.buf = make([]byte, HeaderSize, 512)
	}
	*b = Builder{o: o, buf: b.buf[:HeaderSize], out: b.out[:0], lastOffset: o.BaseOffset - 1, maxTimestamp: NoTimestamp}
}

// Release is Reset that also gives up buffers above keep bytes.
func (b *Builder) Release(o Options, keep int) {
	if cap(b.buf) > keep {
		b.buf = nil
	}
	if cap(b.out) > keep {
		b.out = nil
	}
	b.Reset(o)
}

// Append adds a record at the next offset. The first record's timestamp (ms) becomes the base.
func (b *Builder) Append(timestamp int64, key, value []byte, headers ...Header) {
	b.AppendAt(b.lastOffset+1, timestamp, key, value, headers...)
}

// AppendAt adds a record at an offset of its own, above all before it.
func (b *Builder) AppendAt(offset, timestamp int64, key, value []byte, headers ...Header) {
	if b.count == 0 && !b.horizon {
		b.baseTimestamp = timestamp
	}
	b.count++
	b.lastOffset = offset
	b.maxTimestamp = max(b.maxTimestamp, timestamp)
	timestampDelta, offsetDelta := timestamp-b.baseTimestamp, offset-b.o.BaseOffset
	size := 1 + varintLen(timestampDelta) + varintLen(offsetDelta) + fieldLen(key) + fieldLen(value) + varintLen(int64(len(headers)))
	for i := range headers {
		size += varintLen(int64(len(headers[i].Key))) + len(headers[i].Key) + fieldLen(headers[i].Value)
	}
	buf := appendVarint(b.buf, int64(size))
	buf = append(buf, 0)
	buf = appendVarint(buf, timestampDelta)
	buf = appendVarint(buf, offsetDelta)
	buf = appendField(buf, key)
	buf = appendField(buf, value)
	buf = appendVarint(buf, int64(len(headers)))
	for i := range headers {
		buf = appendVarint(buf, int64(len(headers[i].Key)))
		buf = append(buf, headers[i].Key...)
		buf = appendField(buf, headers[i].Value)
	}
	b.buf = buf
}

// Count is the number of records appended.
func (b *Builder) Count() int { return int(b.count) }

// Size is the size of the batch in bytes if it is built uncompressed.
func (b *Builder) Size() int { return len(b.buf) }

// LastOffset is the offset of the last record appended, the base offset − 1 before the first.
func (b *Builder) LastOffset() int64 { return b.lastOffset }

// MaxTimestamp is the largest timestamp appended in ms, −1 before the first.
func (b *Builder) MaxTimestamp() int64 { return b.maxTimestamp }

// Build finishes the batch. It is the builder's memory and valid until Reset. With no records it is
// nil. Control batches are never compressed.
func (b *Builder) Build() Batch {
	if b.count == 0 {
		return nil
	}
	batch, codec := b.buf, b.o.Codec
	if b.o.Control || !codec.Known() {
		codec = None
	}
	if codec != None {
		b.out = append(b.out[:0], b.buf[:HeaderSize]...)
		b.out = appendCompressed(b.out, b.buf[HeaderSize:], codec, b.o.Levels)
		batch = b.out
	}
	b.header(batch, codec)
	return Batch(batch)
}

func (b *Builder) header(h Batch, codec Codec) {
	maxTimestamp := b.maxTimestamp
	attributes := int16(codec)
	if b.o.TimestampType == LogAppendTime {
		attributes |= attrLogAppendTime
		maxTimestamp = b.o.AppendTime
	}
	if b.o.Transactional {
		attributes |= attrTransactional
	}
	if b.o.Control {
		attributes |= attrControl
	}
	if b.horizon {
		attributes |= attrDeleteHorizon
	}
	e := binary.BigEndian
	e.PutUint64(h[posBaseOffset:], uint64(b.o.BaseOffset))
	e.PutUint32(h[posLength:], uint32(len(h)-Overhead))
	e.PutUint32(h[posLeaderEpoch:], uint32(b.o.PartitionLeaderEpoch))
	h[posMagic] = Magic2
	e.PutUint16(h[posAttributes:], uint16(attributes))
	e.PutUint32(h[posLastOffsetDelta:], uint32(b.lastOffset-b.o.BaseOffset))
	e.PutUint64(h[posBaseTimestamp:], uint64(b.baseTimestamp))
	e.PutUint64(h[posMaxTimestamp:], uint64(maxTimestamp))
	e.PutUint64(h[posProducerID:], uint64(b.o.ProducerID))
	e.PutUint16(h[posProducerEpoch:], uint16(b.o.ProducerEpoch))
	e.PutUint32(h[posBaseSequence:], uint32(b.o.BaseSequence))
	e.PutUint32(h[posCount:], uint32(b.count))
	h.UpdateCRC()
}

// zigzag maps small numbers of either sign to small unsigned ones.
func zigzag(v int64) uint64 { return uint64(v)<<1 ^ uint64(v>>63) }

func varintLen(v int64) int {
	n := 1
	for u := zigzag(v); u >= 0x80; u >>= 7 {
		n++
	}
	return n
}

func appendVarint(b []byte, v int64) []byte { return binary.AppendUvarint(b, zigzag(v)) }

func fieldLen(f []byte) int {
	if f == nil {
		return 1
	}
	return varintLen(int64(len(f))) + len(f)
}

// appendField writes length and bytes, −1 for null.
func appendField(b, f []byte) []byte {
	if f == nil {
		return appendVarint(b, -1)
	}
	return append(appendVarint(b, int64(len(f))), f...)
}
