package other

import (
	"encoding/binary"
	"testing"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol"
)

// key of a record: id, group, and for some kinds a member.
func key(id int16, names ...string) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(id))
	for _, n := range names {
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(n))), n...)
	}
	return b
}

func put(gs *Groups, k []byte) bool {
	return gs.Apply(group.Record{Key: k, Value: []byte{0, 0}})
}

func drop(gs *Groups, k []byte) bool { return gs.Apply(group.Record{Key: k}) }

func eq[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestLife(t *testing.T) {
	gs := NewGroups()
	for _, k := range [][]byte{key(17, "g"), key(19, "g", "m1"), key(19, "g", "m2"), key(19, "g", "m1"), key(20, "g"), key(23, "g")} {
		eq(t, "known", put(gs, k), true)
	}
	put(gs, key(11, "s"))
	put(gs, key(17, "w"))
	g := gs.Get("g")
	eq(t, "kinds", string(gs.Get("g").Kind+gs.Get("s").Kind+gs.Get("w").Kind), "streamssharestreams")
	drop(gs, key(19, "g", "m1"))
	drop(gs, key(19, "g", "m1"))
	eq(t, "delete", g.CheckDelete(), protocol.None)
	eq(t, "commit without a member", g.CheckCommit("", -1), protocol.None)
	eq(t, "commit of a member", g.CheckCommit("m", 3), protocol.UnknownMemberID)
	eq(t, "yields", g.Yields(), true)
	eq(t, "share groups do not", gs.Get("s").Yields(), false)
	eq(t, "commit in a share group", gs.Get("s").CheckCommit("", -1), protocol.GroupIDNotFound)
	eq(t, "delete a share group", gs.Get("s").CheckDelete(), protocol.UnsupportedVersion)

	rs := g.Tombstones()
	eq(t, "tombstones", len(rs), 4)
	for _, r := range rs {
		eq(t, "value", r.Value == nil && r.ProducerID == group.NoProducer, true)
		gs.Apply(r)
	}
	eq(t, "gone", gs.Get("g") == nil, true)
	eq(t, "left", len(gs.All()), 2)
}

func TestListed(t *testing.T) {
	gs := NewGroups()
	put(gs, key(17, "w"))
	put(gs, key(19, "w", "m"))
	l, ok := gs.Get("w").Listed(nil, []string{"Streams"})
	eq(t, "passes", ok, true)
	eq(t, "line", l.Group+" "+l.ProtocolType+" "+l.GroupState+" "+l.GroupType, "w streams Empty streams")
	_, ok = gs.Get("w").Listed([]string{"stable"}, nil)
	eq(t, "state", ok, false)
	_, ok = gs.Get("w").Listed(nil, []string{"classic"})
	eq(t, "type", ok, false)
}

func TestNotOurs(t *testing.T) {
	gs := NewGroups()
	for _, k := range [][]byte{nil, {0}, key(1, "g", "t"), key(2, "g"), key(9, "g"), key(24, "g"), key(3, "g"), key(16, "g", "p"), key(17), {0, 17, 0, 9, 'g'}, {0xff, 0xff, 0, 0}} {
		eq(t, "taken", put(gs, k), false)
	}
	eq(t, "groups", len(gs.All()), 0)
}
