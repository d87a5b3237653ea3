package classic

import (
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol"
)

// Heartbeat decides a Heartbeat request.
func (gs *Groups) Heartbeat(now time.Time, req *kmsg.HeartbeatRequest) (group.Outcome, protocol.ErrorCode) {
	var o group.Outcome
	g := gs.byID[req.Group]
	if g == nil {
		return o, protocol.UnknownMemberID
	}
	if g.State == Dead {
		return o, protocol.CoordinatorNotAvailable
	}
	if code := g.checkMember(req.MemberID, req.InstanceID); code != protocol.None {
		return o, code
	}
	if req.Generation != g.Generation {
		return o, protocol.IllegalGeneration
	}
	if g.State == Empty {
		return o, protocol.UnknownMemberID
	}
	m := g.members[req.MemberID]
	o.Arm(group.MemberTimer, g.ID, m.ID, now.Add(m.Session))
	if g.State == PreparingRebalance {
		return o, protocol.RebalanceInProgress
	}
	return o, protocol.None
}

// Leave decides a LeaveGroup request and answers each member by itself. A member can be named by its
// instance id alone (KIP-345).
func (gs *Groups) Leave(now time.Time, c Config, req *kmsg.LeaveGroupRequest) (group.Outcome, *kmsg.LeaveGroupResponse) {
	var o group.Outcome
	r := kmsg.NewPtrLeaveGroupResponse()
	g := gs.byID[req.Group]
	if g != nil && g.State == Dead {
		r.ErrorCode = int16(protocol.CoordinatorNotAvailable)
		return o, r
	}
	anybody := false
	for _, who := range req.Members {
		code := protocol.UnknownMemberID
		if g != nil {
			code = gs.leave(&o, g, who)
		}
		anybody = anybody || code == protocol.None
		r.Members = append(r.Members, kmsg.LeaveGroupResponseMember{
			MemberID: who.MemberID, InstanceID: who.InstanceID, ErrorCode: int16(code),
		})
	}
	if anybody {
		gs.memberGone(&o, g, now, c, "members left")
	}
	return o, r
}

// reason is what a client gives as its reason (KIP-800), for people, cut to a line.
func reason(s *string) string {
	const most = 100
	switch {
	case s == nil || *s == "":
		return "no reason given"
	case len(*s) > most:
		return strconv.QuoteToGraphic((*s)[:most]) + "..."
	}
	return strconv.QuoteToGraphic(*s)
}

func (gs *Groups) leave(o *group.Outcome, g *Group, who kmsg.LeaveGroupRequestMember) protocol.ErrorCode {
	id := who.MemberID
	switch {
	case id == "":
		known := false
		if who.InstanceID != nil {
			id, known = g.static[*who.InstanceID]
		}
		if !known {
			return protocol.UnknownMemberID
		}
	case g.pending[id]:
		g.drop(id)
		o.Cancel(group.MemberTimer, g.ID, id)
		return protocol.None
	default:
		if code := g.checkMember(id, who.InstanceID); code != protocol.None {
			return code
		}
	}
	o.Note(g.ID, "Member %s left: %s", id, reason(who.Reason))
	gs.removeMember(o, g, g.members[id])
	return protocol.None
}
