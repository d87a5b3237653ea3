// Package metadata is the cluster's metadata: the records of `__cluster_metadata`, the immutable Image they
// build, the Delta between two images, and Kafka's snapshot files.
package metadata

import (
	"encoding/binary"
	"fmt"

	"github.com/ottla/ottla/protocol/msg"
)

// Record is one metadata record: one of the record types of package msg that NewMetadataRecord makes.
type Record = msg.Record

// frameVersion starts every metadata record's value.
const frameVersion = 1

// EncodeRecord appends the value of a metadata log record: frame version, type and version as unsigned varints,
// then the message in that version.
func EncodeRecord(dst []byte, r Record, version int16) ([]byte, error) {
	at := len(dst)
	dst = append(dst, frameVersion)
	dst = binary.AppendUvarint(dst, uint64(r.RecordID()))
	dst = binary.AppendUvarint(dst, uint64(version))
	out, err := msg.Append(dst, r, version)
	if err != nil {
		return dst[:at], fmt.Errorf("metadata record: %w", err)
	}
	return out, nil
}

// DecodeRecord is the inverse. A frame version, type or record version that is not known is an error: whoever
// skipped it would hold other metadata than the rest of the cluster.
func DecodeRecord(value []byte) (r Record, version int16, err error) {
	var head [3]uint64
	rest := value
	for i, what := range [...]string{"frame version", "type", "version"} {
		x, n := binary.Uvarint(rest)
		if n <= 0 || x > 1<<15-1 {
			return nil, 0, fmt.Errorf("metadata record: %s at byte %d of %d: %w", what, len(value)-len(rest), len(value), msg.ErrCorrupt)
		}
		head[i], rest = x, rest[n:]
	}
	if head[0] != frameVersion {
		return nil, 0, fmt.Errorf("metadata record: frame version %d, only %d is known: %w", head[0], frameVersion, msg.ErrCorrupt)
	}
	r = msg.NewMetadataRecord(int16(head[1]))
	if r == nil {
		return nil, 0, fmt.Errorf("metadata record: type %d is not known: %w", head[1], msg.ErrCorrupt)
	}
	if err := msg.Decode(rest, r, int16(head[2])); err != nil {
		return nil, 0, fmt.Errorf("metadata record: %w", err)
	}
	return r, int16(head[2]), nil
}

// VersionFor is the version in which Kafka writes a record when metadata.version is at level.
func VersionFor(r Record, level int16) int16 {
	switch r := r.(type) {
	case *msg.RegisterBrokerRecord:
		switch {
		case level >= CordonedDirsLevel:
			return 4
		case level >= DirectoriesLevel:
			return 3
		case level >= MigrationLevel:
			return 2
		}
		return 1
	case *msg.PartitionRecord, *msg.PartitionChangeRecord:
		switch {
		case level >= ELRLevel:
			return 2
		case level >= DirectoriesLevel:
			return 1
		}
		return 0
	case *msg.BrokerRegistrationChangeRecord:
		switch {
		case r.CordonedLogDirs != nil:
			return 3
		case len(r.LogDirs) > 0:
			return 2
		case r.InControlledShutdown != 0:
			return 1
		}
		return 0
	}
	return 0
}
