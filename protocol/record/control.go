package record

import (
	"encoding/binary"

	"github.com/ottla/ottla/protocol"
)

// ControlType is the second int16 of a control record's key.
type ControlType int16

const (
	Abort          ControlType = 0 // ends a transaction on a data partition; the value is an EndTxnMarker
	Commit         ControlType = 1
	LeaderChange   ControlType = 2 // the rest is of the metadata log and its snapshots; their values are in protocol/msg
	SnapshotHeader ControlType = 3
	SnapshotFooter ControlType = 4
	KRaftVersion   ControlType = 5
	KRaftVoters    ControlType = 6
)

// Key is the control record's key.
func (t ControlType) Key() []byte {
	return binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(t))
}

// ParseControlKey reads a control record's key. Versions above 0 are read as version 0, types that
// are not known are none of an error: readers skip them.
func ParseControlKey(key []byte) (ControlType, error) {
	if len(key) < 4 {
		return 0, corruptControl("key", len(key), 4)
	}
	if version := int16(binary.BigEndian.Uint16(key)); version < 0 {
		return 0, protocol.CorruptMessage
	}
	return ControlType(binary.BigEndian.Uint16(key[2:])), nil
}

// NewControlBatch is a batch with one control record. Of the options base offset, leader epoch and
// the producer's fields count; transactional is what Abort and Commit are.
func NewControlBatch(o Options, timestamp int64, t ControlType, value []byte) Batch {
	o.Control, o.Codec = true, None
	o.Transactional = t == Abort || t == Commit
	b := NewBuilder(o)
	b.Append(timestamp, t.Key(), value)
	return b.Build()
}

// NewMarker is the batch that ends a producer's transaction: 78 bytes, base sequence −1.
func NewMarker(o Options, timestamp int64, t ControlType, coordinatorEpoch int32) Batch {
	o.BaseSequence = NoSequence
	return NewControlBatch(o, timestamp, t, binary.BigEndian.AppendUint32([]byte{0, 0}, uint32(coordinatorEpoch)))
}

// ParseMarker is the coordinator epoch in the value of an Abort or Commit record.
func ParseMarker(value []byte) (coordinatorEpoch int32, err error) {
	if len(value) < 6 {
		return 0, corruptControl("value", len(value), 6)
	}
	if version := int16(binary.BigEndian.Uint16(value)); version < 0 {
		return 0, protocol.CorruptMessage
	}
	return int32(binary.BigEndian.Uint32(value[2:])), nil
}

// ControlRecord is the only record of a control batch: its type and its value.
func (b Batch) ControlRecord() (ControlType, []byte, error) {
	if err := b.walkable(); err != nil {
		return 0, nil, err
	}
	c := cursor{buf: b.Payload()}
	var r raw
	if b.Codec() != None || b.Count() < 1 || !c.readRecord(&r) {
		return 0, nil, protocol.CorruptMessage
	}
	t, err := ParseControlKey(r.key)
	return t, r.value, err
}
