package metadata

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/ottla/ottla/protocol/msg"
	"github.com/ottla/ottla/protocol/record"
)

// Entry is one record of the metadata log, a metadata record or a control record's message.
type Entry struct {
	Offset  int64
	Record  Record      // nil for a control record
	Control msg.Message // nil for a metadata record
}

// DecodeBatch reads all entries of a batch of the metadata log or of a snapshot. The error names the offset.
func DecodeBatch(b record.Batch) ([]Entry, error) {
	var list []Entry
	for r, err := range b.Records(math.MaxInt32) {
		if err != nil {
			return nil, fmt.Errorf("metadata batch at offset %d: %w", b.BaseOffset(), err)
		}
		e := Entry{Offset: r.Offset}
		if b.IsControl() {
			e.Control, err = decodeControl(r.Key, r.Value)
		} else {
			e.Record, _, err = DecodeRecord(r.Value)
		}
		if err != nil {
			return nil, fmt.Errorf("metadata log, offset %d: %w", r.Offset, err)
		}
		list = append(list, e)
	}
	return list, nil
}

// decodeControl reads a control record of the metadata log. Each message begins with its own version.
func decodeControl(key, value []byte) (msg.Message, error) {
	if len(key) < 4 || len(value) < 2 {
		return nil, fmt.Errorf("control record with a key of %d and a value of %d bytes: %w", len(key), len(value), msg.ErrCorrupt)
	}
	var m msg.Message
	switch t := record.ControlType(binary.BigEndian.Uint16(key[2:])); t {
	case record.LeaderChange:
		m = msg.NewLeaderChangeMessage()
	case record.SnapshotHeader:
		m = msg.NewSnapshotHeaderRecord()
	case record.SnapshotFooter:
		m = msg.NewSnapshotFooterRecord()
	case record.KRaftVersion:
		m = msg.NewKRaftVersionRecord()
	case record.KRaftVoters:
		m = msg.NewVotersRecord()
	default:
		return nil, fmt.Errorf("control record of type %d is not known: %w", t, msg.ErrCorrupt)
	}
	return m, msg.Decode(value, m, int16(binary.BigEndian.Uint16(value)))
}

// AppendControl adds a control record to a builder of a control batch. The message's own version field must be set.
func AppendControl(b *record.Builder, timestamp int64, t record.ControlType, m msg.Message, version int16) error {
	value, err := msg.Append(nil, m, version)
	if err != nil {
		return err
	}
	key := binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(t))
	b.Append(timestamp, key, value)
	return nil
}
