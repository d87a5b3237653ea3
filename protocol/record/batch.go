// Package record reads, checks, builds and rewrites record batches, Kafka's unit of storage and of
// transfer (message format 2, KIP-98). A Batch is a view of bytes that somebody else owns: getters
// and setters work in place, nothing is copied.
package record

import (
	"encoding/binary"
	"hash/crc32"
)

// Layout of a magic 2 batch: byte positions of the header's fields. Everything is big-endian.
const (
	posBaseOffset      = 0
	posLength          = 8
	posLeaderEpoch     = 12
	posMagic           = 16
	posCRC             = 17
	posAttributes      = 21
	posLastOffsetDelta = 23
	posBaseTimestamp   = 27
	posMaxTimestamp    = 35
	posProducerID      = 43
	posProducerEpoch   = 51
	posBaseSequence    = 53
	posCount           = 57

	// HeaderSize is the size of a magic 2 batch without records.
	HeaderSize = 61
	// Overhead is what precedes the bytes that a batch's length field counts: base offset and length.
	Overhead = 12
	// Magic2 is the message format of every batch written since Kafka 0.11.
	Magic2 = 2

	// minPeek is how much of a batch must be there to know its size and magic.
	minPeek = posMagic + 1
	// minLength is the smallest length field there is: that of a magic 0 message without key and value.
	minLength = 14
)

// Bits of the attributes field.
const (
	attrCodec         = 0x07
	attrLogAppendTime = 0x08
	attrTransactional = 0x10
	attrControl       = 0x20
	attrDeleteHorizon = 0x40
)

// Values of fields that are absent.
const (
	NoTimestamp     int64 = -1
	NoProducerID    int64 = -1
	NoProducerEpoch int16 = -1
	NoSequence      int32 = -1
	NoLeaderEpoch   int32 = -1
)

// TimestampType says whose clock stamped the records.
type TimestampType int8

const (
	// CreateTime: every record has the producer's timestamp.
	CreateTime TimestampType = 0
	// LogAppendTime: all records of a batch have the batch's max timestamp, the leader's clock.
	LogAppendTime TimestampType = 1
)

// String is the value of message.timestamp.type that means t.
func (t TimestampType) String() string {
	if t == LogAppendTime {
		return "LogAppendTime"
	}
	return "CreateTime"
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Batch is one batch: at least its first HeaderSize bytes, so the getters also serve somebody who
// reads only headers from a file. Next makes them; a message of format 0 or 1 is a Batch as well,
// with Magic below 2, for which the getters answer what Kafka answers (no producer, no leader epoch).
type Batch []byte

// Next splits buf into its first batch and the rest. It looks at length and magic only, not at the
// CRC. Fewer bytes than a whole batch: an error that wraps ErrIncomplete, and buf as the rest.
// A length or magic that no batch has: an error with code CORRUPT_MESSAGE.
func Next(buf []byte) (Batch, []byte, error) {
	size, err := SizeOf(buf)
	if err != nil {
		return nil, buf, err
	}
	if len(buf) < size {
		return nil, buf, incomplete("batch", len(buf), size)
	}
	return Batch(buf[:size:size]), buf[size:], nil
}

// SizeOf is the size in bytes of the batch whose first bytes are in buf, all of it counted; the
// errors are those of Next, and 17 bytes are enough.
func SizeOf(buf []byte) (int, error) {
	if len(buf) < Overhead {
		return 0, incomplete("batch length", len(buf), Overhead)
	}
	length := int32(binary.BigEndian.Uint32(buf[posLength:]))
	if length < minLength {
		return 0, corrupt("batch length", int64(length), minLength)
	}
	if len(buf) < minPeek {
		return 0, incomplete("batch magic", len(buf), minPeek)
	}
	magic := int8(buf[posMagic])
	if magic < 0 || magic > Magic2 {
		return 0, corrupt("batch magic", int64(magic), Magic2)
	}
	if least := leastLength(magic); int(length) < least {
		return 0, corrupt("batch length", int64(length), least)
	}
	return Overhead + int(length), nil
}

func leastLength(magic int8) int {
	switch magic {
	case 0:
		return minLength
	case 1:
		return minLength + 8
	default:
		return HeaderSize - Overhead
	}
}

func (b Batch) i16(at int) int16 { return int16(binary.BigEndian.Uint16(b[at:])) }
func (b Batch) i32(at int) int32 { return int32(binary.BigEndian.Uint32(b[at:])) }
func (b Batch) i64(at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }

// Size is the size in bytes the batch claims, header and all.
func (b Batch) Size() int { return Overhead + int(b.i32(posLength)) }

// Magic is the message format: 0, 1 or 2.
func (b Batch) Magic() int8 { return int8(b[posMagic]) }

// BaseOffset is the offset of the batch's first record, whether or not compaction left it there.
// Of formats 0 and 1 it is the message's own offset, which is the last one of a compressed set.
func (b Batch) BaseOffset() int64 { return b.i64(posBaseOffset) }

// SetBaseOffset moves the batch; the offset is outside the CRC.
func (b Batch) SetBaseOffset(offset int64) {
	binary.BigEndian.PutUint64(b[posBaseOffset:], uint64(offset))
}

// PartitionLeaderEpoch is the epoch of the leader that appended the batch, or −1.
func (b Batch) PartitionLeaderEpoch() int32 {
	if b.Magic() < Magic2 {
		return NoLeaderEpoch
	}
	return b.i32(posLeaderEpoch)
}

// SetPartitionLeaderEpoch stamps the batch; the epoch is outside the CRC.
func (b Batch) SetPartitionLeaderEpoch(epoch int32) {
	binary.BigEndian.PutUint32(b[posLeaderEpoch:], uint32(epoch))
}

// CRC is the stored checksum.
func (b Batch) CRC() uint32 {
	if b.Magic() < Magic2 {
		return binary.BigEndian.Uint32(b[Overhead:])
	}
	return binary.BigEndian.Uint32(b[posCRC:])
}

// Attributes is the whole field; only the low byte has a meaning.
func (b Batch) Attributes() int16 {
	if b.Magic() < Magic2 {
		return int16(b[posMagic+1])
	}
	return b.i16(posAttributes)
}

func (b Batch) has(bit int16) bool { return b.Magic() >= Magic2 && b.Attributes()&bit != 0 }

// Codec is how the records are compressed; it may be none that exists, see Codec.Known.
func (b Batch) Codec() Codec { return Codec(b.Attributes() & attrCodec) }

// TimestampType says whose clock stamped the records.
func (b Batch) TimestampType() TimestampType {
	if b.Magic() > 0 && b.Attributes()&attrLogAppendTime != 0 {
		return LogAppendTime
	}
	return CreateTime
}

// IsTransactional is true of the data and the markers of transactions.
func (b Batch) IsTransactional() bool { return b.has(attrTransactional) }

// IsControl is true of batches that hold a control record and no data.
func (b Batch) IsControl() bool { return b.has(attrControl) }

// HasDeleteHorizon is true after compaction saw a tombstone or a marker in the batch: the base
// timestamp is then the time in ms after which it may go.
func (b Batch) HasDeleteHorizon() bool { return b.has(attrDeleteHorizon) }

// DeleteHorizon is the time in ms after which the batch's tombstones may go.
func (b Batch) DeleteHorizon() (ms int64, ok bool) {
	if !b.HasDeleteHorizon() {
		return NoTimestamp, false
	}
	return b.i64(posBaseTimestamp), true
}

// LastOffsetDelta is the last record's offset relative to the base offset.
func (b Batch) LastOffsetDelta() int32 {
	if b.Magic() < Magic2 {
		return 0
	}
	return b.i32(posLastOffsetDelta)
}

// LastOffset is the offset of the batch's last record, whether or not compaction left it there.
func (b Batch) LastOffset() int64 { return b.BaseOffset() + int64(b.LastOffsetDelta()) }

// NextOffset is the offset of what follows the batch.
func (b Batch) NextOffset() int64 { return b.LastOffset() + 1 }

// BaseTimestamp is what the records' timestamps are relative to, in ms.
func (b Batch) BaseTimestamp() int64 {
	if b.Magic() < Magic2 {
		return b.MaxTimestamp()
	}
	return b.i64(posBaseTimestamp)
}

// MaxTimestamp is the largest timestamp of the batch's records in ms, −1 if they have none.
func (b Batch) MaxTimestamp() int64 {
	switch b.Magic() {
	case 0:
		return NoTimestamp
	case 1:
		return b.i64(posMagic + 2)
	}
	return b.i64(posMaxTimestamp)
}

// ProducerID is the idempotent producer's id, or −1.
func (b Batch) ProducerID() int64 {
	if b.Magic() < Magic2 {
		return NoProducerID
	}
	return b.i64(posProducerID)
}

// HasProducerID is true of batches from idempotent producers and of transaction markers.
func (b Batch) HasProducerID() bool { return b.ProducerID() > NoProducerID }

// ProducerEpoch is the producer's epoch, or −1.
func (b Batch) ProducerEpoch() int16 {
	if b.Magic() < Magic2 {
		return NoProducerEpoch
	}
	return b.i16(posProducerEpoch)
}

// BaseSequence is the first record's sequence number, or −1.
func (b Batch) BaseSequence() int32 {
	if b.Magic() < Magic2 {
		return NoSequence
	}
	return b.i32(posBaseSequence)
}

// LastSequence is the last record's sequence number, or −1; after 2^31−1 comes 0.
func (b Batch) LastSequence() int32 {
	base := b.BaseSequence()
	if base == NoSequence {
		return NoSequence
	}
	return AddSequence(base, b.LastOffsetDelta())
}

// AddSequence is the sequence number n records after s: numbers run from 0 to 2^31−1 and then from 0.
func AddSequence(s, n int32) int32 {
	return int32((uint32(s) + uint32(n)) & 0x7fffffff)
}

// Count is the number of records in the batch.
func (b Batch) Count() int32 {
	if b.Magic() < Magic2 {
		return 1
	}
	return b.i32(posCount)
}

// Payload is the records' bytes, compressed as the codec says.
func (b Batch) Payload() []byte { return b[HeaderSize:] }

// ComputeCRC is the checksum the batch should have; the whole batch must be there.
func (b Batch) ComputeCRC() uint32 {
	if b.Magic() < Magic2 {
		return crc32.ChecksumIEEE(b[posMagic:])
	}
	return crc32.Checksum(b[posAttributes:], castagnoli)
}

// VerifyCRC compares the stored checksum with the bytes. Offset, length, leader epoch and magic
// are not covered.
func (b Batch) VerifyCRC() bool { return b.CRC() == b.ComputeCRC() }

// UpdateCRC stores the checksum of the bytes as they are; magic 2 only.
func (b Batch) UpdateCRC() { binary.BigEndian.PutUint32(b[posCRC:], b.ComputeCRC()) }

// SetMaxTimestamp sets timestamp type and max timestamp and, if that changed anything, clears the
// unused attribute bits and updates the CRC; magic 2 only.
func (b Batch) SetMaxTimestamp(t TimestampType, ms int64) {
	if b.TimestampType() == t && b.MaxTimestamp() == ms {
		return
	}
	attributes := b.Attributes() & (attrCodec | attrTransactional | attrControl | attrDeleteHorizon)
	if t == LogAppendTime {
		attributes |= attrLogAppendTime
	}
	binary.BigEndian.PutUint16(b[posAttributes:], uint16(attributes))
	binary.BigEndian.PutUint64(b[posMaxTimestamp:], uint64(ms))
	b.UpdateCRC()
}
