package classic

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
)

// stable is a group with one member of a protocol type that says metadata.
func stable(kind string, metadata []byte) *Group {
	gs := NewGroups()
	p := "p"
	m := "m"
	gs.Apply("g", &kmsg.GroupMetadataValue{Version: 3, ProtocolType: kind, Generation: 1, Protocol: &p, Leader: &m, CurrentStateTimestamp: 50,
		Members: []kmsg.GroupMetadataValueMember{{MemberID: m, Subscription: metadata}}})
	return gs.Get("g")
}

func subscribing(version int16, topics ...string) []byte {
	v := kmsg.NewConsumerMemberMetadata()
	v.Version, v.Topics = version, topics
	return v.AppendTo(nil)
}

func TestSubscriptions(t *testing.T) {
	f := func(name, kind string, metadata []byte, reads, other bool) {
		t.Helper()
		g := stable(kind, metadata)
		if g.Subscribes("t") != reads || g.Subscribes("other") != other {
			t.Errorf("%s: t %v, other %v", name, g.Subscribes("t"), g.Subscribes("other"))
		}
	}
	for version := int16(0); version <= 3; version++ {
		f("consumer", "consumer", subscribing(version, "s", "t"), true, false)
	}
	f("a version of the future", "consumer", append([]byte{0, 99}, subscribing(0, "t")[2:]...), true, false)
	f("nothing", "consumer", subscribing(0), false, false)
	f("unreadable: may be any", "consumer", []byte("not a subscription"), true, true)
	f("empty metadata: may be any", "consumer", []byte{}, true, true)
	f("a count that lies", "consumer", []byte{0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 1, 't'}, true, true)
	f("another type", "connect", subscribing(0, "t"), false, false)
}

func TestRetention(t *testing.T) {
	f := func(name string, g *Group, since int64, ok bool) {
		t.Helper()
		if s, o := g.Retention(); s != since || o != ok {
			t.Errorf("%s: %d %v, want %d %v", name, s, o, since, ok)
		}
	}
	gs := NewGroups()
	f("simple", gs.Ensure("s", time.UnixMilli(1)), group.None, true)
	f("consumers", stable("consumer", subscribing(0, "t")), group.None, true)
	f("consumers that cannot be read", stable("consumer", nil), 0, false)
	f("another type", stable("connect", nil), 0, false)
	empty := func(ts int64) *Group {
		gs := NewGroups()
		gs.Apply("g", &kmsg.GroupMetadataValue{ProtocolType: "connect", Generation: 4, CurrentStateTimestamp: ts})
		return gs.Get("g")
	}
	f("empty", empty(77), 77, true)
	f("empty, of an old version", empty(group.None), group.None, true)
}

func TestListed(t *testing.T) {
	g := stable("consumer", subscribing(0, "t"))
	f := func(states, types []string, want bool) {
		t.Helper()
		if l, ok := g.Listed(states, types); ok != want || l.GroupState != "Stable" || l.GroupType != "classic" || l.ProtocolType != "consumer" {
			t.Errorf("%v %v: %v %+v", states, types, ok, l)
		}
	}
	f(nil, nil, true)
	f([]string{"stABLE"}, []string{"CLASSIC"}, true)
	f([]string{"Empty", "Stable"}, nil, true)
	f([]string{"Empty"}, nil, false)
	f(nil, []string{"consumer"}, false)
	f([]string{"nonsense"}, nil, false)
}
