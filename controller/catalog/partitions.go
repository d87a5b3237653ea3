package catalog

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
)

// CreatePartitions 0 to 3 (KIP-195): topics get more partitions, together in one atomic write.
func (c *Catalog) CreatePartitions(r *kmsg.CreatePartitionsRequest) (*kmsg.CreatePartitionsResponse, Result, error) {
	if err := c.checkAdditionalTotal(r); err != nil {
		return nil, Result{}, err
	}
	resp := r.ResponseKind().(*kmsg.CreatePartitionsResponse)
	var records []metadata.Record
	twice := duplicates(r.Topics, func(t kmsg.CreatePartitionsRequestTopic) string { return t.Topic })
	answer := func(name string, err error) {
		out := kmsg.NewCreatePartitionsResponseTopic()
		out.Topic, out.ErrorCode, out.ErrorMessage = name, int16(protocol.CodeOf(err)), protocol.MessageOf(err)
		resp.Topics = append(resp.Topics, out)
	}
	placer := c.newPlacer()
	for i := range r.Topics {
		t := &r.Topics[i]
		if slices.Contains(twice, t.Topic) {
			continue
		}
		recs, err := c.addPartitions(t, placer)
		records = append(records, recs...)
		answer(t.Topic, err)
	}
	for _, name := range twice {
		answer(name, fault(protocol.InvalidRequest, "The topic stands in the request more than once"))
	}
	if err := tooMany(records); err != nil {
		return nil, Result{}, err
	}
	if r.ValidateOnly {
		records = nil
	}
	return resp, Result{Records: records}, nil
}

func (c *Catalog) checkAdditionalTotal(r *kmsg.CreatePartitionsRequest) error {
	total := 0
	for _, t := range r.Topics {
		if topic := c.settle().Topic(t.Topic); topic != nil {
			total += max(0, int(t.Count)-len(topic.Partitions))
		}
		if total > MaxRecords {
			return fault(protocol.PolicyViolation, "The request asks for more than %d additional partitions", MaxRecords)
		}
	}
	return nil
}

func (c *Catalog) addPartitions(r *kmsg.CreatePartitionsRequestTopic, pl *placer) ([]metadata.Record, error) {
	topic := c.settle().Topic(r.Topic)
	if topic == nil {
		return nil, protocol.UnknownTopicOrPartition
	}
	have := len(topic.Partitions)
	more := int(r.Count) - have
	switch {
	case more == 0:
		return nil, fault(protocol.InvalidPartitions, "Topic already has %d partition(s).", have)
	case more < 0:
		return nil, fault(protocol.InvalidPartitions, "The topic %s currently has %d partition(s); %d would not be an increase.", r.Topic, have, r.Count)
	case r.Assignment != nil && len(r.Assignment) != more:
		return nil, fault(protocol.InvalidReplicaAssignment, "%d partition(s) would be added, but %d are assigned", more, len(r.Assignment))
	}
	factor := len(topic.Partitions[0].Replicas)
	var parts []*metadata.Partition
	var err error
	if r.Assignment == nil {
		parts, err = c.place(pl, more, factor)
	} else {
		parts, err = c.assignedMore(r, int32(have), factor)
	}
	if err != nil {
		return nil, err
	}
	records := make([]metadata.Record, len(parts))
	for i, p := range parts {
		records[i] = p.Record(topic.ID, int32(have+i), c.settle().MetadataVersion())
	}
	return records, nil
}

func (c *Catalog) assignedMore(r *kmsg.CreatePartitionsRequestTopic, first int32, factor int) ([]*metadata.Partition, error) {
	parts := make([]*metadata.Partition, len(r.Assignment))
	for i, a := range r.Assignment {
		p, err := c.assigned(first+int32(i), a.Replicas, factor)
		if err != nil {
			return nil, err
		}
		parts[i] = p
	}
	return parts, nil
}
