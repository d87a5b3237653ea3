package classic

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol"
)

// Sync decides a SyncGroup request. The leader's brings the assignments, which are passed on as they are; the
// others wait for them. Every answer, also one at once, is in the outcome's replies.
func (gs *Groups) Sync(c Call, req *kmsg.SyncGroupRequest) group.Outcome {
	var o group.Outcome
	g := gs.byID[req.Group]
	if code := checkSync(g, req); code != protocol.None {
		o.Reply(c.Token, syncError(code))
		return o
	}
	m := g.members[req.MemberID]
	g.synced(&o, m)
	if g.State == Stable {
		o.Arm(group.MemberTimer, g.ID, m.ID, c.Now.Add(m.Session))
		o.Reply(c.Token, g.assigned(m.Assignment))
		return o
	}
	if old := takeSync(m); old != 0 {
		o.Reply(old, syncError(protocol.RebalanceInProgress)) // its connection has gone
	}
	m.syncing = c.Token
	if g.Leader == m.ID {
		gs.assign(&o, g, c, req.GroupAssignment)
	}
	return o
}

func checkSync(g *Group, req *kmsg.SyncGroupRequest) protocol.ErrorCode {
	if g == nil {
		return protocol.UnknownMemberID
	}
	if g.State == Dead {
		return protocol.CoordinatorNotAvailable
	}
	if code := g.checkMember(req.MemberID, req.InstanceID); code != protocol.None {
		return code
	}
	differs := func(said *string, have string) bool { return said != nil && have != "" && *said != have }
	switch {
	case req.Generation != g.Generation:
		return protocol.IllegalGeneration
	case differs(req.ProtocolType, g.Type), differs(req.Protocol, g.Protocol):
		return protocol.InconsistentGroupProtocol
	case g.State == Empty:
		return protocol.UnknownMemberID
	case g.State == PreparingRebalance:
		return protocol.RebalanceInProgress
	}
	return protocol.None
}

// synced notes that a member asked for its assignment.
func (g *Group) synced(o *group.Outcome, m *Member) {
	if !g.unsynced[m.ID] {
		return
	}
	if delete(g.unsynced, m.ID); len(g.unsynced) == 0 {
		o.Cancel(group.SyncTimer, g.ID, "")
	}
}

// assign writes the generation with the leader's assignments; members that it left out get no bytes. When that is
// committed, all who wait are answered.
func (gs *Groups) assign(o *group.Outcome, g *Group, c Call, given []kmsg.SyncGroupRequestGroupAssignment) {
	by := make(map[string][]byte, len(given))
	for _, a := range given {
		by[a.MemberID] = a.MemberAssignment
	}
	v := g.stored()
	for i := range v.Members {
		v.Members[i].Assignment = by[v.Members[i].MemberID]
	}
	generation := g.Generation
	o.Note(g.ID, "The leader %s has assigned generation %d", g.Leader, generation)
	for _, m := range g.inOrder() {
		if m.syncing != 0 {
			o.Reply(takeSync(m), g.assigned(by[m.ID]))
			// A session that ended while its member waited was passed over.
			o.Arm(group.MemberTimer, g.ID, m.ID, c.Now.Add(m.Session))
		}
	}
	o.Records = append(o.Records, group.MetadataRecord(g.ID, v))
	o.Refused = func(now time.Time, _ protocol.ErrorCode) group.Outcome {
		var o group.Outcome
		if g.State == CompletingRebalance && g.Generation == generation {
			gs.prepare(&o, g, now, c.Config, "the assignment could not be written")
		}
		return o
	}
}

func (g *Group) assigned(assignment []byte) *kmsg.SyncGroupResponse {
	r := kmsg.NewPtrSyncGroupResponse()
	r.ProtocolType, r.Protocol = stringOrNil(g.Type), stringOrNil(g.Protocol)
	r.MemberAssignment = clone(assignment)
	return r
}
