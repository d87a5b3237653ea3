package api

import (
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestOffsetsAsKafka(t *testing.T) {
	golden(t, "commits", func(s *session) {
		topic := s.name("t")
		at := func(p int32) commitment { return commitment{topic, p, 7, 2, nil} }
		for v := int16(2); v <= 10; v++ {
			s.note("OffsetCommit v" + strconv.Itoa(int(v)))
			g := s.name("g" + strconv.Itoa(int(v)))
			s.commit("X", v, g, "", 0, nil, at(0))
			s.commit("X", v, g, "m", -1, nil, at(0))
			s.commit("X", v, s.name("x")+strconv.Itoa(int(v)), "", -1, kmsg.StringPtr("i"), at(0))
			s.commit("X", v, g, "m", 5, nil, at(0))
			s.commit("X", v, g, "", -1, nil, at(0), at(1), at(9), commitment{"missing", 0, 1, -1, nil})
			s.commit("X", v, g, "", -1, nil, at(9), at(-1), at(1))
			s.commit("X", v, g, "", -1, nil)
			s.dump(g)
		}
		s.note("retention of its own")
		req := kmsg.NewPtrOffsetCommitRequest()
		req.Group, req.Generation, req.RetentionTimeMillis = s.name("r"), -1, 60000
		req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Partition: 0, Offset: 3}}}}
		s.call("X", 4, req)
		s.dump(s.name("r"))
		s.note("metadata")
		long := func(unit string, n int) *string { x := strings.Repeat(unit, n); return &x }
		s.commit("X", 8, s.name("m"), "", -1, nil, commitment{topic, 0, 1, -1, long("a", 4096)}, commitment{topic, 1, 1, -1, long("a", 4097)})
		s.commit("X", 8, s.name("m"), "", -1, nil, commitment{topic, 1, 1, -1, long("\u00e9", 4096)})
		s.commit("X", 8, s.name("m"), "", -1, nil, commitment{topic, 1, 1, -1, long("\U0001F600", 2049)})
		s.commit("X", 8, s.name("m2"), "", -1, nil, commitment{topic, 1, 1, -1, long("a", 4097)})
		s.describe(6, s.name("m2"))
		s.note("offsets that make no sense")
		s.commit("X", 8, s.name("n"), "", -1, nil, commitment{topic, 0, -5, -9, kmsg.StringPtr("")}, commitment{topic, 0, 9, -1, nil}, commitment{topic, 0, 8, -1, nil})
		s.fetch(8, s.name("n"), false, nil)
		s.note("the empty group")
		s.commit("X", 8, "", "", -1, nil, at(0))
		s.fetch(8, "", false, []wantOffsets{{topic, []int32{0}}})
		s.note("unknown group with a generation")
		s.commit("X", 8, s.name("u"), "m", 1, nil, at(0))
		s.commit("X", 9, s.name("u"), "m", 1, nil, at(0))
		s.note("a live group")
		m := s.member("A", "live")
		m.join()
		m.commit(topic, 0, 1)
		m.sync(m.id, "x")
		for v := int16(2); v <= 10; v++ {
			s.commit("X", v, m.group, "", -1, nil, at(0))
			s.commit("X", v, m.group, m.id, -1, nil, at(0))
			s.commit("X", v, m.group, "nobody", m.generation, nil, at(0))
			s.commit("X", v, m.group, m.id, m.generation-1, nil, at(0))
			s.commit("X", v, m.group, m.id, m.generation, nil, at(0))
			s.commit("X", v, m.group, m.id, m.generation, kmsg.StringPtr("i"), at(0))
		}
	})

	golden(t, "fetches", func(s *session) {
		topic, g := s.name("t"), s.name("g")
		s.commit("X", 8, g, "", -1, nil, commitment{topic, 0, 13, 7, nil})
		for v := int16(1); v <= 10; v++ {
			s.note("OffsetFetch v" + strconv.Itoa(int(v)))
			s.fetch(v, g, false, []wantOffsets{{topic, []int32{1, 0, 9, 0}}, {"missing", []int32{0}}, {topic, []int32{0}}})
			s.fetch(v, g, false, []wantOffsets{})
			s.fetch(v, s.name("unknown"), true, []wantOffsets{{topic, []int32{0}}})
			if v >= 2 {
				s.fetch(v, g, true, nil)
				s.fetch(v, s.name("unknown"), false, nil)
			}
		}
		s.note("who asks")
		m := s.member("A", "live")
		m.join()
		m.sync(m.id, "x")
		m.commit(topic, 1, 4)
		ask := func(group string, id *string, epoch int32) {
			req := kmsg.NewPtrOffsetFetchRequest()
			rg := kmsg.NewOffsetFetchRequestGroup()
			rg.Group, rg.MemberID, rg.MemberEpoch = group, id, epoch
			rg.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: topic, Partitions: []int32{1}}}
			req.Groups = append(req.Groups, rg)
			s.call("X", 9, req)
		}
		ask(m.group, &m.id, m.generation)
		ask(m.group, &m.id, m.generation+1)
		ask(m.group, &m.id, -1)
		ask(m.group, kmsg.StringPtr("nobody"), m.generation)
		ask(m.group, kmsg.StringPtr("nobody"), -1)
		ask(m.group, kmsg.StringPtr(""), -1)
		ask(m.group, nil, 5)
		ask(g, kmsg.StringPtr("nobody"), 5)
		ask(g, kmsg.StringPtr("nobody"), -1)
		ask(s.name("unknown"), kmsg.StringPtr("nobody"), 5)
		s.note("many groups")
		req := kmsg.NewPtrOffsetFetchRequest()
		for _, id := range []string{g, s.name("unknown"), m.group, g, ""} {
			rg := kmsg.NewOffsetFetchRequestGroup()
			rg.Group, rg.MemberEpoch = id, -1
			rg.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: topic, Partitions: []int32{0, 1}}}
			req.Groups = append(req.Groups, rg)
		}
		s.call("X", 8, req)
	})

	golden(t, "admin", func(s *session) {
		topic := s.name("t")
		s.note("DescribeGroups")
		simple, live, consumers := s.name("simple"), s.member("A", "live"), s.member("B", "consumers")
		s.commit("X", 8, simple, "", -1, nil, commitment{topic, 0, 1, -1, nil})
		s.commit("X", 8, "", "", -1, nil, commitment{topic, 0, 1, -1, nil})
		live.join()
		live.sync(live.id, "assigned")
		consumers.kind = "consumer"
		subscription := string([]byte{0, 1, 0, 0, 0, 1, 0, byte(len(topic))}) + topic + string([]byte{255, 255, 255, 255, 0, 0, 0, 0})
		consumers.protocols = []string{"range=" + subscription}
		s.names[subscription] = "subscription"
		consumers.join()
		consumers.sync(consumers.id, "assigned")
		consumers.commit(topic, 0, 3)
		for v := int16(0); v <= 6; v++ {
			s.describe(v, simple, s.name("none"), live.group, "")
			req := kmsg.NewPtrDescribeGroupsRequest()
			req.Groups, req.IncludeAuthorizedOperations = []string{live.group, s.name("none")}, true
			s.call("X", v, req)
		}
		s.note("ListGroups")
		for v := int16(0); v <= 5; v++ {
			s.list(v, nil, nil)
		}
		s.list(4, []string{"stable"}, nil)
		s.list(4, []string{"EMPTY", "Nonsense"}, nil)
		s.list(4, []string{"Nonsense"}, nil)
		s.list(5, nil, []string{"Classic"})
		s.list(5, nil, []string{"consumer", "share"})
		s.list(5, []string{"Empty"}, []string{"classic"})
		s.list(5, nil, []string{"nonsense"})
		s.note("OffsetDelete")
		del := func(group string, ps ...int32) {
			req := kmsg.NewPtrOffsetDeleteRequest()
			req.Group = group
			t, missing := kmsg.OffsetDeleteRequestTopic{Topic: topic}, kmsg.OffsetDeleteRequestTopic{Topic: "missing"}
			for _, p := range ps {
				t.Partitions = append(t.Partitions, kmsg.OffsetDeleteRequestTopicPartition{Partition: p})
			}
			missing.Partitions = []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}
			req.Topics = append(req.Topics, missing, t)
			s.call("X", 0, req)
		}
		del(s.name("none"), 0)
		del(live.group, 0)
		del(consumers.group, 0, 1, 9)
		del(simple, 1, 0, 9, 0)
		del("", 0)
		req := kmsg.NewPtrOffsetDeleteRequest()
		req.Group = simple
		s.call("X", 0, req)
		s.fetch(8, simple, false, nil)
		s.describe(5, simple)
		s.dump(simple)
		s.note("DeleteGroups")
		s.commit("X", 8, simple, "", -1, nil, commitment{topic, 0, 1, -1, nil}, commitment{topic, 1, 1, -1, nil})
		for v := int16(0); v <= 2; v++ {
			d := kmsg.NewPtrDeleteGroupsRequest()
			d.Groups = []string{s.name("none"), live.group, simple, "", simple}
			s.call("X", v, d)
		}
		s.fetch(8, simple, false, nil)
		s.dump(simple)
		s.note("a group whose members are gone")
		consumers.leave(5, kmsg.LeaveGroupRequestMember{MemberID: consumers.id})
		s.describe(5, consumers.group)
		del(consumers.group, 1)
		d := kmsg.NewPtrDeleteGroupsRequest()
		d.Groups = []string{consumers.group}
		s.call("X", 2, d)
		s.describe(5, consumers.group)
		s.dump(consumers.group)
	})

	golden(t, "coordinators", func(s *session) {
		for v := int16(0); v <= 6; v++ {
			s.note("FindCoordinator v" + strconv.Itoa(int(v)))
			for _, kind := range []int8{0, 2, 3} {
				if kind == 2 && v == 6 {
					continue // the share coordinator
				}
				req := kmsg.NewPtrFindCoordinatorRequest()
				req.CoordinatorKey, req.CoordinatorType, req.CoordinatorKeys = s.name("g"), kind, []string{s.name("g"), "", s.name("g")}
				s.call("X", v, req)
			}
		}
	})
}

func (s *session) list(version int16, states, types []string) {
	req := kmsg.NewPtrListGroupsRequest()
	req.StatesFilter, req.TypesFilter = states, types
	req.SetVersion(version)
	s.logf("X > ListGroups v%d %s", version, s.show(req))
	resp, err := s.server.do("X", req)
	if err != nil {
		s.t.Fatal(err)
	}
	r := resp.(*kmsg.ListGroupsResponse)
	var mine []kmsg.ListGroupsResponseGroup
	for _, g := range r.Groups {
		if strings.HasSuffix(g.Group, s.tag) {
			mine = append(mine, g)
		}
	}
	r.Groups = mine
	s.logf("X < %s", s.show(r))
}
