package replication

import (
	"sync"
	"sync/atomic"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
	"github.com/ottla/ottla/replication/replica"
	"github.com/ottla/ottla/storage"
)

// Partition is one replica on this broker: its log, its role, and those who wait for it. Safe for
// concurrent use.
//
// Locks, in this order, none held across a callback: roleMu (readers hold it while they append, so
// that an append belongs to one leader epoch), stateMu, acks.mu, watches.mu. The log has its own.
type Partition struct {
	tp      protocol.TopicPartition
	topicID protocol.UUID
	m       *Manager
	rules   atomic.Pointer[topicRules]

	roleMu sync.RWMutex
	role   role

	stateMu sync.Mutex // the replicas' positions, and the high watermark while leading
	state   replica.Leader

	acks    ackQueue
	watches watchList
}

// role is what the metadata says, and what came of it. roleMu guards it.
type role struct {
	log      *storage.Log // nil while err is about the disk
	leading  bool
	epoch    int32 // of the leader, −1 before the first image
	assigned *metadata.Partition
	err      error // why nothing is served: offline, deleted, shut down; nil otherwise
}

// topicRules is a topic's configuration as produced batches are checked against it. It is never
// changed: a change makes another one.
type topicRules struct {
	config storage.LogConfig
	record record.Rules
}

func rulesOf(c storage.LogConfig) *topicRules {
	target, err := record.ParseCodec(c.CompressionType)
	if err != nil {
		target = record.AsSent // the registry refuses other names
	}
	return &topicRules{config: c, record: record.Rules{
		TimestampType:        record.TimestampType(c.MessageTimestampType),
		TimestampBeforeMaxMs: c.MessageTimestampBeforeMaxMs,
		TimestampAfterMaxMs:  c.MessageTimestampAfterMaxMs,
		Compacted:            c.CleanupCompact,
		Target:               target,
		Levels:               record.Levels{Gzip: c.CompressionGzipLevel, LZ4: c.CompressionLZ4Level, Zstd: c.CompressionZstdLevel},
		MaxMessageBytes:      int(c.MaxMessageBytes),
		SegmentBytes:         int(c.SegmentBytes),
		MaxDecompressed:      int(c.MaxDecompressedMessageBytes),
	}}
}

// TopicPartition names the partition.
func (p *Partition) TopicPartition() protocol.TopicPartition { return p.tp }

// TopicID is the topic's id.
func (p *Partition) TopicID() protocol.UUID { return p.topicID }

// Config is the topic's effective configuration; not to be changed.
func (p *Partition) Config() *storage.LogConfig { return &p.rules.Load().config }

// Leader is who leads the partition and its epoch as far as this replica knows; −1 for nobody.
func (p *Partition) Leader() (id, epoch int32) {
	p.roleMu.RLock()
	defer p.roleMu.RUnlock()
	if p.role.assigned == nil {
		return metadata.NoLeader, p.role.epoch
	}
	return p.role.assigned.Leader, p.role.epoch
}

// Log is the partition's log, nil if its directory is offline.
func (p *Partition) Log() *storage.Log {
	p.roleMu.RLock()
	defer p.roleMu.RUnlock()
	return p.role.log
}

// Offline reports whether the partition cannot be served because of its disk.
func (p *Partition) Offline() bool {
	p.roleMu.RLock()
	defer p.roleMu.RUnlock()
	return protocol.CodeOf(p.role.err) == protocol.KafkaStorageError
}

// lead is the log, if this broker leads the partition and the caller's leader epoch is the current
// one. Errors, in Kafka's order: why nothing is served, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH,
// NOT_LEADER_OR_FOLLOWER. roleMu is held.
func (p *Partition) lead(epoch int32) (*storage.Log, error) {
	r := &p.role
	switch {
	case r.err != nil:
		return nil, r.err
	case epoch != AnyEpoch && epoch < r.epoch:
		return nil, protocol.FencedLeaderEpoch
	case epoch != AnyEpoch && epoch > r.epoch:
		return nil, protocol.UnknownLeaderEpoch
	case !r.leading:
		return nil, protocol.NotLeaderOrFollower
	}
	return r.log, nil
}

// minISR is how many replicas have to be in sync for acks=all: never more than there are. roleMu is held.
func (p *Partition) minISR() int {
	return min(int(p.rules.Load().config.MinInSyncReplicas), len(p.role.assigned.Replicas))
}

// enough reports whether acks=all is possible. roleMu is held.
func (p *Partition) enough() bool { return len(p.role.assigned.ISR) >= p.minISR() }
