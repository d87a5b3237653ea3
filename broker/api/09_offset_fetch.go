package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// OffsetFetch 1 to 10.
//
//   - v2: null topics for all, an error at the top; v5: leader epochs (KIP-320); v7: stable offsets only (KIP-447);
//     v8: many groups (KIP-709); v9: member id and epoch (KIP-848); v10: topic ids (KIP-848).
//   - A partition without an offset, a topic and a group that do not exist are no errors: offset -1, leader epoch
//     -1, metadata "".
//   - A topic id that is not known is UNKNOWN_TOPIC_ID; such topics come last.
func (h *handlers) offsetFetch(ctx context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.OffsetFetchRequest)
	resp := r.ResponseKind().(*kmsg.OffsetFetchResponse)
	if r.Version >= 8 {
		for i := range r.Groups {
			resp.Groups = append(resp.Groups, h.fetchGroup(ctx, r.Version, &r.Groups[i], r.RequireStable))
		}
		return Body(resp), nil
	}
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.MemberEpoch = r.Group, -1
	if r.Topics != nil {
		g.Topics = make([]kmsg.OffsetFetchRequestGroupTopic, 0, len(r.Topics))
	}
	for _, t := range r.Topics {
		g.Topics = append(g.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: t.Topic, Partitions: t.Partitions})
	}
	one := h.fetchGroup(ctx, r.Version, &g, r.RequireStable)
	if r.Version >= 2 {
		resp.ErrorCode = one.ErrorCode
	} else if one.ErrorCode != 0 {
		one.Topics = refuseFetch(r, one.ErrorCode)
	}
	for _, t := range one.Topics {
		rt := kmsg.OffsetFetchResponseTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			rt.Partitions = append(rt.Partitions, kmsg.OffsetFetchResponseTopicPartition{
				Partition: p.Partition, Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, Metadata: p.Metadata, ErrorCode: p.ErrorCode,
			})
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return Body(resp), nil
}

// fetchGroup answers for one group, with topics by name or by id as the version has them.
func (h *handlers) fetchGroup(ctx context.Context, version int16, g *kmsg.OffsetFetchRequestGroup, stable bool) kmsg.OffsetFetchResponseGroup {
	if version < 9 {
		g.MemberID, g.MemberEpoch = nil, -1
	}
	if version < commitByID {
		return h.Groups.OffsetFetch(ctx, g, stable)
	}
	image := h.Metadata()
	known := *g
	var unknown []kmsg.OffsetFetchResponseGroupTopic
	if g.Topics != nil {
		known.Topics = make([]kmsg.OffsetFetchRequestGroupTopic, 0, len(g.Topics))
	}
	for _, asked := range g.Topics {
		if t := image.TopicByID(asked.TopicID); t != nil {
			known.Topics = append(known.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: t.Name, TopicID: t.ID, Partitions: asked.Partitions})
			continue
		}
		rt := kmsg.OffsetFetchResponseGroupTopic{TopicID: asked.TopicID}
		for _, p := range asked.Partitions {
			rt.Partitions = append(rt.Partitions, noOffset(p, protocol.UnknownTopicID))
		}
		unknown = append(unknown, rt)
	}
	r := h.Groups.OffsetFetch(ctx, &known, stable)
	if r.ErrorCode != 0 {
		return r
	}
	named := r.Topics[:0]
	for _, t := range r.Topics {
		if now := image.Topic(t.Topic); now != nil { // of all a group has, those of deleted topics have no id to go by
			t.TopicID = now.ID
			named = append(named, t)
		}
	}
	r.Topics = append(named, unknown...)
	return r
}

func noOffset(partition int32, code protocol.ErrorCode) kmsg.OffsetFetchResponseGroupTopicPartition {
	none := ""
	return kmsg.OffsetFetchResponseGroupTopicPartition{
		Partition: partition, Offset: -1, LeaderEpoch: -1, Metadata: &none, ErrorCode: int16(code),
	}
}

// refuseFetch is the answer of version 1, which has its errors with the partitions only.
func refuseFetch(r *kmsg.OffsetFetchRequest, code int16) []kmsg.OffsetFetchResponseGroupTopic {
	var out []kmsg.OffsetFetchResponseGroupTopic
	for _, t := range r.Topics {
		rt := kmsg.OffsetFetchResponseGroupTopic{Topic: t.Topic}
		for _, p := range t.Partitions {
			rt.Partitions = append(rt.Partitions, noOffset(p, protocol.ErrorCode(code)))
		}
		out = append(out, rt)
	}
	return out
}
