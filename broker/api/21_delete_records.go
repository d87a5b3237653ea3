package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// DeleteRecords 0 to 2 (KIP-107).
//
//   - Records before the offset go, -1 stands for the high watermark. An offset at or below the log's start
//     changes nothing and is no error. The answer gives the low watermark, the log's start.
//   - Topics of the coordinators: INVALID_TOPIC_EXCEPTION; topics whose cleanup policy has no delete:
//     POLICY_VIOLATION.
func (h *handlers) deleteRecords(_ context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.DeleteRecordsRequest)
	resp := r.ResponseKind().(*kmsg.DeleteRecordsResponse)
	for i := range r.Topics {
		in := &r.Topics[i]
		out := kmsg.NewDeleteRecordsResponseTopic()
		out.Topic = in.Topic
		for _, p := range in.Partitions {
			o := kmsg.NewDeleteRecordsResponseTopicPartition()
			o.Partition = p.Partition
			low, err := h.deleteBefore(protocol.TopicPartition{Topic: in.Topic, Partition: p.Partition}, p.Offset)
			if err != nil {
				low = -1
			}
			o.LowWatermark, o.ErrorCode = low, int16(protocol.CodeOf(err))
			out.Partitions = append(out.Partitions, o)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return Body(resp), nil
}

func (h *handlers) deleteBefore(tp protocol.TopicPartition, offset int64) (int64, error) {
	part, err := h.partition(tp)
	if err != nil {
		return -1, err
	}
	return part.DeleteRecords(offset)
}
