package classic

import (
	"bytes"
	"encoding/binary"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// consumerType is the protocol type whose metadata Kafka looks into, for the topics only.
const consumerType = "consumer"

// Apply takes over a group record: what is logged of the group becomes what it says. Members known already keep
// what is not logged (the protocols that were not chosen).
func (gs *Groups) Apply(id string, v *kmsg.GroupMetadataValue) {
	if v == nil {
		if g := gs.byID[id]; g != nil {
			g.State = Dead // for whoever still holds it
			delete(gs.byID, id)
		}
		return
	}
	g := gs.byID[id]
	if g == nil {
		g = newGroup(id, time.UnixMilli(v.CurrentStateTimestamp))
		gs.byID[id] = g
	}
	if g.State != Stable && g.Generation == v.Generation && len(v.Members) == 0 {
		// Such a record only says that the group exists: emptying it makes a new generation. A first join may be
		// under way already.
		if g.State == Empty {
			g.Since, g.Type = v.CurrentStateTimestamp, v.ProtocolType
		}
		return
	}
	gs.replace(g, v)
}

func (gs *Groups) replace(g *Group, v *kmsg.GroupMetadataValue) {
	g.Generation, g.Type = v.Generation, v.ProtocolType
	g.Protocol, g.Leader = deref(v.Protocol), deref(v.Leader)
	g.previous, g.State, g.Since = g.State, Empty, v.CurrentStateTimestamp
	if len(v.Members) > 0 {
		g.State = Stable
	}
	before := g.members
	g.members = make(map[string]*Member, len(v.Members))
	g.static, g.offered, g.awaiting = nil, nil, 0
	leader := g.Leader
	for i := range v.Members {
		x := &v.Members[i]
		m := before[x.MemberID]
		if m == nil || !m.isStored(x, g.Protocol) {
			m = gs.restore(x, g.Protocol)
		}
		m.Assignment = clone(x.Assignment)
		g.add(m, g.Type)
	}
	g.Leader = leader
	if len(g.members) == 0 {
		g.unsynced = nil
	}
	g.topics = g.subscribed()
}

// isStored says whether the member in memory is the one of the record: live it is, on load it may be its former self.
func (m *Member) isStored(x *kmsg.GroupMetadataValueMember, chosen string) bool {
	md := m.metadata(chosen)
	return md != nil && bytes.Equal(md, x.Subscription) && m.Session.Milliseconds() == int64(x.SessionTimeoutMillis) &&
		m.Rebalance.Milliseconds() == int64(x.RebalanceTimeoutMillis)
}

// restore makes a member of what the log knows of it.
func (gs *Groups) restore(x *kmsg.GroupMetadataValueMember, chosen string) *Member {
	gs.joins++
	return &Member{
		ID: x.MemberID, Instance: deref(x.InstanceID), ClientID: x.ClientID, Host: x.ClientHost,
		Rebalance: time.Duration(x.RebalanceTimeoutMillis) * time.Millisecond,
		Session:   time.Duration(x.SessionTimeoutMillis) * time.Millisecond,
		Protocols: []Protocol{{chosen, clone(x.Subscription)}},
		order:     gs.joins,
	}
}

// clone is a copy that is never nil: the request or log it came in is used again.
func clone(b []byte) []byte { return append([]byte{}, b...) }

// stored is the group as its record has it.
func (g *Group) stored() *kmsg.GroupMetadataValue {
	v := kmsg.NewGroupMetadataValue()
	v.ProtocolType, v.Generation, v.CurrentStateTimestamp = g.Type, g.Generation, g.Since
	v.Protocol, v.Leader = stringOrNil(g.Protocol), stringOrNil(g.Leader)
	if g.Protocol == "" {
		v.Leader = nil
		return &v
	}
	for _, m := range g.inOrder() {
		v.Members = append(v.Members, kmsg.GroupMetadataValueMember{
			MemberID: m.ID, InstanceID: stringOrNil(m.Instance), ClientID: m.ClientID, ClientHost: m.Host,
			RebalanceTimeoutMillis: int32(m.Rebalance.Milliseconds()),
			SessionTimeoutMillis:   int32(m.Session.Milliseconds()),
			Subscription:           m.metadata(g.Protocol), Assignment: m.Assignment,
		})
	}
	return &v
}

// subscribed is the topics that the members of a group of consumers name under the chosen protocol; nil if that
// cannot be told.
func (g *Group) subscribed() map[string]bool {
	if g.Type != consumerType || (g.Protocol == "" && len(g.members) > 0) {
		return nil
	}
	topics := map[string]bool{}
	for _, m := range g.members {
		if !subscription(m.metadata(g.Protocol), topics) {
			return nil
		}
	}
	return topics
}

// subscription adds the topics of one ConsumerProtocolSubscription, of which only the part that all versions
// share is read. False if it is not one.
func subscription(b []byte, into map[string]bool) bool {
	const fixed = 2 + 4 // version, count of topics
	if len(b) < fixed || int16(binary.BigEndian.Uint16(b)) < 0 {
		return false
	}
	n := int32(binary.BigEndian.Uint32(b[2:]))
	b = b[fixed:]
	for ; n > 0; n-- {
		if len(b) < 2 {
			return false
		}
		size := int(int16(binary.BigEndian.Uint16(b)))
		if size < 0 || len(b)-2 < size {
			return false
		}
		into[string(b[2:2+size])] = true
		b = b[2+size:]
	}
	return n == 0
}
