package consumer

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
)

// classicType is the protocol type of consumers in the classic protocol.
const classicType = "consumer"

// staying lists who is left when some have gone and one has joined.
func (g *Group) staying(gone []*Member, joined *Member) []*Member {
	var ms []*Member
	for _, m := range g.sorted() {
		if !slices.Contains(gone, m) && (joined == nil || m.ID != joined.ID) {
			ms = append(ms, m)
		}
	}
	if joined != nil {
		ms = append(ms, joined)
	}
	return ms
}

// canDowngrade says whether the group becomes a classic one: when nobody is left who speaks the new protocol.
func (g *Group) canDowngrade(c Config, gone []*Member, joined *Member) bool {
	ms := g.staying(gone, joined)
	if !c.Downgrade || len(ms) == 0 || len(ms) > c.ClassicMaxSize {
		return false
	}
	return !slices.ContainsFunc(ms, func(m *Member) bool { return m.Classic == nil }) && commonProtocol(ms) != ""
}

// commonProtocol is the first that all offer, as the first member sees it; "" if there is none.
func commonProtocol(ms []*Member) string {
	for _, p := range ms[0].Classic.Protocols {
		if !slices.ContainsFunc(ms, func(m *Member) bool { return m.offer(p.Name) == nil }) {
			return p.Name
		}
	}
	return ""
}

// offer is a protocol that a member on the classic protocol offers, nil if it does not.
func (m *Member) offer(name string) *Protocol {
	for i := range m.Classic.Protocols {
		if p := &m.Classic.Protocols[i]; p.Name == name {
			return p
		}
	}
	return nil
}

// downgrade writes the group anew as a classic one, stable at the generation of its epoch. Its members have to join
// again then, unless it is the last of them that has just done so.
func (g *Group) downgrade(c Call, o *group.Outcome, gone []*Member, joined *Member) {
	ms := g.staying(gone, joined)
	var more []string
	if joined != nil && g.members[joined.ID] == nil {
		more = append(more, joined.ID)
	}
	o.Records = append(o.Records, g.tombstones(more)...)
	v := kmsg.NewGroupMetadataValue()
	chosen := commonProtocol(ms)
	v.ProtocolType, v.Generation, v.Protocol, v.Leader = classicType, g.Epoch, &chosen, &ms[0].ID
	v.CurrentStateTimestamp = c.Now.UnixMilli()
	for _, m := range ms {
		rebalance := m.RebalanceMs
		v.Members = append(v.Members, kmsg.GroupMetadataValueMember{
			MemberID: m.ID, InstanceID: stringOrNil(m.Instance), ClientID: m.ClientID, ClientHost: m.Host,
			RebalanceTimeoutMillis: rebalance, SessionTimeoutMillis: m.Classic.SessionMs,
			Subscription: m.offer(chosen).Metadata, Assignment: m.classicAssignment(c.Topics),
		})
	}
	o.Records = append(o.Records, group.MetadataRecord(g.ID, &v))
	for _, m := range slices.Concat(gone, ms) {
		cancelTimers(o, g.ID, m.ID)
	}
	for _, m := range ms {
		o.Arm(group.MemberTimer, g.ID, m.ID, c.Now.Add(millis(m.Classic.SessionMs)))
	}
	if joined == nil {
		o.Arm(group.DowngradeTimer, g.ID, "", c.Now)
	}
	o.Note(g.ID, "The group has become a classic one in generation %d", g.Epoch)
}

// classicAssignment is what the member has, as classic consumers read it.
func (m *Member) classicAssignment(topics Topics) []byte {
	a := kmsg.NewConsumerMemberAssignment()
	a.Version = metadataVersion(m.Classic.Protocols[0].Metadata)
	ps := m.Assigned.Partitions()
	for _, id := range ps.Topics() {
		if t, ok := topics.ByID(id); ok {
			a.Topics = append(a.Topics, kmsg.ConsumerMemberAssignmentTopic{Topic: t.Name, Partitions: ps[id]})
		}
	}
	slices.SortFunc(a.Topics, func(x, y kmsg.ConsumerMemberAssignmentTopic) int {
		if x.Topic < y.Topic {
			return -1
		}
		return 1
	})
	return a.AppendTo(nil)
}
