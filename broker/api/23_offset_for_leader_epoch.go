package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/storage"
)

// OffsetForLeaderEpoch 2 to 4 (KIP-101, KIP-279, KIP-320).
//
//   - Where the asked leader epoch, or the last known one before it, ends; -1 and -1 for an epoch that the log
//     knows nothing of. v3: who asks, a replica or a consumer; v4: tagged fields.
func (h *handlers) offsetForLeaderEpoch(_ context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.OffsetForLeaderEpochRequest)
	resp := r.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
	for i := range r.Topics {
		in := &r.Topics[i]
		out := kmsg.NewOffsetForLeaderEpochResponseTopic()
		out.Topic = in.Topic
		for _, p := range in.Partitions {
			o := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			o.Partition, o.LeaderEpoch, o.EndOffset = p.Partition, -1, -1
			part, err := h.partition(protocol.TopicPartition{Topic: in.Topic, Partition: p.Partition})
			if err == nil {
				var end storage.EpochEnd
				end, err = part.EndOffsetForEpoch(p.LeaderEpoch, p.CurrentLeaderEpoch)
				o.LeaderEpoch, o.EndOffset = end.Epoch, end.Offset
			}
			if err != nil {
				o.LeaderEpoch, o.EndOffset, o.ErrorCode = -1, -1, int16(protocol.CodeOf(err))
			}
			out.Partitions = append(out.Partitions, o)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return Body(resp), nil
}
