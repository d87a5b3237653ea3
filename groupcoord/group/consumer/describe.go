package consumer

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/groupcoord/group/assign"
	"github.com/ottla/ottla/protocol"
)

// typeName is the kind of group and the protocol type in ListGroups.
const typeName = "consumer"

// Types of members in ConsumerGroupDescribe (KIP-1099).
const (
	typeClassic  = 0
	typeConsumer = 1
)

// Describe is the group as ConsumerGroupDescribe shows it. What a member is to give up counts as its own.
func (g *Group) Describe(c Config, topics Topics) kmsg.ConsumerGroupDescribeResponseGroup {
	r := kmsg.NewConsumerGroupDescribeResponseGroup()
	members := g.sorted()
	r.Group, r.State, r.Epoch, r.AssignmentEpoch = g.ID, g.State(), g.Epoch, g.AssignmentEpoch
	r.AssignorName = preferred(c, members)
	for _, m := range members {
		x := kmsg.NewConsumerGroupDescribeResponseGroupMember()
		x.MemberID, x.InstanceID, x.RackID, x.MemberEpoch = m.ID, stringOrNil(m.Instance), stringOrNil(m.Rack), m.Epoch
		x.ClientID, x.ClientHost, x.SubscribedTopics = m.ClientID, m.Host, m.Topics
		x.SubscribedTopicRegex = &m.Regex
		x.Assignment = described(topics, m.Assigned.Partitions(), m.Revoking.Partitions())
		x.TargetAssignment = described(topics, g.target[m.ID], nil)
		x.MemberType = typeConsumer
		if m.Classic != nil {
			x.MemberType = typeClassic
		}
		r.Members = append(r.Members, x)
	}
	return r
}

func described(topics Topics, sets ...assign.Partitions) kmsg.Assignment {
	var a kmsg.Assignment
	all := assign.Partitions{}
	for _, ps := range sets {
		for t, of := range ps {
			all[t] = slices.Concat(all[t], of)
			slices.Sort(all[t])
		}
	}
	for _, id := range all.Topics() {
		if t, ok := topics.ByID(id); ok {
			a.TopicPartitions = append(a.TopicPartitions, kmsg.AssignmentTopicPartition{TopicID: id, Topic: t.Name, Partitions: all[id]})
		}
	}
	return a
}

// Listed is the group as ListGroups shows it, if it passes the filters. They ignore case; an empty one passes all.
func (g *Group) Listed(states, types []string) (kmsg.ListGroupsResponseGroup, bool) {
	r := kmsg.NewListGroupsResponseGroup()
	r.Group, r.ProtocolType, r.GroupState, r.GroupType = g.ID, typeName, g.State(), typeName
	return r, passes(states, r.GroupState) && passes(types, typeName)
}

func passes(filter []string, name string) bool {
	return len(filter) == 0 || slices.ContainsFunc(filter, func(f string) bool { return strings.EqualFold(f, name) })
}

// commitByEpoch is the version of OffsetCommit from which the generation is a member epoch.
const commitByEpoch = 9

// CheckCommit says whether offsets may be committed by who claims to be this member. each, if not nil, says so for
// single partitions: a member that is behind may still commit what it has had since then.
func (g *Group) CheckCommit(version int16, member string, epoch int32, transactional bool) (code protocol.ErrorCode, each func(protocol.UUID, int32) protocol.ErrorCode) {
	switch {
	case epoch < 0 && len(g.members) == 0:
		return protocol.None, nil
	case transactional && epoch < 0 && member == "":
		return protocol.None, nil
	}
	m := g.members[member]
	switch {
	case m == nil:
		return protocol.UnknownMemberID, nil
	case !transactional && m.Classic == nil && version < commitByEpoch:
		return protocol.UnsupportedVersion, nil
	case epoch == m.Epoch:
		return protocol.None, nil
	case m.Classic != nil:
		return protocol.IllegalGeneration, nil
	case epoch > m.Epoch:
		return protocol.StaleMemberEpoch, nil
	}
	return protocol.None, func(t protocol.UUID, p int32) protocol.ErrorCode {
		for _, c := range [...]Claim{m.Assigned, m.Revoking} {
			if since, ok := c[t][p]; ok && epoch >= since {
				return protocol.None
			}
		}
		return protocol.StaleMemberEpoch
	}
}

// CheckFetch says whether who claims to be this member may read offsets; without a claim everybody may.
func (g *Group) CheckFetch(member *string, epoch int32) protocol.ErrorCode {
	if member == nil && epoch < 0 {
		return protocol.None
	}
	m := g.members[deref(member)]
	switch {
	case m == nil:
		return protocol.UnknownMemberID
	case m.Epoch == epoch:
		return protocol.None
	case m.Classic != nil:
		return protocol.IllegalGeneration
	}
	return protocol.StaleMemberEpoch
}

// CheckDelete says whether the group may be deleted.
func (g *Group) CheckDelete() protocol.ErrorCode {
	if len(g.members) > 0 {
		return protocol.NonEmptyGroup
	}
	return protocol.None
}

// CheckDeleteOffsets says whether single offsets may be deleted: those of topics that nobody reads.
func (g *Group) CheckDeleteOffsets() protocol.ErrorCode { return protocol.None }

// Retention says that each commit ages by itself.
func (g *Group) Retention() (since int64, ok bool) { return group.None, true }
