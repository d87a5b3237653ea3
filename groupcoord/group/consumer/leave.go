package consumer

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol"
)

// leave decides a heartbeat with a negative epoch. A static member that leaves for a while keeps its place until its
// session ends.
func (g *Group) leave(c Call, req *kmsg.ConsumerGroupHeartbeatRequest) (group.Outcome, *kmsg.ConsumerGroupHeartbeatResponse, error) {
	var o group.Outcome
	m := g.members[req.MemberID]
	if req.InstanceID != nil {
		m = g.members[g.static[*req.InstanceID]]
	}
	switch {
	case m == nil && req.InstanceID != nil:
		return o, nil, fault(protocol.UnknownMemberID, "Instance id "+*req.InstanceID+" is unknown.")
	case m == nil:
		return o, nil, fault(protocol.UnknownMemberID, "Member "+req.MemberID+" is not a member of group "+g.ID+".")
	case m.ID != req.MemberID:
		return o, nil, fault(protocol.FencedInstanceID, "Static member "+req.MemberID+" with instance id "+*req.InstanceID+" was fenced by member "+m.ID+".")
	}
	if req.MemberEpoch == epochLeaveStatic {
		away := *m
		away.Previous, away.Epoch, away.Revoking = m.Epoch, epochLeaveStatic, Claim{}
		o.Records = append(o.Records, g.currentRecord(&away))
		o.Note(g.ID, "Static member %s has left for a while", m.ID)
	} else {
		o.Note(g.ID, "Member %s left", m.ID)
		g.remove(c, &o, []*Member{m})
	}
	r := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	r.MemberID, r.MemberEpoch = &m.ID, req.MemberEpoch
	return o, r, nil
}

// Expire carries on after a timer of a group fell due.
func (gs *Groups) Expire(c Call, t group.Timer) group.Outcome {
	var o group.Outcome
	g := gs.byID[t.Group]
	if g == nil || g.members[t.Member] == nil {
		return o
	}
	m := g.members[t.Member]
	switch t.Kind {
	case group.MemberTimer:
		o.Note(g.ID, "The session of member %s ended", m.ID)
	case group.RevokeTimer:
		if m.State != Unrevoked || m.Classic != nil {
			return o
		}
		o.Note(g.ID, "Member %s did not give up its partitions in time", m.ID)
	case group.JoinTimer, group.SyncTimer:
		if m.Classic == nil {
			return o
		}
		o.Note(g.ID, "Member %s of the classic protocol did not %s in time", m.ID, t.Kind)
	default:
		return o
	}
	g.remove(c, &o, []*Member{m})
	return o
}

// remove takes members out. If all who stay speak the classic protocol, the group becomes a classic one.
func (g *Group) remove(c Call, o *group.Outcome, gone []*Member) {
	if g.canDowngrade(c.Config, gone, nil) {
		g.downgrade(c, o, gone, nil)
		return
	}
	left := make([]*Member, 0, len(g.members))
	for _, m := range g.sorted() {
		if slices.Contains(gone, m) {
			o.Records = append(o.Records, g.memberTombstones(m.ID)...)
			cancelTimers(o, g.ID, m.ID)
		} else {
			left = append(left, m)
		}
	}
	for _, m := range gone {
		used := slices.ContainsFunc(left, func(x *Member) bool { return x.Regex == m.Regex })
		if m.Regex != "" && g.regexes[m.Regex] != nil && !used {
			o.Records = append(o.Records, g.regexTombstone(m.Regex))
		}
	}
	hash := metadataHash(c.Topics, subscribed(g, left, g.regexes))
	o.Records = append(o.Records, g.epochRecord(g.Epoch+1, hash))
	o.Note(g.ID, "The group is at epoch %d", g.Epoch+1)
	if len(left) == 0 {
		o.Records = append(o.Records, g.assignmentRecord(g.Epoch+1, 0))
	}
}

func cancelTimers(o *group.Outcome, id, member string) {
	for _, k := range [...]group.TimerKind{group.MemberTimer, group.RevokeTimer, group.JoinTimer, group.SyncTimer} {
		o.Cancel(k, id, member)
	}
}

// Loaded arms the timers of what the log held: every member gets a full session, and full time to give up partitions.
func (gs *Groups) Loaded(now time.Time, config func(id string) Config) group.Outcome {
	var o group.Outcome
	for _, g := range gs.byID {
		c := config(g.ID)
		for _, m := range g.sorted() {
			session := c.Session
			if m.Classic != nil {
				session = millis(m.Classic.SessionMs)
			}
			o.Arm(group.MemberTimer, g.ID, m.ID, now.Add(session))
			if m.State == Unrevoked && m.Classic == nil {
				o.Arm(group.RevokeTimer, g.ID, m.ID, now.Add(millis(m.RebalanceMs)))
			}
		}
	}
	return o
}
