package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// commitByID is the version of OffsetCommit and OffsetFetch from which topics go by id.
const commitByID = 10

// OffsetCommit 2 to 10.
//
//   - v2 to v4: a retention of its own; v6: leader epochs (KIP-320); v7: group instance id (KIP-345); v9: the
//     member epoch of the new consumers (KIP-848); v10: topic ids (KIP-848).
//   - Partitions that do not exist are refused here, before the coordinator: UNKNOWN_TOPIC_OR_PARTITION or
//     UNKNOWN_TOPIC_ID. They come first in the answer.
//   - The topic's id is stored with the offset also when the client named the topic.
func (h *handlers) offsetCommit(ctx context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.OffsetCommitRequest)
	resp := r.ResponseKind().(*kmsg.OffsetCommitResponse)
	image := h.Metadata()
	known := *r
	known.Topics = make([]kmsg.OffsetCommitRequestTopic, 0, len(r.Topics))
	for i := range r.Topics {
		asked := &r.Topics[i]
		t, code := findTopic(image, asked.Topic, asked.TopicID, r.Version >= commitByID)
		if t == nil {
			refuseCommit(resp, asked, code, asked.Partitions)
			continue
		}
		good := kmsg.OffsetCommitRequestTopic{Topic: t.Name, TopicID: t.ID, Partitions: asked.Partitions}
		if !allExist(t, asked.Partitions) {
			good.Partitions = nil
			var bad []kmsg.OffsetCommitRequestTopicPartition
			for _, p := range asked.Partitions {
				if t.Partition(p.Partition) != nil {
					good.Partitions = append(good.Partitions, p)
				} else {
					bad = append(bad, p)
				}
			}
			refuseCommit(resp, asked, protocol.UnknownTopicOrPartition, bad)
		}
		if len(good.Partitions) > 0 {
			known.Topics = append(known.Topics, good)
		}
	}
	if len(known.Topics) > 0 {
		mergeCommit(resp, h.Groups.OffsetCommit(ctx, &known), r.Version >= commitByID)
	}
	return Body(resp), nil
}

func refuseCommit(resp *kmsg.OffsetCommitResponse, t *kmsg.OffsetCommitRequestTopic, code protocol.ErrorCode, ps []kmsg.OffsetCommitRequestTopicPartition) {
	rt := kmsg.OffsetCommitResponseTopic{Topic: t.Topic, TopicID: t.TopicID}
	for _, p := range ps {
		rt.Partitions = append(rt.Partitions, kmsg.OffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: int16(code)})
	}
	resp.Topics = append(resp.Topics, rt)
}

// mergeCommit adds the coordinator's results behind those refused before, one entry a topic.
func mergeCommit(resp, more *kmsg.OffsetCommitResponse, byID bool) {
	refused := len(resp.Topics)
next:
	for _, t := range more.Topics {
		for i := range resp.Topics[:refused] {
			if have := &resp.Topics[i]; byID && have.TopicID == t.TopicID || !byID && have.Topic == t.Topic {
				have.Partitions = append(have.Partitions, t.Partitions...)
				continue next
			}
		}
		resp.Topics = append(resp.Topics, t)
	}
}
