package consumer

import (
	"encoding/binary"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/groupcoord/group/assign"
	"github.com/ottla/ottla/groupcoord/group/classic"
)

// Upgrade makes a consumer group of a classic one with members, as it was before its last rebalance: its epochs are
// the generation, and every member has what it was assigned. The records turn the one into the other. Nil for a
// group that cannot be: its members are no consumers, or too many, or the policy is against it.
func Upgrade(c Call, from *classic.Group) (*Group, group.Outcome) {
	var o group.Outcome
	if !c.Config.Upgrade || from.Type != classicType || from.Size() > c.Config.MaxSize {
		return nil, o
	}
	g := newGroup(from.ID)
	g.Epoch, g.AssignmentEpoch = from.Generation, from.Generation
	for _, x := range from.Members() {
		m := upgraded(c.Topics, from, x)
		if m == nil {
			return nil, o
		}
		g.members[m.ID] = m
		g.target[m.ID] = m.Assigned.Partitions()
		if m.Instance != "" {
			g.static[m.Instance] = m.ID
		}
		for t, of := range m.Assigned {
			for p := range of {
				g.owners[owned{t, p}] = m.ID
			}
		}
		o.Arm(group.MemberTimer, g.ID, m.ID, c.Now.Add(x.Session))
	}
	o.Records = append(o.Records, group.MetadataTombstone(g.ID))
	for _, m := range g.sorted() {
		o.Records = append(o.Records, g.memberRecord(m))
	}
	o.Records = append(o.Records, g.epochRecord(g.Epoch, 0))
	for _, m := range g.sorted() {
		o.Records = append(o.Records, g.targetRecord(m.ID, g.target[m.ID]))
	}
	o.Records = append(o.Records, g.assignmentRecord(g.AssignmentEpoch, 0))
	for _, m := range g.sorted() {
		o.Records = append(o.Records, g.currentRecord(m))
	}
	o.Note(g.ID, "The group has become one of the consumer protocol, in epoch %d", g.Epoch)
	return g, o
}

// upgraded is a member as the consumer group has it; nil if it cannot be told what it subscribes to or has.
func upgraded(topics Topics, from *classic.Group, x *classic.Member) *Member {
	sub, err := parseSubscription(from.Metadata(x))
	if err != nil {
		return nil
	}
	m := &Member{
		ID: x.ID, Instance: x.Instance, ClientID: x.ClientID, Host: x.Host, Rack: deref(sub.Rack),
		Topics: names(sub.Topics), RebalanceMs: int32(x.Rebalance.Milliseconds()),
		Classic: &Classic{SessionMs: int32(x.Session.Milliseconds())},
		Epoch:   from.Generation, Previous: from.Generation, Assigned: Claim{}, Revoking: Claim{},
	}
	for _, p := range x.Protocols {
		if s, err := parseSubscription(p.Metadata); err != nil || !plainUserData(p.Name, s.UserData) {
			return nil
		}
		m.Classic.Protocols = append(m.Classic.Protocols, Protocol{p.Name, slices.Clone(p.Metadata)})
	}
	if len(m.Classic.Protocols) == 0 {
		return nil
	}
	has, ok := parseAssignment(topics, x.Assignment)
	if !ok {
		return nil
	}
	for t, ps := range has {
		for _, p := range ps {
			m.Assigned.set(t, p, m.Epoch)
		}
	}
	return m
}

// plainUserData says whether an assignor runs without what only the consumers themselves understand. Those that come
// with Kafka use it as a hint.
func plainUserData(assignor string, data []byte) bool {
	return len(data) == 0 || slices.Contains([]string{"range", "roundrobin", "sticky", "cooperative-sticky"}, assignor)
}

func parseAssignment(topics Topics, b []byte) (assign.Partitions, bool) {
	ps := assign.Partitions{}
	if len(b) == 0 {
		return ps, true // it has not been assigned anything yet
	}
	if len(b) < 2 || int16(binary.BigEndian.Uint16(b)) < 0 {
		return nil, false
	}
	b = slices.Clone(b)
	binary.BigEndian.PutUint16(b, uint16(metadataVersion(b)))
	a := kmsg.NewConsumerMemberAssignment()
	if a.ReadFrom(b) != nil {
		return nil, false
	}
	for _, t := range a.Topics {
		idsOf(topics, t.Topic, t.Partitions, ps)
	}
	return ps, true
}
