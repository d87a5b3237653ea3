package classic

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol"
)

// Versions of JoinGroup from which something is new.
const (
	joinNeedsKnownID = 4 // KIP-394: a dynamic member comes back with the id it was given
	joinCanSkip      = 9 // KIP-814: a leader can be told not to assign
)

// Join decides a JoinGroup request. Every answer, also one at once, is in the outcome's replies.
func (gs *Groups) Join(c Call, req *kmsg.JoinGroupRequest) group.Outcome {
	var o group.Outcome
	j := join{Groups: gs, Call: c, o: &o, req: req}
	if s := j.session(); s < c.Config.SessionMin || s > c.Config.SessionMax {
		j.refuse(protocol.InvalidSessionTimeout)
		return o
	}
	g := gs.byID[req.Group]
	if g == nil {
		if req.MemberID != "" {
			j.refuse(protocol.UnknownMemberID)
			return o
		}
		g = gs.Ensure(req.Group, c.Now)
		o.Records = append(o.Records, group.MetadataRecord(g.ID, g.stored()))
		o.Refused = func(_ time.Time, code protocol.ErrorCode) group.Outcome { return gs.unmake(g, code) }
	}
	j.g = g
	j.protocols = make([]Protocol, 0, len(req.Protocols))
	for _, p := range req.Protocols {
		if p.Name == "" {
			continue // could not be told from a group without a protocol
		}
		j.protocols = append(j.protocols, Protocol{p.Name, clone(p.Metadata)})
	}
	j.decide()
	return o
}

// unmake takes back a group that could not be written; nobody but its first member knows of it.
func (gs *Groups) unmake(g *Group, code protocol.ErrorCode) group.Outcome {
	var o group.Outcome
	for _, m := range g.inOrder() {
		o.Reply(g.takeJoin(m), joinError(m.ID, code))
		o.Cancel(group.MemberTimer, g.ID, m.ID)
	}
	for id := range g.pending {
		o.Cancel(group.MemberTimer, g.ID, id)
	}
	o.Cancel(group.JoinTimer, g.ID, "")
	delete(gs.byID, g.ID)
	return o
}

// join is one JoinGroup being decided.
type join struct {
	*Groups
	Call
	o         *group.Outcome
	g         *Group
	req       *kmsg.JoinGroupRequest
	protocols []Protocol
}

func (j *join) session() time.Duration {
	return time.Duration(j.req.SessionTimeoutMillis) * time.Millisecond
}

// rebalance is the rebalance timeout; version 0 has none and the session stands in.
func (j *join) rebalance() time.Duration {
	if j.req.Version < 1 || j.req.RebalanceTimeoutMillis == group.None {
		return j.session()
	}
	return time.Duration(j.req.RebalanceTimeoutMillis) * time.Millisecond
}

func (j *join) refuse(code protocol.ErrorCode) {
	j.o.Reply(j.Token, joinError(j.req.MemberID, code))
}

func (j *join) decide() {
	g := j.g
	switch {
	case !j.hasRoom():
		g.drop(j.req.MemberID)
		j.o.Reply(j.Token, joinError("", protocol.GroupMaxSizeReached))
	case g.State == Dead:
		j.refuse(protocol.CoordinatorNotAvailable)
	case !g.takes(j.req.ProtocolType, j.protocols):
		j.refuse(protocol.InconsistentGroupProtocol)
	case j.req.MemberID == "" && j.req.InstanceID != nil:
		j.static()
	case j.req.MemberID == "" && j.req.Version >= joinNeedsKnownID:
		j.handOutID()
	case j.req.MemberID == "":
		j.newMember(j.ClientID + "-" + j.Unique)
	case g.pending[j.req.MemberID] && j.req.InstanceID != nil:
		j.refuse(protocol.UnknownServerError) // a pending id was never given to a static member
	case g.pending[j.req.MemberID]:
		j.newMember(j.req.MemberID)
	default:
		j.rejoin()
	}
}

// hasRoom applies group.max.size. While a group gathers, members that wait are counted, so that a group that has
// become too large sheds those that come last.
func (j *join) hasRoom() bool {
	g, m := j.g, j.g.members[j.req.MemberID]
	switch g.State {
	case PreparingRebalance:
		return m != nil && m.joining != 0 || g.awaiting < j.Config.MaxSize
	case CompletingRebalance, Stable:
		return m != nil || len(g.members) < j.Config.MaxSize
	default:
		return true
	}
}

// handOutID answers MEMBER_ID_REQUIRED; the id is kept for one session.
func (j *join) handOutID() {
	id := j.ClientID + "-" + j.Unique
	if j.g.pending == nil {
		j.g.pending = map[string]bool{}
	}
	j.g.pending[id] = true
	j.o.Arm(group.MemberTimer, j.g.ID, id, j.Now.Add(j.session()))
	j.o.Reply(j.Token, joinError(id, protocol.MemberIDRequired))
}

func (j *join) newMember(id string) {
	g := j.g
	j.joins++
	m := &Member{
		ID: id, Instance: deref(j.req.InstanceID), ClientID: j.ClientID, Host: j.Host,
		Session: j.session(), Rebalance: j.rebalance(), Protocols: j.protocols, Assignment: []byte{},
		order: j.joins, isNew: true, joining: j.Token,
	}
	if g.State == PreparingRebalance && g.previous == Empty {
		g.arrived = true
	}
	g.add(m, j.req.ProtocolType)
	j.o.Arm(group.MemberTimer, g.ID, id, j.Now.Add(newMemberTimeout))
	j.rebalanceOrComplete(j.o, g, j.Now, j.Config, "member "+id+" is new, "+reason(j.req.Reason))
}

// rejoin is a known member coming back.
func (j *join) rejoin() {
	g := j.g
	if code := g.checkMember(j.req.MemberID, j.req.InstanceID); code != protocol.None {
		j.refuse(code)
		return
	}
	m := g.members[j.req.MemberID]
	same := m.offers(j.protocols)
	switch {
	case g.State == Empty:
		j.refuse(protocol.UnknownMemberID)
	case g.State == CompletingRebalance && same, g.State == Stable && same && g.Leader != m.ID:
		// The answer to its join was lost, or a follower has nothing new to say.
		j.o.Reply(j.Token, g.joined(m, g.State == CompletingRebalance))
	default:
		j.update(m)
		j.rebalanceOrComplete(j.o, g, j.Now, j.Config, "member "+m.ID+" joins again, "+reason(j.req.Reason))
	}
}

// update takes over what a member offers now and parks its join.
func (j *join) update(m *Member) {
	j.g.offer(m, j.protocols, j.session(), j.rebalance())
	if old := j.g.park(m, j.Token); old != 0 {
		j.o.Reply(old, joinError(m.ID, protocol.RebalanceInProgress)) // its connection has gone
	}
}

// joined is the answer to a join that succeeded. A leader learns what all members said.
func (g *Group) joined(m *Member, leads bool) *kmsg.JoinGroupResponse {
	r := kmsg.NewPtrJoinGroupResponse()
	r.MemberID, r.Generation, r.LeaderID = m.ID, g.Generation, g.Leader
	r.ProtocolType, r.Protocol = stringOrNil(g.Type), stringOrNil(g.Protocol)
	if !leads || g.Leader != m.ID {
		return r
	}
	for _, x := range g.inOrder() {
		r.Members = append(r.Members, kmsg.JoinGroupResponseMember{
			MemberID: x.ID, InstanceID: stringOrNil(x.Instance), ProtocolMetadata: x.metadata(g.Protocol),
		})
	}
	return r
}
