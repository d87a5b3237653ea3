package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
)

func creation(name string, partitions int32, replicas int16, configs ...string) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, partitions, replicas
	for i := 0; i < len(configs); i += 2 {
		t.Configs = append(t.Configs, kmsg.CreateTopicsRequestTopicConfig{Name: configs[i], Value: &configs[i+1]})
	}
	return t
}

func assignment(name string, partitions ...[]int32) kmsg.CreateTopicsRequestTopic {
	t := creation(name, -1, -1)
	for i, replicas := range partitions {
		t.ReplicaAssignment = append(t.ReplicaAssignment, kmsg.CreateTopicsRequestTopicReplicaAssignment{Partition: int32(i), Replicas: replicas})
	}
	return t
}

func (k *cluster) create(validateOnly bool, topics ...kmsg.CreateTopicsRequestTopic) []kmsg.CreateTopicsResponseTopic {
	k.t.Helper()
	r := newest(kmsg.NewPtrCreateTopicsRequest())
	r.Topics, r.ValidateOnly = topics, validateOnly
	return k.do(r).(*kmsg.CreateTopicsResponse).Topics
}

// mustCreate makes a topic with these replicas.
func (k *cluster) mustCreate(name string, partitions ...[]int32) {
	k.t.Helper()
	if r := k.create(false, assignment(name, partitions...)); r[0].ErrorCode != 0 {
		k.t.Fatalf("topic %s: %v %v", name, protocol.ErrorCode(r[0].ErrorCode), *r[0].ErrorMessage)
	}
}

// TestCreateTopicCodes is case B08, for one broker and for three.
func TestCreateTopicCodes(t *testing.T) {
	withCount := assignment("a", []int32{1})
	withCount.NumPartitions = 1
	withFactor := assignment("a", []int32{1})
	withFactor.ReplicationFactor = 1
	fromOne := assignment("a", []int32{1})
	fromOne.ReplicaAssignment[0].Partition = 1
	twicePartition := assignment("a", []int32{1}, []int32{1})
	twicePartition.ReplicaAssignment[1].Partition = 0
	for _, validateOnly := range []bool{true, false} {
		for _, c := range []struct {
			topic kmsg.CreateTopicsRequestTopic
			code  protocol.ErrorCode
		}{
			{creation("there", 1, 1), protocol.TopicAlreadyExists},
			{creation("a", 0, 1), protocol.InvalidPartitions},
			{creation("a", -5, 1), protocol.InvalidPartitions},
			{creation("a", 1, 0), protocol.InvalidReplicationFactor},
			{creation("a", 1, -2), protocol.InvalidReplicationFactor},
			{creation("a", 1, 3), protocol.InvalidReplicationFactor},
			{creation("", 1, 1), protocol.InvalidTopicException},
			{creation(".", 1, 1), protocol.InvalidTopicException},
			{creation("..", 1, 1), protocol.InvalidTopicException},
			{creation("a b", 1, 1), protocol.InvalidTopicException},
			{creation("ä", 1, 1), protocol.InvalidTopicException},
			{creation(strings.Repeat("x", 249), 1, 1), protocol.None},
			{creation(strings.Repeat("x", 250), 1, 1), protocol.InvalidTopicException},
			{creation("x.y", 1, 1), protocol.InvalidTopicException}, // x_y is there
			{creation("x-y", 1, 1), protocol.None},
			{creation("__cluster_metadata", 1, 1), protocol.InvalidRequest},
			{withCount, protocol.InvalidRequest},
			{withFactor, protocol.InvalidRequest},
			{fromOne, protocol.InvalidReplicaAssignment},
			{twicePartition, protocol.InvalidReplicaAssignment},
			{assignment("a", []int32{9}), protocol.InvalidReplicaAssignment},
			{assignment("a", []int32{}), protocol.InvalidReplicaAssignment},
			{assignment("a", []int32{1, 1}), protocol.InvalidReplicaAssignment},
			{assignment("a", []int32{1}, []int32{}), protocol.InvalidReplicaAssignment},
			{assignment("a", []int32{1}), protocol.None},
			{creation("a", 1, 1, "no.such", "1"), protocol.InvalidConfig},
		} {
			k := newCluster(t, testOptions(t), 1)
			k.create(false, creation("there", 1, 1), creation("x_y", 1, 1))
			got := k.create(validateOnly, c.topic)
			if len(got) != 1 || protocol.ErrorCode(got[0].ErrorCode) != c.code {
				t.Errorf("%.20q %+v: %v, want %v", c.topic.Topic, c.topic, protocol.ErrorCode(got[0].ErrorCode), c.code)
				continue
			}
			if c.code == protocol.None && (got[0].NumPartitions != 1 || got[0].ReplicationFactor != 1 || len(got[0].Configs) < 30 || got[0].TopicID == [16]byte{}) {
				t.Errorf("%.20q: the answer does not say what was made: %+v", c.topic.Topic, got[0])
			}
			if c.code != protocol.None && (got[0].NumPartitions != -1 || got[0].ReplicationFactor != -1 || got[0].ErrorMessage == nil || got[0].Configs == nil) {
				t.Errorf("%.20q: %+v", c.topic.Topic, got[0])
			}
			if made := k.c.settle().TopicCount() == 3; made != (c.code == protocol.None && !validateOnly) {
				t.Errorf("%.20q, validate only %v: the topic is there: %v", c.topic.Topic, validateOnly, made)
			}
		}
	}
}

func TestCreateTopicsTogether(t *testing.T) {
	k := newCluster(t, testOptions(t, "num.partitions=3", "default.replication.factor=2"), 1, 2)
	got := k.create(false, creation("a", 1, 1), creation("twice", 1, 1), creation("b", -1, -1), creation("twice", 1, 1), creation("bad name", 1, 1))
	var text []string
	for _, r := range got {
		text = append(text, fmt.Sprintf("%s %v %d %d", r.Topic, protocol.ErrorCode(r.ErrorCode), r.NumPartitions, r.ReplicationFactor))
	}
	want := []string{"a NONE 1 1", "b NONE 3 2", "bad name INVALID_TOPIC_EXCEPTION -1 -1", "twice INVALID_REQUEST -1 -1"}
	if !slices.Equal(text, want) {
		t.Errorf("%q", text)
	}
	r := newest(kmsg.NewPtrCreateTopicsRequest())
	r.Topics = []kmsg.CreateTopicsRequestTopic{creation("c", 6000, 1), creation("d", 6000, 1)}
	for _, topic := range k.do(r).(*kmsg.CreateTopicsResponse).Topics {
		if protocol.ErrorCode(topic.ErrorCode) != protocol.PolicyViolation {
			t.Errorf("12,000 partitions: %v", protocol.ErrorCode(topic.ErrorCode))
		}
	}
}

// TestCreateTopicConfigs is case B09.
func TestCreateTopicConfigs(t *testing.T) {
	k := newCluster(t, testOptions(t), 1)
	for _, c := range []struct {
		name, value string
		code        protocol.ErrorCode
	}{
		{"no.such", "1", protocol.InvalidConfig},
		{"preallocate", "yes_this", protocol.InvalidConfig},
		{"compression.type", "foo", protocol.InvalidConfig},
		{"cleanup.policy", "foo", protocol.InvalidConfig},
		{"retention.ms", "-2", protocol.InvalidConfig},
		{"retention.ms", "-1", protocol.None},
		{"segment.bytes", "1", protocol.InvalidConfig},
		{"message.format.version", "2.8", protocol.InvalidConfig},
		{"message.timestamp.difference.max.ms", "1000", protocol.InvalidConfig},
		{"flush.messages", "1", protocol.None},
		{"min.insync.replicas", "5", protocol.None},
		{"cleanup.policy", "", protocol.None},
		{"cleanup.policy", "compact,compact", protocol.None},
		{"retention.ms", strings.Repeat("1", 40000), protocol.InvalidConfig},
	} {
		r := k.create(true, creation("a", 1, 1, c.name, c.value))[0]
		if protocol.ErrorCode(r.ErrorCode) != c.code {
			t.Errorf("%s=%.20s: %v %v, want %v", c.name, c.value, protocol.ErrorCode(r.ErrorCode), r.ErrorMessage, c.code)
		}
		if c.code != protocol.None && !strings.Contains(*r.ErrorMessage, c.name) {
			t.Errorf("%s: the message does not name it: %s", c.name, *r.ErrorMessage)
		}
	}
	null := creation("a", 1, 1)
	null.Configs = []kmsg.CreateTopicsRequestTopicConfig{{Name: "retention.ms"}}
	if r := k.create(true, null)[0]; protocol.ErrorCode(r.ErrorCode) != protocol.InvalidConfig {
		t.Errorf("null: %v", protocol.ErrorCode(r.ErrorCode))
	}
	r := k.create(false, creation("b", 1, 1, "retention.ms", " +5", "cleanup.policy", "compact"))[0]
	for _, c := range r.Configs {
		if c.Name == "retention.ms" && (*c.Value != " +5" || c.Source != 1) { // as written
			t.Errorf("retention.ms in the answer: %+v", c)
		}
		if c.Name == "segment.bytes" && (*c.Value != "1073741824" || c.Source != 5) {
			t.Errorf("segment.bytes in the answer: %+v", c)
		}
	}
	if got := k.c.settle().Config(metadata.Resource{Type: metadata.TopicResource, Name: "b"}); got["cleanup.policy"] != "compact" || got["retention.ms"] != " +5" {
		t.Errorf("stored settings %v", got)
	}
}

func TestDeleteTopics(t *testing.T) {
	k := newCluster(t, testOptions(t), 1)
	ids := map[string][16]byte{}
	for _, r := range k.create(false, creation("a", 1, 1, "retention.ms", "5"), creation("b", 1, 1), creation("c", 1, 1), creation("d", 1, 1)) {
		ids[r.Topic] = r.TopicID
	}
	name := func(s string) *string { return &s }
	r := newest(kmsg.NewPtrDeleteTopicsRequest())
	r.Topics = []kmsg.DeleteTopicsRequestTopic{
		{Topic: name("a")}, {TopicID: ids["b"]}, {Topic: name("nope")}, {TopicID: [16]byte{9}}, {},
		{Topic: name("c")}, {TopicID: ids["c"]}, {Topic: name("d")}, {Topic: name("d")}, {Topic: name("a"), TopicID: ids["a"]},
	}
	got := map[string]int{}
	for _, o := range k.do(r).(*kmsg.DeleteTopicsResponse).Topics {
		topic := "-"
		if o.Topic != nil {
			topic = *o.Topic
		}
		got[fmt.Sprint(topic, " ", protocol.ErrorCode(o.ErrorCode))]++
		if (o.ErrorCode != 0) != (o.ErrorMessage != nil) {
			t.Errorf("%s: code %v, message %v", topic, protocol.ErrorCode(o.ErrorCode), o.ErrorMessage)
		}
	}
	for _, want := range []string{
		"a NONE", "b NONE", "nope UNKNOWN_TOPIC_OR_PARTITION", "- UNKNOWN_TOPIC_ID", "- INVALID_REQUEST", "c INVALID_REQUEST", "d INVALID_REQUEST", "a INVALID_REQUEST",
	} {
		if got[want] != 1 {
			t.Errorf("%q: %d times in %v", want, got[want], got)
		}
	}
	image := k.c.settle()
	if image.Topic("a") != nil || image.Topic("b") != nil || image.Topic("c") == nil || image.Topic("d") == nil || image.Config(metadata.Resource{Type: 2, Name: "a"}) != nil {
		t.Errorf("left: %v", dump(image))
	}
	k = newCluster(t, testOptions(t, "delete.topic.enable=false"), 1)
	for version, code := range map[int16]protocol.ErrorCode{2: protocol.InvalidRequest, 3: protocol.TopicDeletionDisabled} {
		r := kmsg.NewPtrDeleteTopicsRequest()
		r.Version, r.TopicNames = version, []string{"x"}
		if got := k.do(r).(*kmsg.DeleteTopicsResponse).Topics[0].ErrorCode; protocol.ErrorCode(got) != code {
			t.Errorf("disabled, version %d: %v", version, protocol.ErrorCode(got))
		}
	}
}

func TestCreatePartitions(t *testing.T) {
	k := newCluster(t, testOptions(t), 1, 2, 3)
	k.mustCreate("a", []int32{1, 2}, []int32{2, 3})
	add := func(validateOnly bool, name string, count int32, assigned ...[]int32) protocol.ErrorCode {
		r := newest(kmsg.NewPtrCreatePartitionsRequest())
		topic := kmsg.CreatePartitionsRequestTopic{Topic: name, Count: count}
		for _, replicas := range assigned {
			topic.Assignment = append(topic.Assignment, kmsg.CreatePartitionsRequestTopicAssignment{Replicas: replicas})
		}
		r.Topics, r.ValidateOnly = []kmsg.CreatePartitionsRequestTopic{topic}, validateOnly
		return protocol.ErrorCode(k.do(r).(*kmsg.CreatePartitionsResponse).Topics[0].ErrorCode)
	}
	for _, c := range []struct {
		name     string
		count    int32
		assigned [][]int32
		code     protocol.ErrorCode
	}{
		{"nope", 3, nil, protocol.UnknownTopicOrPartition},
		{"a", 2, nil, protocol.InvalidPartitions},
		{"a", 1, nil, protocol.InvalidPartitions},
		{"a", -1, nil, protocol.InvalidPartitions},
		{"a", 4, [][]int32{{1, 2}}, protocol.InvalidReplicaAssignment},
		{"a", 3, [][]int32{{1}}, protocol.InvalidReplicaAssignment},
		{"a", 3, [][]int32{{1, 9}}, protocol.InvalidReplicaAssignment},
		{"a", 20000, nil, protocol.PolicyViolation},
		{"a", 3, [][]int32{{3, 1}}, protocol.None},
	} {
		if got := add(true, c.name, c.count, c.assigned...); got != c.code {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if code := add(false, "a", 3, []int32{3, 1}); code != protocol.None || k.partition("a", 2).Leader != 3 {
		t.Errorf("%v %+v", code, k.partition("a", 2))
	}
	if code := add(false, "a", 5); code != protocol.None || len(k.partition("a", 4).Replicas) != 2 {
		t.Errorf("%v %+v", code, k.partition("a", 4))
	}
}

// TestPlacement: replicas over racks, leaders over brokers, fenced brokers never first.
func TestPlacement(t *testing.T) {
	k := newCluster(t, testOptions(t))
	racks := map[int32]string{1: "a", 2: "a", 3: "b", 4: "b", 5: "c", 6: "c"}
	for id := int32(1); id <= 6; id++ {
		r := k.registration(id)
		rack := racks[id]
		r.Rack = &rack
		k.do(r)
		if id != 6 { // stays fenced
			k.do(k.heartbeat(id))
		}
	}
	k.create(false, creation("t", 600, 3))
	leaders := map[int32]int{}
	for _, p := range k.c.settle().Topic("t").Partitions {
		leaders[p.Leader]++
		seen := map[string]bool{}
		for _, id := range p.Replicas {
			seen[racks[id]] = true
		}
		if len(seen) != 3 {
			t.Fatalf("replicas %v are in %d racks", p.Replicas, len(seen))
		}
		if slices.Contains(p.Replicas, 6) && (p.Replicas[0] == 6 || slices.Contains(p.ISR, 6)) {
			t.Fatalf("fenced broker 6 in %+v", p)
		}
	}
	for id := int32(1); id <= 5; id++ {
		if leaders[id] < 60 || leaders[id] > 240 {
			t.Errorf("leaders %v", leaders)
		}
	}
	if got := k.create(false, creation("u", 1, 7))[0]; protocol.ErrorCode(got.ErrorCode) != protocol.InvalidReplicationFactor {
		t.Errorf("7 replicas on 6 brokers: %v", protocol.ErrorCode(got.ErrorCode))
	}
	if got := k.create(false, creation("u", 1, 6))[0]; got.ErrorCode != 0 {
		t.Errorf("6 replicas on 6 brokers: %v", protocol.ErrorCode(got.ErrorCode))
	}
}
