package catalog

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
)

// AlterPartition 2 and 3: a leader proposes its in-sync replicas (KIP-497; broker epochs KIP-841, KIP-903).
func (c *Catalog) AlterPartition(r *kmsg.AlterPartitionRequest) (*kmsg.AlterPartitionResponse, Result, error) {
	if _, err := c.checkEpoch(r.BrokerID, r.BrokerEpoch); err != nil {
		return nil, Result{}, err
	}
	resp := r.ResponseKind().(*kmsg.AlterPartitionResponse)
	var records []metadata.Record
	for i := range r.Topics {
		in := &r.Topics[i]
		out := kmsg.NewAlterPartitionResponseTopic()
		out.TopidID = in.TopicID
		topic := c.settle().TopicByID(in.TopicID)
		for j := range in.Partitions {
			p, rec := c.alterPartition(r, topic, &in.Partitions[j])
			out.Partitions = append(out.Partitions, p)
			if rec != nil {
				records = append(records, rec)
			}
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp, Result{Records: records, Divisible: true}, nil
}

func (c *Catalog) alterPartition(r *kmsg.AlterPartitionRequest, t *metadata.Topic, in *kmsg.AlterPartitionRequestTopicPartition) (kmsg.AlterPartitionResponseTopicPartition, metadata.Record) {
	out := kmsg.NewAlterPartitionResponseTopicPartition()
	out.Partition = in.Partition
	isr := newISR(r.Version, in)
	if code := c.checkAlterPartition(r.BrokerID, t, in, isr); code != protocol.None {
		out.ErrorCode = int16(code)
		return out, nil
	}
	p := t.Partitions[in.Partition]
	ch := c.changeOf(t, in.Partition)
	if c.uncleanAllowed(t.Name) {
		ch.election = electUnclean
	}
	ch.isr = ids(isr)
	ch.recovery = in.LeaderRecoveryState
	rec := ch.build()
	after := p
	if rec != nil {
		var err error
		if after, err = p.Merge(rec); err != nil {
			out.ErrorCode = int16(protocol.UnknownServerError)
			return out, nil
		}
		if rec.Leader != r.BrokerID && rec.Leader != metadata.LeaderUnchanged {
			out.ErrorCode = int16(protocol.NewLeaderElected)
			return out, rec
		}
	}
	out.LeaderID, out.LeaderEpoch, out.ISR = after.Leader, after.LeaderEpoch, slices.Clone(after.ISR)
	out.PartitionEpoch, out.LeaderRecoveryState = after.PartitionEpoch, after.RecoveryState
	if rec == nil {
		return out, nil
	}
	return out, rec
}

// newISR is the proposal with broker epochs; version 2 has none.
func newISR(version int16, in *kmsg.AlterPartitionRequestTopicPartition) []kmsg.AlterPartitionRequestTopicPartitionNewEpochISR {
	if version >= 3 {
		return in.NewEpochISR
	}
	out := make([]kmsg.AlterPartitionRequestTopicPartitionNewEpochISR, len(in.NewISR))
	for i, id := range in.NewISR {
		out[i].BrokerID, out[i].BrokerEpoch = id, -1
	}
	return out
}

func ids(isr []kmsg.AlterPartitionRequestTopicPartitionNewEpochISR) []int32 {
	out := make([]int32, len(isr))
	for i := range isr {
		out[i] = isr[i].BrokerID
	}
	return out
}

// checkAlterPartition has the checks in Kafka's order: what the code tells the leader depends on it.
func (c *Catalog) checkAlterPartition(broker int32, t *metadata.Topic, in *kmsg.AlterPartitionRequestTopicPartition, isr []kmsg.AlterPartitionRequestTopicPartitionNewEpochISR) protocol.ErrorCode {
	if t == nil {
		return protocol.UnknownTopicID
	}
	p := t.Partition(in.Partition)
	if p == nil {
		return protocol.UnknownTopicOrPartition
	}
	members := ids(isr)
	switch {
	case in.LeaderEpoch > p.LeaderEpoch || in.PartitionEpoch > p.PartitionEpoch:
		return protocol.NotController // the leader knows more than this controller: it is not the active one
	case in.LeaderEpoch < p.LeaderEpoch:
		return protocol.FencedLeaderEpoch
	case broker != p.Leader:
		return protocol.InvalidRequest
	case in.PartitionEpoch < p.PartitionEpoch:
		return protocol.InvalidUpdateVersion
	case !subset(members, p.Replicas), !slices.Contains(members, p.Leader):
		return protocol.InvalidRequest
	case in.LeaderRecoveryState != metadata.Recovered && in.LeaderRecoveryState != metadata.Recovering:
		return protocol.InvalidRequest
	case in.LeaderRecoveryState == metadata.Recovering && (len(members) > 1 || p.RecoveryState == metadata.Recovered):
		return protocol.InvalidRequest
	}
	for _, m := range isr {
		b := c.settle().Broker(m.BrokerID)
		if !b.Active() || m.BrokerEpoch != -1 && m.BrokerEpoch != b.Epoch {
			return protocol.IneligibleReplica
		}
	}
	return protocol.None
}

// subset: no member twice, none that is not a replica.
func subset(members, replicas []int32) bool {
	for i, id := range members {
		if !slices.Contains(replicas, id) || slices.Contains(members[:i], id) {
			return false
		}
	}
	return len(members) > 0
}
