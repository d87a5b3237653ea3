package record

import (
	"encoding/binary"
	"slices"
)

// What compaction makes of batches: the same offsets, sequences and producer, fewer records.

// RetainOptions begin the batch that takes the place of b with fewer records. Of a message of format
// 0 or 1 it is a batch of the current format, whose base offset the caller sets to that of the first
// record. Append the records with AppendAt.
func RetainOptions(b Batch) Options {
	return Options{
		Codec: b.Codec(), Levels: DefaultLevels(), BaseOffset: b.BaseOffset(), PartitionLeaderEpoch: b.PartitionLeaderEpoch(),
		TimestampType: b.TimestampType(), AppendTime: b.MaxTimestamp(), ProducerID: b.ProducerID(), ProducerEpoch: b.ProducerEpoch(),
		BaseSequence: b.BaseSequence(), Transactional: b.IsTransactional(), Control: b.IsControl(),
	}
}

// SetDeleteHorizon makes the batch one whose tombstones may go after ms: the records' timestamps are
// then relative to that. To be called before the first Append.
func (b *Builder) SetDeleteHorizon(ms int64) { b.baseTimestamp, b.horizon = ms, true }

// EndAt makes offset the batch's last one, though no record may have it. After the last Append.
func (b *Builder) EndAt(offset int64) { b.lastOffset = offset }

// EmptyCopy is b without records: what is kept of a batch for the sake of its offsets and of its
// producer's sequence. Format 2 only.
func (b Batch) EmptyCopy() Batch {
	e := Batch(slices.Clone(b[:HeaderSize]))
	put := binary.BigEndian
	put.PutUint32(e[posLength:], HeaderSize-Overhead)
	put.PutUint16(e[posAttributes:], uint16(b.Attributes()&(attrLogAppendTime|attrTransactional|attrControl)))
	noTimestamp := NoTimestamp
	put.PutUint64(e[posBaseTimestamp:], uint64(noTimestamp))
	put.PutUint32(e[posCount:], 0)
	e.UpdateCRC()
	return e
}
