package ottla

import (
	"github.com/ottla/ottla/groupcoord"
	"github.com/ottla/ottla/groupcoord/group/offsets"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/replication"
)

// offsetsTopic holds groups and their offsets.
const offsetsTopic = "__consumer_offsets"

// offsetsLog finds a partition of __consumer_offsets on this broker.
func (n *node) offsetsLog(partition int32) (groupcoord.Log, error) {
	p, err := n.partitions.Partition(protocol.TopicPartition{Topic: offsetsTopic, Partition: partition})
	if err != nil {
		return nil, err
	}
	return p.Coordinator(), nil
}

// offsetsPartitions is how many partitions __consumer_offsets has, 0 while it does not exist.
func (n *node) offsetsPartitions() int32 { return n.partitionsOf(offsetsTopic) }

// partitionsOf is how many partitions a topic has, 0 while it does not exist.
func (n *node) partitionsOf(topic string) int32 {
	if t := n.loader.Current().Topic(topic); t != nil {
		return int32(len(t.Partitions))
	}
	return 0
}

// leadership passes what the partitions report on to the coordinators.
func (n *node) leadership(c replication.Leadership) {
	var coordinator interface {
		OnElection(partition, leaderEpoch int32)
		OnResign(partition, leaderEpoch int32)
	}
	switch c.TopicPartition.Topic {
	case offsetsTopic:
		coordinator = n.groups
	case protocol.TransactionStateTopic:
		coordinator = n.transactions
	default:
		return
	}
	if c.Leading {
		coordinator.OnElection(c.TopicPartition.Partition, c.Epoch)
	} else {
		coordinator.OnResign(c.TopicPartition.Partition, c.Epoch)
	}
}

// groupsPublisher tells the group coordinator of deleted topics.
type groupsPublisher struct{ n *node }

func (groupsPublisher) Name() string { return "group coordinator" }

func (p groupsPublisher) Publish(d *metadata.Delta, _ *metadata.Image) error {
	var gone []offsets.Topic
	for c := range d.Topics() {
		if c.After == nil {
			gone = append(gone, offsets.Topic{Name: c.Before.Name, ID: c.Before.ID})
		}
	}
	if len(gone) > 0 {
		p.n.groups.TopicsDeleted(gone)
	}
	return nil
}
