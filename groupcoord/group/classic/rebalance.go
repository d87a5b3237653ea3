package classic

import (
	"time"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol"
)

// rebalanceOrComplete follows a member's join: a rebalance begins, or the one that waits for it may be complete.
func (gs *Groups) rebalanceOrComplete(o *group.Outcome, g *Group, now time.Time, c Config, why string) {
	if g.State == PreparingRebalance {
		gs.maybeCompleteJoin(o, g, now, c)
		return
	}
	gs.prepare(o, g, now, c, why)
}

// prepare begins a rebalance: all members have to join again.
func (gs *Groups) prepare(o *group.Outcome, g *Group, now time.Time, c Config, why string) {
	o.Note(g.ID, "Rebalancing after generation %d: %s", g.Generation, why)
	if g.State == CompletingRebalance {
		for _, m := range g.inOrder() {
			m.Assignment = []byte{}
			if m.syncing != 0 {
				o.Reply(takeSync(m), syncError(protocol.RebalanceInProgress))
				o.Arm(group.MemberTimer, g.ID, m.ID, now.Add(m.Session))
			}
		}
	}
	o.Cancel(group.SyncTimer, g.ID, "")
	first := g.State == Empty
	g.enter(PreparingRebalance, now)
	if !first {
		gs.completeJoinOrWait(o, g, now, c)
		return
	}
	g.initial, g.arrived = true, false
	g.portion = c.InitialDelay
	g.left = max(g.rebalanceTimeout()-c.InitialDelay, 0)
	o.Arm(group.JoinTimer, g.ID, "", now.Add(g.portion))
}

// completeJoinOrWait ends the join phase if nobody is missing, and else when the slowest member's time is up.
func (gs *Groups) completeJoinOrWait(o *group.Outcome, g *Group, now time.Time, c Config) {
	if g.everybodyJoined() {
		gs.completeJoin(o, g, now, c)
		return
	}
	o.Arm(group.JoinTimer, g.ID, "", now.Add(g.rebalanceTimeout()))
}

// maybeCompleteJoin ends the join phase if it waits for nobody; the initial delay is waited out in any case.
func (gs *Groups) maybeCompleteJoin(o *group.Outcome, g *Group, now time.Time, c Config) {
	if g.State == PreparingRebalance && g.previous != Empty && g.everybodyJoined() {
		gs.completeJoin(o, g, now, c)
	}
}

// joinTimeUp is the join timer: a portion of the initial delay has passed, or the time to join.
func (gs *Groups) joinTimeUp(o *group.Outcome, g *Group, now time.Time, c Config) {
	if g.State != PreparingRebalance {
		return
	}
	if g.initial && g.arrived && g.left > 0 {
		g.arrived = false
		next := min(c.InitialDelay, g.left)
		g.left = max(g.left-g.portion, 0)
		g.portion = next
		o.Arm(group.JoinTimer, g.ID, "", now.Add(next))
		return
	}
	gs.completeJoin(o, g, now, c)
}

// completeJoin ends the join phase: who did not come is out (static members stay until their session ends), and those
// who came get the next generation.
func (gs *Groups) completeJoin(o *group.Outcome, g *Group, now time.Time, c Config) {
	g.initial = false
	o.Cancel(group.JoinTimer, g.ID, "")
	for _, m := range g.inOrder() {
		if m.joining == 0 && m.Instance == "" {
			o.Note(g.ID, "Member %s did not join again in time", m.ID)
			gs.removeMember(o, g, m)
		}
	}
	switch {
	case len(g.members) == 0:
		gs.becomeEmpty(o, g, now)
	case !g.electJoined():
		o.Arm(group.JoinTimer, g.ID, "", now.Add(g.rebalanceTimeout())) // all static, all silent
	default:
		gs.nextGeneration(o, g, now)
	}
}

// electJoined makes sure that the leader is one who came; false if nobody did.
func (g *Group) electJoined() bool {
	if m := g.members[g.Leader]; m != nil && m.joining != 0 {
		return true
	}
	for _, m := range g.inOrder() {
		if m.joining != 0 {
			g.Leader = m.ID
			return true
		}
	}
	return false
}

// becomeEmpty writes that nobody is left.
func (gs *Groups) becomeEmpty(o *group.Outcome, g *Group, now time.Time) {
	empty := func(now time.Time) {
		g.Generation, g.Protocol, g.Leader = g.Generation+1, "", ""
		g.unsynced = nil
		g.topics = g.subscribed()
		g.enter(Empty, now)
	}
	after := *g
	after.Generation, after.Protocol, after.Leader, after.Since = g.Generation+1, "", "", now.UnixMilli()
	o.Note(g.ID, "Generation %d is empty", after.Generation)
	o.Records = append(o.Records, group.MetadataRecord(g.ID, after.stored()))
	o.Refused = func(now time.Time, _ protocol.ErrorCode) group.Outcome {
		empty(now) // nothing of it needs the log: the next generation is written when there is one
		return group.Outcome{}
	}
}

// nextGeneration answers all who joined. Members that did not (static ones) keep their place.
func (gs *Groups) nextGeneration(o *group.Outcome, g *Group, now time.Time) {
	g.Generation++
	g.Protocol = g.vote()
	g.topics = g.subscribed()
	g.enter(CompletingRebalance, now)
	g.unsynced = map[string]bool{}
	o.Note(g.ID, "Generation %d has %d members, led by %s, protocol %s", g.Generation, len(g.members), g.Leader, g.Protocol)
	for _, m := range g.inOrder() {
		if m.joining != 0 {
			o.Reply(g.takeJoin(m), g.joined(m, true))
		}
		m.isNew = false
		g.unsynced[m.ID] = true
		o.Arm(group.MemberTimer, g.ID, m.ID, now.Add(m.Session))
	}
	o.Arm(group.SyncTimer, g.ID, "", now.Add(g.rebalanceTimeout()))
}

// syncTimeUp removes the members that never asked for their assignment.
func (gs *Groups) syncTimeUp(o *group.Outcome, g *Group, now time.Time, c Config) {
	if (g.State != CompletingRebalance && g.State != Stable) || len(g.unsynced) == 0 {
		return
	}
	for _, m := range g.inOrder() {
		if g.unsynced[m.ID] {
			o.Note(g.ID, "Member %s did not ask for its assignment in time", m.ID)
			gs.removeMember(o, g, m)
		}
	}
	gs.prepare(o, g, now, c, "members are missing")
}
