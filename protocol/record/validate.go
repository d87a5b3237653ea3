package record

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/ottla/ottla/protocol"
)

// Rules are what a leader asks of a produced batch: the topic's configuration.
type Rules struct {
	TimestampType        TimestampType // message.timestamp.type
	TimestampBeforeMaxMs int64         // message.timestamp.before.max.ms
	TimestampAfterMaxMs  int64         // message.timestamp.after.max.ms
	Compacted            bool          // cleanup.policy has compact: every record needs a key
	Target               Codec         // compression.type; AsSent = producer
	Levels               Levels        // compression.*.level
	MaxMessageBytes      int           // max.message.bytes, of the whole batch
	SegmentBytes         int           // segment.bytes; 0 = unbounded
	MaxDecompressed      int           // max.decompressed.message.bytes, of one record
	RefuseZstd           bool          // the request's version is below 7
	Internal             bool          // a batch of our own: base offset, counts, control bit and sequence are not checked
}

// Validated is what Validate learned of a batch.
type Validated struct {
	MaxTimestamp int64 // of the batch as it is to be stored, ms
	Recompressed bool  // the batch is not the caller's bytes any more
}

// Validate checks the records of one partition in a Produce request in Kafka's order and makes
// them what the leader stores. In place where possible: the batch then aliases in, of which
// attributes, max timestamp and CRC may have been rewritten. Base offset and leader epoch are left
// to the append. The error is a *Rejection.
//
// An uncompressed batch is checked without allocating. A compressed one is decompressed as a
// stream: memory does not depend on what the batch claims.
func Validate(in []byte, r Rules, nowMs int64) (Batch, Validated, error) {
	b, rejection := single(in, &r)
	if rejection != nil {
		rejection.Early = true
		return nil, Validated{}, rejection
	}
	rejection = checkWhole(b, &r)
	if rejection == nil && !r.Internal {
		rejection = checkShape(b)
	}
	if rejection != nil {
		return nil, Validated{}, rejection
	}
	if r.Target != AsSent && r.Target != b.Codec() && !b.IsControl() {
		return recompress(b, &r, nowMs)
	}
	return keep(b, &r, nowMs)
}

// single is the one batch that the bytes of a partition may hold. Less than a batch's first 12
// bytes after it is dropped without a word.
func single(in []byte, r *Rules) (Batch, *Rejection) {
	b, rest, err := Next(in)
	if errors.Is(err, ErrIncomplete) {
		return nil, reject(protocol.InvalidRecord, "no whole batch: %v", err)
	}
	if err != nil {
		rejection := rejectFor(err)
		if len(in) >= minPeek && in[posMagic] > Magic2 {
			rejection.Message = "there is no such message format"
		}
		if int32(binary.BigEndian.Uint32(in[posLength:])) < minLength {
			rejection.Message = "the length of the batch is less than that of any message"
		}
		return nil, rejection
	}
	if b.Magic() != Magic2 {
		return nil, reject(protocol.InvalidRecord, "message format %d", b.Magic())
	}
	if r.RefuseZstd && b.Codec() == Zstd {
		return nil, reject(protocol.UnsupportedCompressionType, "zstd before Produce version 7")
	}
	if r.RefuseZstd && !b.Codec().Known() {
		return nil, reject(protocol.UnknownServerError, "codec %d", b.Codec())
	}
	if len(rest) >= Overhead {
		_, _, err := Next(rest)
		switch {
		case err == nil:
			return nil, reject(protocol.InvalidRecord, "more than one batch")
		case !errors.Is(err, ErrIncomplete):
			return nil, rejectFor(err)
		}
	}
	return b, nil
}

// checkWhole looks at the batch as bytes.
func checkWhole(b Batch, r *Rules) *Rejection {
	switch {
	case !r.Internal && b.BaseOffset() != 0:
		return reject(protocol.InvalidRecord, "base offset %d, not 0", b.BaseOffset())
	case len(b) > r.MaxMessageBytes:
		return reject(protocol.MessageTooLarge, "%d bytes, at most %d", len(b), r.MaxMessageBytes)
	case !b.VerifyCRC():
		return reject(protocol.CorruptMessage, "CRC %#x, stored %#x", b.ComputeCRC(), b.CRC())
	case !b.Codec().Known():
		return reject(protocol.UnknownServerError, "codec %d", b.Codec())
	}
	return nil
}

// checkShape looks at the header's fields together.
func checkShape(b Batch) *Rejection {
	count, last := b.Count(), b.LastOffsetDelta()
	switch {
	case count <= 0 || last < 0 || last != count-1:
		return reject(protocol.InvalidRecord, "%d records, last offset delta %d", count, last)
	case b.IsControl():
		return reject(protocol.InvalidRecord, "a control batch")
	case b.HasProducerID() && b.BaseSequence() < 0:
		return reject(protocol.InvalidRecord, "producer %d with sequence %d", b.ProducerID(), b.BaseSequence())
	}
	return nil
}

// checker applies the rules for single records.
type checker struct {
	rules    Rules
	batch    Batch
	now      int64
	stamp    stamper
	max      int64 // largest timestamp so far
	findings findings
}

func newChecker(b Batch, r *Rules, nowMs int64) checker {
	return checker{rules: *r, batch: b, now: nowMs, stamp: b.stamper(), max: NoTimestamp}
}

// record checks the record at index and is its timestamp.
func (k *checker) record(index int32, r *raw) int64 {
	ts := k.stamp.of(r)
	if ts > k.max {
		k.max = ts
	}
	switch {
	case k.rules.Compacted && !r.hasKey:
		k.findings.add(index, "a record of a compacted topic needs a key")
	case k.rules.TimestampType == CreateTime && ts != NoTimestamp:
		if diff := k.now - ts; diff > k.rules.TimestampBeforeMaxMs || -diff > k.rules.TimestampAfterMaxMs {
			k.findings.badTimestamps = true
			k.findings.add(index, fmt.Sprintf("timestamp %d is too far from the broker's time %d", ts, k.now))
		}
	case k.batch.TimestampType() == LogAppendTime:
		k.findings.badTimestamps = true
		k.findings.add(index, "a producer must not send log append time")
	}
	return ts
}

// keep checks the records of a batch that is stored with the codec it has, and corrects its
// timestamp type and max timestamp.
func keep(b Batch, r *Rules, nowMs int64) (Batch, Validated, error) {
	c, done, err := b.open(r.MaxDecompressed)
	if err != nil {
		return nil, Validated{}, rejectFor(err)
	}
	k := newChecker(b, r, nowMs)
	rejection := k.walk(&c)
	if done != nil {
		done()
	}
	if rejection != nil {
		return nil, Validated{}, rejection
	}
	if r.SegmentBytes > 0 && len(b) > r.SegmentBytes {
		return nil, Validated{}, reject(protocol.RecordListTooLarge, "%d bytes, a segment has at most %d", len(b), r.SegmentBytes)
	}
	if r.TimestampType == LogAppendTime {
		k.max = nowMs
	}
	b.SetMaxTimestamp(r.TimestampType, k.max)
	return b, Validated{MaxTimestamp: k.max}, nil
}

// walk checks every record without reading it whole.
func (k *checker) walk(c *cursor) *Rejection {
	var r raw
	dense := true
	for i := range k.batch.Count() {
		if !c.skipRecord(&r) {
			return rejectFor(c.err)
		}
		k.record(i, &r)
		dense = dense && r.offsetDelta == i
	}
	if err := c.done(); err != nil {
		return rejectFor(err)
	}
	if rejection := k.findings.rejection(); rejection != nil {
		return rejection
	}
	if !dense && c.src != nil {
		return reject(protocol.UnknownServerError, "offset deltas of a compressed batch have gaps")
	}
	return nil
}

// recompress checks the records and builds the batch anew with the topic's codec: offsets dense,
// base timestamp that of the first record, producer fields kept.
func recompress(b Batch, r *Rules, nowMs int64) (Batch, Validated, error) {
	k := newChecker(b, r, nowMs)
	o := Options{
		Codec: r.Target, Levels: r.Levels, TimestampType: r.TimestampType, AppendTime: nowMs,
		PartitionLeaderEpoch: NoLeaderEpoch, ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(),
		BaseSequence: b.BaseSequence(), Transactional: b.IsTransactional(),
	}
	out := NewBuilder(o)
	if rejection := k.rebuild(out); rejection != nil {
		return nil, Validated{}, rejection
	}
	built := out.Build()
	switch {
	case built == nil:
		return nil, Validated{}, reject(protocol.InvalidRecord, "no records")
	case len(built) > r.MaxMessageBytes:
		return nil, Validated{}, reject(protocol.MessageTooLarge, "%d bytes recompressed, at most %d", len(built), r.MaxMessageBytes)
	case r.SegmentBytes > 0 && len(built) > r.SegmentBytes:
		return nil, Validated{}, reject(protocol.RecordListTooLarge, "%d bytes recompressed, a segment has at most %d", len(built), r.SegmentBytes)
	}
	return built, Validated{MaxTimestamp: built.MaxTimestamp(), Recompressed: true}, nil
}

// maxRebuilt bounds what one batch may decompress to when it is recompressed, in bytes; a larger
// one is refused, where Kafka would hold it in memory.
const maxRebuilt = 256 << 20

// rebuild appends the checked records to out.
func (k *checker) rebuild(out *Builder) *Rejection {
	c, done, err := k.batch.open(k.rules.MaxDecompressed)
	if err != nil {
		return rejectFor(err)
	}
	if done != nil {
		defer done()
	}
	var r raw
	for i := range k.batch.Count() {
		if !c.readRecord(&r) {
			return rejectFor(c.err)
		}
		out.Append(k.record(i, &r), r.key, r.value, r.headers...)
		c.arena = c.arena[:0] // the record was copied
		if out.Size() > maxRebuilt || (k.rules.Target == None && out.Size() > k.rules.MaxMessageBytes) {
			return reject(protocol.MessageTooLarge, "more than %d bytes after decompression", out.Size())
		}
	}
	if err := c.done(); err != nil {
		return rejectFor(err)
	}
	return k.findings.rejection()
}
