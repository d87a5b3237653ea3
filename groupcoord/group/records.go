package group

import (
	"encoding/binary"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// The record ids of __consumer_offsets: the first two bytes of a key.
const (
	keyOffsetCommitLegacy = 0
	keyOffsetCommit       = 1
	keyGroupMetadata      = 2
)

// Versions of the values that Kafka 4.4 writes.
const (
	offsetValueWithExpiry = 1 // a commit that brought its own retention
	offsetValuePlain      = 3
	offsetValueTopicID    = 4
	groupMetadataValue    = 3
)

// None stands for absent numbers in records: leader epochs and times.
const None = -1

// Committed is one committed offset.
type Committed struct {
	Offset          int64
	LeaderEpoch     int32 // None if the client gave none
	Metadata        string
	CommitTimestamp int64 // ms
	ExpireTimestamp int64 // ms; None: by the retention of the coordinator
	TopicID         protocol.UUID
}

// OffsetKey names a committed offset.
type OffsetKey struct {
	Group, Topic string
	Partition    int32
}

// OffsetRecord is the record of a commit.
func OffsetRecord(k OffsetKey, c Committed) Record {
	v := kmsg.OffsetCommitValue{
		Version: offsetValuePlain, Offset: c.Offset, LeaderEpoch: c.LeaderEpoch, Metadata: c.Metadata,
		CommitTimestamp: c.CommitTimestamp, ExpireTimestamp: c.ExpireTimestamp, TopicID: c.TopicID,
	}
	switch {
	case c.ExpireTimestamp != None:
		v.Version = offsetValueWithExpiry
	case !c.TopicID.IsZero():
		v.Version = offsetValueTopicID
	}
	return Record{Key: offsetKey(k), Value: v.AppendTo(make([]byte, 0, 48+len(c.Metadata))), ProducerID: NoProducer}
}

// OffsetTombstone is the record that removes a commit.
func OffsetTombstone(k OffsetKey) Record { return Record{Key: offsetKey(k), ProducerID: NoProducer} }

func offsetKey(k OffsetKey) []byte {
	key := kmsg.OffsetCommitKey{Version: keyOffsetCommit, Group: k.Group, Topic: k.Topic, Partition: k.Partition}
	return key.AppendTo(make([]byte, 0, 10+len(k.Group)+len(k.Topic)))
}

// MetadataRecord is the record of a classic group.
func MetadataRecord(group string, v *kmsg.GroupMetadataValue) Record {
	v.Version = groupMetadataValue
	return Record{Key: metadataKey(group), Value: v.AppendTo(nil), ProducerID: NoProducer}
}

// MetadataTombstone is the record that removes a classic group.
func MetadataTombstone(group string) Record {
	return Record{Key: metadataKey(group), ProducerID: NoProducer}
}

func metadataKey(group string) []byte {
	key := kmsg.GroupMetadataKey{Version: keyGroupMetadata, Group: group}
	return key.AppendTo(make([]byte, 0, 4+len(group)))
}

// Parsed is a record taken apart: exactly one of the three is set, or none for a record of an unknown kind.
type Parsed struct {
	Offset    *OffsetKey
	Committed *Committed // nil with Offset: a tombstone
	Group     *string
	Metadata  *kmsg.GroupMetadataValue // nil with Group: a tombstone
	// Unknown is the id of a record that this version does not know; None otherwise.
	Unknown int16
}

// Parse takes a record apart.
func Parse(r Record) (Parsed, error) {
	p := Parsed{Unknown: None}
	if len(r.Key) < 2 {
		return p, fmt.Errorf("record key: have %d bytes, need 2 for its version", len(r.Key))
	}
	switch id := int16(binary.BigEndian.Uint16(r.Key)); id {
	case keyOffsetCommitLegacy, keyOffsetCommit:
		return p, p.offset(r)
	case keyGroupMetadata:
		return p, p.metadata(r)
	default:
		p.Unknown = id
		return p, nil
	}
}

func (p *Parsed) offset(r Record) error {
	var k kmsg.OffsetCommitKey
	if err := k.ReadFrom(r.Key); err != nil {
		return fmt.Errorf("offset commit key of %d bytes: %w", len(r.Key), err)
	}
	p.Offset = &OffsetKey{k.Group, k.Topic, k.Partition}
	if r.Value == nil {
		return nil
	}
	v := kmsg.NewOffsetCommitValue()
	v.LeaderEpoch, v.ExpireTimestamp = None, None
	if err := readValue(r.Value, offsetValueTopicID, &v); err != nil {
		return fmt.Errorf("offset commit value: %w", err)
	}
	p.Committed = &Committed{v.Offset, v.LeaderEpoch, v.Metadata, v.CommitTimestamp, v.ExpireTimestamp, v.TopicID}
	if v.Version < 3 {
		p.Committed.LeaderEpoch = None
	}
	if v.Version != offsetValueWithExpiry {
		p.Committed.ExpireTimestamp = None
	}
	return nil
}

func (p *Parsed) metadata(r Record) error {
	var k kmsg.GroupMetadataKey
	if err := k.ReadFrom(r.Key); err != nil {
		return fmt.Errorf("group metadata key of %d bytes: %w", len(r.Key), err)
	}
	p.Group = &k.Group
	if r.Value == nil {
		return nil
	}
	v := kmsg.NewGroupMetadataValue()
	if err := readValue(r.Value, 4, &v); err != nil {
		return fmt.Errorf("group metadata value: %w", err)
	}
	if v.Version < 2 {
		v.CurrentStateTimestamp = None
	}
	for i := range v.Members {
		if m := &v.Members[i]; v.Version < 1 || m.RebalanceTimeoutMillis == None {
			m.RebalanceTimeoutMillis = m.SessionTimeoutMillis
		}
	}
	p.Metadata = &v
	return nil
}

// readValue refuses versions that did not exist when this was written; kmsg would read them as the newest.
func readValue(b []byte, newest int16, v interface{ ReadFrom([]byte) error }) error {
	if len(b) < 2 {
		return fmt.Errorf("have %d bytes, need 2 for the version", len(b))
	}
	if version := int16(binary.BigEndian.Uint16(b)); version < 0 || version > newest {
		return fmt.Errorf("version %d, newest known is %d", version, newest)
	}
	if err := v.ReadFrom(b); err != nil {
		return fmt.Errorf("%d bytes: %w", len(b), err)
	}
	return nil
}
