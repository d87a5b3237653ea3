// Package other keeps account of the groups whose kind is not built: share groups and streams groups, as Apache Kafka
// left them in __consumer_offsets. Their records stay as they are. Whoever was a
// member cannot send heartbeats here, so that the groups count as empty, as they would with Kafka after a session
// time-out: they are listed, their committed offsets are served, and they can be deleted, or taken over by classic
// members. State changes through Apply only.
package other

import (
	"encoding/binary"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol"
)

// Kind of a group, named as in ListGroups.
type Kind string

const (
	Share   Kind = "share"
	Streams Kind = "streams"
)

// KindOf tells of which of these kinds of group a record id is, "" for any other id.
func KindOf(id int16) Kind {
	switch {
	case id >= 10 && id <= 15:
		return Share
	case id >= 17 && id <= 23:
		return Streams
	}
	return ""
}

// Group is one group of another kind.
//
// Invariant: it is there exactly while the log has records of it that are no tombstones.
type Group struct {
	ID   string
	Kind Kind
	keys map[string]bool // of the records that stand
}

// Groups is all of them in one shard.
type Groups struct{ byID map[string]*Group }

// NewGroups is an empty shard.
func NewGroups() *Groups { return &Groups{byID: map[string]*Group{}} }

// Get returns a group or nil.
func (gs *Groups) Get(id string) *Group { return gs.byID[id] }

// All lists the groups by id.
func (gs *Groups) All() []*Group {
	list := make([]*Group, 0, len(gs.byID))
	for _, g := range gs.byID {
		list = append(list, g)
	}
	slices.SortFunc(list, func(a, b *Group) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// Apply takes over a record, and reports whether it is one of such a group.
func (gs *Groups) Apply(r group.Record) bool {
	id, name, ok := parseKey(r.Key)
	kind := KindOf(id)
	if !ok || kind == "" {
		return false
	}
	g := gs.byID[name]
	if r.Value == nil {
		if g != nil {
			delete(g.keys, string(r.Key))
			if len(g.keys) == 0 {
				delete(gs.byID, name)
			}
		}
		return true
	}
	if g == nil {
		g = &Group{ID: name, keys: map[string]bool{}}
		gs.byID[name] = g
	}
	g.Kind = kind
	g.keys[string(r.Key)] = true
	return true
}

// parseKey reads what all these keys begin with: the record's id, and the group.
func parseKey(key []byte) (id int16, name string, ok bool) {
	if len(key) < 4 {
		return 0, "", false
	}
	n := int(binary.BigEndian.Uint16(key[2:]))
	if len(key) < 4+n {
		return 0, "", false
	}
	return int16(binary.BigEndian.Uint16(key)), string(key[4 : 4+n]), true
}

// Tombstones removes the group. The order is that of the keys.
func (g *Group) Tombstones() []group.Record {
	rs := make([]group.Record, 0, len(g.keys))
	for k := range g.keys {
		rs = append(rs, group.Record{Key: []byte(k), ProducerID: group.NoProducer})
	}
	slices.SortFunc(rs, func(a, b group.Record) int { return slices.Compare(a.Key, b.Key) })
	return rs
}

// Yields reports whether classic members may take the group over: not one whose offsets are of another kind.
func (g *Group) Yields() bool { return g.Kind != Share }

// CheckCommit says whether offsets may be committed: by clients that use the group for its offsets only.
func (g *Group) CheckCommit(member string, generation int32) protocol.ErrorCode {
	switch {
	case g.Kind == Share:
		return protocol.GroupIDNotFound
	case member == "" && generation < 0:
		return protocol.None
	}
	return protocol.UnknownMemberID
}

// CheckDelete says whether the group may be deleted. That of a share group takes its share coordinator, which is not built.
func (g *Group) CheckDelete() protocol.ErrorCode {
	if g.Kind == Share {
		return protocol.UnsupportedVersion
	}
	return protocol.None
}

// CheckDeleteOffsets says whether single offsets may be deleted.
func (g *Group) CheckDeleteOffsets() protocol.ErrorCode {
	if g.Kind == Share {
		return protocol.GroupIDNotFound
	}
	return protocol.None
}

// Subscribes says whether a member reads the topic.
func (g *Group) Subscribes(string) bool { return false }

const state = "Empty"

// Listed is the group as ListGroups shows it, if it passes the filters. They ignore case; an empty one passes all.
func (g *Group) Listed(states, types []string) (kmsg.ListGroupsResponseGroup, bool) {
	r := kmsg.NewListGroupsResponseGroup()
	r.Group, r.ProtocolType, r.GroupState, r.GroupType = g.ID, string(g.Kind), state, string(g.Kind)
	return r, passes(states, r.GroupState) && passes(types, r.GroupType)
}

func passes(filter []string, name string) bool {
	return len(filter) == 0 || slices.ContainsFunc(filter, func(f string) bool { return strings.EqualFold(f, name) })
}
