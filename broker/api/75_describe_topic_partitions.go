package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
)

// DescribeTopicPartitions 0 (KIP-966).
//
//   - Topics come sorted by name, at most ResponsePartitionLimit partitions in all, and a cursor says where
//     the rest begins. No topics means all. A missing topic costs nothing of the limit.
//   - The cursor must name a topic of the request; partitions before it are left out.
func (h *handlers) describeTopicPartitions(_ context.Context, c *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.DescribeTopicPartitionsRequest)
	resp := r.ResponseKind().(*kmsg.DescribeTopicPartitionsResponse)
	limit := int(h.Config().Broker().Int("max.request.partition.size.limit"))
	p := topicPager{view: view{h.Metadata(), c.Conn.Listener}, resp: resp, left: max(1, min(limit, int(r.ResponsePartitionLimit)))}
	if r.Cursor != nil {
		p.from, p.first = r.Cursor.Topic, r.Cursor.Partition
	}
	if p.first < 0 || r.Cursor != nil && len(r.Topics) > 0 && !asksFor(r, p.from) {
		for _, t := range r.Topics {
			resp.Topics = append(resp.Topics, describedTopic(t.Topic, protocol.InvalidRequest))
		}
		return Body(resp), nil
	}
	if len(r.Topics) == 0 {
		p.all()
	} else {
		p.named(r)
	}
	for i := range resp.Topics {
		resp.Topics[i].AuthorizedOperations = topicOperations
	}
	return Body(resp), nil
}

func asksFor(r *kmsg.DescribeTopicPartitionsRequest, topic string) bool {
	return slices.ContainsFunc(r.Topics, func(t kmsg.DescribeTopicPartitionsRequestTopic) bool { return t.Topic == topic })
}

// topicPager fills one page of the answer.
type topicPager struct {
	view
	resp  *kmsg.DescribeTopicPartitionsResponse
	left  int    // partitions that still fit
	from  string // cursor: first topic
	first int32  // and its first partition
}

func (p *topicPager) all() {
	for t := range p.image.TopicsFrom(p.from) {
		if !p.add(t) {
			return
		}
	}
}

func (p *topicPager) named(r *kmsg.DescribeTopicPartitionsRequest) {
	names := make([]string, 0, len(r.Topics))
	for _, t := range r.Topics {
		if t.Topic >= p.from {
			names = append(names, t.Topic)
		}
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		t := p.image.Topic(name)
		if p.left == 0 { // also for what is missing
			p.stopAt(name, 0)
			return
		}
		switch {
		case t != nil:
			if !p.add(t) {
				return
			}
		case protocol.CheckTopicName(name) != nil:
			p.resp.Topics = append(p.resp.Topics, describedTopic(name, protocol.InvalidTopicException))
		default:
			p.resp.Topics = append(p.resp.Topics, describedTopic(name, protocol.UnknownTopicOrPartition))
		}
	}
}

// add describes a topic as far as the page has room; false when the page is full.
func (p *topicPager) add(t *metadata.Topic) bool {
	first := int32(0)
	if t.Name == p.from {
		first = p.first
	}
	if p.left == 0 {
		p.stopAt(t.Name, first)
		return false
	}
	out := describedTopic(t.Name, protocol.None)
	out.TopicID = t.ID
	for n := first; int(n) < len(t.Partitions) && p.left > 0; n++ {
		out.Partitions = append(out.Partitions, p.partition(t.Partitions[n], n))
		first = n + 1
		p.left--
	}
	p.resp.Topics = append(p.resp.Topics, out)
	if int(first) < len(t.Partitions) {
		p.stopAt(t.Name, first)
		return false
	}
	return true
}

func (p *topicPager) stopAt(topic string, partition int32) {
	next := kmsg.NewDescribeTopicPartitionsResponseNextCursor()
	next.Topic, next.Partition = topic, partition
	p.resp.NextCursor = &next
}

func (p *topicPager) partition(in *metadata.Partition, n int32) kmsg.DescribeTopicPartitionsResponseTopicPartition {
	o := kmsg.NewDescribeTopicPartitionsResponseTopicPartition()
	leader, code := p.leader(in)
	o.Partition, o.LeaderID, o.LeaderEpoch, o.ErrorCode = n, leader, in.LeaderEpoch, int16(code)
	o.Replicas, o.ISR, o.OfflineReplicas = in.Replicas, in.ISR, p.offline(in)
	o.EligibleLeaderReplicas, o.LastKnownELR = notNil(in.ELR), notNil(in.LastKnownELR)
	return o
}

// notNil writes an empty list where null would mean "unknown".
func notNil(ids []int32) []int32 {
	if ids == nil {
		return []int32{}
	}
	return ids
}

func describedTopic(name string, code protocol.ErrorCode) kmsg.DescribeTopicPartitionsResponseTopic {
	t := kmsg.NewDescribeTopicPartitionsResponseTopic()
	t.Topic, t.ErrorCode, t.IsInternal = &name, int16(code), protocol.IsInternalTopic(name)
	return t
}
