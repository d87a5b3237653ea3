//go:build compat

package differential

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// coordinator waits until the coordinator of a group answers.
func (s *side) coordinator(groups ...string) {
	for _, g := range groups {
		for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
			req := kmsg.NewPtrFindCoordinatorRequest()
			req.CoordinatorKeys = []string{g}
			d := kmsg.NewPtrDescribeGroupsRequest()
			d.Groups = []string{g}
			if ask[*kmsg.FindCoordinatorResponse](s, 4, req).Coordinators[0].ErrorCode == 0 {
				if c := ask[*kmsg.DescribeGroupsResponse](s, 5, d).Groups[0].ErrorCode; c < 14 || c > 16 {
					break
				}
			}
			if time.Now().After(deadline) {
				s.fail("no coordinator for %s after 30 s", g)
			}
		}
	}
}

func TestFindCoordinator(t *testing.T) {
	both(t, func(s *side) {
		g := s.n("fc")
		s.coordinator(g)
		s.each(10, func(v int16) {
			for _, kind := range []int8{0, 2, 3, -1, 77} {
				if v == 0 && kind != 0 {
					continue
				}
				req := kmsg.NewPtrFindCoordinatorRequest()
				req.CoordinatorKey, req.CoordinatorType, req.CoordinatorKeys = g, kind, []string{g, g, s.n("fc-other"), ""}
				do[*kmsg.FindCoordinatorResponse](s, fmt.Sprint("type ", kind), v, req)
			}
			for _, key := range []string{"", "a b", "ä"} {
				req := kmsg.NewPtrFindCoordinatorRequest()
				req.CoordinatorKey, req.CoordinatorKeys = key, []string{key}
				do[*kmsg.FindCoordinatorResponse](s, fmt.Sprintf("key %q", key), v, req)
			}
			none := kmsg.NewPtrFindCoordinatorRequest()
			none.CoordinatorKeys = []string{}
			do[*kmsg.FindCoordinatorResponse](s, "no keys", v, none)
		})
	})
}

// member is one classic member.
type member struct {
	s          *side
	group, id  string
	instance   *string
	generation int32
	leader     bool
	session    int32
	rebalance  int32
	kind       string
	protocols  []string
	name       string // what its ids are called; "" by appearance
	ids        int
}

func (s *side) member(group string) *member {
	return &member{s: s, group: group, generation: -1, session: 30000, rebalance: 10000, kind: "test", protocols: []string{"p"}}
}

func (m *member) joinRequest() *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.InstanceID = m.group, m.id, m.instance
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis, req.ProtocolType = m.session, m.rebalance, m.kind
	for _, p := range m.protocols {
		x := kmsg.NewJoinGroupRequestProtocol()
		x.Name, x.Metadata = p, []byte("meta-"+p)
		req.Protocols = append(req.Protocols, x)
	}
	return req
}

func (m *member) took(r *kmsg.JoinGroupResponse) *member {
	if r != nil && r.ErrorCode == 0 {
		m.call(r.MemberID)
		m.generation, m.leader = r.Generation, r.LeaderID == r.MemberID
	} else if r != nil && r.ErrorCode == 79 {
		m.call(r.MemberID)
	}
	return m
}

// call takes an id and gives it the same name on both sides.
func (m *member) call(id string) {
	if id != m.id && m.name != "" {
		m.ids++
		m.s.marks.set(id, fmt.Sprintf("id %d of %s in %s", m.ids, m.name, m.group[:6]))
	}
	m.id = id
}

// join goes the whole way; only the last answer is recorded.
func (m *member) join(label string, v int16) *member {
	if v >= 4 && m.id == "" && m.instance == nil {
		m.took(ask[*kmsg.JoinGroupResponse](m.s, v, m.joinRequest()))
	}
	p := m.s.later(v, m.joinRequest())
	r, _ := p.answer().(*kmsg.JoinGroupResponse)
	m.took(r)
	p.wait(label)
	return m
}

func (m *member) syncRequest(assignments ...string) *kmsg.SyncGroupRequest {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.Generation, req.InstanceID = m.group, m.id, m.generation, m.instance
	req.ProtocolType, req.Protocol = ptr(m.kind), ptr("p")
	for i := 0; i+1 < len(assignments); i += 2 {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = assignments[i], []byte(assignments[i+1])
		req.GroupAssignment = append(req.GroupAssignment, a)
	}
	return req
}

func (m *member) sync(label string, v int16, assignments ...string) {
	do[*kmsg.SyncGroupResponse](m.s, label, v, m.syncRequest(assignments...))
}

func (m *member) heartbeat(label string, v int16) {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.Generation, req.InstanceID = m.group, m.id, m.generation, m.instance
	do[*kmsg.HeartbeatResponse](m.s, label, v, req)
}

func (m *member) leave(label string, v int16, members ...kmsg.LeaveGroupRequestMember) {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID, req.Members = m.group, m.id, members
	do[*kmsg.LeaveGroupResponse](m.s, label, v, req)
}

func leaving(id string, instance *string) kmsg.LeaveGroupRequestMember {
	x := kmsg.NewLeaveGroupRequestMember()
	x.MemberID, x.InstanceID = id, instance
	return x
}

func (s *side) describeGroups(label string, v int16, groups ...string) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups, req.IncludeAuthorizedOperations = groups, true
	do[*kmsg.DescribeGroupsResponse](s, label, v, req)
}

func TestJoinGroup(t *testing.T) {
	both(t, func(s *side) {
		s.each(11, func(v int16) {
			g := s.n(fmt.Sprintf("jg-%d", v))
			s.coordinator(g, "", s.n("jg-x"))
			for _, x := range []struct {
				label              string
				group, id, kind    string
				session, rebalance int32
				protocols          []string
				instance           *string
			}{
				{"no group", "", "", "test", 30000, 1000, []string{"p"}, nil},
				{"unknown member", s.n("jg-x"), "nobody", "test", 30000, 1000, []string{"p"}, nil},
				{"short session", s.n("jg-x"), "", "test", 5999, 1000, []string{"p"}, nil},
				{"long session", s.n("jg-x"), "", "test", 1800001, 1000, []string{"p"}, nil},
				{"negative session", s.n("jg-x"), "", "test", -1, 1000, []string{"p"}, nil},
				{"no protocols", s.n("jg-x"), "", "test", 30000, 1000, nil, nil},
				{"no protocol type", s.n("jg-x"), "", "", 30000, 1000, []string{"p"}, nil},
				{"bad instance", s.n("jg-x"), "", "test", 30000, 1000, []string{"p"}, ptr("a b")},
				{"dots as the instance", s.n("jg-x"), "", "test", 30000, 1000, []string{"p"}, ptr("..")},
			} {
				m := s.member(x.group)
				m.id, m.kind, m.session, m.rebalance, m.protocols, m.instance = x.id, x.kind, x.session, x.rebalance, x.protocols, x.instance
				if x.instance != nil && v < 5 {
					continue
				}
				do[*kmsg.JoinGroupResponse](s, x.label, v, m.joinRequest())
			}
			first := s.member(g)
			first.took(do[*kmsg.JoinGroupResponse](s, "first", v, first.joinRequest()))
			if v >= 4 {
				first.took(do[*kmsg.JoinGroupResponse](s, "first with its id", v, first.joinRequest()))
			}
			first.sync("first syncs", 5, first.id, "mine")
			do[*kmsg.JoinGroupResponse](s, "the same again", v, first.joinRequest())
			other := s.member(g)
			other.kind = "another"
			do[*kmsg.JoinGroupResponse](s, "another type", v, other.joinRequest())
			other.kind, other.protocols = "test", []string{"q"}
			do[*kmsg.JoinGroupResponse](s, "another protocol", v, other.joinRequest())
			other.protocols = []string{"p", "p"}
			do[*kmsg.JoinGroupResponse](s, "unknown member of a group that is there", v, func() *kmsg.JoinGroupRequest { other.id = "nobody"; return other.joinRequest() }())
		})
	})
}

func TestTwoMembers(t *testing.T) {
	both(t, func(s *side) {
		for v := int16(0); v <= 9; v++ {
			g := s.n(fmt.Sprintf("tm-%d", v))
			s.coordinator(g)
			a, b := s.member(g), s.member(g)
			a.name, b.name = "A", "B"
			a.protocols = []string{"q", "p"}
			a.join("A joins", v)
			a.sync("A syncs", min(v, 5), a.id, "all")
			if v >= 4 {
				b.took(ask[*kmsg.JoinGroupResponse](s, v, b.joinRequest()))
			}
			pb := s.later(v, b.joinRequest())
			time.Sleep(150 * time.Millisecond)
			a.heartbeat(fmt.Sprintf("A is told (group v%d)", v), min(v, 4))
			s.describeGroups(fmt.Sprintf("while they join (group v%d)", v), min(v, 6), g)
			a.sync(fmt.Sprintf("A syncs too late (group v%d)", v), min(v, 5))
			pa := s.later(v, a.joinRequest())
			ra, _ := pa.answer().(*kmsg.JoinGroupResponse)
			rb, _ := pb.answer().(*kmsg.JoinGroupResponse)
			a.took(ra)
			b.took(rb)
			pa.wait("A again")
			pb.wait("B joins")
			leader, follower := a, b
			if b.leader {
				leader, follower = b, a
			}
			s.note(fmt.Sprintf("v%d leader", v), "is A", leader == a)
			fs := s.later(min(v, 5), follower.syncRequest())
			time.Sleep(50 * time.Millisecond)
			leader.heartbeat(fmt.Sprintf("leader before the sync (group v%d)", v), min(v, 4))
			for i, bad := range []*kmsg.SyncGroupRequest{
				func() *kmsg.SyncGroupRequest { r := leader.syncRequest(); r.MemberID = "nobody"; return r }(),
				func() *kmsg.SyncGroupRequest { r := leader.syncRequest(); r.Generation++; return r }(),
				func() *kmsg.SyncGroupRequest { r := leader.syncRequest(); r.Generation = -1; return r }(),
				func() *kmsg.SyncGroupRequest { r := leader.syncRequest(); r.Protocol = ptr("x"); return r }(),
				func() *kmsg.SyncGroupRequest { r := leader.syncRequest(); r.ProtocolType = ptr("x"); return r }(),
				func() *kmsg.SyncGroupRequest { r := leader.syncRequest(); r.Group = ""; return r }(),
				func() *kmsg.SyncGroupRequest { r := leader.syncRequest(); r.Group = s.n("tm-none"); return r }(),
			} {
				if v < 5 && (i == 3 || i == 4) {
					continue
				}
				do[*kmsg.SyncGroupResponse](s, fmt.Sprintf("bad sync %d (group v%d)", i, v), min(v, 5), bad)
			}
			leader.sync(fmt.Sprintf("leader syncs (group v%d)", v), min(v, 5), leader.id, "LLL", "stranger", "x")
			fs.wait(fmt.Sprintf("follower syncs (group v%d)", v))
			leader.sync(fmt.Sprintf("leader again (group v%d)", v), min(v, 5))
			follower.heartbeat(fmt.Sprintf("follower (group v%d)", v), min(v, 4))
			s.describeGroups(fmt.Sprintf("stable (group v%d)", v), min(v, 6), g)
			for i, bad := range [][3]any{{g, "nobody", follower.generation}, {g, follower.id, follower.generation + 1}, {g, follower.id, int32(-1)}, {"", follower.id, follower.generation}, {s.n("tm-none"), follower.id, int32(1)}, {g, "", int32(-1)}} {
				req := kmsg.NewPtrHeartbeatRequest()
				req.Group, req.MemberID, req.Generation = bad[0].(string), bad[1].(string), bad[2].(int32)
				do[*kmsg.HeartbeatResponse](s, fmt.Sprintf("bad heartbeat %d (group v%d)", i, v), min(v, 4), req)
			}
			if v <= 2 {
				follower.leave(fmt.Sprintf("follower leaves (group v%d)", v), v)
			} else {
				follower.leave(fmt.Sprintf("follower leaves (group v%d)", v), min(v, 5), leaving(follower.id, nil), leaving("nobody", nil), leaving("", ptr("nothing")), leaving(follower.id, ptr("x")))
			}
			follower.heartbeat(fmt.Sprintf("after leaving (group v%d)", v), min(v, 4))
			leader.heartbeat(fmt.Sprintf("leader after that (group v%d)", v), min(v, 4))
			leader.join(fmt.Sprintf("alone again %d", v), v)
			leader.sync(fmt.Sprintf("alone (group v%d)", v), min(v, 5), leader.id, "all of it")
			leader.leave(fmt.Sprintf("last leaves (group v%d)", v), 2)
			s.describeGroups(fmt.Sprintf("empty (group v%d)", v), min(v, 6), g)
		}
	})
}

func TestLeaveGroup(t *testing.T) {
	both(t, func(s *side) {
		s.each(13, func(v int16) {
			g := s.n(fmt.Sprintf("lg-%d", v))
			s.coordinator(g, "")
			m := s.member(g)
			m.leave("group that is not there", v, leaving("x", nil))
			m.join(fmt.Sprintf("joins %d", v), 5)
			none := *m
			none.group = ""
			none.leave("no group", v, leaving("x", nil))
			none = *m
			none.id = "nobody"
			none.leave("nobody", v, leaving("nobody", nil))
			none.leave("no members", v)
			m.leave("twice in a request", v, leaving(m.id, nil), leaving(m.id, nil))
			m.leave("again", v, leaving(m.id, nil))
		})
	})
}

func TestStaticMembers(t *testing.T) {
	both(t, func(s *side) {
		for v := int16(5); v <= 9; v++ {
			g := s.n(fmt.Sprintf("sm-%d", v))
			s.coordinator(g)
			m := s.member(g)
			m.instance = ptr("i1")
			m.join("joins", v)
			m.sync(fmt.Sprintf("syncs %d", v), 5, m.id, "mine")
			old := *m
			m.id = ""
			m.join("joins again without an id", v)
			m.sync(fmt.Sprintf("syncs again %d", v), 5)
			old.heartbeat(fmt.Sprintf("old %d", v), 4)
			old.sync(fmt.Sprintf("old %d", v), 5)
			do[*kmsg.JoinGroupResponse](s, "old joins", v, old.joinRequest())
			bare := old
			bare.instance = nil
			bare.heartbeat(fmt.Sprintf("old id alone %d", v), 4)
			wrong := *m
			wrong.instance = ptr("i2")
			wrong.heartbeat(fmt.Sprintf("another instance %d", v), 4)
			do[*kmsg.JoinGroupResponse](s, "id with another instance", v, wrong.joinRequest())
			s.describeGroups(fmt.Sprintf("static %d", v), 5, g)
			c := commitRequest(g, m.id, m.generation, commitment{s.n("sm-topic"), [16]byte{}, 0, 5, -1, nil})
			c.InstanceID = m.instance
			do[*kmsg.OffsetCommitResponse](s, fmt.Sprintf("commit of an instance %d", v), 8, c)
			c.MemberID = old.id
			do[*kmsg.OffsetCommitResponse](s, fmt.Sprintf("commit of the old one %d", v), 8, c)
			m.protocols = []string{"p", "new"}
			changed := *m
			changed.id = ""
			changed.join("joins with other protocols", v)
			changed.leave(fmt.Sprintf("leave %d", v), 5, leaving(old.id, m.instance), leaving("", ptr("i9")), leaving("", m.instance))
			s.describeGroups(fmt.Sprintf("afterwards %d", v), 5, g)
		}
	})
}

type commitment struct {
	topic     string
	id        [16]byte
	partition int32
	offset    int64
	epoch     int32
	metadata  *string
}

func commitRequest(group, member string, generation int32, what ...commitment) *kmsg.OffsetCommitRequest {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation = group, member, generation
	for _, x := range what {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != x.topic || req.Topics[n-1].TopicID != x.id {
			rt := kmsg.NewOffsetCommitRequestTopic()
			rt.Topic, rt.TopicID = x.topic, x.id
			req.Topics = append(req.Topics, rt)
		}
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Partition, rp.Offset, rp.LeaderEpoch, rp.Metadata = x.partition, x.offset, x.epoch, x.metadata
		rt := &req.Topics[len(req.Topics)-1]
		rt.Partitions = append(rt.Partitions, rp)
	}
	return req
}

func TestOffsetCommit(t *testing.T) {
	both(t, func(s *side) {
		topic := s.n("oc")
		id := s.newTopic(topic, 2)
		s.each(8, func(v int16) {
			g := s.n(fmt.Sprintf("oc-%d", v))
			s.coordinator(g, "")
			c := func(p int32, offset int64, epoch int32, meta *string) commitment {
				if v >= 10 {
					return commitment{"", id, p, offset, epoch, meta}
				}
				return commitment{topic, [16]byte{}, p, offset, epoch, meta}
			}
			bad := func(name string) commitment {
				if v >= 10 {
					return commitment{"", [16]byte{4, byte(len(name))}, 0, 1, -1, nil}
				}
				return commitment{name, [16]byte{}, 0, 1, -1, nil}
			}
			send := func(label, group, member string, generation int32, what ...commitment) {
				do[*kmsg.OffsetCommitResponse](s, label, v, commitRequest(group, member, generation, what...))
			}
			send("nothing", g, "", -1)
			send("simple", g, "", -1, c(0, 13, 7, nil))
			send("both", g, "", -1, c(0, 14, -1, ptr("")), c(1, 15, 0, ptr("meta")))
			send("negative offsets", g, "", -1, c(0, -1, -1, nil), c(1, -2, -5, nil))
			send("bad ones", g, "", -1, c(0, 1, -1, nil), c(9, 1, -1, nil), c(-1, 1, -1, nil), bad(s.n("oc-missing")), bad("a b"), bad(""))
			send("same twice", g, "", -1, c(0, 1, -1, nil), c(0, 2, -1, nil))
			long := string(make([]byte, 4097))
			send("long metadata", g, "", -1, c(0, 1, -1, ptr(long[:4096])), c(1, 1, -1, ptr(long)))
			send("generation 0", g, "", 0, c(0, 1, -1, nil))
			send("generation 5", g, "m", 5, c(0, 1, -1, nil))
			send("member without a generation", g, "m", -1, c(0, 1, -1, nil))
			send("no group", "", "", -1, c(0, 3, -1, nil))
			send("group that is not there, generation", s.n("oc-none"), "m", 1, c(0, 1, -1, nil))
			m := s.member(g).join(fmt.Sprintf("joins %d", v), 5)
			send("before the sync", g, m.id, m.generation, c(0, 1, -1, nil))
			m.sync(fmt.Sprintf("syncs %d", v), 5, m.id, "mine")
			send("outsider", g, "", -1, c(0, 1, -1, nil))
			send("unknown member", g, "nobody", m.generation, c(0, 1, -1, nil))
			send("old generation", g, m.id, m.generation-1, c(0, 1, -1, nil))
			send("new generation", g, m.id, m.generation+1, c(0, 1, -1, nil))
			send("negative generation", g, m.id, -1, c(0, 1, -1, nil))
			send("right", g, m.id, m.generation, c(0, 99, 3, ptr("x")))
			ret := commitRequest(g, m.id, m.generation, c(1, 98, 3, ptr("y")))
			ret.RetentionTimeMillis = 5
			do[*kmsg.OffsetCommitResponse](s, "with a retention", v, ret)
			f := kmsg.NewPtrOffsetFetchRequest()
			f.Group = g
			do[*kmsg.OffsetFetchResponse](s, fmt.Sprintf("what is there %d", v), 7, f)
			m.leave(fmt.Sprintf("leaves %d", v), 2)
		})
	})
}

func TestOffsetFetch(t *testing.T) {
	both(t, func(s *side) {
		topic, other, g, g2 := s.n("of"), s.n("of-other"), s.n("of-group"), s.n("of-group2")
		id := s.newTopic(topic, 3)
		otherID := s.newTopic(other, 1)
		s.coordinator(g, g2, "", s.n("of-none"))
		ask[*kmsg.OffsetCommitResponse](s, 8, commitRequest(g, "", -1, commitment{topic, [16]byte{}, 0, 13, 7, nil}, commitment{topic, [16]byte{}, 2, 5, -1, ptr("m")}, commitment{other, [16]byte{}, 0, 8, 0, ptr("")}))
		ask[*kmsg.OffsetCommitResponse](s, 8, commitRequest(g2, "", -1, commitment{topic, [16]byte{}, 1, 4, 1, nil}))
		type named struct {
			topic string
			id    [16]byte
			parts []int32
		}
		cases := map[string][]named{
			"null":            nil,
			"none":            {},
			"some":            {{topic, id, []int32{1, 0, 9, 2}}, {s.n("of-missing"), [16]byte{6, 6}, []int32{0}}},
			"no partitions":   {{topic, id, []int32{}}, {other, otherID, []int32{}}},
			"twice":           {{topic, id, []int32{0, 0}}, {topic, id, []int32{0}}},
			"odd":             {{"", [16]byte{}, []int32{0}}, {"a b", [16]byte{6, 7}, []int32{-1}}},
			"two topics":      {{other, otherID, []int32{0}}, {topic, id, []int32{0}}},
			"negative":        {{topic, id, []int32{-1, -2}}},
			"partly by name":  {{topic, id, []int32{0}}, {other, [16]byte{}, []int32{0}}},
			"unknown id only": {{s.n("of-missing"), [16]byte{6, 6}, []int32{0, 1}}},
		}
		s.each(9, func(v int16) {
			for _, label := range []string{"null", "none", "some", "no partitions", "twice", "odd", "two topics", "negative", "partly by name", "unknown id only"} {
				for _, group := range []string{g, s.n("of-none")} {
					for _, stable := range []bool{false, true} {
						if stable && (v < 7 || group != g) {
							continue
						}
						req := kmsg.NewPtrOffsetFetchRequest()
						req.Group, req.RequireStable = group, stable
						gr := kmsg.NewOffsetFetchRequestGroup()
						gr.Group = group
						if cases[label] != nil {
							req.Topics, gr.Topics = []kmsg.OffsetFetchRequestTopic{}, []kmsg.OffsetFetchRequestGroupTopic{}
						} else if v < 2 {
							continue
						}
						for _, x := range cases[label] {
							req.Topics = append(req.Topics, kmsg.OffsetFetchRequestTopic{Topic: x.topic, Partitions: x.parts})
							gr.Topics = append(gr.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: x.topic, TopicID: x.id, Partitions: x.parts})
						}
						req.Groups = append(req.Groups, gr)
						do[*kmsg.OffsetFetchResponse](s, fmt.Sprintf("%s of %.12q, stable %v", label, group, stable), v, req)
					}
				}
			}
			if v < 8 {
				return
			}
			many := kmsg.NewPtrOffsetFetchRequest()
			for _, name := range []string{g2, g, s.n("of-none"), g} {
				gr := kmsg.NewOffsetFetchRequestGroup()
				gr.Group = name
				many.Groups = append(many.Groups, gr)
			}
			do[*kmsg.OffsetFetchResponse](s, "many groups", v, many)
			many.Groups = nil
			do[*kmsg.OffsetFetchResponse](s, "no groups", v, many)
			for i, x := range []struct {
				id    *string
				epoch int32
			}{{ptr("m"), 1}, {nil, 1}, {ptr("m"), -1}, {ptr(""), 0}, {nil, -5}} {
				if v < 9 {
					break
				}
				req := kmsg.NewPtrOffsetFetchRequest()
				gr := kmsg.NewOffsetFetchRequestGroup()
				gr.Group, gr.MemberID, gr.MemberEpoch = g, x.id, x.epoch
				req.Groups = append(req.Groups, gr)
				do[*kmsg.OffsetFetchResponse](s, fmt.Sprint("member and epoch ", i), v, req)
			}
		})
	})
}

// consumerMetadata is a subscription of the consumer protocol.
func consumerMetadata(topics ...string) []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Topics = topics
	return m.AppendTo(nil)
}

func TestGroupAdmin(t *testing.T) {
	alone(t, func(s *side) {
		topic, other := s.n("ga"), s.n("ga-other")
		s.newTopic(topic, 2)
		s.newTopic(other, 1)
		empty, live, simple, pending := s.n("ga-empty"), s.n("ga-live"), s.n("ga-simple"), s.n("ga-pending")
		s.coordinator(empty, live, simple, pending, "", s.n("ga-none"))
		e := s.member(empty).join("joins empty", 5)
		e.sync("syncs empty", 5, e.id, "x")
		e.leave("leaves empty", 2)
		l := s.member(live)
		l.kind, l.protocols = "consumer", []string{"range"}
		join := l.joinRequest()
		join.Protocols[0].Metadata = consumerMetadata(topic)
		l.took(ask[*kmsg.JoinGroupResponse](s, 3, join))
		sy := l.syncRequest(l.id, "y")
		sy.Protocol = ptr("range")
		ask[*kmsg.SyncGroupResponse](s, 5, sy)
		ask[*kmsg.OffsetCommitResponse](s, 8, commitRequest(live, l.id, l.generation, commitment{topic, [16]byte{}, 0, 1, -1, nil}, commitment{other, [16]byte{}, 0, 1, -1, nil}))
		ask[*kmsg.OffsetCommitResponse](s, 8, commitRequest(simple, "", -1, commitment{topic, [16]byte{}, 0, 1, -1, nil}, commitment{topic, [16]byte{}, 1, 1, -1, nil}, commitment{other, [16]byte{}, 0, 2, -1, nil}))
		p := s.member(pending)
		p.took(ask[*kmsg.JoinGroupResponse](s, 4, p.joinRequest()))
		all := []string{empty, live, simple, pending, s.n("ga-none"), live}
		s.each(15, func(v int16) { s.describeGroups("groups", v, all...); s.describeGroups("no groups", v) })
		s.each(16, func(v int16) {
			for i, x := range [][2][]string{
				{nil, nil}, {{"Empty"}, nil}, {{"Stable"}, nil}, {{"Empty", "Stable"}, nil}, {{"stable"}, nil}, {{"STABLE", "empty"}, nil}, {{"Dead"}, nil}, {{"PreparingRebalance"}, nil}, {{"preparing_rebalance"}, nil}, {{"nonsense"}, nil}, {{""}, nil}, {{"Stable", "Stable"}, nil},
				{nil, {"classic"}}, {nil, {"Classic"}}, {nil, {"CLASSIC", "consumer"}}, {nil, {"consumer"}}, {nil, {"share"}}, {nil, {"nonsense"}}, {nil, {""}}, {{"Empty"}, {"classic"}}, {{"Empty"}, {"consumer"}}, {nil, {"streams"}}, {nil, {"unknown"}}, {{"Unknown"}, nil}, {{"Assigning"}, nil}, {{"NotReady"}, nil},
			} {
				req := kmsg.NewPtrListGroupsRequest()
				req.StatesFilter, req.TypesFilter = x[0], x[1]
				do[*kmsg.ListGroupsResponse](s, fmt.Sprintf("all groups %d %q", i, x), v, req)
			}
		})
		od := func(label, group string, x ...any) {
			req := kmsg.NewPtrOffsetDeleteRequest()
			req.Group = group
			for i := 0; i+1 < len(x); i += 2 {
				rt := kmsg.NewOffsetDeleteRequestTopic()
				rt.Topic = x[i].(string)
				for _, n := range x[i+1].([]int32) {
					rt.Partitions = append(rt.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: n})
				}
				req.Topics = append(req.Topics, rt)
			}
			do[*kmsg.OffsetDeleteResponse](s, label, 0, req)
		}
		for _, g := range []string{s.n("ga-none"), "", empty, live, simple, pending} {
			od(fmt.Sprintf("nothing of %.9s", g), g)
			od(fmt.Sprintf("what is not there of %.9s", g), g, s.n("ga-missing"), []int32{0}, topic, []int32{7})
			od(fmt.Sprintf("no partitions of %.9s", g), g, topic, []int32{}, s.n("ga-missing"), []int32{})
			od(fmt.Sprintf("some of %.9s", g), g, topic, []int32{0, 9, -1, 0}, other, []int32{0}, s.n("ga-missing"), []int32{0}, "a b", []int32{0})
		}
		f := kmsg.NewPtrOffsetFetchRequest()
		f.Group = simple
		do[*kmsg.OffsetFetchResponse](s, "left", 7, f)
		for v := int16(0); v <= 2; v++ {
			req := kmsg.NewPtrDeleteGroupsRequest()
			req.Groups = []string{live, s.n("ga-none"), pending}
			do[*kmsg.DeleteGroupsResponse](s, "refused", v, req)
			req.Groups = nil
			do[*kmsg.DeleteGroupsResponse](s, "none", v, req)
			g := s.n(fmt.Sprintf("ga-del-%d", v))
			s.coordinator(g)
			ask[*kmsg.OffsetCommitResponse](s, 8, commitRequest(g, "", -1, commitment{topic, [16]byte{}, 0, 1, -1, nil}))
			req.Groups = []string{g, g}
			do[*kmsg.DeleteGroupsResponse](s, "twice", v, req)
			do[*kmsg.DeleteGroupsResponse](s, "again", v, req)
			s.describeGroups(fmt.Sprintf("gone %d", v), 6, g)
		}
		last := kmsg.NewPtrDeleteGroupsRequest()
		last.Groups = []string{live, empty, simple}
		s.each(42, func(v int16) { do[*kmsg.DeleteGroupsResponse](s, "the rest", v, last) })
	})
}
