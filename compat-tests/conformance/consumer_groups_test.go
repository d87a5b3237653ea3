package conformance

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// newcomer is one member of a consumer group (KIP-848) driven by hand.
type newcomer struct {
	c         *conn
	group, id string
	instance  *string
	topics    []string
	regex     *string
	assignor  *string
	epoch     int32
	has       map[[16]byte][]int32
}

func newID() string {
	b := make([]byte, 16)
	rand.Read(b)
	return base64.RawURLEncoding.EncodeToString(b)
}

func newNewcomer(t *testing.T, group string, topics ...string) *newcomer {
	t.Helper()
	c := connect(t)
	findCoordinator(c, group)
	return &newcomer{c: c, group: group, id: newID(), topics: topics}
}

// join is the first request, complete.
func (m *newcomer) joinRequest() *kmsg.ConsumerGroupHeartbeatRequest {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.InstanceID, req.RebalanceTimeoutMillis = m.group, m.id, m.instance, 10000
	req.SubscribedTopicNames, req.SubscribedTopicRegex, req.ServerAssignor = m.topics, m.regex, m.assignor
	req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	return req
}

func (m *newcomer) do(req *kmsg.ConsumerGroupHeartbeatRequest) *kmsg.ConsumerGroupHeartbeatResponse {
	m.c.t.Helper()
	r := do[*kmsg.ConsumerGroupHeartbeatResponse](m.c, 1, req)
	if r.ErrorCode == 0 {
		m.epoch = r.MemberEpoch
		if r.Assignment != nil {
			m.has = map[[16]byte][]int32{}
			for _, t := range r.Assignment.Topics {
				m.has[t.TopicID] = slices.Sorted(slices.Values(t.Partitions))
			}
		}
	}
	return r
}

func (m *newcomer) join() *kmsg.ConsumerGroupHeartbeatResponse {
	m.c.t.Helper()
	r := m.do(m.joinRequest())
	eq(m.c.t, "join", r.ErrorCode, 0)
	return r
}

// plain is a heartbeat in which nothing has changed.
func (m *newcomer) plain() *kmsg.ConsumerGroupHeartbeatRequest {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Group, req.MemberID, req.InstanceID, req.MemberEpoch = m.group, m.id, m.instance, m.epoch
	return req
}

// beat is a heartbeat that says what the member has.
func (m *newcomer) beat() *kmsg.ConsumerGroupHeartbeatResponse {
	m.c.t.Helper()
	req := m.plain()
	req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	for t, ps := range m.has {
		req.Topics = append(req.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: t, Partitions: ps})
	}
	return m.do(req)
}

func (m *newcomer) leave(epoch int32) int16 {
	m.c.t.Helper()
	req := m.plain()
	req.MemberEpoch = epoch
	return do[*kmsg.ConsumerGroupHeartbeatResponse](m.c, 1, req).ErrorCode
}

func (m *newcomer) count() int {
	n := 0
	for _, ps := range m.has {
		n += len(ps)
	}
	return n
}

// settle beats until every member has its share and nothing changes any more.
func settle(t *testing.T, total int, ms ...*newcomer) {
	t.Helper()
	deadline := time.Now().Add(15 * time.Second)
	for time.Now().Before(deadline) {
		sum, same := 0, true
		for _, m := range ms {
			r := m.beat()
			if r.ErrorCode != 0 {
				t.Fatalf("member %s: error %d", m.id, r.ErrorCode)
			}
			sum += m.count()
			same = same && r.Assignment == nil && m.epoch == ms[0].epoch
		}
		if same && sum == total {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal("the group does not settle")
}

func describeConsumers(c *conn, group string) kmsg.ConsumerGroupDescribeResponseGroup {
	c.t.Helper()
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{group}
	return do[*kmsg.ConsumerGroupDescribeResponse](c, 1, req).Groups[0]
}

func commitAs(c *conn, version int16, group, member string, epoch int32, topic string, id [16]byte, p int32, offset int64) int16 {
	c.t.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.MemberID, req.Generation = group, member, epoch
	req.Topics = []kmsg.OffsetCommitRequestTopic{{Topic: topic, TopicID: id, Partitions: []kmsg.OffsetCommitRequestTopicPartition{{Partition: p, Offset: offset, LeaderEpoch: -1}}}}
	return do[*kmsg.OffsetCommitResponse](c, version, req).Topics[0].Partitions[0].ErrorCode
}

// TestConsumerGroupHeartbeat is case B35.
func TestConsumerGroupHeartbeat(t *testing.T) {
	topic := unique("b35")
	createTopic(connect(t), topic, 3)
	group := unique("b35")
	m := newNewcomer(t, group, topic)
	refused := func(name string, want int16, change func(*kmsg.ConsumerGroupHeartbeatRequest)) {
		t.Helper()
		req := m.joinRequest()
		change(req)
		eq(t, name, m.do(req).ErrorCode, want)
	}
	refused("empty member id", 42, func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberID = "" })
	refused("owned partitions null", 42, func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.Topics = nil })
	refused("owned partitions", 42, func(r *kmsg.ConsumerGroupHeartbeatRequest) {
		r.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{{Partitions: []int32{0}}}
	})
	refused("no subscription", 42, func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.SubscribedTopicNames = nil })
	refused("no rebalance timeout", 42, func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.RebalanceTimeoutMillis = -1 })
	refused("assignor", 112, func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.ServerAssignor = kmsg.StringPtr("sticky") })
	refused("pattern", 128, func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.SubscribedTopicRegex = kmsg.StringPtr("[") })
	refused("empty group id", 42, func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.Group = "" })
	refused("blank instance", 42, func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.InstanceID = kmsg.StringPtr("") })
	refused("blank rack", 42, func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.RackID = kmsg.StringPtr("") })
	refused("epoch -2 without an instance", 42, func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch = -2 })
	refused("epoch -3", 42, func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch = -3 })
	refused("epoch 3 of no group", 69, func(r *kmsg.ConsumerGroupHeartbeatRequest) { r.MemberEpoch = 3 })

	r := m.join()
	eq(t, "own id", *r.MemberID, m.id)
	eq(t, "epoch", r.MemberEpoch, 2)
	eq(t, "interval", r.HeartbeatIntervalMillis, 5000)
	eq(t, "partitions", m.count(), 3)
	again := m.join()
	eq(t, "the same again", fmt.Sprint(again.MemberEpoch, m.count()), fmt.Sprint(r.MemberEpoch, 3))
	beat := m.do(m.plain())
	eq(t, "right epoch", beat.ErrorCode, 0)
	eq(t, "nothing new", beat.Assignment == nil, true)
	other := *m
	other.epoch += 5
	eq(t, "later epoch", other.do(other.plain()).ErrorCode, 110)
	other.epoch, other.id = m.epoch, newID()
	eq(t, "unknown member", other.do(other.plain()).ErrorCode, 25)

	var id [16]byte
	for x := range m.has {
		id = x
	}
	commit := func(name string, version int16, member string, epoch int32, want int16) {
		t.Helper()
		eq(t, name, commitAs(m.c, version, group, member, epoch, topic, id, 0, 7), want)
	}
	commit("right epoch", 9, m.id, m.epoch, 0)
	commit("older epoch", 9, m.id, m.epoch-1, 113)
	commit("newer epoch", 9, m.id, m.epoch+1, 113)
	commit("no epoch", 9, "", -1, 25)
	commit("v8", 8, m.id, m.epoch, 35)
	d := describeConsumers(m.c, group)
	eq(t, "described", fmt.Sprintf("%d %s %d %d %s %d", d.ErrorCode, d.State, d.Epoch, d.AssignmentEpoch, d.AssignorName, len(d.Members)), "0 Stable 2 2 uniform 1")
	x := d.Members[0]
	eq(t, "member", fmt.Sprint(x.MemberID == m.id, x.MemberEpoch, x.MemberType, x.SubscribedTopics[0] == topic, x.Assignment.TopicPartitions[0].Topic == topic,
		x.TargetAssignment.TopicPartitions[0].Partitions, deref(x.SubscribedTopicRegex) == "", x.InstanceID == nil), "true 2 1 true true [0 1 2] true true")
	eq(t, "delete", deleteGroup(m.c, group), 68)
	eq(t, "leave", m.leave(-1), 0)
	eq(t, "leave again", m.leave(-1), 25)
	eq(t, "empty", describeConsumers(m.c, group).State, "Empty")
	eq(t, "no group", describeConsumers(m.c, unique("none")).ErrorCode, 69)
	eq(t, "commit of an admin", commitAs(m.c, 9, group, "", -1, topic, id, 0, 9), 0)
	eq(t, "delete", deleteGroup(m.c, group), 0)
}

func deleteGroup(c *conn, group string) int16 {
	c.t.Helper()
	req := kmsg.NewPtrDeleteGroupsRequest()
	req.Groups = []string{group}
	return do[*kmsg.DeleteGroupsResponse](c, 2, req).Groups[0].ErrorCode
}

// TestConsumerGroupRebalance lets members come and go: partitions change hands one owner at a time.
func TestConsumerGroupRebalance(t *testing.T) {
	topic := unique("kip848")
	createTopic(connect(t), topic, 6)
	group := unique("kip848")
	a, b := newNewcomer(t, group, topic), newNewcomer(t, group, topic)
	a.join()
	r := b.join()
	eq(t, "not before the assignment interval", fmt.Sprint(r.MemberEpoch, b.count()), fmt.Sprint(a.epoch, 0))
	eq(t, "assigning", describeConsumers(a.c, group).State, "Assigning")
	time.Sleep(1100 * time.Millisecond)
	r = b.beat()
	eq(t, "b goes on", fmt.Sprint(r.MemberEpoch, b.count()), fmt.Sprint(a.epoch+1, 0))
	eq(t, "reconciling", describeConsumers(a.c, group).State, "Reconciling")
	r = a.do(a.plain())
	eq(t, "a is to give up, its epoch stays", fmt.Sprint(r.MemberEpoch, a.count()), "2 3")
	eq(t, "b still has nothing", fmt.Sprint(b.beat().Assignment == nil), "true")
	r = a.beat()
	eq(t, "a goes on", r.MemberEpoch, 3)
	b.beat()
	eq(t, "b has the rest", b.count(), 3)
	settle(t, 6, a, b)
	eq(t, "stable", describeConsumers(a.c, group).State, "Stable")
	eq(t, "a leaves", a.leave(-1), 0)
	time.Sleep(1100 * time.Millisecond)
	settle(t, 6, b)
}

// TestConsumerGroupStatic: an instance keeps its place while it is away.
func TestConsumerGroupStatic(t *testing.T) {
	topic := unique("static848")
	createTopic(connect(t), topic, 4)
	group := unique("static848")
	a, b := newNewcomer(t, group, topic), newNewcomer(t, group, topic)
	a.instance, b.instance = kmsg.StringPtr("i1"), kmsg.StringPtr("i1")
	a.join()
	eq(t, "in use", b.do(b.joinRequest()).ErrorCode, 111)
	beat := b.plain()
	beat.MemberEpoch = a.epoch
	eq(t, "another id", b.do(beat).ErrorCode, 82)
	beat.InstanceID = kmsg.StringPtr("i2")
	eq(t, "unknown instance", b.do(beat).ErrorCode, 25)
	eq(t, "leaves for a while", a.leave(-2), 0)
	eq(t, "epoch while away", describeConsumers(a.c, group).Members[0].MemberEpoch, -2)
	r := b.join()
	eq(t, "in its place", fmt.Sprint(r.MemberEpoch, b.count()), "2 4")
	eq(t, "the old one", a.do(a.plain()).ErrorCode, 82)
	d := describeConsumers(a.c, group)
	eq(t, "one member", fmt.Sprint(len(d.Members), d.Members[0].MemberID == b.id, d.Epoch), "1 true 2")
}

// TestConsumerGroupRegex subscribes by pattern, which has to match the whole name.
func TestConsumerGroupRegex(t *testing.T) {
	prefix := unique("regex")
	createTopic(connect(t), prefix+"-a", 2)
	createTopic(connect(t), prefix+"-b", 2)
	createTopic(connect(t), "x"+prefix+"-a", 2)
	group := unique("regex")
	m := newNewcomer(t, group)
	m.topics, m.regex = nil, kmsg.StringPtr(prefix+"-.")
	m.join()
	settle(t, 4, m)
	eq(t, "described", *describeConsumers(m.c, group).Members[0].SubscribedTopicRegex, *m.regex)
	req := m.plain()
	req.SubscribedTopicRegex, req.SubscribedTopicNames = kmsg.StringPtr(""), []string{"x" + prefix + "-a"}
	eq(t, "by name instead", m.do(req).ErrorCode, 0)
	settle(t, 2, m)
}

// TestAssignors gives members the ids that decide who gets the odd partitions; what they get was measured.
func TestAssignors(t *testing.T) {
	for _, x := range []struct {
		assignor   string
		partitions []int32
		members    string
		want       string
	}{
		{"range", []int32{7, 2}, "c3 a1 b2", "a1:0,1,2 b2:3,4 c3:5,6 | a1:0 b2:1 c3:"},
		{"uniform", []int32{13}, "kilo lima mike november oscar", "kilo:0,1,2 lima:7,8,9 mike:5,6 november:4,10,12 oscar:3,11"},
		{"uniform", []int32{10}, "EVcJeJ3oQ6yfXkV8E4lRrA 9sYw0bPIT3uIlxmLJQmBLg zkq0gN0yQ0-8lqkR0g2x5w 3mCcMgxFSUa8mPCa1v7mKg",
			"3mCcMgxFSUa8mPCa1v7mKg:2,8 9sYw0bPIT3uIlxmLJQmBLg:5,6,7 EVcJeJ3oQ6yfXkV8E4lRrA:0,1 zkq0gN0yQ0-8lqkR0g2x5w:3,4,9"},
	} {
		t.Run(x.assignor+" "+x.members, func(t *testing.T) {
			var topics []string
			for _, n := range x.partitions {
				topics = append(topics, unique("assign"))
				createTopic(connect(t), topics[len(topics)-1], n)
			}
			group, total := unique("assign"), 0
			for _, n := range x.partitions {
				total += int(n)
			}
			alterGroup(t, group, "consumer.assignment.interval.ms", "0")
			var ms []*newcomer
			for _, id := range strings.Fields(x.members) {
				m := newNewcomer(t, group, topics...)
				m.id, m.assignor = id, kmsg.StringPtr(x.assignor)
				m.join()
				ms = append(ms, m)
			}
			settle(t, total, ms...)
			var out []string
			for _, topic := range topics {
				id := topicID(ms[0].c, topic)
				var of []string
				for _, m := range ms {
					of = append(of, m.id+":"+strings.ReplaceAll(strings.Trim(fmt.Sprint(m.has[id]), "[]"), " ", ","))
				}
				slices.Sort(of)
				out = append(out, strings.Join(of, " "))
			}
			eq(t, "assigned", strings.Join(out, " | "), x.want)
		})
	}
}

// alterGroup sets a setting of one group.
func alterGroup(t *testing.T, group, key, value string) {
	t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: 32, ResourceName: group,
		Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: key, Value: &value}}}}
	r := do[*kmsg.IncrementalAlterConfigsResponse](connect(t), 1, req)
	eq(t, "alter "+key, r.Resources[0].ErrorCode, 0)
	time.Sleep(200 * time.Millisecond) // Apache Kafka answers before its coordinator has it
}

// consumerMetadata is what a classic consumer says of itself.
func consumerMetadata(topics ...string) []byte {
	m := kmsg.NewConsumerMemberMetadata()
	m.Version, m.Topics = 3, topics
	return m.AppendTo(nil)
}

func assigned(t *testing.T, b []byte) int {
	t.Helper()
	a := kmsg.NewConsumerMemberAssignment()
	if err := a.ReadFrom(b); err != nil {
		t.Fatalf("assignment: %v", err)
	}
	n := 0
	for _, x := range a.Topics {
		n += len(x.Partitions)
	}
	return n
}

// oldtimer is a classic member of a group of consumers.
func newOldtimer(t *testing.T, group, topic string) *member {
	m := newMember(t, group)
	m.kind, m.protocol, m.metadata = "consumer", "range", consumerMetadata(topic)
	return m
}

func wholeTopic(topic string, partitions ...int32) []byte {
	a := kmsg.NewConsumerMemberAssignment()
	a.Version = 3
	a.Topics = []kmsg.ConsumerMemberAssignmentTopic{{Topic: topic, Partitions: partitions}}
	return a.AppendTo(nil)
}

// groupType is what ListGroups says of a group.
func groupType(c *conn, group string) string {
	c.t.Helper()
	for _, g := range do[*kmsg.ListGroupsResponse](c, 5, kmsg.NewPtrListGroupsRequest()).Groups {
		if g.Group == group {
			return g.GroupType
		}
	}
	return "none"
}

// TestProtocolsOfOneGroup is case B36.
func TestProtocolsOfOneGroup(t *testing.T) {
	t.Run("consumer joins a live classic group", func(t *testing.T) {
		topic, group := unique("b36a"), unique("b36a")
		createTopic(connect(t), topic, 4)
		old := newOldtimer(t, group, topic)
		old.join(9)
		eq(t, "sync", old.sync(5, map[string][]byte{old.id: wholeTopic(topic, 0, 1, 2, 3)}).ErrorCode, 0)
		eq(t, "commit", commitAs(old.c, 9, group, old.id, old.generation, topic, [16]byte{}, 2, 42), 0)
		m := newNewcomer(t, group, topic)
		m.join()
		eq(t, "type", groupType(old.c, group), "consumer")
		eq(t, "the classic member", old.heartbeat(4), 27)
		old.metadata = consumerMetadata(topic)
		rejoin(t, old)
		for i := 0; i < 40 && m.count() != 2; i++ {
			if old.heartbeat(4) == 27 {
				rejoin(t, old)
			}
			m.beat()
			time.Sleep(50 * time.Millisecond)
		}
		eq(t, "half of it", m.count(), 2)
		eq(t, "the other half", assigned(t, old.sync(5, nil).MemberAssignment), 2)
		types := map[int8]int{}
		for _, x := range describeConsumers(m.c, group).Members {
			types[x.MemberType]++
		}
		eq(t, "types of members", fmt.Sprint(types), "map[0:1 1:1]")
		eq(t, "offset", committedOffset(m.c, group, topic, 2), 42)

		eq(t, "the new one leaves", m.leave(-1), 0)
		eq(t, "classic again", groupType(old.c, group), "classic")
		eq(t, "rebalances", old.heartbeat(4), 27)
		old.joinOnce(9)
		eq(t, "leads", old.leader, true)
		eq(t, "sync", old.sync(5, map[string][]byte{old.id: wholeTopic(topic, 0, 1, 2, 3)}).ErrorCode, 0)
		eq(t, "offset", committedOffset(m.c, group, topic, 2), 42)
	})
	t.Run("empty classic group with offsets", func(t *testing.T) {
		topic, group := unique("b36b"), unique("b36b")
		createTopic(connect(t), topic, 2)
		m := newNewcomer(t, group, topic)
		eq(t, "commit", commitAs(m.c, 9, group, "", -1, topic, [16]byte{}, 1, 5), 0)
		eq(t, "type", groupType(m.c, group), "classic")
		m.join()
		eq(t, "type", groupType(m.c, group), "consumer")
		eq(t, "offset", committedOffset(m.c, group, topic, 1), 5)
	})
	t.Run("live group of another type", func(t *testing.T) {
		topic, group := unique("b36c"), unique("b36c")
		createTopic(connect(t), topic, 2)
		x := newMember(t, group)
		x.join(9)
		eq(t, "sync", x.sync(5, map[string][]byte{x.id: []byte("x")}).ErrorCode, 0)
		m := newNewcomer(t, group, topic)
		eq(t, "join", m.do(m.joinRequest()).ErrorCode, 69)
		eq(t, "stays", x.heartbeat(4), 0)
	})
	t.Run("classic joins a consumer group", func(t *testing.T) {
		topic, group := unique("b36e"), unique("b36e")
		createTopic(connect(t), topic, 4)
		alterGroup(t, group, "consumer.assignment.interval.ms", "0")
		m := newNewcomer(t, group, topic)
		m.join()
		odd := newMember(t, group)
		eq(t, "another type", odd.joinOnce(9).ErrorCode, 23)
		old := newOldtimer(t, group, topic)
		first := old.joinOnce(9)
		eq(t, "an id first", first.ErrorCode, 79)
		old.id = first.MemberID
		r := old.joinOnce(9)
		eq(t, "then joined", fmt.Sprintf("%d %q %d %s", r.ErrorCode, r.LeaderID, len(r.Members), deref(r.Protocol)), `0 "" 0 range`)
		eq(t, "heartbeat", old.heartbeat(4), 0)
		s := old.sync(5, nil)
		eq(t, "sync", s.ErrorCode, 0)
		eq(t, "not free yet", assigned(t, s.MemberAssignment), 0)
		m.beat()
		m.beat()
		eq(t, "free now", old.heartbeat(4), 27)
		rejoin(t, old)
		eq(t, "sync", assigned(t, old.sync(5, nil).MemberAssignment), 2)
		eq(t, "an old generation", commitAs(old.c, 9, group, old.id, old.generation-1, topic, [16]byte{}, 0, 5), 22)
		leave(old.c, group, kmsg.LeaveGroupRequestMember{MemberID: old.id})
		settle(t, 4, m)
		eq(t, "still one", groupType(m.c, group), "consumer")
	})
	t.Run("classic joins an empty consumer group", func(t *testing.T) {
		topic, group := unique("b36f"), unique("b36f")
		createTopic(connect(t), topic, 2)
		m := newNewcomer(t, group, topic)
		m.join()
		eq(t, "leaves", m.leave(-1), 0)
		old := newOldtimer(t, group, topic)
		old.join(9)
		eq(t, "type", groupType(m.c, group), "classic")
	})
}

// rejoin joins again as the member that it is.
func rejoin(t *testing.T, m *member) {
	t.Helper()
	eq(t, "rejoin", m.joinOnce(9).ErrorCode, 0)
}

func committedOffset(c *conn, group, topic string, p int32) int64 {
	c.t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group, g.MemberEpoch = group, -1
	g.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: topic, Partitions: []int32{p}}}
	req.Groups = append(req.Groups, g)
	return do[*kmsg.OffsetFetchResponse](c, 9, req).Groups[0].Topics[0].Partitions[0].Offset
}
