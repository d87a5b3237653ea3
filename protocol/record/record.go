package record

import (
	"iter"
)

// MaxDecompressed is the default of max.decompressed.message.bytes.
const MaxDecompressed = 2147483639

// Record is one record of a batch. A nil Key or Value is Kafka's null, an empty one is not.
type Record struct {
	Offset    int64
	Timestamp int64 // ms, −1 none
	Key       []byte
	Value     []byte
	Headers   []Header
}

// Header is a record's header. Keys may repeat and be empty; a nil Value is null.
type Header struct {
	Key   string
	Value []byte
}

// Records iterates over the records of a batch; an error is the last element, if there is one. Keys
// and values of an uncompressed batch alias it, those of a compressed one are fresh memory: both
// stay valid after the iteration. In a compressed batch a record longer than maxDecompressed bytes
// is an error (max.decompressed.message.bytes). Messages of format 0 and 1 answer
// UNSUPPORTED_FOR_MESSAGE_FORMAT.
func (b Batch) Records(maxDecompressed int) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := b.walkable(); err != nil {
			yield(Record{}, err)
			return
		}
		c, done, err := b.open(maxDecompressed)
		if err != nil {
			yield(Record{}, err)
			return
		}
		if done != nil {
			defer done()
		}
		stamp := b.stamper()
		var r raw
		for range b.Count() {
			if !c.readRecord(&r) {
				yield(Record{}, c.err)
				return
			}
			out := Record{Offset: b.BaseOffset() + int64(r.offsetDelta), Timestamp: stamp.of(&r), Key: r.key, Value: r.value, Headers: r.headers}
			if !yield(out, nil) {
				return
			}
		}
		if err := c.done(); err != nil {
			yield(Record{}, err)
		}
	}
}

// Stamp is where a record lies in the log and in time.
type Stamp struct {
	Offset    int64
	Timestamp int64 // ms, −1 none
}

// Stamps iterates as Records does, without reading keys, values and headers: what a lookup by
// timestamp needs.
func (b Batch) Stamps(maxDecompressed int) iter.Seq2[Stamp, error] {
	return func(yield func(Stamp, error) bool) {
		if err := b.walkable(); err != nil {
			yield(Stamp{}, err)
			return
		}
		c, done, err := b.open(maxDecompressed)
		if err != nil {
			yield(Stamp{}, err)
			return
		}
		if done != nil {
			defer done()
		}
		stamp := b.stamper()
		var r raw
		for range b.Count() {
			if !c.skipRecord(&r) {
				yield(Stamp{}, c.err)
				return
			}
			if !yield(Stamp{b.BaseOffset() + int64(r.offsetDelta), stamp.of(&r)}, nil) {
				return
			}
		}
	}
}

// walkable says whether the batch's records can be read at all.
func (b Batch) walkable() error {
	size, err := SizeOf(b)
	if err != nil {
		return err
	}
	if b.Magic() < Magic2 {
		return unsupportedFormat(b.Magic())
	}
	if len(b) < size {
		return incomplete("batch", len(b), size)
	}
	return nil
}

// stamper turns the stored timestamps of one batch into absolute ones.
type stamper struct {
	base     int64
	override bool
	all      int64
}

func (b Batch) stamper() stamper {
	return stamper{base: b.BaseTimestamp(), override: b.TimestampType() == LogAppendTime, all: b.MaxTimestamp()}
}

func (s *stamper) of(r *raw) int64 {
	if s.override {
		return s.all
	}
	return s.base + r.timestampDelta
}
