package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// OffsetDelete 0 (KIP-496). Offsets of topics that a member subscribes to stay: GROUP_SUBSCRIBED_TO_TOPIC.
func (h *handlers) offsetDelete(ctx context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.OffsetDeleteRequest)
	resp := r.ResponseKind().(*kmsg.OffsetDeleteResponse)
	image := h.Metadata()
	known := *r
	known.Topics = nil
	for _, asked := range r.Topics {
		t := image.Topic(asked.Topic)
		good := kmsg.OffsetDeleteRequestTopic{Topic: asked.Topic}
		bad := kmsg.OffsetDeleteResponseTopic{Topic: asked.Topic}
		for _, p := range asked.Partitions {
			if t != nil && t.Partition(p.Partition) != nil {
				good.Partitions = append(good.Partitions, p)
				continue
			}
			bad.Partitions = append(bad.Partitions, kmsg.OffsetDeleteResponseTopicPartition{
				Partition: p.Partition, ErrorCode: int16(protocol.UnknownTopicOrPartition),
			})
		}
		if t == nil || len(bad.Partitions) > 0 {
			resp.Topics = append(resp.Topics, bad)
		}
		if len(good.Partitions) > 0 {
			known.Topics = append(known.Topics, good)
		}
	}
	got := h.Groups.OffsetDelete(ctx, &known)
	if got.ErrorCode != 0 {
		resp.ErrorCode, resp.Topics = got.ErrorCode, nil
		return Body(resp), nil
	}
	refused := len(resp.Topics)
next:
	for _, t := range got.Topics {
		for i := range resp.Topics[:refused] {
			if resp.Topics[i].Topic == t.Topic {
				resp.Topics[i].Partitions = append(resp.Topics[i].Partitions, t.Partitions...)
				continue next
			}
		}
		resp.Topics = append(resp.Topics, t)
	}
	return Body(resp), nil
}
