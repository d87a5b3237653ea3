package catalog

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
	"github.com/ottla/ottla/protocol/record"
)

// TestAsKafkaDecided replays the log of a Kafka controller (four runs of one node: stop, kill -9, stop, stop) and has
// the catalog decide again what Kafka decided, on the same metadata: the same records must come out.
func TestAsKafkaDecided(t *testing.T) {
	buf, err := os.ReadFile("../../metadata/testdata/00000000000000000000.log")
	if err != nil {
		t.Fatal(err)
	}
	k := &kafkaLog{t: t, o: testOptions(t), f: metadata.NewFollower(metadata.New()), compared: map[string]int{}}
	k.o.NodeID = 1
	for len(buf) > 0 {
		b, rest, err := record.Next(buf)
		if err != nil {
			t.Fatal(err)
		}
		k.batch(b)
		buf = rest
	}
	t.Log(k.compared)
	for what, least := range map[string]int{
		"activation": 1, "controller": 4, "topics": 30, "partitions": 1, "configs": 8, "delete": 1, "producer ids": 3,
		"registration": 4, "unfence": 4, "controlled shutdown": 3, "fence": 4,
	} {
		if k.compared[what] < least {
			t.Errorf("%s: compared %d times, expected at least %d", what, k.compared[what], least)
		}
	}
}

type kafkaLog struct {
	t        *testing.T
	o        Options
	f        *metadata.Follower
	compared map[string]int
}

func (k *kafkaLog) batch(b record.Batch) {
	entries, err := metadata.DecodeBatch(b)
	if err != nil {
		k.t.Fatal(err)
	}
	if !b.IsControl() {
		records := make([]metadata.Record, len(entries))
		for i, e := range entries {
			records[i] = e.Record
		}
		k.decided(b.BaseOffset(), records)
	}
	if err := k.f.Batch(b); err != nil {
		k.t.Fatal(err)
	}
	if _, err := k.f.Take(); err != nil {
		k.t.Fatal(err)
	}
}

// decided finds out which request led to the records and compares.
func (k *kafkaLog) decided(offset int64, want []metadata.Record) {
	c := New(k.o, k.f.Image(), 1, offset, time.Unix(0, 0))
	var what string
	var res Result
	switch first := want[0].(type) {
	case *msg.BeginTransactionRecord:
		what, res = "activation", c.Activation(want[1:len(want)-2], false)
	case *msg.RegisterControllerRecord:
		what, res = "controller", k.decide(c, controllerRequest(first))
	case *msg.TopicRecord:
		what, res = "topics", k.createTopic(c, want)
	case *msg.PartitionRecord:
		r := kmsg.NewPtrCreatePartitionsRequest()
		topic := c.settle().TopicByID(first.TopicID)
		r.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: topic.Name, Count: int32(len(topic.Partitions) + len(want))}}
		what, res = "partitions", k.decide(c, r)
	case *msg.ConfigRecord:
		what, res = "configs", k.decide(c, configRequest(want))
	case *msg.RemoveTopicRecord:
		r := newest(kmsg.NewPtrDeleteTopicsRequest())
		r.Topics = []kmsg.DeleteTopicsRequestTopic{{TopicID: first.TopicID}}
		what, res = "delete", k.decide(c, r)
	case *msg.ProducerIdsRecord:
		r := kmsg.NewPtrAllocateProducerIDsRequest()
		r.BrokerID, r.BrokerEpoch = first.BrokerID, first.BrokerEpoch
		what, res = "producer ids", k.decide(c, r)
	case *msg.RegisterBrokerRecord, *msg.PartitionChangeRecord:
		what, res = k.departure(c, want)
	case *msg.BrokerRegistrationChangeRecord:
		what, res = k.heartbeat(c, first, want)
	default:
		return
	}
	k.compared[what]++
	if g, w := k.texts(c, res.Records), k.texts(c, want); !slices.Equal(g, w) {
		k.t.Errorf("offset %d, %s: decided\n%s\nKafka wrote\n%s", offset, what, strings.Join(g, "\n"), strings.Join(w, "\n"))
	}
}

// texts are the records as bytes. Settings and partition changes, which Kafka writes in the order of a hash map, are
// sorted among themselves.
func (k *kafkaLog) texts(c *Catalog, records []metadata.Record) []string {
	var out []string
	begin := 0
	for i, r := range records {
		b, err := metadata.EncodeRecord(nil, r, metadata.VersionFor(r, max(c.settle().MetadataVersion(), 33)))
		if err != nil {
			k.t.Fatal(err)
		}
		if i > 0 && records[i-1].RecordID() != r.RecordID() {
			begin = i
		}
		out = append(out, fmt.Sprintf("%s %x", r.(msg.Message).Schema(), b))
		switch r.(type) {
		case *msg.ConfigRecord, *msg.PartitionChangeRecord:
			slices.Sort(out[begin:])
		}
	}
	return out
}

func (k *kafkaLog) decide(c *Catalog, r kmsg.Request) Result {
	k.t.Helper()
	resp, res, err, _ := c.Decide(r, time.Unix(0, 0))
	if err != nil {
		k.t.Errorf("%T: %v", r, err)
	}
	if len(res.Records) == 0 {
		k.t.Errorf("%T: no records, answer %+v", r, resp)
	}
	return res
}

func controllerRequest(rec *msg.RegisterControllerRecord) kmsg.Request {
	r := kmsg.NewPtrControllerRegistrationRequest()
	r.ControllerID, r.IncarnationID = rec.ControllerID, rec.IncarnationID
	for _, e := range rec.EndPoints {
		r.Listeners = append(r.Listeners, kmsg.ControllerRegistrationRequestListener{Name: e.Name, Host: e.Host, Port: e.Port, SecurityProtocol: e.SecurityProtocol})
	}
	for _, f := range rec.Features {
		r.Features = append(r.Features, kmsg.ControllerRegistrationRequestFeature{Name: f.Name, MinSupportedVersion: f.MinSupportedVersion, MaxSupportedVersion: f.MaxSupportedVersion})
	}
	return r
}

func (k *kafkaLog) createTopic(c *Catalog, want []metadata.Record) Result {
	topic := want[0].(*msg.TopicRecord)
	c.o.NewID = func() protocol.UUID { return topic.TopicID }
	r := newest(kmsg.NewPtrCreateTopicsRequest())
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic.Name, 0, 1
	for _, rec := range want[1:] {
		switch rec := rec.(type) {
		case *msg.ConfigRecord:
			t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: rec.Name, Value: rec.Value})
		case *msg.PartitionRecord:
			t.NumPartitions++
		}
	}
	r.Topics = append(r.Topics, t)
	return k.decide(c, r)
}

func configRequest(want []metadata.Record) kmsg.Request {
	r := newest(kmsg.NewPtrIncrementalAlterConfigsRequest())
	for _, rec := range want {
		rec, ok := rec.(*msg.ConfigRecord)
		if !ok {
			continue
		}
		n := len(r.Resources)
		if n == 0 || r.Resources[n-1].ResourceName != rec.ResourceName || int8(r.Resources[n-1].ResourceType) != rec.ResourceType {
			r.Resources = append(r.Resources, kmsg.IncrementalAlterConfigsRequestResource{ResourceType: kmsg.ConfigResourceType(rec.ResourceType), ResourceName: rec.ResourceName})
			n++
		}
		c := kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: rec.Name, Value: rec.Value}
		if rec.Value == nil {
			c.Op = kmsg.IncrementalAlterConfigOpDelete
		}
		r.Resources[n-1].Configs = append(r.Resources[n-1].Configs, c)
	}
	return r
}

// departure: partition changes end with the registration of a new process, or with the fence of the old one.
func (k *kafkaLog) departure(c *Catalog, want []metadata.Record) (string, Result) {
	switch last := want[len(want)-1].(type) {
	case *msg.BrokerRegistrationChangeRecord:
		c.sessions[last.BrokerID].contact = time.Unix(1, 0)
		return "fence", c.ExpireSession(last.BrokerID, time.Unix(100, 0))
	case *msg.RegisterBrokerRecord:
		r := newest(kmsg.NewPtrBrokerRegistrationRequest())
		r.BrokerID, r.ClusterID, r.IncarnationID, r.Rack = last.BrokerID, testCluster, last.IncarnationID, last.Rack
		for _, e := range last.EndPoints {
			r.Listeners = append(r.Listeners, kmsg.BrokerRegistrationRequestListener{Name: e.Name, Host: e.Host, Port: e.Port, SecurityProtocol: e.SecurityProtocol})
		}
		for _, f := range last.Features {
			r.Features = append(r.Features, kmsg.BrokerRegistrationRequestFeature{Name: f.Name, MinSupportedVersion: f.MinSupportedVersion, MaxSupportedVersion: f.MaxSupportedVersion})
		}
		for _, d := range last.LogDirs {
			r.LogDirs = append(r.LogDirs, d)
		}
		r.PreviousBrokerEpoch = -1
		if b := c.settle().Broker(last.BrokerID); b != nil && len(want) == 1 {
			r.PreviousBrokerEpoch = b.Epoch // it was stopped cleanly
		}
		return "registration", k.decide(c, r)
	}
	k.t.Fatalf("%T after partition changes", want[len(want)-1])
	return "", Result{}
}

func (k *kafkaLog) heartbeat(c *Catalog, first *msg.BrokerRegistrationChangeRecord, want []metadata.Record) (string, Result) {
	r := newest(kmsg.NewPtrBrokerHeartbeatRequest())
	r.BrokerID, r.BrokerEpoch, r.CurrentMetadataOffset = first.BrokerID, first.BrokerEpoch, c.NextOffset()-1
	last := want[len(want)-1]
	if l, ok := last.(*msg.BrokerRegistrationChangeRecord); ok && l.CordonedLogDirs != nil {
		r.CordonedLogDirs = [][16]byte{}
	}
	switch {
	case first.Fenced == -1:
		return "unfence", k.decide(c, r)
	case first.InControlledShutdown == 1:
		r.WantShutdown = true
		return "controlled shutdown", k.decide(c, r)
	case first.Fenced == 1:
		r.WantShutdown = true
		c.sessions[first.BrokerID].shutdownOffset = 0 // controlled shutdown began before
		return "fence", k.decide(c, r)
	}
	r.WantFence = true
	return "directories", k.decide(c, r)
}
