package consumer

import (
	"fmt"
	"slices"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/groupcoord/group/assign"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

// record makes a record of Kafka's schemas; a nil value is a tombstone. All values are version 0.
func record(key msg.Record, value msg.Message) group.Record {
	r := group.Record{ProducerID: group.NoProducer}
	k, err := msg.AppendKey(nil, key)
	if err == nil && value != nil {
		r.Value, err = msg.AppendValue(nil, value, 0)
	}
	if err != nil {
		panic(fmt.Sprintf("BUG: record of a consumer group: %v", err)) // version 0 carries every field that is set here
	}
	r.Key = k
	return r
}

func (g *Group) epochRecord(epoch int32, hash int64) group.Record {
	return record(&msg.ConsumerGroupMetadataKey{GroupID: g.ID}, &msg.ConsumerGroupMetadataValue{Epoch: epoch, MetadataHash: hash})
}

func (g *Group) memberRecord(m *Member) group.Record {
	v := msg.NewConsumerGroupMemberMetadataValue()
	v.InstanceID, v.RackID = stringOrNil(m.Instance), stringOrNil(m.Rack)
	v.ClientID, v.ClientHost = m.ClientID, m.Host
	v.SubscribedTopicNames, v.SubscribedTopicRegex = m.Topics, &m.Regex
	v.RebalanceTimeoutMs, v.ServerAssignor = m.RebalanceMs, stringOrNil(m.Assignor)
	v.ClassicMemberMetadata = nil // an absent one would mean a classic member
	if m.Classic != nil {
		c := &msg.ConsumerGroupMemberMetadataValueClassicMemberMetadata{SessionTimeoutMs: m.Classic.SessionMs}
		for _, p := range m.Classic.Protocols {
			c.SupportedProtocols = append(c.SupportedProtocols, msg.ConsumerGroupMemberMetadataValueClassicProtocol{Name: p.Name, Metadata: p.Metadata})
		}
		v.ClassicMemberMetadata = c
	}
	return record(&msg.ConsumerGroupMemberMetadataKey{GroupID: g.ID, MemberID: m.ID}, v)
}

func (g *Group) assignmentRecord(epoch int32, at int64) group.Record {
	return record(&msg.ConsumerGroupTargetAssignmentMetadataKey{GroupID: g.ID},
		&msg.ConsumerGroupTargetAssignmentMetadataValue{AssignmentEpoch: epoch, AssignmentTimestamp: at})
}

func (g *Group) targetRecord(member string, ps assign.Partitions) group.Record {
	v := &msg.ConsumerGroupTargetAssignmentMemberValue{}
	for _, t := range ps.Topics() {
		v.TopicPartitions = append(v.TopicPartitions, msg.ConsumerGroupTargetAssignmentMemberValueTopicPartition{TopicID: t, Partitions: ps[t]})
	}
	return record(&msg.ConsumerGroupTargetAssignmentMemberKey{GroupID: g.ID, MemberID: member}, v)
}

func (g *Group) currentRecord(m *Member) group.Record {
	v := &msg.ConsumerGroupCurrentMemberAssignmentValue{
		MemberEpoch: m.Epoch, PreviousMemberEpoch: m.Previous, State: int8(m.State),
		AssignedPartitions: stored(m.Assigned), PartitionsPendingRevocation: stored(m.Revoking),
	}
	return record(&msg.ConsumerGroupCurrentMemberAssignmentKey{GroupID: g.ID, MemberID: m.ID}, v)
}

func (g *Group) regexRecord(pattern string, r *Regex) group.Record {
	return record(&msg.ConsumerGroupRegularExpressionKey{GroupID: g.ID, RegularExpression: pattern},
		&msg.ConsumerGroupRegularExpressionValue{Topics: r.Topics, Version: r.Version, Timestamp: r.Timestamp})
}

func stored(c Claim) []msg.ConsumerGroupCurrentMemberAssignmentValueTopicPartitions {
	var out []msg.ConsumerGroupCurrentMemberAssignmentValueTopicPartitions
	ps := c.Partitions()
	for _, t := range ps.Topics() {
		x := msg.ConsumerGroupCurrentMemberAssignmentValueTopicPartitions{TopicID: t, Partitions: ps[t], AssignmentEpochs: make([]int32, len(ps[t]))}
		for i, p := range ps[t] {
			x.AssignmentEpochs[i] = c[t][p]
		}
		out = append(out, x)
	}
	return out
}

func (g *Group) regexTombstone(pattern string) group.Record {
	return record(&msg.ConsumerGroupRegularExpressionKey{GroupID: g.ID, RegularExpression: pattern}, nil)
}

// memberTombstones removes a member. The order matters to whoever replays them.
func (g *Group) memberTombstones(member string) []group.Record {
	return []group.Record{
		record(&msg.ConsumerGroupCurrentMemberAssignmentKey{GroupID: g.ID, MemberID: member}, nil),
		record(&msg.ConsumerGroupTargetAssignmentMemberKey{GroupID: g.ID, MemberID: member}, nil),
		record(&msg.ConsumerGroupMemberMetadataKey{GroupID: g.ID, MemberID: member}, nil),
	}
}

// Tombstones removes the group.
func (g *Group) Tombstones() []group.Record { return g.tombstones(nil) }

// tombstones removes the group with further members that only records not applied yet have made.
func (g *Group) tombstones(more []string) []group.Record {
	var rs []group.Record
	ids := slices.Clone(more)
	for _, m := range g.sorted() {
		ids = append(ids, m.ID)
	}
	for _, id := range ids {
		rs = append(rs, record(&msg.ConsumerGroupCurrentMemberAssignmentKey{GroupID: g.ID, MemberID: id}, nil))
	}
	for _, id := range ids {
		rs = append(rs, record(&msg.ConsumerGroupTargetAssignmentMemberKey{GroupID: g.ID, MemberID: id}, nil))
	}
	rs = append(rs, record(&msg.ConsumerGroupTargetAssignmentMetadataKey{GroupID: g.ID}, nil))
	for _, id := range ids {
		rs = append(rs, record(&msg.ConsumerGroupMemberMetadataKey{GroupID: g.ID, MemberID: id}, nil))
	}
	patterns := make([]string, 0, len(g.regexes))
	for p := range g.regexes {
		patterns = append(patterns, p)
	}
	slices.Sort(patterns)
	for _, p := range patterns {
		rs = append(rs, g.regexTombstone(p))
	}
	return append(rs, record(&msg.ConsumerGroupMetadataKey{GroupID: g.ID}, nil))
}

func claimOf(ts []msg.ConsumerGroupCurrentMemberAssignmentValueTopicPartitions, epoch int32) Claim {
	c := make(Claim, len(ts))
	for i := range ts {
		x := &ts[i]
		for j, p := range x.Partitions {
			e := epoch // what an older version wrote has no epochs
			if len(x.AssignmentEpochs) == len(x.Partitions) {
				e = x.AssignmentEpochs[j]
			}
			c.set(x.TopicID, p, e)
		}
	}
	return c
}

func partitionsOf(ts []msg.ConsumerGroupTargetAssignmentMemberValueTopicPartition) assign.Partitions {
	ps := make(assign.Partitions, len(ts))
	for i := range ts {
		if n := slices.Clone(ts[i].Partitions); len(n) > 0 {
			slices.Sort(n)
			ps[protocol.UUID(ts[i].TopicID)] = n
		}
	}
	return ps
}

func stringOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
