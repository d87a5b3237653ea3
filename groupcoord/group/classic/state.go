// Package classic holds the rules of the classic group protocol: JoinGroup, SyncGroup, Heartbeat and LeaveGroup as
// Apache Kafka 4.4 answers them (KIP-62, 134, 345, 394, 559, 800, 814).
//
// What is logged of a group (generation, protocol, leader, members, assignments) changes through Apply, live and on load
// alike. A rebalance under way is soft: it lives in memory until the leader's assignment is written, and dies with
// the coordinator. Parked requests are tokens; who gets which answer comes out as data.
//
// Invariants of a group: members, the static index, the protocol counts and the number of members awaiting a join
// agree; a pending id is no member; only a group in PreparingRebalance has members awaiting a join, only one
// in CompletingRebalance has members awaiting a sync.
package classic

import (
	"bytes"
	"slices"
	"time"

	"github.com/ottla/ottla/groupcoord/group"
)

// State of a group, named as on the wire.
type State int8

const (
	Empty State = iota
	PreparingRebalance
	CompletingRebalance
	Stable
	Dead
)

func (s State) String() string {
	return [...]string{"Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead"}[s]
}

// Protocol is one way of assigning that a member offers, with what it has to say under it.
type Protocol struct {
	Name     string
	Metadata []byte // never nil
}

// Member of a group.
type Member struct {
	ID       string
	Instance string // group.instance.id; "" for a dynamic member
	ClientID string
	Host     string

	Rebalance time.Duration
	Session   time.Duration
	Protocols []Protocol // in the member's order of preference
	// Assignment is what the leader gave it in the current generation; never nil.
	Assignment []byte

	order   uint64 // of joining, within the process
	isNew   bool   // has not completed a join yet
	joining group.Token
	syncing group.Token
}

// metadata is what the member says under a protocol, nil if it does not offer it.
func (m *Member) metadata(protocol string) []byte {
	for _, p := range m.Protocols {
		if p.Name == protocol {
			return p.Metadata
		}
	}
	return nil
}

// offers says whether the member's protocols are exactly these, in order and content.
func (m *Member) offers(ps []Protocol) bool {
	return slices.EqualFunc(m.Protocols, ps, func(a, b Protocol) bool {
		return a.Name == b.Name && bytes.Equal(a.Metadata, b.Metadata)
	})
}

// Group is one classic group.
type Group struct {
	ID         string
	State      State
	Since      int64 // when the state was entered, ms; group.None in old records
	Generation int32
	Type       string // protocol type; "" until somebody joined
	Protocol   string // chosen; "" in an empty group
	Leader     string // member id; "" in an empty group

	members  map[string]*Member
	static   map[string]string // instance id to member id
	pending  map[string]bool   // ids handed out and not used yet
	unsynced map[string]bool   // members that have not asked for their assignment in this generation
	offered  map[string]int    // protocol name to number of members that offer it
	awaiting int               // members awaiting a join
	topics   map[string]bool   // what a group of consumers subscribes to; nil if it cannot be told
	previous State             // before State

	// The initial delay of a group that was empty: members are waited for in portions.
	initial bool
	arrived bool          // a member joined during the current portion
	portion time.Duration // the current one
	left    time.Duration // what may follow it
}

func newGroup(id string, now time.Time) *Group {
	return &Group{ID: id, Since: now.UnixMilli(), members: map[string]*Member{}}
}

// Size is the number of members.
func (g *Group) Size() int { return len(g.members) }

// Member returns a member or nil.
func (g *Group) Member(id string) *Member { return g.members[id] }

// inOrder lists the members in the order in which they joined.
func (g *Group) inOrder() []*Member {
	ms := make([]*Member, 0, len(g.members))
	for _, m := range g.members {
		ms = append(ms, m)
	}
	slices.SortFunc(ms, func(a, b *Member) int {
		if a.order < b.order {
			return -1
		}
		return 1
	})
	return ms
}

func (g *Group) enter(s State, now time.Time) {
	g.previous, g.State, g.Since = g.State, s, now.UnixMilli()
}

// add makes m a member; its id was pending or is new.
func (g *Group) add(m *Member, protocolType string) {
	if len(g.members) == 0 {
		g.Type = protocolType
	}
	if g.Leader == "" {
		g.Leader = m.ID
	}
	g.members[m.ID] = m
	g.count(m, +1)
	if m.Instance != "" {
		if g.static == nil {
			g.static = map[string]string{}
		}
		g.static[m.Instance] = m.ID
	}
	if m.joining != 0 {
		g.awaiting++
	}
	delete(g.pending, m.ID)
}

// drop takes a member or pending id away. Its parked requests are the caller's business.
func (g *Group) drop(id string) {
	delete(g.pending, id)
	delete(g.unsynced, id)
	m := g.members[id]
	if m == nil {
		return
	}
	if m.joining != 0 {
		g.awaiting--
	}
	delete(g.members, id)
	g.count(m, -1)
	if m.Instance != "" && g.static[m.Instance] == id {
		delete(g.static, m.Instance)
	}
	if g.Leader == id {
		g.Leader = ""
		if rest := g.inOrder(); len(rest) > 0 {
			g.Leader = rest[0].ID
		}
	}
}

// rename gives a static member a new id.
func (g *Group) rename(m *Member, id string) {
	delete(g.members, m.ID)
	if g.unsynced[m.ID] {
		delete(g.unsynced, m.ID)
		g.unsynced[id] = true
	}
	if g.Leader == m.ID {
		g.Leader = id
	}
	m.ID = id
	g.members[id] = m
	g.static[m.Instance] = id
}

// park leaves a join waiting and returns the token of the one it overtakes.
func (g *Group) park(m *Member, t group.Token) (overtaken group.Token) {
	overtaken = m.joining
	if overtaken == 0 {
		g.awaiting++
	}
	m.joining = t
	return overtaken
}

// takeJoin takes the parked join away.
func (g *Group) takeJoin(m *Member) group.Token {
	t := m.joining
	if t != 0 {
		g.awaiting--
	}
	m.joining = 0
	return t
}

func takeSync(m *Member) group.Token {
	t := m.syncing
	m.syncing = 0
	return t
}

// offer replaces what a member offers.
func (g *Group) offer(m *Member, ps []Protocol, session, rebalance time.Duration) {
	g.count(m, -1)
	m.Protocols, m.Session, m.Rebalance = ps, session, rebalance
	g.count(m, +1)
}

func (g *Group) count(m *Member, by int) {
	if g.offered == nil {
		g.offered = map[string]int{}
	}
	for i, p := range m.Protocols {
		if slices.ContainsFunc(m.Protocols[:i], func(q Protocol) bool { return q.Name == p.Name }) {
			continue
		}
		if g.offered[p.Name] += by; g.offered[p.Name] == 0 {
			delete(g.offered, p.Name)
		}
	}
}

// takes says whether somebody with this protocol type and these protocols could be a member.
func (g *Group) takes(protocolType string, ps []Protocol) bool {
	if g.State == Empty {
		return protocolType != "" && len(ps) > 0
	}
	return g.Type == protocolType && slices.ContainsFunc(ps, func(p Protocol) bool {
		return g.offered[p.Name] == len(g.members)
	})
}

// vote chooses the protocol: each member votes for the first of its own that all offer. Equal votes go to the one
// that the longest standing member prefers.
func (g *Group) vote() string {
	ms := g.inOrder()
	votes := map[string]int{}
	for _, m := range ms {
		for _, p := range m.Protocols {
			if g.offered[p.Name] == len(ms) {
				votes[p.Name]++
				break
			}
		}
	}
	best, most := "", 0
	for _, p := range ms[0].Protocols { // who wins is offered by all, so by the first
		if votes[p.Name] > most {
			best, most = p.Name, votes[p.Name]
		}
	}
	return best
}

// everybodyJoined says whether the join phase has nobody to wait for.
func (g *Group) everybodyJoined() bool { return len(g.members) <= g.awaiting && len(g.pending) == 0 }

// rebalanceTimeout is the largest of the members'.
func (g *Group) rebalanceTimeout() time.Duration {
	var longest time.Duration
	for _, m := range g.members {
		longest = max(longest, m.Rebalance)
	}
	return longest
}
