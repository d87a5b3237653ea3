package classic

import (
	"time"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol"
)

// Members lists the members in the order in which they joined.
func (g *Group) Members() []*Member { return g.inOrder() }

// Metadata is what the member says under the protocol that the group has chosen, or under its own first.
func (g *Group) Metadata(m *Member) []byte {
	if md := m.metadata(g.Protocol); md != nil {
		return md
	}
	if len(m.Protocols) > 0 {
		return m.Protocols[0].Metadata
	}
	return nil
}

// HandOver answers everybody who waits in the group, which is about to become one of another kind: they join again.
func (gs *Groups) HandOver(o *group.Outcome, g *Group) {
	for _, m := range g.inOrder() {
		o.Reply(g.takeJoin(m), joinError(m.ID, protocol.RebalanceInProgress))
		o.Reply(takeSync(m), syncError(protocol.RebalanceInProgress))
	}
	for id := range g.pending {
		o.Cancel(group.MemberTimer, g.ID, id)
	}
	o.Cancel(group.JoinTimer, g.ID, "")
	o.Cancel(group.SyncTimer, g.ID, "")
}

// Downgraded begins the rebalance of a group that was one of another kind until a moment ago.
func (gs *Groups) Downgraded(now time.Time, c Config, id string) group.Outcome {
	var o group.Outcome
	if g := gs.byID[id]; g != nil && g.State == Stable {
		gs.prepare(&o, g, now, c, "the group was one of the consumer protocol")
	}
	return o
}
