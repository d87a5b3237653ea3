package conformance

import (
	"testing"
	"time"

	"github.com/ottla/ottla/compat-tests/testserver"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func topicNames(m *kmsg.MetadataResponse) map[string]int {
	out := map[string]int{}
	for _, t := range m.Topics {
		out[deref(t.Topic)]++
	}
	return out
}

// TestMetadataTopicLists is case B05: null, empty, doubled, by id.
func TestMetadataTopicLists(t *testing.T) {
	c := connect(t)
	topic := unique("b05")
	createTopic(c, topic, 1)

	empty := kmsg.NewPtrMetadataRequest()
	empty.Topics = []kmsg.MetadataRequestTopic{}
	eq(t, "v0 [] has the topic", topicNames(do[*kmsg.MetadataResponse](c, 0, empty))[topic], 1)
	m := do[*kmsg.MetadataResponse](c, 1, empty)
	eq(t, "v1 [] topics", len(m.Topics), 0)
	eq(t, "v1 [] brokers", len(m.Brokers), 1)
	eq(t, "v1 [] controller", m.ControllerID, m.Brokers[0].NodeID)

	all := kmsg.NewPtrMetadataRequest()
	all.Topics = nil
	eq(t, "v1 null has the topic", topicNames(do[*kmsg.MetadataResponse](c, 1, all))[topic], 1)

	eq(t, "twice", len(metadata(c, 12, topic, topic).Topics), 1)

	byID := kmsg.NewPtrMetadataRequest()
	mt := kmsg.NewMetadataRequestTopic()
	mt.TopicID = [16]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}
	byID.Topics = append(byID.Topics, mt)
	m = do[*kmsg.MetadataResponse](c, 12, byID)
	eq(t, "unknown id", m.Topics[0].ErrorCode, 100)
	eq(t, "unknown id's name is null", m.Topics[0].Topic == nil, true)
	eq(t, "id echoed", m.Topics[0].TopicID, mt.TopicID)

	missing := unique("b05-missing")
	m = metadata(c, 12, missing)
	eq(t, "unknown name", m.Topics[0].ErrorCode, 3)
	eq(t, "unknown name echoed", deref(m.Topics[0].Topic), missing)
	eq(t, "unknown name's partitions", len(m.Topics[0].Partitions), 0)
}

// TestAutoCreation is case B06.
func TestAutoCreation(t *testing.T) {
	c := connect(t)
	ask := func(version int16, name string, create bool) int16 {
		req := kmsg.NewPtrMetadataRequest()
		req.AllowAutoTopicCreation = create
		mt := kmsg.NewMetadataRequestTopic()
		mt.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, mt)
		return do[*kmsg.MetadataResponse](c, version, req).Topics[0].ErrorCode
	}
	appears := func(version int16, name string) {
		t.Helper()
		deadline := time.Now().Add(5 * time.Second)
		for first := true; ; first = false {
			code := ask(version, name, true)
			if code == 0 {
				break
			}
			if code != 3 {
				t.Fatalf("%s: error %d (first %v), want 3 until it is there", name, code, first)
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s was not created", name)
			}
			time.Sleep(10 * time.Millisecond) // the client's retry pace
		}
		eq(t, "partitions of "+name, len(metadata(c, 12, name).Topics[0].Partitions), 1)
	}
	name := unique("b06")
	eq(t, "flag false", ask(12, name, false), 3)
	eq(t, "still not there", ask(12, name, false), 3)
	appears(12, name)
	appears(3, unique("b06-v3"))
	eq(t, "bad name", ask(12, "bad name", true), 17)
	eq(t, "produce never creates", produce(c, 9, unique("b06-produce"), 0, one("x")).ErrorCode, 3)
}

// TestAdvertisedPerListener is case B07.
func TestAdvertisedPerListener(t *testing.T) {
	p1, err := testserver.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	p2, err := testserver.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	srv := twoListeners(t, p1, p2)
	for _, x := range []struct {
		addr, host string
		port       int32
	}{{srv.inside, "127.0.0.1", int32(p1)}, {srv.outside, "localhost", int32(p2)}} {
		c := dial(t, x.addr)
		m := metadata(c, 12)
		eq(t, "Metadata host", m.Brokers[0].Host, x.host)
		eq(t, "Metadata port", m.Brokers[0].Port, x.port)
		d := do[*kmsg.DescribeClusterResponse](c, 1, kmsg.NewPtrDescribeClusterRequest())
		eq(t, "DescribeCluster host", d.Brokers[0].Host, x.host)
		eq(t, "DescribeCluster port", d.Brokers[0].Port, x.port)
		f := findCoordinator(c, unique("b07"))
		eq(t, "FindCoordinator host", f.Host, x.host)
		eq(t, "FindCoordinator port", f.Port, x.port)
	}
}
