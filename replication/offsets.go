package replication

import (
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/storage"
)

// Timestamps of ListOffsets that are not times. Which version knows which is the request handler's business.
const (
	LatestTimestamp        int64 = -1
	EarliestTimestamp      int64 = -2
	MaxTimestamp           int64 = -3 // KIP-734
	EarliestLocalTimestamp int64 = -4 // KIP-405; the same as earliest while nothing is tiered
	LatestTieredTimestamp  int64 = -5 // KIP-1005
	EarliestPendingUpload  int64 = -6 // KIP-1023
)

// noOffset is the answer when nothing is found.
var noOffset = storage.OffsetTime{Offset: -1, Timestamp: -1, LeaderEpoch: -1}

// ListOffset finds an offset by timestamp, or one of the special ones, among what the bound allows to
// see. Errors: FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, NOT_LEADER_OR_FOLLOWER,
// KAFKA_STORAGE_ERROR, and OFFSET_NOT_AVAILABLE while a new leader's high watermark is below the
// start of its epoch, where the answer could be one that an earlier leader has contradicted (KIP-207).
func (p *Partition) ListOffset(timestamp int64, bound storage.Bound, leaderEpoch int32) (storage.OffsetTime, error) {
	log, epoch, epochStart, err := p.leading(leaderEpoch)
	if err != nil {
		return noOffset, err
	}
	switch timestamp {
	case EarliestTimestamp, EarliestLocalTimestamp:
		start := log.LogStartOffset()
		return storage.OffsetTime{Offset: start, Timestamp: -1, LeaderEpoch: log.EpochOf(start), Found: true}, nil
	case LatestTieredTimestamp, EarliestPendingUpload:
		return noOffset, nil
	}
	last := position(log, bound)
	lagging := bound != storage.LogEnd && log.HighWatermark() < epochStart
	if timestamp == LatestTimestamp {
		if lagging {
			return noOffset, protocol.OffsetNotAvailable
		}
		return storage.OffsetTime{Offset: last, Timestamp: -1, LeaderEpoch: epoch, Found: true}, nil
	}
	found, err := log.OffsetForTimestamp(timestamp, bound)
	switch {
	case err != nil:
		return noOffset, err
	case found.Found:
		return found, nil
	case lagging:
		return noOffset, protocol.OffsetNotAvailable
	}
	return noOffset, nil
}

// leading is the log this broker leads, its epoch and where that began.
func (p *Partition) leading(leaderEpoch int32) (log *storage.Log, epoch int32, epochStart int64, err error) {
	p.roleMu.RLock()
	defer p.roleMu.RUnlock()
	if log, err = p.lead(leaderEpoch); err != nil {
		return nil, 0, 0, err
	}
	p.stateMu.Lock()
	defer p.stateMu.Unlock()
	return log, p.role.epoch, p.state.EpochStart, nil
}

// EndOffsetForEpoch answers OffsetForLeaderEpoch: the largest known epoch not above the asked one and
// where it ends; −1, −1 for an epoch later than all known ones and for none. currentEpoch is the
// leader epoch that the client knows, or AnyEpoch. Errors as of Fetch.
func (p *Partition) EndOffsetForEpoch(epoch, currentEpoch int32) (storage.EpochEnd, error) {
	log, _, _, err := p.leading(currentEpoch)
	if err != nil {
		return storage.EpochEnd{Epoch: -1, Offset: -1}, err
	}
	return log.EndOffsetForEpoch(epoch), nil
}

// HighWatermarkOffset, as DeleteRecords' argument, asks for everything that can be deleted.
const HighWatermarkOffset int64 = -1

// DeleteRecords raises the log start to offset, if that is above it, and is the partition's low
// watermark. Errors: NOT_LEADER_OR_FOLLOWER, OFFSET_OUT_OF_RANGE beyond the high watermark or below
// −1, POLICY_VIOLATION on a topic that is only compacted, INVALID_TOPIC_EXCEPTION on an internal one,
// KAFKA_STORAGE_ERROR.
func (p *Partition) DeleteRecords(offset int64) (lowWatermark int64, err error) {
	if internalTopic(p.tp.Topic) {
		return -1, &protocol.Fault{Code: protocol.InvalidTopicException, Message: "the records of internal topic " + p.tp.Topic + " cannot be deleted"}
	}
	log, _, _, err := p.leading(AnyEpoch)
	if err != nil {
		return -1, err
	}
	if c := p.Config(); c.CleanupCompact && !c.CleanupDelete {
		return -1, &protocol.Fault{Code: protocol.PolicyViolation, Message: "the records of " + p.tp.String() + " cannot be deleted: cleanup.policy is compact"}
	}
	start, err := log.DeleteRecordsBefore(offset)
	if err != nil {
		return -1, err
	}
	p.stateMu.Lock()
	defer p.stateMu.Unlock()
	return p.state.LowWatermark(start, p.m.alive), nil
}

// internalTopic reports whether Kafka keeps its own state in the topic.
func internalTopic(name string) bool {
	return name == "__consumer_offsets" || name == "__transaction_state" || name == "__share_group_state"
}

// Producers lists the producers that the leader knows, by id. NOT_LEADER_OR_FOLLOWER elsewhere.
func (p *Partition) Producers() ([]storage.ProducerState, error) {
	log, _, _, err := p.leading(AnyEpoch)
	if err != nil {
		return nil, err
	}
	return log.Producers(), nil
}
