package offsets

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol"
)

var (
	topicA = protocol.UUID{0xa}
	topicB = protocol.UUID{0xb}
	start  = time.UnixMilli(1_000_000)
)

// store is a Store with the log it was built from.
type store struct {
	*Store
	t   *testing.T
	log []group.Record
}

func newStore(t *testing.T) *store { return &store{Store: NewStore(), t: t} }

func (s *store) write(rs ...group.Record) {
	s.t.Helper()
	for _, r := range rs {
		s.log = append(s.log, r)
		if r.Marker != group.NotMarker {
			s.Complete(r.ProducerID, r.Marker == group.CommitMarker)
			continue
		}
		p, err := group.Parse(r)
		if err != nil {
			s.t.Fatal(err)
		}
		s.Apply(int64(len(s.log)-1), r.ProducerID, *p.Offset, p.Committed)
	}
}

func key(g, topic string, p int32) group.OffsetKey {
	return group.OffsetKey{Group: g, Topic: topic, Partition: p}
}

func at(offset int64) group.Committed {
	return group.Committed{Offset: offset, LeaderEpoch: 1, CommitTimestamp: start.UnixMilli(), ExpireTimestamp: group.None}
}

func (s *store) put(k group.OffsetKey, c group.Committed) {
	s.t.Helper()
	s.write(group.OffsetRecord(k, c))
}

// txn commits in a transaction of the producer.
func (s *store) txn(producer int64, k group.OffsetKey, c group.Committed) {
	s.t.Helper()
	r := group.OffsetRecord(k, c)
	r.ProducerID = producer
	s.write(r)
}

func (s *store) end(producer int64, m group.Marker) {
	s.write(group.Record{ProducerID: producer, Marker: m})
}

// fetch shows what a fetch of a group says: topic, partition, offset and error of each.
func (s *store) fetch(g string, stable bool, ts ...kmsg.OffsetFetchRequestGroupTopic) string {
	req := kmsg.NewOffsetFetchRequestGroup()
	req.Group, req.Topics = g, ts
	out := ""
	for _, t := range s.Fetch(&req, true, stable).Topics {
		for _, p := range t.Partitions {
			out += fmt.Sprintf("%s-%d=%d", t.Topic, p.Partition, p.Offset)
			if p.ErrorCode != 0 {
				out += fmt.Sprintf("!%d", p.ErrorCode)
			}
			out += " "
		}
	}
	return out
}

func eq[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func TestFetchOrderAndTopicIDs(t *testing.T) {
	s := newStore(t)
	c := at(5)
	c.TopicID = topicA
	s.put(key("g", "b", 1), c)
	s.put(key("g", "b", 0), at(4))
	s.put(key("g", "a", 3), at(3))
	s.put(key("h", "a", 3), at(9))
	eq(t, "all", s.fetch("g", false), "a-3=3 b-0=4 b-1=5 ")
	ask := kmsg.OffsetFetchRequestGroupTopic{Topic: "b", Partitions: []int32{2, 1, 0, 1}}
	eq(t, "as asked", s.fetch("g", false, ask), "b-2=-1 b-1=5 b-0=4 b-1=5 ")
	ask.TopicID = topicB
	eq(t, "of the topic made anew", s.fetch("g", false, ask), "b-2=-1 b-1=-1 b-0=4 b-1=-1 ")
	ask.TopicID = topicA
	eq(t, "of the same topic", s.fetch("g", false, ask), "b-2=-1 b-1=5 b-0=4 b-1=5 ")
}

func TestTransactionalOffsets(t *testing.T) {
	s := newStore(t)
	k := key("g", "t", 0)
	s.put(k, at(1))
	s.txn(7, k, at(2))
	s.txn(7, k, at(3))
	s.txn(8, key("g", "t", 1), at(4))
	eq(t, "plain fetch sees what is committed", s.fetch("g", false), "t-0=1 ")
	eq(t, "stable fetch", s.fetch("g", true), "t-0=-1!88 t-1=-1!88 ")
	s.end(7, group.CommitMarker)
	s.end(8, group.AbortMarker)
	eq(t, "after the markers", s.fetch("g", true), "t-0=3 ")

	s.txn(7, k, at(10))
	s.put(k, at(11)) // later in the log
	s.end(7, group.CommitMarker)
	eq(t, "a later commit counts", s.fetch("g", true), "t-0=11 ")

	s.txn(7, k, at(12))
	s.txn(8, k, at(13))
	s.end(8, group.CommitMarker)
	eq(t, "one of two is open", s.fetch("g", true), "t-0=-1!88 ")
	eq(t, "the other is committed", s.fetch("g", false), "t-0=13 ")
	s.end(7, group.CommitMarker)
	eq(t, "the older commit does not go back", s.fetch("g", true), "t-0=13 ")

	s.txn(9, key("h", "u", 0), at(1))
	eq(t, "pending counts as having offsets", s.Has("h"), true)
	s.write(group.OffsetTombstone(key("h", "u", 0)))
	eq(t, "deleted while pending", s.Has("h"), false)
	s.end(9, group.CommitMarker)
	eq(t, "and stays deleted", s.fetch("h", true), "")
	s.end(99, group.CommitMarker) // of a producer without offsets here
}

// ages says how old offsets of a group grow in a test.
type ages struct {
	since int64
	ok    bool
	reads map[string]bool
}

func (a ages) Retention() (int64, bool)     { return a.since, a.ok }
func (a ages) Subscribes(topic string) bool { return a.reads[topic] }

func TestExpiry(t *testing.T) {
	const retention = time.Hour
	perCommit := ages{since: group.None, ok: true}
	f := func(name string, a ages, after time.Duration, want string, wantEmpty bool, arrange func(s *store)) {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			s.put(key("g", "t", 0), at(1))
			s.put(key("g", "u", 0), at(2))
			if arrange != nil {
				arrange(s)
			}
			rs, empty := s.Expire(start.Add(after), retention, "g", a)
			s.write(rs...)
			eq(t, "left", s.fetch("g", false), want)
			eq(t, "empty", empty, wantEmpty)
		})
	}
	both := "t-0=1 u-0=2 "
	f("young", perCommit, retention-time.Millisecond, both, false, nil)
	f("old", perCommit, retention, "", true, nil)
	f("since the group was left, not since the commit", ages{since: start.Add(time.Minute).UnixMilli(), ok: true}, retention, both, false, nil)
	f("and then", ages{since: start.Add(time.Minute).UnixMilli(), ok: true}, retention+time.Minute, "", true, nil)
	f("never in this state", ages{}, 100*retention, both, false, nil)
	f("a topic that is read stays", ages{since: group.None, ok: true, reads: map[string]bool{"u": true}}, retention, "u-0=2 ", false, nil)
	f("its own expiry", perCommit, time.Minute, both, false, func(s *store) {
		c := at(3)
		c.ExpireTimestamp = start.Add(time.Minute).UnixMilli()
		s.put(key("g", "v", 0), c)
	})
	f("its own expiry is later", perCommit, retention, "v-0=3 ", false, func(s *store) {
		c := at(3)
		c.ExpireTimestamp = start.Add(2 * retention).UnixMilli()
		s.put(key("g", "v", 0), c)
	})
	f("an open transaction holds it", perCommit, retention, "t-0=1 ", false, func(s *store) { s.txn(5, key("g", "t", 0), at(4)) })
	f("a pending offset alone is not nothing", perCommit, retention, "", false, func(s *store) { s.txn(5, key("g", "w", 0), at(4)) })
}

func TestTopicsDeleted(t *testing.T) {
	s := newStore(t)
	withID := func(o int64, id protocol.UUID) group.Committed { c := at(o); c.TopicID = id; return c }
	s.put(key("g", "t", 0), withID(1, topicA))
	s.put(key("g", "t", 1), withID(2, topicB)) // committed after the topic was made anew
	s.put(key("g", "u", 0), withID(3, topicA))
	s.put(key("h", "t", 0), at(4)) // of an old version, without an id
	s.write(s.TopicsDeleted([]Topic{{"t", topicA}, {"none", topicA}})...)
	eq(t, "g", s.fetch("g", false), "t-1=2 u-0=3 ")
	eq(t, "h", s.fetch("h", false), "")
	eq(t, "count", s.Len(), 2)
	eq(t, "h is gone", s.Has("h"), false)
}

func TestDeleteAll(t *testing.T) {
	s := newStore(t)
	s.put(key("g", "t", 0), at(1))
	s.put(key("g", "u", 2), at(1))
	s.put(key("h", "u", 2), at(1))
	s.txn(3, key("g", "w", 1), at(1))
	s.write(s.DeleteAll("g")...)
	eq(t, "g", s.Has("g"), false)
	eq(t, "h", s.Has("h"), true)
}

// TestRecordsRoundTrip checks which version carries what (facts: 1 with an expiry, 4 with a topic id, else 3).
func TestRecordsRoundTrip(t *testing.T) {
	f := func(c group.Committed, version byte) {
		t.Helper()
		r := group.OffsetRecord(key("g", "t", 3), c)
		eq(t, "key version", r.Key[1], 1)
		eq(t, "value version", r.Value[1], version)
		p, err := group.Parse(r)
		if err != nil {
			t.Fatal(err)
		}
		if version == 1 { // which has neither
			c.LeaderEpoch, c.TopicID = group.None, protocol.UUID{}
		}
		eq(t, "key", *p.Offset, key("g", "t", 3))
		eq(t, "value", *p.Committed, c)
	}
	f(group.Committed{Offset: 1, LeaderEpoch: 2, Metadata: "m", CommitTimestamp: 3, ExpireTimestamp: group.None}, 3)
	f(group.Committed{Offset: 1, LeaderEpoch: group.None, CommitTimestamp: 3, ExpireTimestamp: group.None, TopicID: topicA}, 4)
	f(group.Committed{Offset: 1, LeaderEpoch: 2, CommitTimestamp: 3, ExpireTimestamp: 9, TopicID: topicA}, 1)
}
