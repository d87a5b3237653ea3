package classic

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol"
)

// newMemberTimeout is how long a member may wait in its first join: it has no id to send heartbeats with yet.
const newMemberTimeout = 5 * time.Minute

// noGeneration is the generation of answers that give none.
const noGeneration = -1

// Config is what the rules need of the broker's settings, as they are now.
type Config struct {
	SessionMin, SessionMax time.Duration // group.min/max.session.timeout.ms
	InitialDelay           time.Duration // group.initial.rebalance.delay.ms
	MaxSize                int           // group.max.size
}

// Call is the circumstances of one request.
type Call struct {
	Now      time.Time
	Config   Config
	ClientID string
	Host     string // "/1.2.3.4"
	// Unique is a fresh random text (a UUID) for a member id, should one be needed.
	Unique string
	// Token names the request if it has to wait.
	Token group.Token
}

// Groups is all classic groups of one shard.
type Groups struct {
	byID  map[string]*Group
	joins uint64 // members ever made, for their order
}

// NewGroups is an empty shard.
func NewGroups() *Groups { return &Groups{byID: map[string]*Group{}} }

// Get returns a group or nil.
func (gs *Groups) Get(id string) *Group { return gs.byID[id] }

// All iterates over the groups in no order.
func (gs *Groups) All(yield func(*Group) bool) {
	for _, g := range gs.byID {
		if !yield(g) {
			return
		}
	}
}

// Ensure returns a group, made empty if it is not there: committed offsets make a so-called simple group.
func (gs *Groups) Ensure(id string, now time.Time) *Group {
	g := gs.byID[id]
	if g == nil {
		g = newGroup(id, now)
		gs.byID[id] = g
	}
	return g
}

// Loaded arms the timers of what the log held: a coordinator that has just taken over gives every member a
// full session. Groups above the size limit are rebalanced.
func (gs *Groups) Loaded(now time.Time, c Config) group.Outcome {
	var o group.Outcome
	for _, g := range gs.byID {
		for _, m := range g.inOrder() {
			o.Arm(group.MemberTimer, g.ID, m.ID, now.Add(m.Session))
		}
		if len(g.members) > c.MaxSize {
			gs.prepare(&o, g, now, c, "it has more members than group.max.size")
		}
	}
	return o
}

// Expire carries on after a timer fell due.
func (gs *Groups) Expire(now time.Time, c Config, t group.Timer) group.Outcome {
	var o group.Outcome
	g := gs.byID[t.Group]
	if g == nil || g.State == Dead {
		return o
	}
	switch t.Kind {
	case group.MemberTimer:
		gs.expireMember(&o, g, t.Member, now, c)
	case group.JoinTimer:
		gs.joinTimeUp(&o, g, now, c)
	case group.SyncTimer:
		gs.syncTimeUp(&o, g, now, c)
	}
	return o
}

// expireMember is the end of a session.
func (gs *Groups) expireMember(o *group.Outcome, g *Group, id string, now time.Time, c Config) {
	if g.pending[id] {
		o.Note(g.ID, "Member id %s was not used in time", id)
		g.drop(id)
		gs.maybeCompleteJoin(o, g, now, c)
		return
	}
	m := g.members[id]
	if m == nil || !m.isNew && (m.joining != 0 || m.syncing != 0) {
		return // who waits for the others is alive; the timer is armed again when it is answered
	}
	o.Note(g.ID, "The session of member %s ended", id)
	gs.removeMember(o, g, m)
	gs.memberGone(o, g, now, c, "a session ended")
}

// removeMember takes a member away and answers what it has parked: it has to join anew, if it still lives.
func (gs *Groups) removeMember(o *group.Outcome, g *Group, m *Member) {
	o.Reply(g.takeJoin(m), joinError("", protocol.UnknownMemberID))
	o.Reply(takeSync(m), syncError(protocol.UnknownMemberID))
	g.drop(m.ID)
	o.Cancel(group.MemberTimer, g.ID, m.ID)
}

// memberGone is what follows for those who stay.
func (gs *Groups) memberGone(o *group.Outcome, g *Group, now time.Time, c Config, why string) {
	switch g.State {
	case Stable, CompletingRebalance:
		gs.prepare(o, g, now, c, why)
	case PreparingRebalance:
		gs.maybeCompleteJoin(o, g, now, c)
	}
}

// checkMember says whether somebody is who he claims to be: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID or nothing.
func (g *Group) checkMember(id string, instance *string) protocol.ErrorCode {
	if instance != nil {
		current, known := g.static[*instance]
		switch {
		case !known:
			return protocol.UnknownMemberID
		case current != id:
			return protocol.FencedInstanceID
		}
	}
	if g.members[id] == nil {
		return protocol.UnknownMemberID
	}
	return protocol.None
}

func joinError(member string, code protocol.ErrorCode) *kmsg.JoinGroupResponse {
	r := kmsg.NewPtrJoinGroupResponse()
	r.ErrorCode, r.MemberID, r.Generation = int16(code), member, noGeneration
	return r
}

func syncError(code protocol.ErrorCode) *kmsg.SyncGroupResponse {
	r := kmsg.NewPtrSyncGroupResponse()
	r.ErrorCode, r.MemberAssignment = int16(code), []byte{}
	return r
}

func stringOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
