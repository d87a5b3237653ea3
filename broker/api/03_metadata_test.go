package api_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

func metadataFor(create bool, names ...string) *kmsg.MetadataRequest {
	r := kmsg.NewPtrMetadataRequest()
	r.AllowAutoTopicCreation, r.Topics = create, []kmsg.MetadataRequestTopic{}
	for _, n := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = &n
		r.Topics = append(r.Topics, t)
	}
	return r
}

// codes are the error codes by topic name.
func codes(r *kmsg.MetadataResponse) map[string]protocol.ErrorCode {
	out := make(map[string]protocol.ErrorCode)
	for _, t := range r.Topics {
		name := ""
		if t.Topic != nil {
			name = *t.Topic
		}
		out[name] = protocol.ErrorCode(t.ErrorCode)
	}
	return out
}

// Case B05.
func TestMetadataTopicLists(t *testing.T) {
	e := newEdge(t)
	id := e.CreateTopic("a", 2)
	e.CreateTopic("b", 1)
	all := metadataFor(false)
	all.Topics = nil
	twice := metadataFor(false, "b", "none", "a", "b", "bad name")
	for name, c := range map[string]struct {
		req     *kmsg.MetadataRequest
		version int16
		want    map[string]protocol.ErrorCode
	}{
		"v0 none is all":   {metadataFor(false), 0, map[string]protocol.ErrorCode{"a": 0, "b": 0}},
		"v1 none is none":  {metadataFor(false), 1, map[string]protocol.ErrorCode{}},
		"v1 null is all":   {all, 1, map[string]protocol.ErrorCode{"a": 0, "b": 0}},
		"v12 none is none": {metadataFor(false), 12, map[string]protocol.ErrorCode{}},
		"named":            {twice, 12, map[string]protocol.ErrorCode{"a": 0, "b": 0, "none": 3, "bad name": 17}},
	} {
		r := ask[*kmsg.MetadataResponse](e, c.req, c.version)
		got := codes(r)
		if len(r.Topics) != len(c.want) {
			t.Errorf("%s: %d topics, want %d", name, len(r.Topics), len(c.want))
		}
		for n, code := range c.want {
			if have, ok := got[n]; !ok || have != code {
				t.Errorf("%s: %s: %v, want %v", name, n, have, code)
			}
		}
		if len(r.Brokers) != 1 || c.version >= 1 && r.ControllerID != 1 {
			t.Errorf("%s: brokers %+v, controller %d", name, r.Brokers, r.ControllerID)
		}
	}
	byID := metadataFor(false, "a", "b")
	byID.Topics[0].Topic, byID.Topics[0].TopicID = nil, id
	byID.Topics[1].Topic, byID.Topics[1].TopicID = nil, protocol.UUID{7}
	r := ask[*kmsg.MetadataResponse](e, byID, 12)
	if len(r.Topics) != 2 || *r.Topics[0].Topic != "a" || len(r.Topics[0].Partitions) != 2 {
		t.Errorf("by id: %+v", r.Topics)
	}
	if u := r.Topics[1]; u.Topic != nil || u.TopicID != (protocol.UUID{7}) || protocol.ErrorCode(u.ErrorCode) != protocol.UnknownTopicID {
		t.Errorf("unknown id: %+v", u)
	}
	nameless := metadataFor(false, "a")
	nameless.Topics[0].Topic = nil
	r = ask[*kmsg.MetadataResponse](e, nameless, 10)
	if protocol.ErrorCode(r.Topics[0].ErrorCode) != protocol.InvalidRequest || len(r.Brokers) != 0 {
		t.Errorf("no name and no id: %+v", r)
	}
	named := metadataFor(false, "a")
	named.Topics[0].TopicID = id
	r = ask[*kmsg.MetadataResponse](e, named, 11)
	if top := r.Topics[0]; protocol.ErrorCode(top.ErrorCode) != protocol.InvalidRequest || top.TopicID != id || len(r.Brokers) != 0 {
		t.Errorf("an id before v12: %+v", r)
	}
	mixed := metadataFor(false, "a", "b")
	mixed.Topics[0].Topic, mixed.Topics[1].Topic, mixed.Topics[1].TopicID = nil, nil, id
	r = ask[*kmsg.MetadataResponse](e, mixed, 12)
	if len(r.Topics) != 1 || r.Topics[0].ErrorCode != 0 || len(r.Brokers) != 1 {
		t.Errorf("neither name nor id, beside an id: %+v", r)
	}
	r = ask[*kmsg.MetadataResponse](e, nameless, 13)
	if protocol.ErrorCode(r.ErrorCode) != protocol.InvalidRequest {
		t.Errorf("no name and no id in v13: %+v", r)
	}
}

// Case B06.
func TestMetadataCreatesTopics(t *testing.T) {
	for name, c := range map[string]struct {
		topic   string
		flag    bool
		version int16
		setting string
		first   protocol.ErrorCode
		created bool
	}{
		"flag":                {"t", true, 12, "true", protocol.UnknownTopicOrPartition, true},
		"no flag":             {"t", false, 12, "true", protocol.UnknownTopicOrPartition, false},
		"v3 has no flag":      {"t", false, 3, "true", protocol.UnknownTopicOrPartition, true},
		"not configured":      {"t", true, 12, "false", protocol.UnknownTopicOrPartition, false},
		"bad name":            {"bad name", true, 12, "true", protocol.InvalidTopicException, false},
		"coordinator's topic": {protocol.ConsumerOffsetsTopic, true, 12, "true", protocol.UnknownTopicOrPartition, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEdge(t, "auto.create.topics.enable", c.setting, "num.partitions", "3")
				for range 3 { // one creation, however often it is asked for
					r := ask[*kmsg.MetadataResponse](e, metadataFor(c.flag, c.topic), c.version)
					if got := codes(r)[c.topic]; got != c.first && got != protocol.None {
						t.Errorf("at first %v, want %v", got, c.first)
					}
				}
				synctest.Wait()
				topic := e.Deps.Metadata().Topic(c.topic)
				if (topic != nil) != c.created {
					t.Fatalf("created: %v", topic != nil)
				}
				want := 3
				if c.topic == protocol.ConsumerOffsetsTopic {
					want = 50
				}
				if c.created && len(topic.Partitions) != want {
					t.Errorf("%d partitions, want %d", len(topic.Partitions), want)
				}
				time.Sleep(time.Second)
			})
		})
	}
}

// Case B07: each listener hands out its own addresses.
func TestAddressesAreThoseOfTheListener(t *testing.T) {
	e := newEdge(t)
	e.CreateTopic("t", 1)
	for listener, want := range map[string]string{"PLAINTEXT": "127.0.0.1", "OUTSIDE": "broker.example.com"} {
		e.conn.Listener = listener
		m := ask[*kmsg.MetadataResponse](e, metadataFor(false, "t"), 12)
		if len(m.Brokers) != 1 || m.Brokers[0].Host != want || m.Topics[0].Partitions[0].Leader != 1 {
			t.Errorf("%s: %+v", listener, m)
		}
		d := ask[*kmsg.DescribeClusterResponse](e, kmsg.NewPtrDescribeClusterRequest(), 2)
		if len(d.Brokers) != 1 || d.Brokers[0].Host != want || d.ClusterID != e.Deps.ClusterID {
			t.Errorf("%s: %+v", listener, d)
		}
	}
	e.conn.Listener = "ELSEWHERE"
	for version, want := range map[int16]protocol.ErrorCode{5: protocol.LeaderNotAvailable, 6: protocol.ListenerNotFound, 12: protocol.ListenerNotFound} {
		m := ask[*kmsg.MetadataResponse](e, metadataFor(false, "t"), version)
		if p := m.Topics[0].Partitions[0]; protocol.ErrorCode(p.ErrorCode) != want || p.Leader != -1 || len(m.Brokers) != 0 {
			t.Errorf("v%d: %+v", version, m)
		}
	}
}

// The numbers are those of Kafka 4.4 without an authorizer.
func TestAuthorizedOperations(t *testing.T) {
	const notAsked = -2147483648
	e := newEdge(t)
	e.CreateTopic("t", 1)
	for v := int16(8); v <= 13; v++ {
		req := metadataFor(false, "t", "none")
		r := ask[*kmsg.MetadataResponse](e, req, v)
		if r.AuthorizedOperations != notAsked || r.Topics[0].AuthorizedOperations != notAsked {
			t.Errorf("v%d, not asked for: %+v", v, r)
		}
		req.IncludeClusterAuthorizedOperations, req.IncludeTopicAuthorizedOperations = true, true
		r = ask[*kmsg.MetadataResponse](e, req, v)
		if want := int32(8096); v <= 10 && r.AuthorizedOperations != want {
			t.Errorf("v%d: cluster %d, want %d", v, r.AuthorizedOperations, want)
		}
		for _, topic := range r.Topics {
			if topic.AuthorizedOperations != 3576 {
				t.Errorf("v%d: topic %d, want 3576", v, topic.AuthorizedOperations)
			}
		}
	}
}

func TestDescribeClusterEndpoints(t *testing.T) {
	e := newEdge(t)
	for _, c := range []struct {
		version int16
		asked   int8
		want    protocol.ErrorCode
	}{{0, 2, 0}, {1, 1, 0}, {1, 2, protocol.MismatchedEndpointType}, {2, 3, protocol.UnsupportedEndpointType}} {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.EndpointType = c.asked
		r := ask[*kmsg.DescribeClusterResponse](e, req, c.version)
		if protocol.ErrorCode(r.ErrorCode) != c.want || (c.want != 0) != (len(r.Brokers) == 0) {
			t.Errorf("%+v: %+v", c, r)
		}
	}
}

// Answers of Kafka 4.4 to the same requests.
func TestDescribeTopicPartitionsPages(t *testing.T) {
	e := newEdge(t)
	e.CreateTopic("a", 3)
	e.CreateTopic("b", 3)
	e.CreateTopic("c", 3)
	type cursor struct {
		topic     string
		partition int32
	}
	for name, c := range map[string]struct {
		topics []string
		limit  int32
		from   *cursor
		want   string // topic:code:partitions
		next   *cursor
	}{
		"sorted, each once":       {[]string{"b", "a", "none", "bad name", "a"}, 2000, nil, "a:0:012 b:0:012 bad name:17: none:3:", nil},
		"ends within a topic":     {[]string{"b", "a"}, 4, nil, "a:0:012 b:0:0", &cursor{"b", 1}},
		"ends between topics":     {[]string{"b", "a"}, 3, nil, "a:0:012", &cursor{"b", 0}},
		"a limit of nothing is 1": {[]string{"b", "a"}, 0, nil, "a:0:0", &cursor{"a", 1}},
		"from a cursor":           {[]string{"b", "a", "none"}, 4, &cursor{"b", 1}, "b:0:12 none:3:", nil},
		"cursor beyond the topic": {[]string{"b", "a"}, 4, &cursor{"b", 7}, "b:0:", nil},
		"missing, page full":      {[]string{"a", "none"}, 3, nil, "a:0:012", &cursor{"none", 0}},
		"negative cursor":         {[]string{"b", "a"}, 4, &cursor{"b", -1}, "b:42: a:42:", nil},
		"cursor not in the list":  {[]string{"b", "a"}, 4, &cursor{"aa", 1}, "b:42: a:42:", nil},
		"all":                     {nil, 2000, nil, "a:0:012 b:0:012 c:0:012", nil},
		"all, from a cursor":      {nil, 4, &cursor{"b", 1}, "b:0:12 c:0:01", &cursor{"c", 2}},
		"all, from a topic gone":  {nil, 2, &cursor{"bb", 1}, "c:0:01", &cursor{"c", 2}},
	} {
		req := kmsg.NewPtrDescribeTopicPartitionsRequest()
		req.ResponsePartitionLimit = c.limit
		for _, n := range c.topics {
			topic := kmsg.NewDescribeTopicPartitionsRequestTopic()
			topic.Topic = n
			req.Topics = append(req.Topics, topic)
		}
		if c.from != nil {
			cur := kmsg.NewDescribeTopicPartitionsRequestCursor()
			cur.Topic, cur.Partition = c.from.topic, c.from.partition
			req.Cursor = &cur
		}
		r := ask[*kmsg.DescribeTopicPartitionsResponse](e, req, 0)
		got := ""
		for i, topic := range r.Topics {
			if i > 0 {
				got += " "
			}
			got += *topic.Topic + ":" + itoa(topic.ErrorCode) + ":"
			for _, p := range topic.Partitions {
				got += itoa(int16(p.Partition))
				if p.LeaderID != 1 || p.EligibleLeaderReplicas == nil {
					t.Errorf("%s: %+v", name, p)
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		switch n := r.NextCursor; {
		case (n == nil) != (c.next == nil), n != nil && (n.Topic != c.next.topic || n.Partition != c.next.partition):
			t.Errorf("%s: next %+v, want %+v", name, n, c.next)
		}
	}
}
