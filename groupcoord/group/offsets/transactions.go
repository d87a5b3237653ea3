package offsets

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol"
)

// RefuseTransactional answers every partition of a request with one error.
func RefuseTransactional(req *kmsg.TxnOffsetCommitRequest, code protocol.ErrorCode) *kmsg.TxnOffsetCommitResponse {
	r := kmsg.NewPtrTxnOffsetCommitResponse()
	for _, t := range req.Topics {
		rt := kmsg.TxnOffsetCommitResponseTopic{Topic: t.Topic, TopicID: t.TopicID}
		for _, p := range t.Partitions {
			rt.Partitions = append(rt.Partitions, kmsg.TxnOffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: int16(code)})
		}
		r.Topics = append(r.Topics, rt)
	}
	return r
}

// leaderEpochVersion is the version of TxnOffsetCommit from which commits have a leader epoch.
const leaderEpochVersion = 2

// CommitTransactional decides a TxnOffsetCommit request of somebody who may commit. The offsets are pending until the
// producer's marker comes. guard is for the log.
func (s *Store) CommitTransactional(now time.Time, metadataMax int, req *kmsg.TxnOffsetCommitRequest, guard uint64) (group.Outcome, *kmsg.TxnOffsetCommitResponse) {
	o := group.Outcome{Alone: true}
	r := RefuseTransactional(req, protocol.None)
	for i := range req.Topics {
		t := &req.Topics[i]
		for j := range t.Partitions {
			p := &t.Partitions[j]
			if tooLong(p.Metadata, metadataMax) {
				r.Topics[i].Partitions[j].ErrorCode = int16(protocol.OffsetMetadataTooLarge)
				continue
			}
			c := group.Committed{
				Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, CommitTimestamp: now.UnixMilli(), ExpireTimestamp: group.None, TopicID: t.TopicID,
			}
			if p.Metadata != nil {
				c.Metadata = *p.Metadata
			}
			if req.Version < leaderEpochVersion {
				c.LeaderEpoch = group.None
			}
			rec := group.OffsetRecord(group.OffsetKey{Group: req.Group, Topic: t.Topic, Partition: p.Partition}, c)
			rec.ProducerID, rec.ProducerEpoch, rec.Guard = req.ProducerID, req.ProducerEpoch, guard
			o.Records = append(o.Records, rec)
		}
	}
	return o, r
}
