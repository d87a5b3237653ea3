package classic

import (
	"time"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol"
)

// static is a join with an instance id and without a member id (KIP-345): a new static member, or another process
// that takes the place of a known one.
func (j *join) static() {
	g := j.g
	id := *j.req.InstanceID + "-" + j.Unique
	m := g.members[g.static[*j.req.InstanceID]]
	if m == nil {
		j.newMember(id)
		return
	}
	before := replaced{Member: *m, leader: g.Leader}
	j.replace(m, id)
	j.update(m)
	switch g.State {
	case Stable:
		if g.vote() == g.Protocol {
			j.o.Note(g.ID, "Member %s takes the place of %s in generation %d", m.ID, before.ID, g.Generation)
			j.takeOver(m, before)
			return
		}
		j.prepare(j.o, g, j.Now, j.Config, "member "+m.ID+" takes the place of "+before.ID+" with another protocol")
	case CompletingRebalance:
		// The old id may already be with the leader for assignment; the new one would get nothing.
		j.prepare(j.o, g, j.Now, j.Config, "member "+m.ID+" takes the place of "+before.ID)
	default:
		j.maybeCompleteJoin(j.o, g, j.Now, j.Config)
	}
}

// replaced is what a replacement is undone with.
type replaced struct {
	Member
	leader string
}

// replace gives the member a new id; whoever still waits under the old one is fenced.
func (j *join) replace(m *Member, id string) {
	old := m.ID
	j.o.Reply(j.g.takeJoin(m), joinError(old, protocol.FencedInstanceID))
	j.o.Reply(takeSync(m), syncError(protocol.FencedInstanceID))
	j.g.rename(m, id)
	j.o.Cancel(group.MemberTimer, j.g.ID, old)
	j.o.Arm(group.MemberTimer, j.g.ID, id, j.Now.Add(m.Session))
}

// takeOver hands the running generation to the new process without a rebalance: only the new id is written.
func (j *join) takeOver(m *Member, before replaced) {
	g := j.g
	r := g.joined(m, false)
	if j.req.Version >= joinCanSkip {
		r = g.joined(m, true)
		r.SkipAssignment = g.Leader == m.ID
	} else {
		// An old client that finds itself leader would assign: it is told that the old id leads.
		r.LeaderID = before.leader
	}
	j.o.Reply(g.takeJoin(m), r)
	j.o.Records = append(j.o.Records, group.MetadataRecord(g.ID, g.stored()))
	j.o.Refused = func(now time.Time, _ protocol.ErrorCode) group.Outcome {
		var o group.Outcome
		o.Cancel(group.MemberTimer, g.ID, m.ID)
		g.offer(m, before.Protocols, before.Session, before.Rebalance)
		g.rename(m, before.ID)
		o.Arm(group.MemberTimer, g.ID, m.ID, now.Add(m.Session))
		return o
	}
}
