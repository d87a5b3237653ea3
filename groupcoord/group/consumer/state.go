// Package consumer holds the rules of consumer groups (KIP-848): ConsumerGroupHeartbeat and what it leads to, as
// Apache Kafka 4.4 decides it, including members of such a group that still speak the classic protocol.
//
// Everything about a group is logged, one record for each part of it, and changes through Apply only, live and on
// load alike. Deciding works on a group as it is and gives records; the one thing that deciding writes down is which
// metadata a group has been compared with.
//
// Invariants: a partition has at most one owner, whose claim covers what it has and what it is asked to give up;
// epochs of a group only grow; a member's epoch is at most the assignment's.
package consumer

import (
	"slices"
	"strings"

	"github.com/ottla/ottla/groupcoord/group/assign"
	"github.com/ottla/ottla/protocol"
)

// MemberState is how far a member is with its target, numbered as in its record.
type MemberState int8

const (
	Stable     MemberState = 0
	Unrevoked  MemberState = 1 // has partitions to give up
	Unreleased MemberState = 2 // waits for partitions that others still have
	// Unknown is what a later version may have written.
	Unknown MemberState = 127
)

// Epochs of members that have none in the group.
const (
	epochJoin        = 0
	epochLeave       = -1
	epochLeaveStatic = -2
)

// Claim is partitions with the epoch since which the member has each.
type Claim map[protocol.UUID]map[int32]int32

// Has says whether a partition is claimed.
func (c Claim) Has(t protocol.UUID, p int32) bool { _, ok := c[t][p]; return ok }

// Partitions is the claim without epochs.
func (c Claim) Partitions() assign.Partitions {
	ps := make(assign.Partitions, len(c))
	for t, of := range c {
		for p := range of {
			ps[t] = append(ps[t], p)
		}
		slices.Sort(ps[t])
	}
	return ps
}

func (c Claim) set(t protocol.UUID, p, epoch int32) {
	if c[t] == nil {
		c[t] = map[int32]int32{}
	}
	c[t][p] = epoch
}

// equal compares epochs as well.
func (c Claim) equal(d Claim) bool {
	if len(c) != len(d) {
		return false
	}
	for t, of := range c {
		if len(of) != len(d[t]) {
			return false
		}
		for p, e := range of {
			if e2, ok := d[t][p]; !ok || e != e2 {
				return false
			}
		}
	}
	return true
}

// Protocol is one of those that a member on the classic protocol offers.
type Protocol struct {
	Name     string
	Metadata []byte
}

// Classic is what a member on the classic protocol brings along.
type Classic struct {
	SessionMs int32
	Protocols []Protocol // in its order of preference, at least one
}

// Member of a group. It is never changed, only replaced.
type Member struct {
	ID       string
	Instance string // "" for a dynamic member
	Rack     string // "" for none
	ClientID string
	Host     string

	Topics      []string // subscribed to by name, sorted
	Regex       string   // subscribed to by pattern, "" for none
	RebalanceMs int32
	Assignor    string   // "" for no preference
	Classic     *Classic // nil for a member on the consumer protocol

	Epoch, Previous int32
	State           MemberState
	Assigned        Claim
	Revoking        Claim // what it is to give up and may still have
}

// Regex is a pattern with the topics that it stands for.
type Regex struct {
	Topics    []string // sorted
	Version   int64    // of the metadata
	Timestamp int64    // ms
}

// owned names a partition.
type owned struct {
	topic     protocol.UUID
	partition int32
}

// Group is one consumer group.
type Group struct {
	ID    string
	Epoch int32
	Hash  int64 // of the metadata of the topics subscribed to

	AssignmentEpoch int32
	AssignedAt      int64 // ms; 0: assign without waiting

	members map[string]*Member
	static  map[string]string // instance id to member id
	target  map[string]assign.Partitions
	owners  map[owned]string
	regexes map[string]*Regex

	// checked is the version of the metadata that Hash and the patterns agree with; none after a load.
	checked     int64
	patternSeen map[string]int64
}

const unchecked = -1 << 62

func newGroup(id string) *Group {
	return &Group{
		ID: id, Epoch: 1, AssignmentEpoch: 1, members: map[string]*Member{}, static: map[string]string{},
		target: map[string]assign.Partitions{}, owners: map[owned]string{}, regexes: map[string]*Regex{},
		checked: unchecked, patternSeen: map[string]int64{},
	}
}

// Size is the number of members.
func (g *Group) Size() int { return len(g.members) }

// Member returns a member or nil.
func (g *Group) Member(id string) *Member { return g.members[id] }

// sorted lists the members by id.
func (g *Group) sorted() []*Member {
	ms := make([]*Member, 0, len(g.members))
	for _, m := range g.members {
		ms = append(ms, m)
	}
	slices.SortFunc(ms, func(a, b *Member) int { return strings.Compare(a.ID, b.ID) })
	return ms
}

// State is the group's state, named as on the wire.
func (g *Group) State() string {
	if len(g.members) == 0 {
		return "Empty"
	}
	if g.Epoch > g.AssignmentEpoch {
		return "Assigning"
	}
	for _, m := range g.members {
		if m.State != Stable || m.Epoch != g.AssignmentEpoch {
			return "Reconciling"
		}
	}
	return "Stable"
}

// topicsOf is what a member subscribes to, by name and by pattern.
func (g *Group) topicsOf(m *Member, regexes map[string]*Regex) []string {
	r := regexes[m.Regex]
	if m.Regex == "" || r == nil || len(r.Topics) == 0 {
		return m.Topics
	}
	if len(m.Topics) == 0 {
		return r.Topics
	}
	all := slices.Concat(m.Topics, r.Topics)
	slices.Sort(all)
	return slices.Compact(all)
}

// Subscribes says whether a member reads the topic.
func (g *Group) Subscribes(topic string) bool {
	for _, m := range g.members {
		if _, ok := slices.BinarySearch(g.topicsOf(m, g.regexes), topic); ok {
			return true
		}
	}
	return false
}

// Groups is all consumer groups of one shard.
type Groups struct{ byID map[string]*Group }

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
