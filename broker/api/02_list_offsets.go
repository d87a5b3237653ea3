package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/replication"
)

// ListOffsets 1 to 11.
//
//   - v2: isolation; v4: leader epochs, the client's and that of the offset found. The offset for a timestamp
//     is that of the first record, in offset order, that is not older.
//   - Without tiered storage the earliest local offset is the earliest, and the tiered ones are unknown (-1).
//   - Special timestamps newer than the request's version: UNSUPPORTED_VERSION. A partition named twice:
//     INVALID_REQUEST, once.
func (h *handlers) listOffsets(_ context.Context, c *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.ListOffsetsRequest)
	resp := r.ResponseKind().(*kmsg.ListOffsetsResponse)
	twice := repeatedPartitions(r)
	answered := make(map[protocol.TopicPartition]bool, len(twice))
	for i := range r.Topics {
		in := &r.Topics[i]
		out := kmsg.NewListOffsetsResponseTopic()
		out.Topic = in.Topic
		for j := range in.Partitions {
			tp := protocol.TopicPartition{Topic: in.Topic, Partition: in.Partitions[j].Partition}
			o := kmsg.NewListOffsetsResponseTopicPartition()
			o.Partition, o.Timestamp, o.Offset, o.LeaderEpoch = tp.Partition, -1, -1, -1
			if twice[tp] {
				if answered[tp] {
					continue
				}
				answered[tp] = true
				o.ErrorCode = int16(protocol.InvalidRequest)
			} else if err := h.listOffset(r, tp, &in.Partitions[j], &o); err != nil {
				o.ErrorCode = int16(protocol.CodeOf(err))
			}
			out.Partitions = append(out.Partitions, o)
		}
		if len(out.Partitions) > 0 {
			resp.Topics = append(resp.Topics, out)
		}
	}
	return Body(resp), nil
}

// repeatedPartitions are those that the request names more than once.
func repeatedPartitions(r *kmsg.ListOffsetsRequest) map[protocol.TopicPartition]bool {
	seen := make(map[protocol.TopicPartition]bool)
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			tp := protocol.TopicPartition{Topic: r.Topics[i].Topic, Partition: r.Topics[i].Partitions[j].Partition}
			_, again := seen[tp]
			seen[tp] = again
		}
	}
	return seen
}

func (h *handlers) listOffset(r *kmsg.ListOffsetsRequest, tp protocol.TopicPartition, in *kmsg.ListOffsetsRequestTopicPartition, out *kmsg.ListOffsetsResponseTopicPartition) error {
	bound, ok := boundOf(r.IsolationLevel)
	if !ok {
		return protocol.UnknownServerError
	}
	if !knowsTimestamp(r.Version, in.Timestamp) {
		return protocol.UnsupportedVersion
	}
	part, err := h.partition(tp)
	if err != nil {
		return err
	}
	found, err := part.ListOffset(in.Timestamp, bound, in.CurrentLeaderEpoch)
	if protocol.CodeOf(err) == protocol.OffsetNotAvailable && r.Version < 5 {
		err = protocol.LeaderNotAvailable // older clients do not know the other
	}
	if err != nil {
		return err
	}
	out.Offset, out.Timestamp, out.LeaderEpoch = found.Offset, found.Timestamp, found.LeaderEpoch
	return nil
}

// knowsTimestamp says whether a request of that version may ask for the timestamp.
func knowsTimestamp(version int16, ts int64) bool {
	switch {
	case ts >= replication.EarliestTimestamp:
		return true
	case ts == replication.MaxTimestamp:
		return version >= 7
	case ts == replication.EarliestLocalTimestamp:
		return version >= 8
	case ts == replication.LatestTieredTimestamp:
		return version >= 9
	case ts == replication.EarliestPendingUpload:
		return version >= 11
	}
	return false
}
