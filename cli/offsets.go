package cli

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// Special timestamps of ListOffsets.
const (
	timeLatest                = -1
	timeEarliest              = -2
	timeMax                   = -3 // KIP-734
	timeEarliestLocal         = -4 // KIP-405
	timeLatestTiered          = -5 // KIP-1005
	timeEarliestPendingUpload = -6 // KIP-1023
)

// offsetAnswer is the offset that a partition has for a timestamp; -1 when it has none.
type offsetAnswer struct {
	offset int64
	err    error
}

// listOffsets asks the leaders of the partitions for the offset of one timestamp, special or in milliseconds.
func (c *cluster) listOffsets(tps []protocol.TopicPartition, timestamp int64) (map[protocol.TopicPartition]offsetAnswer, error) {
	answers := map[protocol.TopicPartition]offsetAnswer{}
	if len(tps) == 0 {
		return answers, nil
	}
	req := kmsg.NewPtrListOffsetsRequest()
	req.TimeoutMillis = int32(c.timeout.Milliseconds())
	for _, g := range byTopic(tps) {
		t := kmsg.NewListOffsetsRequestTopic()
		t.Topic = g.topic
		for _, n := range g.partitions {
			p := kmsg.NewListOffsetsRequestTopicPartition()
			p.Partition, p.Timestamp = n, timestamp
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	resp, err := request[*kmsg.ListOffsetsResponse](c, "listOffsets", req)
	if err != nil {
		return nil, err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			answers[protocol.TopicPartition{Topic: t.Topic, Partition: p.Partition}] =
				offsetAnswer{p.Offset, coded(p.ErrorCode, nil)}
		}
	}
	return answers, nil
}

// topicGroup is some partitions of one topic.
type topicGroup struct {
	topic      string
	partitions []int32
}

// byTopic groups partitions by topic for a request, topics and partitions sorted, each partition once.
func byTopic(tps []protocol.TopicPartition) []topicGroup {
	tps = slices.Clone(tps)
	sortPartitions(tps)
	var groups []topicGroup
	for _, tp := range slices.Compact(tps) {
		if n := len(groups); n == 0 || groups[n-1].topic != tp.Topic {
			groups = append(groups, topicGroup{topic: tp.Topic})
		}
		g := &groups[len(groups)-1]
		g.partitions = append(g.partitions, tp.Partition)
	}
	return groups
}

// sortPartitions sorts by topic, then by number.
func sortPartitions(tps []protocol.TopicPartition) {
	slices.SortFunc(tps, func(a, b protocol.TopicPartition) int {
		return cmp.Or(cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
}
