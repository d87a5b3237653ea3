package conformance

import (
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// member is one classic group member driven by hand.
type member struct {
	c          *conn
	group, id  string
	instance   *string
	generation int32
	session    int32
	kind       string // protocol type
	protocol   string
	metadata   []byte
	leader     bool
}

func newMember(t *testing.T, group string) *member {
	t.Helper()
	c := connect(t)
	findCoordinator(c, group)
	return &member{c: c, group: group, session: 10000, kind: "test", protocol: "p", metadata: []byte("meta")}
}

func (m *member) joinRequest(version int16) *kmsg.JoinGroupRequest {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.InstanceID = m.group, m.id, m.instance
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis, req.ProtocolType = m.session, 10000, m.kind
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = m.protocol, m.metadata
	req.Protocols = append(req.Protocols, p)
	req.SetVersion(version)
	return req
}

// joinOnce sends one JoinGroup and takes over id and generation when it succeeds.
func (m *member) joinOnce(version int16) *kmsg.JoinGroupResponse {
	m.c.t.Helper()
	r := m.c.do(m.joinRequest(version)).(*kmsg.JoinGroupResponse)
	if r.ErrorCode == 0 {
		m.id, m.generation, m.leader = r.MemberID, r.Generation, r.LeaderID == r.MemberID
	}
	return r
}

// join joins as clients do: with the id the coordinator hands out.
func (m *member) join(version int16) *kmsg.JoinGroupResponse {
	m.c.t.Helper()
	r := m.joinOnce(version)
	if r.ErrorCode == 79 {
		m.id = r.MemberID
		r = m.joinOnce(version)
	}
	if r.ErrorCode != 0 {
		m.c.t.Errorf("join: error %d", r.ErrorCode)
	}
	return r
}

func (m *member) sync(version int16, assign map[string][]byte) *kmsg.SyncGroupResponse {
	m.c.t.Helper()
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.InstanceID, req.Generation = m.group, m.id, m.instance, m.generation
	req.ProtocolType, req.Protocol = kmsg.StringPtr(m.kind), kmsg.StringPtr(m.protocol)
	for id, b := range assign {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = id, b
		req.GroupAssignment = append(req.GroupAssignment, a)
	}
	return do[*kmsg.SyncGroupResponse](m.c, version, req)
}

func (m *member) heartbeat(version int16) int16 {
	m.c.t.Helper()
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.InstanceID, req.Generation = m.group, m.id, m.instance, m.generation
	return do[*kmsg.HeartbeatResponse](m.c, version, req).ErrorCode
}

func leave(c *conn, group string, members ...kmsg.LeaveGroupRequestMember) *kmsg.LeaveGroupResponse {
	c.t.Helper()
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.Members = group, members
	return do[*kmsg.LeaveGroupResponse](c, 5, req)
}

// TestJoinGroupV0 is case B29: the session timeout stands in for the rebalance timeout.
func TestJoinGroupV0(t *testing.T) {
	group := unique("b29")
	a, b := newMember(t, group), newMember(t, group)
	a.session, b.session = 6000, 6000
	a.joinOnce(0)
	eq(t, "A syncs", a.sync(0, map[string][]byte{a.id: []byte("x")}).ErrorCode, 0)
	elapsed(t, "B's join", 4*time.Second, 9*time.Second, func() {
		r := b.joinOnce(0)
		eq(t, "B joins", r.ErrorCode, 0)
		eq(t, "alone", len(r.Members), 1)
	})
}

// TestStaticMembers is case B30.
func TestStaticMembers(t *testing.T) {
	group := unique("b30")
	m := newMember(t, group)
	m.instance = kmsg.StringPtr("i1")
	first := m.joinOnce(9)
	eq(t, "first join needs no second round", first.ErrorCode, 0)
	eq(t, "sync", m.sync(5, map[string][]byte{m.id: []byte("mine")}).ErrorCode, 0)
	old := *m
	m.id = ""
	second := m.joinOnce(9)
	eq(t, "replacement", second.ErrorCode, 0)
	eq(t, "same generation", second.Generation, first.Generation)
	eq(t, "new member id", second.MemberID != old.id, true)
	eq(t, "skip assignment", second.SkipAssignment, true)
	s := m.sync(5, nil)
	eq(t, "assignment handed over", string(s.MemberAssignment), "mine")

	eq(t, "old id and instance: heartbeat", old.heartbeat(4), 82)
	eq(t, "old id and instance: sync", old.sync(5, nil).ErrorCode, 82)
	eq(t, "old id and instance: join", old.c.do(old.joinRequest(9)).(*kmsg.JoinGroupResponse).ErrorCode, 82)
	bare := old
	bare.instance = nil
	eq(t, "old id alone: heartbeat", bare.heartbeat(4), 25)
	result := func(id string, instance *string) int16 {
		t.Helper()
		x := kmsg.NewLeaveGroupRequestMember()
		x.MemberID, x.InstanceID = id, instance
		r := leave(m.c, group, x)
		eq(t, "leave's top level", r.ErrorCode, 0)
		return r.Members[0].ErrorCode
	}
	eq(t, "leave by old id and instance", result(old.id, m.instance), 82)
	eq(t, "leave by unknown instance", result("", kmsg.StringPtr("i9")), 25)
	eq(t, "leave by instance alone", result("", m.instance), 0)
}

// TestAssignmentsUntouched is case B31.
func TestAssignmentsUntouched(t *testing.T) {
	group := unique("b31")
	a, b := newMember(t, group), newMember(t, group)
	a.join(9)
	eq(t, "A alone syncs", a.sync(5, nil).ErrorCode, 0)
	var wg sync.WaitGroup
	wg.Go(func() { b.join(9) })
	eventually(t, "A is told to rejoin", func() bool { return a.heartbeat(4) == 27 })
	a.join(9)
	wg.Wait()
	leader, follower := a, b
	if b.leader {
		leader, follower = b, a
	}
	eq(t, "generations", leader.generation, follower.generation)
	unknown := *leader
	unknown.id = "nobody"
	eq(t, "unknown member", unknown.sync(5, nil).ErrorCode, 25)
	wrong := *leader
	wrong.generation++
	eq(t, "wrong generation", wrong.sync(5, nil).ErrorCode, 22)
	wrong = *leader
	wrong.protocol = "other"
	eq(t, "wrong protocol", wrong.sync(5, nil).ErrorCode, 23)
	l := leader.sync(5, map[string][]byte{leader.id: []byte("LLL")})
	eq(t, "leader", l.ErrorCode, 0)
	eq(t, "leader's bytes", string(l.MemberAssignment), "LLL")
	f := follower.sync(5, nil)
	eq(t, "follower", f.ErrorCode, 0)
	eq(t, "follower's bytes are empty, not null", f.MemberAssignment != nil && len(f.MemberAssignment) == 0, true)
}

type commitment struct {
	topic     string
	partition int32
	offset    int64
	epoch     int32
	metadata  *string
}

// commit sends OffsetCommit v8 and returns the codes by partition.
func commit(c *conn, version int16, group, member string, generation int32, what ...commitment) map[commitment]int16 {
	c.t.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation = group, member, generation
	for _, x := range what {
		rt := kmsg.NewOffsetCommitRequestTopic()
		rt.Topic = x.topic
		rp := kmsg.NewOffsetCommitRequestTopicPartition()
		rp.Partition, rp.Offset, rp.LeaderEpoch, rp.Metadata = x.partition, x.offset, x.epoch, x.metadata
		rt.Partitions = append(rt.Partitions, rp)
		req.Topics = append(req.Topics, rt)
	}
	r := do[*kmsg.OffsetCommitResponse](c, version, req)
	out := map[commitment]int16{}
	for _, rt := range r.Topics {
		for _, rp := range rt.Partitions {
			for _, x := range what {
				if x.topic == rt.Topic && x.partition == rp.Partition {
					out[x] = rp.ErrorCode
				}
			}
		}
	}
	return out
}

// TestOffsetFetchShapes is case B32.
func TestOffsetFetchShapes(t *testing.T) {
	c := connect(t)
	topic, group := unique("b32"), unique("b32-group")
	createTopic(c, topic, 2)
	findCoordinator(c, group)
	x := commitment{topic, 0, 13, 7, nil}
	eq(t, "commit", commit(c, 8, group, "", -1, x)[x], 0)

	fetchV := func(version int16, topics []kmsg.OffsetFetchRequestTopic) *kmsg.OffsetFetchResponse {
		t.Helper()
		req := kmsg.NewPtrOffsetFetchRequest()
		req.Group, req.Topics = group, topics
		return do[*kmsg.OffsetFetchResponse](c, version, req)
	}
	named := []kmsg.OffsetFetchRequestTopic{{Topic: topic, Partitions: []int32{1, 0, 9}}, {Topic: "b32-missing", Partitions: []int32{0}}}
	for _, v := range []int16{1, 5, 7} {
		r := fetchV(v, named)
		eq(t, "topics", len(r.Topics), 2)
		for i, part := range []int32{1, 0, 9} {
			p := r.Topics[0].Partitions[i]
			eq(t, "order", p.Partition, part)
			eq(t, "error", p.ErrorCode, 0)
			eq(t, "metadata is not null", p.Metadata != nil && *p.Metadata == "", true)
			if part == 0 {
				eq(t, "offset", p.Offset, 13)
			} else {
				eq(t, "no offset", p.Offset, -1)
			}
			if v >= 5 {
				eq(t, "leader epoch", p.LeaderEpoch, map[int32]int32{0: 7, 1: -1, 9: -1}[part])
			}
		}
		eq(t, "unknown topic", r.Topics[1].Partitions[0].Offset, -1)
	}
	eq(t, "null topics", len(fetchV(7, nil).Topics), 1)
	eq(t, "empty topics", len(fetchV(7, []kmsg.OffsetFetchRequestTopic{}).Topics), 0)

	req := kmsg.NewPtrOffsetFetchRequest()
	for _, g := range []string{group, unique("b32-unknown")} {
		rg := kmsg.NewOffsetFetchRequestGroup()
		rg.Group, rg.MemberEpoch = g, -1
		req.Groups = append(req.Groups, rg)
	}
	r := do[*kmsg.OffsetFetchResponse](c, 8, req)
	eq(t, "groups", len(r.Groups), 2)
	for _, g := range r.Groups {
		eq(t, "group error", g.ErrorCode, 0)
		if g.Group == group {
			eq(t, "v8 null topics", len(g.Topics), 1)
			eq(t, "v8 epoch", g.Topics[0].Partitions[0].LeaderEpoch, 7)
		}
	}
}

// TestWhoMayCommit is case B33.
func TestWhoMayCommit(t *testing.T) {
	c := connect(t)
	topic := unique("b33")
	createTopic(c, topic, 2)
	long := func(n int) *string { b := make([]byte, n); s := string(b); return &s }
	at := commitment{topic, 0, 1, -1, nil}
	one := func(group, member string, generation int32, x commitment) int16 {
		t.Helper()
		return commit(c, 8, group, member, generation, x)[x]
	}
	g := unique("b33-group")
	findCoordinator(c, g)
	eq(t, "new group, no member", one(g, "", -1, at), 0)
	eq(t, "generation 0", one(g, "", 0, at), 25)
	eq(t, "generation 5 and a member", one(g, "m", 5, at), 25)
	eq(t, "partition 9 of 2", one(g, "", -1, commitment{topic, 9, 1, -1, nil}), 3)
	eq(t, "unknown topic", one(g, "", -1, commitment{"b33-missing", 0, 1, -1, nil}), 3)
	good, bad := commitment{topic, 0, 2, -1, long(4096)}, commitment{topic, 1, 2, -1, long(4097)}
	both := commit(c, 8, g, "", -1, good, bad)
	eq(t, "metadata of 4096", both[good], 0)
	eq(t, "metadata of 4097", both[bad], 12)
	findCoordinator(c, "")
	eq(t, "empty group id", one("", "", -1, at), 0)
	j := newMember(t, "")
	eq(t, "join with an empty group id", j.joinOnce(9).ErrorCode, 24)

	m := newMember(t, unique("b33-live"))
	m.join(9)
	m.sync(5, nil)
	eq(t, "live: generation -1", one(m.group, "", -1, at), 25)
	eq(t, "live: unknown member", one(m.group, "nobody", m.generation, at), 25)
	eq(t, "live: old generation", one(m.group, m.id, m.generation-1, at), 22)
	eq(t, "live: the right one", one(m.group, m.id, m.generation, at), 0)

	del := kmsg.NewPtrDeleteGroupsRequest()
	del.Groups = []string{m.group}
	eq(t, "delete a live group", do[*kmsg.DeleteGroupsResponse](c, 2, del).Groups[0].ErrorCode, 68)
	od := kmsg.NewPtrOffsetDeleteRequest()
	od.Group = unique("b33-none")
	od.Topics = []kmsg.OffsetDeleteRequestTopic{{Topic: topic, Partitions: []kmsg.OffsetDeleteRequestTopicPartition{{Partition: 0}}}}
	eq(t, "offset delete, unknown group", do[*kmsg.OffsetDeleteResponse](c, 0, od).ErrorCode, 69)
	od.Group = g
	r := do[*kmsg.OffsetDeleteResponse](c, 0, od)
	eq(t, "offset delete, empty group", r.ErrorCode|r.Topics[0].Partitions[0].ErrorCode, 0)
}

// TestDescribeDeadGroup: KIP-1043's error from v6 on, a Dead group before.
func TestDescribeDeadGroup(t *testing.T) {
	c := connect(t)
	group := unique("dead")
	findCoordinator(c, group)
	for v, code := range map[int16]int16{5: 0, 6: 69} {
		req := kmsg.NewPtrDescribeGroupsRequest()
		req.Groups = []string{group}
		g := do[*kmsg.DescribeGroupsResponse](c, v, req).Groups[0]
		eq(t, "error", g.ErrorCode, code)
		eq(t, "state", g.State, "Dead")
	}
}
