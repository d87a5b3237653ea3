package classic

import (
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol"
)

// Describe is the group as DescribeGroups shows it. The chosen protocol and what the members said under it show in
// a stable group only.
func (g *Group) Describe() kmsg.DescribeGroupsResponseGroup {
	r := kmsg.NewDescribeGroupsResponseGroup()
	r.Group, r.State, r.ProtocolType = g.ID, g.State.String(), g.Type
	if g.State == Stable {
		r.Protocol = g.Protocol
	}
	for _, m := range g.inOrder() {
		x := kmsg.NewDescribeGroupsResponseGroupMember()
		x.MemberID, x.InstanceID, x.ClientID, x.ClientHost = m.ID, stringOrNil(m.Instance), m.ClientID, m.Host
		x.ProtocolMetadata, x.MemberAssignment = []byte{}, m.Assignment
		if md := m.metadata(g.Protocol); g.State == Stable && md != nil {
			x.ProtocolMetadata = md
		}
		r.Members = append(r.Members, x)
	}
	return r
}

// typeName is the kind of group in ListGroups (KIP-848).
const typeName = "classic"

// Listed is the group as ListGroups shows it, if it passes the filters. They ignore case; an empty one passes all.
func (g *Group) Listed(states, types []string) (kmsg.ListGroupsResponseGroup, bool) {
	r := kmsg.NewListGroupsResponseGroup()
	r.Group, r.ProtocolType, r.GroupState, r.GroupType = g.ID, g.Type, g.State.String(), typeName
	return r, passes(states, r.GroupState) && passes(types, typeName)
}

func passes(filter []string, name string) bool {
	for _, f := range filter {
		if strings.EqualFold(f, name) {
			return true
		}
	}
	return len(filter) == 0
}

// CheckCommit says whether offsets may be committed by who claims to be this member. The generation -1 is that of
// clients that use groups for their offsets only.
func (g *Group) CheckCommit(member string, instance *string, generation int32, transactional bool) protocol.ErrorCode {
	if g.State == Dead {
		return protocol.CoordinatorNotAvailable
	}
	if generation < 0 && g.State == Empty {
		return protocol.None
	}
	switch {
	case generation >= 0 || member != "" || instance != nil:
		if code := g.checkMember(member, instance); code != protocol.None {
			return code
		}
		if generation != g.Generation {
			return protocol.IllegalGeneration
		}
	case !transactional && g.State != Empty:
		return protocol.UnknownMemberID
	}
	if !transactional && g.State == CompletingRebalance {
		return protocol.RebalanceInProgress
	}
	return protocol.None
}

// Heard re-arms the session of a member that committed offsets.
func (g *Group) Heard(o *group.Outcome, id string, now time.Time) {
	if m := g.members[id]; m != nil && (g.State == Stable || g.State == PreparingRebalance) {
		o.Arm(group.MemberTimer, g.ID, m.ID, now.Add(m.Session))
	}
}

// CheckDelete says whether the group may be deleted.
func (g *Group) CheckDelete() protocol.ErrorCode {
	switch g.State {
	case Empty:
		return protocol.None
	case Dead:
		return protocol.GroupIDNotFound
	}
	return protocol.NonEmptyGroup
}

// Deserted says that nobody is in the group or about to be: without offsets it can go.
func (g *Group) Deserted() bool { return g.State == Empty && len(g.pending) == 0 }

// CheckDeleteOffsets says whether single offsets may be deleted: of consumers, those of topics nobody reads.
func (g *Group) CheckDeleteOffsets() protocol.ErrorCode {
	switch {
	case g.State == Dead:
		return protocol.GroupIDNotFound
	case g.State != Empty && g.Type != consumerType:
		return protocol.NonEmptyGroup
	}
	return protocol.None
}

// Subscribes says whether a member reads the topic, as far as can be told: members of a group of consumers whose
// subscriptions cannot be read may read any.
func (g *Group) Subscribes(topic string) bool {
	if g.topics == nil {
		return g.Type == consumerType
	}
	return g.topics[topic]
}

// Retention says from when on the retention of the group's offsets counts: fixed, a time in ms, or with
// group.None the time of each commit. ok is false while they do not age.
func (g *Group) Retention() (since int64, ok bool) {
	switch {
	case g.Type == "":
		return group.None, true
	case g.State == Empty:
		return g.Since, true
	case g.Type == consumerType && g.topics != nil && g.State == Stable:
		return group.None, true
	}
	return 0, false
}
