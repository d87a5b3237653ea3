package catalog

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

// AlterPartitionReassignments 0 and 1 (KIP-455): partitions get other replicas, or an ongoing move is cancelled.
func (c *Catalog) AlterPartitionReassignments(r *kmsg.AlterPartitionAssignmentsRequest) (*kmsg.AlterPartitionAssignmentsResponse, Result, error) {
	resp := r.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
	resp.AllowReplicationFactorChange = r.AllowReplicationFactorChange || r.Version < 1
	var records []metadata.Record
	for _, t := range r.Topics {
		out := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		out.Topic = t.Topic
		for i := range t.Partitions {
			rec, err := c.reassign(t.Topic, &t.Partitions[i], resp.AllowReplicationFactorChange)
			p := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			p.Partition, p.ErrorCode, p.ErrorMessage = t.Partitions[i].Partition, int16(protocol.CodeOf(err)), protocol.MessageOf(err)
			out.Partitions = append(out.Partitions, p)
			if rec != nil {
				records = append(records, rec)
			}
		}
		resp.Topics = append(resp.Topics, out)
	}
	if err := tooMany(records); err != nil {
		return nil, Result{}, err
	}
	if len(resp.Topics) == 0 {
		resp.ErrorMessage = new(string) // Kafka leaves the field's default
	}
	return resp, Result{Records: records}, nil
}

func (c *Catalog) reassign(topic string, r *kmsg.AlterPartitionAssignmentsRequestTopicPartition, factorMayChange bool) (*msg.PartitionChangeRecord, error) {
	t := c.settle().Topic(topic)
	p := t.Partition(r.Partition)
	switch {
	case t == nil:
		return nil, fault(protocol.UnknownTopicOrPartition, "Unable to find a topic named %s.", topic)
	case p == nil:
		return nil, fault(protocol.UnknownTopicOrPartition, "Unable to find partition %s:%d.", topic, r.Partition)
	case r.Replicas == nil:
		return c.cancelReassignment(t, r.Partition)
	}
	if err := c.checkAssignment(r.Replicas, 0); err != nil {
		return nil, err
	}
	if now := len(without(p.Replicas, p.Removing...)); !factorMayChange && now != len(r.Replicas) {
		return nil, fault(protocol.InvalidReplicationFactor, "The replication factor is changed from %d to %d", now, len(r.Replicas))
	}
	removing := slices.Sorted(slices.Values(without(p.Replicas, r.Replicas...)))
	adding := slices.Sorted(slices.Values(without(r.Replicas, p.Replicas...)))
	ch := c.changeOf(t, r.Partition)
	ch.replicas = append(slices.Clone(r.Replicas), removing...)
	if len(removing) > 0 {
		ch.removing = removing
	}
	if len(adding) > 0 {
		ch.adding = adding
	}
	return ch.build(), nil
}

// cancelReassignment goes back to the replicas before it.
func (c *Catalog) cancelReassignment(t *metadata.Topic, number int32) (*msg.PartitionChangeRecord, error) {
	p := t.Partitions[number]
	if !p.Reassigning() {
		return nil, protocol.NoReassignmentInProgress
	}
	replicas, isr := without(p.Replicas, p.Adding...), without(p.ISR, p.Adding...)
	unclean := c.uncleanAllowed(t.Name)
	switch {
	case len(isr) == 0 && len(replicas) == 0:
		return nil, fault(protocol.InvalidReplicaAssignment, "All replicas of %s:%d are being added", t.Name, number)
	case len(isr) == 0 && !unclean:
		return nil, fault(protocol.InvalidReplicaAssignment, "Going back to the former replicas of %s:%d would need an unclean leader election", t.Name, number)
	case len(isr) == 0:
		isr = replicas[:1]
	}
	ch := c.changeOf(t, number)
	if unclean {
		ch.election = electUnclean
	}
	ch.isr, ch.replicas, ch.removing, ch.adding = isr, replicas, nil, nil
	return ch.build(), nil
}

// ListPartitionReassignments 0: the moves that are going on.
func (c *Catalog) ListPartitionReassignments(r *kmsg.ListPartitionReassignmentsRequest) *kmsg.ListPartitionReassignmentsResponse {
	resp := r.ResponseKind().(*kmsg.ListPartitionReassignmentsResponse)
	add := func(t *metadata.Topic, numbers []int32) {
		out := kmsg.NewListPartitionReassignmentsResponseTopic()
		for _, n := range numbers {
			if p := t.Partition(n); p != nil && p.Reassigning() {
				o := kmsg.NewListPartitionReassignmentsResponseTopicPartition()
				o.Partition, o.Replicas = n, slices.Clone(p.Replicas)
				o.AddingReplicas, o.RemovingReplicas = slices.Clone(p.Adding), slices.Clone(p.Removing)
				out.Partitions = append(out.Partitions, o)
			}
		}
		if len(out.Partitions) > 0 {
			out.Topic = t.Name
			resp.Topics = append(resp.Topics, out)
		}
	}
	if r.Topics == nil {
		for t := range c.settle().Topics() {
			numbers := make([]int32, len(t.Partitions))
			for n := range numbers {
				numbers[n] = int32(n)
			}
			add(t, numbers)
		}
		return resp
	}
	for _, want := range r.Topics {
		if t := c.settle().Topic(want.Topic); t != nil {
			add(t, want.Partitions)
		}
	}
	return resp
}
