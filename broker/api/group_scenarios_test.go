package api

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// member is the client side of one classic member in a scenario.
type member struct {
	s               *session
	conn, group, id string
	instance        *string
	generation      int32
	session, rebal  int32
	kind            string
	protocols       []string // name=metadata
	chosen          string
	joinV, syncV    int16
	heartV, commitV int16
}

func (s *session) member(conn, group string) *member {
	return &member{s: s, conn: conn, group: s.name(group), session: 10000, rebal: 10000, kind: "test", generation: -1,
		protocols: []string{"p=meta-" + conn}, joinV: 9, syncV: 5, heartV: 4, commitV: 9}
}

func (m *member) joining() *pending {
	req := kmsg.NewPtrJoinGroupRequest()
	req.Group, req.MemberID, req.InstanceID, req.ProtocolType = m.group, m.id, m.instance, m.kind
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = m.session, m.rebal
	for _, p := range m.protocols {
		name, md, _ := strings.Cut(p, "=")
		req.Protocols = append(req.Protocols, kmsg.JoinGroupRequestProtocol{Name: name, Metadata: []byte(md)})
	}
	return m.s.start(m.conn, m.joinV, req)
}

// joined takes over the answer to a join.
func (m *member) joined(p *pending) *kmsg.JoinGroupResponse {
	r := p.wait().(*kmsg.JoinGroupResponse)
	if r.ErrorCode == 0 || r.ErrorCode == 79 {
		m.id, m.generation = r.MemberID, r.Generation
		if r.Protocol != nil {
			m.chosen = *r.Protocol
		}
	}
	return r
}

// join joins as clients do, with the id handed out first.
func (m *member) join() *kmsg.JoinGroupResponse {
	r := m.joined(m.joining())
	if r.ErrorCode == 79 {
		r = m.joined(m.joining())
	}
	return r
}

// arrive gets an id, so that the next join is the real one.
func (m *member) arrive() { m.joined(m.joining()) }

func (m *member) syncing(assign ...string) *pending {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.InstanceID, req.Generation = m.group, m.id, m.instance, m.generation
	req.ProtocolType, req.Protocol = kmsg.StringPtr(m.kind), kmsg.StringPtr(m.chosen)
	for i := 0; i+1 < len(assign); i += 2 {
		req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{MemberID: assign[i], MemberAssignment: []byte(assign[i+1])})
	}
	return m.s.start(m.conn, m.syncV, req)
}

func (m *member) sync(assign ...string) int16 {
	return m.syncing(assign...).wait().(*kmsg.SyncGroupResponse).ErrorCode
}

func (m *member) beat() int16 {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.InstanceID, req.Generation = m.group, m.id, m.instance, m.generation
	return m.s.call(m.conn, m.heartV, req).(*kmsg.HeartbeatResponse).ErrorCode
}

// until repeats heartbeats, unseen, until the answer is the code.
func (m *member) until(code int16) {
	m.s.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		req := kmsg.NewPtrHeartbeatRequest()
		req.SetVersion(m.heartV)
		req.Group, req.MemberID, req.InstanceID, req.Generation = m.group, m.id, m.instance, m.generation
		resp, err := m.s.server.do(m.conn, req)
		if err != nil {
			m.s.t.Fatal(err)
		}
		if resp.(*kmsg.HeartbeatResponse).ErrorCode == code {
			return
		}
	}
	m.s.t.Fatalf("%s: no heartbeat was answered %d", m.conn, code)
}

func (m *member) leave(version int16, others ...kmsg.LeaveGroupRequestMember) {
	m.leaveFrom(m.conn, version, others...)
}

// leaveFrom leaves over another connection: the member's own may be waiting.
func (m *member) leaveFrom(conn string, version int16, others ...kmsg.LeaveGroupRequestMember) {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.MemberID, req.Members = m.group, m.id, others
	m.s.call(conn, version, req)
}

func (m *member) commit(topic string, partition int32, offset int64) {
	m.s.commit(m.conn, m.commitV, m.group, m.id, m.generation, m.instance, commitment{topic, partition, offset, 3, kmsg.StringPtr("md")})
}

type commitment struct {
	topic     string
	partition int32
	offset    int64
	epoch     int32
	metadata  *string
}

func (s *session) commit(conn string, version int16, group, id string, generation int32, instance *string, cs ...commitment) {
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation, req.InstanceID, req.RetentionTimeMillis = group, id, generation, instance, -1
	for _, c := range cs {
		n := len(req.Topics)
		if n == 0 || req.Topics[n-1].Topic != c.topic {
			req.Topics = append(req.Topics, kmsg.OffsetCommitRequestTopic{Topic: c.topic, TopicID: s.idOf(c.topic)})
			n++
		}
		t := &req.Topics[n-1]
		t.Partitions = append(t.Partitions, kmsg.OffsetCommitRequestTopicPartition{Partition: c.partition, Offset: c.offset, LeaderEpoch: c.epoch, Metadata: c.metadata})
	}
	s.call(conn, version, req)
}

// idOf is the id of the scenarios' topic; other names get ids that nobody has.
func (s *session) idOf(topic string) [16]byte {
	if topic == s.name("t") {
		for id, name := range s.names {
			if name == "id(t)" {
				return [16]byte([]byte(id))
			}
		}
	}
	return [16]byte{0xff, 1}
}

type wantOffsets struct {
	topic      string
	partitions []int32
}

func (s *session) fetch(version int16, group string, stable bool, ws []wantOffsets) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group, req.RequireStable = group, stable
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.MemberEpoch = group, -1
	if ws != nil {
		req.Topics, g.Topics = []kmsg.OffsetFetchRequestTopic{}, []kmsg.OffsetFetchRequestGroupTopic{}
	}
	for _, w := range ws {
		req.Topics = append(req.Topics, kmsg.OffsetFetchRequestTopic{Topic: w.topic, Partitions: w.partitions})
		g.Topics = append(g.Topics, kmsg.OffsetFetchRequestGroupTopic{Topic: w.topic, TopicID: s.idOf(w.topic), Partitions: w.partitions})
	}
	req.Groups = append(req.Groups, g)
	s.call("X", version, req)
}

func (s *session) describe(version int16, groups ...string) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = groups
	s.call("X", version, req)
}

func TestGroupsAsKafka(t *testing.T) {
	golden(t, "lifecycle", func(s *session) {
		for v := int16(0); v <= 9; v++ {
			s.note("JoinGroup v" + strconv.Itoa(int(v)))
			m := s.member("A", "g"+strconv.Itoa(int(v)))
			m.joinV, m.syncV, m.heartV = v, min(v, 5), min(v, 4)
			m.join()
			m.sync(m.id, "assigned")
			m.sync()
			m.beat()
			m.commitV = max(2, v)
			m.commit(s.name("t"), 0, 5)
			if v < 3 {
				m.leave(v)
			} else {
				m.leave(min(v, 5), kmsg.LeaveGroupRequestMember{MemberID: m.id})
			}
			m.beat()
			m.commit(s.name("t"), 0, 6)
		}
		s.dump(s.name("g0"))
		s.dump(s.name("g9"))
	})

	golden(t, "refusals", func(s *session) {
		s.note("JoinGroup")
		f := func(change func(m *member)) *member {
			m := s.member("A", "g")
			change(m)
			m.joined(m.joining())
			return m
		}
		f(func(m *member) { m.group = "" })
		f(func(m *member) { m.session = 299 })
		f(func(m *member) { m.session = 1800001 })
		f(func(m *member) { m.id = "nobody" })
		f(func(m *member) { m.kind = "" })
		f(func(m *member) { m.protocols = nil })
		f(func(m *member) { m.joinV = 6; m.kind = "" })
		s.describe(5, s.name("g"))
		good := s.member("A", "g")
		good.join()
		good.sync()
		f(func(m *member) { m.id = "nobody" })
		f(func(m *member) { m.kind = "other" })
		f(func(m *member) { m.protocols = []string{"q=x"} })
		f(func(m *member) { m.id = "nobody"; m.instance = kmsg.StringPtr("i") })
		f(func(m *member) { m.id = "nobody"; m.protocols = []string{"q=x"} })

		s.note("SyncGroup")
		g := func(change func(m *member)) {
			m := *good
			change(&m)
			m.sync()
		}
		g(func(m *member) { m.group = "" })
		g(func(m *member) { m.group = s.name("none") })
		g(func(m *member) { m.id = "nobody" })
		g(func(m *member) { m.id = "" })
		g(func(m *member) { m.generation = 7 })
		g(func(m *member) { m.kind = "other" })
		g(func(m *member) { m.chosen = "other" })
		g(func(m *member) { m.instance = kmsg.StringPtr("i") })

		s.note("Heartbeat")
		h := func(change func(m *member)) {
			m := *good
			change(&m)
			m.beat()
		}
		h(func(m *member) { m.group = "" })
		h(func(m *member) { m.group = s.name("none") })
		h(func(m *member) { m.id = "nobody" })
		h(func(m *member) { m.id = "" })
		h(func(m *member) { m.generation = 7 })
		h(func(m *member) { m.generation = -1 })
		h(func(m *member) { m.instance = kmsg.StringPtr("i") })

		s.note("LeaveGroup")
		who := func(id string, instance *string) kmsg.LeaveGroupRequestMember {
			return kmsg.LeaveGroupRequestMember{MemberID: id, InstanceID: instance}
		}
		none := s.member("A", "none")
		none.leave(5, who("a", nil), who("", kmsg.StringPtr("i")))
		none.id = "a"
		none.leave(1)
		none.leave(5)
		none.group = ""
		none.leave(5, who("a", nil))
		none.leave(2)
		good.leave(5, who("a", nil), who("", nil), who("", kmsg.StringPtr("i")), who(good.id, kmsg.StringPtr("i")))
		good.beat()
		pending := s.member("B", "g")
		pending.arrive()
		good.leave(5, who(pending.id, nil))
		pending.joined(pending.joining())
		good.leave(4, who(good.id, nil), who(good.id, nil))
		good.beat()
		good.sync()
		good.joined(good.joining())
		s.dump(s.name("g"))
	})

	golden(t, "rebalance", func(s *session) {
		a, b := s.member("A", "g"), s.member("B", "g")
		a.join()
		s.note("A leads alone; a join again before the sync gives the same generation, changed metadata a new one")
		a.joined(a.joining())
		a.protocols = []string{"p=changed"}
		a.joined(a.joining())
		a.sync(a.id, "first")
		s.note("a leader that joins again makes a generation")
		a.joined(a.joining())
		a.sync(a.id, "second")
		s.note("B comes")
		b.arrive()
		waiting := b.joining()
		a.until(27)
		a.beat()
		a.sync()
		a.commit(s.name("t"), 0, 10)
		s.describe(5, s.name("g"))
		waiting.silent()
		a.joined(a.joining())
		b.joined(waiting)
		s.describe(5, s.name("g"))
		a.commit(s.name("t"), 0, 11)
		b.beat()
		s.note("B syncs first and waits for A, who forgets B")
		waiting = b.syncing()
		waiting.silent()
		a.sync(a.id, "only A")
		waiting.wait()
		s.describe(5, s.name("g"))
		b.commit(s.name("t"), 1, 12)
		s.note("a follower that joins again unchanged stays in the generation")
		b.joined(b.joining())
		b.sync()
		s.note("a follower that changes makes a new one; the other's sync is refused meanwhile")
		b.protocols = []string{"p=changed too"}
		waiting = b.joining()
		a.until(27)
		a.joined(a.joining())
		b.joined(waiting)
		waiting = b.syncing()
		waiting.silent()
		s.note("the leader joins again while B waits in its sync")
		a.protocols = []string{"p=once more"}
		again := a.joining()
		waiting.wait()
		b.joined(b.joining())
		a.joined(again)
		a.sync(a.id, "a", b.id, "b", "nobody", "n")
		b.sync()
		s.note("B leaves")
		b.leave(5, kmsg.LeaveGroupRequestMember{MemberID: b.id})
		a.until(27)
		a.joined(a.joining())
		a.sync(a.id, "last")
		s.dump(s.name("g"))
	})

	golden(t, "protocols", func(s *session) {
		a, b := s.member("A", "g"), s.member("B", "g")
		a.protocols = []string{"x=ax", "y=ay", "z=az"}
		b.protocols = []string{"z=bz", "y=by"}
		a.join()
		a.sync()
		b.arrive()
		waiting := b.joining()
		a.until(27)
		s.note("both vote among y and z: one vote each")
		a.joined(a.joining())
		r := b.joined(waiting)
		if r.Protocol != nil && (*r.Protocol != "y" && *r.Protocol != "z") {
			s.t.Errorf("protocol %s", *r.Protocol)
		}
		c := s.member("C", "g")
		c.protocols = []string{"x=cx"}
		c.joined(c.joining())
		c.protocols = []string{"z=cz", "x=cx", "y=cy"}
		c.arrive()
		waiting = c.joining()
		a.until(27)
		again := a.joining()
		b.joined(b.joining())
		a.joined(again)
		c.joined(waiting)
		s.dump(s.name("g"))
	})

	golden(t, "static", func(s *session) {
		m := s.member("A", "g")
		m.instance = kmsg.StringPtr("i1")
		m.joined(m.joining())
		m.sync(m.id, "mine")
		s.note("another process takes the place")
		n := *m
		n.conn, n.id = "B", ""
		n.joined(n.joining())
		n.sync()
		n.beat()
		s.note("the old one is fenced")
		m.beat()
		m.sync()
		m.joined(m.joining())
		m.commit(s.name("t"), 0, 1)
		m.leave(5, kmsg.LeaveGroupRequestMember{MemberID: m.id, InstanceID: m.instance})
		bare := *m
		bare.instance = nil
		bare.beat()
		bare.joined(bare.joining())
		s.note("an old client takes the place: it is not told that it leads")
		o := n
		o.conn, o.id, o.joinV = "C", "", 8
		o.joined(o.joining())
		o.sync()
		s.note("with another session and metadata, but the same protocol")
		o.conn, o.id, o.joinV, o.session, o.protocols = "D", "", 9, 12000, []string{"p=new"}
		o.joined(o.joining())
		s.describe(5, s.name("g"))
		s.note("with another protocol: a rebalance")
		o.conn, o.id, o.protocols = "E", "", []string{"q=new"}
		o.joined(o.joining())
		o.protocols = []string{"p=new", "q=new"}
		o.joined(o.joining())
		s.dump(s.name("g"))
		s.note("the place is taken while the old process waits")
		u, v := s.member("U", "h"), s.member("V", "h")
		u.instance, v.instance = kmsg.StringPtr("u"), kmsg.StringPtr("v")
		u.joined(u.joining())
		u.sync(u.id, "u")
		waiting := v.joining()
		u.until(27)
		w := *v
		w.conn, w.id = "W", ""
		second := w.joining()
		waiting.wait()
		u.joined(u.joining())
		w.joined(second)
		waiting = w.syncing()
		waiting.silent()
		x := w
		x.conn, x.id = "X", ""
		third := x.joining()
		waiting.wait()
		u.joined(u.joining())
		x.joined(third)
		u.sync(u.id, "u", x.id, "x")
		x.sync()
		s.note("leaving by instance alone")
		u.leave(5, kmsg.LeaveGroupRequestMember{InstanceID: v.instance}, kmsg.LeaveGroupRequestMember{InstanceID: kmsg.StringPtr("nobody")},
			kmsg.LeaveGroupRequestMember{MemberID: x.id, InstanceID: u.instance})
		u.until(27)
		s.describe(5, s.name("h"))
	})

	golden(t, "timeouts", func(s *session) {
		a, b := s.member("A", "g"), s.member("B", "g")
		a.session, b.session, a.rebal, b.rebal = 600, 5000, 1000, 1000
		a.join()
		a.sync(a.id, "a")
		s.note("A's session ends")
		time.Sleep(1200 * time.Millisecond)
		a.beat()
		s.describe(5, s.name("g"))
		s.note("a group with B; A comes and B does not join again within the rebalance timeout")
		b.join()
		b.sync(b.id, "b")
		a.id, a.session = "", 5000
		a.join()
		b.beat()
		s.note("A does not sync in time")
		time.Sleep(1500 * time.Millisecond)
		a.beat()
		s.describe(5, s.name("g"))
		s.note("an id that is not used in time")
		a.id, a.session = "", 400
		a.arrive()
		time.Sleep(900 * time.Millisecond)
		a.joined(a.joining())
		s.note("a static member keeps its place for its session")
		u := s.member("U", "st")
		u.instance, u.session, u.rebal = kmsg.StringPtr("u"), 1500, 400
		u.joined(u.joining())
		u.sync(u.id, "u")
		v := s.member("V", "st")
		v.instance, v.session, v.rebal = kmsg.StringPtr("v"), 10000, 400
		v.joined(v.joining())
		v.sync(v.id, "v")
		u.beat()
		s.note("v0 has no rebalance timeout: the session's (B29)")
		x, y := s.member("X", "v0"), s.member("Y", "v0")
		x.joinV, y.joinV, x.syncV, y.syncV, x.session, y.session = 0, 0, 0, 0, 600, 600
		x.joined(x.joining())
		x.sync(x.id, "x")
		y.joined(y.joining())
		s.dump(s.name("g"))
		s.dump(s.name("st"))
	})
}
