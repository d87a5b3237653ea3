package conformance

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestCreateTopicsErrors is case B08.
func TestCreateTopicsErrors(t *testing.T) {
	c := connect(t)
	existing := unique("b08")
	createTopic(c, existing, 1)
	check := func(what string, got kmsg.CreateTopicsResponseTopic, code int16) {
		t.Helper()
		if got.ErrorCode != code {
			t.Errorf("%s: error %d (%s), want %d", what, got.ErrorCode, deref(got.ErrorMessage), code)
		}
	}
	for _, validate := range []bool{true, false} {
		check("existing", tryCreate(c, existing, 1, 1, validate), 36)
		check("rf above brokers", tryCreate(c, unique("b08"), 1, 3, validate), 38)
	}
	name := unique("b08-defaults")
	got := tryCreate(c, name, -1, -1, true)
	check("defaults", got, 0)
	eq(t, "resulting partitions", got.NumPartitions, 1)
	eq(t, "resulting replication factor", got.ReplicationFactor, 1)
	eq(t, "configs in the answer", len(got.Configs) > 30, true)
	eq(t, "validate-only creates nothing", metadata(c, 12, name).Topics[0].ErrorCode, 3)
	check("0 partitions", tryCreate(c, unique("b08"), 0, 1, true), 37)
	check("-5 partitions", tryCreate(c, unique("b08"), -5, 1, true), 37)
	check("rf 0", tryCreate(c, unique("b08"), 1, 0, true), 38)
	for _, bad := range []string{"", ".", "..", "a b", "ä", strings.Repeat("x", 250)} {
		check("name "+bad, tryCreate(c, bad, 1, 1, true), 17)
	}
	check("249 letters", tryCreate(c, strings.Repeat("x", 249), 1, 1, true), 0)
	base := strings.ReplaceAll(unique("b08"), "-", "")
	createTopic(c, base+"_y", 1)
	check("collision", tryCreate(c, base+".y", 1, 1, true), 17)
}

func createRaw(c *conn, topics ...kmsg.CreateTopicsRequestTopic) []kmsg.CreateTopicsResponseTopic {
	c.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis, req.ValidateOnly, req.Topics = 10000, true, topics
	return do[*kmsg.CreateTopicsResponse](c, 7, req).Topics
}

// TestCreateTopicsAssignments is the rest of case B08.
func TestCreateTopicsAssignments(t *testing.T) {
	c := connect(t)
	node := metadata(c, 12).Brokers[0].NodeID
	topic := func(name string, partitions int32, rf int16, assigned ...int32) kmsg.CreateTopicsRequestTopic {
		x := kmsg.NewCreateTopicsRequestTopic()
		x.Topic, x.NumPartitions, x.ReplicationFactor = name, partitions, rf
		for i := 0; i+1 < len(assigned); i += 2 {
			a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
			a.Partition, a.Replicas = assigned[i], []int32{assigned[i+1]}
			x.ReplicaAssignment = append(x.ReplicaAssignment, a)
		}
		return x
	}
	name := unique("b08-twice")
	r := createRaw(c, topic(name, 1, 1), topic(name, 1, 1))
	eq(t, "entries for a name given twice", len(r), 1)
	eq(t, "a name twice", r[0].ErrorCode, 42)
	eq(t, "assignment and count", createRaw(c, topic(unique("b08"), 1, -1, 0, node))[0].ErrorCode, 42)
	eq(t, "assignment starting at 1", createRaw(c, topic(unique("b08"), -1, -1, 1, node))[0].ErrorCode, 39)
	eq(t, "unknown broker", createRaw(c, topic(unique("b08"), -1, -1, 0, 99))[0].ErrorCode, 39)
	eq(t, "good assignment", createRaw(c, topic(unique("b08"), -1, -1, 0, node))[0].ErrorCode, 0)
}

// TestTopicConfigValues is case B09.
func TestTopicConfigValues(t *testing.T) {
	c := connect(t)
	for _, x := range []struct {
		key, value string
		code       int16
	}{
		{"no.such", "1", 40}, {"preallocate", "yes_this", 40}, {"compression.type", "foo", 40}, {"cleanup.policy", "foo", 40},
		{"retention.ms", "-2", 40}, {"retention.ms", "-1", 0}, {"segment.bytes", "1", 40}, {"message.format.version", "2.8", 40},
		{"message.timestamp.difference.max.ms", "1000", 40}, {"retention.ms", nullValue, 40}, {"flush.messages", "1", 0},
		{"min.insync.replicas", "5", 0}, {"cleanup.policy", "", 0}, {"cleanup.policy", "compact,compact", 0},
	} {
		got := tryCreate(c, unique("b09"), 1, 1, true, x.key, x.value)
		if got.ErrorCode != x.code {
			t.Errorf("%s=%s: error %d (%s), want %d", x.key, x.value, got.ErrorCode, deref(got.ErrorMessage), x.code)
		}
		if x.code == 40 && x.value != nullValue && !contains(deref(got.ErrorMessage), x.key) {
			t.Errorf("%s=%s: the message %q does not name the key", x.key, x.value, deref(got.ErrorMessage))
		}
	}
}

func describeConfigs(c *conn, version int16, kind kmsg.ConfigResourceType, name string, keys ...string) kmsg.DescribeConfigsResponseResource {
	c.t.Helper()
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.IncludeSynonyms, req.IncludeDocumentation = true, true
	rr := kmsg.NewDescribeConfigsRequestResource()
	rr.ResourceType, rr.ResourceName, rr.ConfigNames = kind, name, keys
	req.Resources = append(req.Resources, rr)
	r := do[*kmsg.DescribeConfigsResponse](c, version, req)
	if len(r.Resources) != 1 {
		c.t.Fatalf("DescribeConfigs answered %d resources", len(r.Resources))
	}
	return r.Resources[0]
}

func configOf(t *testing.T, r kmsg.DescribeConfigsResponseResource, key string) kmsg.DescribeConfigsResponseResourceConfig {
	t.Helper()
	for _, e := range r.Configs {
		if e.Name == key {
			return e
		}
	}
	t.Fatalf("%s is not described", key)
	return kmsg.DescribeConfigsResponseResourceConfig{}
}

// TestDescribeConfigs is case B10.
func TestDescribeConfigs(t *testing.T) {
	c := connect(t)
	topic := unique("b10")
	createTopic(c, topic, 1, "retention.ms", "123456")
	const topicKind, brokerKind = kmsg.ConfigResourceTypeTopic, kmsg.ConfigResourceTypeBroker
	all := describeConfigs(c, 4, topicKind, topic)
	eq(t, "topic keys", len(all.Configs), 37)
	ret := configOf(t, all, "retention.ms")
	eq(t, "value", deref(ret.Value), "123456")
	eq(t, "source of an override", ret.Source, kmsg.ConfigSourceDynamicTopicConfig)
	eq(t, "type long", ret.ConfigType, kmsg.ConfigTypeLong)
	policy := configOf(t, all, "cleanup.policy")
	eq(t, "source of a default", policy.Source, kmsg.ConfigSourceDefaultConfig)
	eq(t, "type list", policy.ConfigType, kmsg.ConfigTypeList)
	eq(t, "synonyms of cleanup.policy", len(policy.ConfigSynonyms) > 0 && policy.ConfigSynonyms[0].Name == "log.cleanup.policy", true)
	eq(t, "documentation", deref(policy.Documentation) != "", true)

	some := describeConfigs(c, 4, topicKind, topic, "retention.ms", "no.such")
	eq(t, "filtered", len(some.Configs), 1)
	eq(t, "filter's error", some.ErrorCode, 0)

	node := metadata(c, 12).Brokers[0].NodeID
	id := string(rune('0' + node))
	b := describeConfigs(c, 4, brokerKind, id, "num.partitions", "default.replication.factor", "log.retention.ms", "message.max.bytes")
	eq(t, "broker keys", len(b.Configs), 4)
	eq(t, "type int", configOf(t, b, "num.partitions").ConfigType, kmsg.ConfigTypeInt)
	eq(t, "log.retention.ms is null", configOf(t, b, "log.retention.ms").Value == nil, true)
	eq(t, "broker 99", describeConfigs(c, 4, brokerKind, "99").ErrorCode, 42)
	eq(t, "broker abc", describeConfigs(c, 4, brokerKind, "abc").ErrorCode, 42)
	eq(t, "broker default", describeConfigs(c, 4, brokerKind, "").ErrorCode, 0)
	eq(t, "unknown topic", describeConfigs(c, 4, topicKind, unique("b10-missing")).ErrorCode, 3)
	eq(t, "invalid topic", describeConfigs(c, 4, topicKind, "a b").ErrorCode, 17)
	eq(t, "unknown type", describeConfigs(c, 4, kmsg.ConfigResourceType(77), "x").ErrorCode, 42)
	eq(t, "group settings", len(describeConfigs(c, 4, kmsg.ConfigResourceType(32), unique("g")).Configs), 21)
}

// TestLegacyAlterConfigsReplaces is case B11.
func TestLegacyAlterConfigsReplaces(t *testing.T) {
	c := connect(t)
	topic := unique("b11")
	createTopic(c, topic, 1, "retention.ms", "123456", "cleanup.policy", "compact")
	req := kmsg.NewPtrAlterConfigsRequest()
	rr := kmsg.NewAlterConfigsRequestResource()
	rr.ResourceType, rr.ResourceName = kmsg.ConfigResourceTypeTopic, topic
	rc := kmsg.NewAlterConfigsRequestResourceConfig()
	rc.Name, rc.Value = "segment.bytes", kmsg.StringPtr("2000000")
	rr.Configs = append(rr.Configs, rc)
	req.Resources = append(req.Resources, rr)
	r := do[*kmsg.AlterConfigsResponse](c, 2, req)
	eq(t, "error", r.Resources[0].ErrorCode, 0)
	eventually(t, "the new value", func() bool {
		return deref(configOf(t, describeConfigs(c, 4, kmsg.ConfigResourceTypeTopic, topic), "segment.bytes").Value) == "2000000"
	})
	got := describeConfigs(c, 4, kmsg.ConfigResourceTypeTopic, topic)
	eq(t, "retention.ms back", deref(configOf(t, got, "retention.ms").Value), "604800000")
	eq(t, "cleanup.policy back", deref(configOf(t, got, "cleanup.policy").Value), "delete")
}

func deleteRecords(c *conn, topic string, offset int64) (int16, int64) {
	c.t.Helper()
	req := kmsg.NewPtrDeleteRecordsRequest()
	req.TimeoutMillis = 10000
	rt := kmsg.NewDeleteRecordsRequestTopic()
	rt.Topic = topic
	rt.Partitions = append(rt.Partitions, kmsg.DeleteRecordsRequestTopicPartition{Partition: 0, Offset: offset})
	req.Topics = append(req.Topics, rt)
	p := do[*kmsg.DeleteRecordsResponse](c, 2, req).Topics[0].Partitions[0]
	return p.ErrorCode, p.LowWatermark
}

// TestDeleteRecords is case B12.
func TestDeleteRecords(t *testing.T) {
	c := connect(t)
	topic := unique("b12")
	createTopic(c, topic, 1)
	for range 5 {
		mustProduce(c, topic, 0, newBatch(r("a"), r("b")).encode())
	}
	check := func(offset int64, code int16, low int64) {
		t.Helper()
		gotCode, gotLow := deleteRecords(c, topic, offset)
		if gotCode != code || gotLow != low {
			t.Errorf("delete to %d: error %d, low watermark %d; want %d, %d", offset, gotCode, gotLow, code, low)
		}
	}
	check(3, 0, 3)
	p := fetch(c, topic, 0, 3)
	eq(t, "batch at 3", split(t, p.RecordBatches)[0].base, 2)
	eq(t, "fetch at 2", fetch(c, topic, 0, 2).ErrorCode, 1)
	eq(t, "earliest", listOffset(c, topic, 0, -2).Offset, 3)
	eq(t, "at timestamp 0", listOffset(c, topic, 0, 0).Offset, 3)
	check(3, 0, 3)
	check(1, 0, 3)
	check(11, 1, -1)
	check(-2, 1, -1)
	check(-1, 0, 10)
	eq(t, "next append", mustProduce(c, topic, 0, one("x")), 10)

	for policy, code := range map[string]int16{"compact": 44, "compact,delete": 0} {
		name := unique("b12")
		createTopic(c, name, 1, "cleanup.policy", policy)
		got, _ := deleteRecords(c, name, 0)
		eq(t, policy, got, code)
	}
	got, _ := deleteRecords(c, unique("b12-missing"), 0)
	eq(t, "unknown topic", got, 3)
}

func deleteTopic(c *conn, name string) {
	c.t.Helper()
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = 10000
	rt := kmsg.NewDeleteTopicsRequestTopic()
	rt.Topic = kmsg.StringPtr(name)
	req.Topics = append(req.Topics, rt)
	r := do[*kmsg.DeleteTopicsResponse](c, 6, req)
	if r.Topics[0].ErrorCode != 0 {
		c.t.Fatalf("delete %s: error %d", name, r.Topics[0].ErrorCode)
	}
	eventually(c.t, name+" is gone", func() bool { return metadata(c, 12, name).Topics[0].ErrorCode == 3 })
}

// TestTopicRecreated is case B13.
func TestTopicRecreated(t *testing.T) {
	c := connect(t)
	topic := unique("b13")
	createTopic(c, topic, 1)
	idem := newBatch(r("a"))
	idem.pid, idem.pepoch = 4_000_000_013, 0
	for i := range int32(8) {
		idem.seq = i
		mustProduce(c, topic, 0, idem.encode())
	}
	old := topicID(c, topic)
	o := fetchOpts{version: 13, maxWait: 100, minBytes: 0, maxBytes: 1 << 20, topicID: old}
	full := c.do(fetchRequest("", o, want{0, 8, 1 << 20})).(*kmsg.FetchResponse)
	eq(t, "session made", full.ErrorCode == 0 && full.SessionID != 0, true)
	o.session = full.SessionID
	incremental := func(epoch int32) int16 {
		t.Helper()
		o.epoch = epoch
		r := c.do(fetchRequest("", o)).(*kmsg.FetchResponse)
		if r.ErrorCode != 0 {
			return r.ErrorCode
		}
		if len(r.Topics) != 1 {
			t.Fatalf("epoch %d: %d topics in the answer, want 1", epoch, len(r.Topics))
		}
		return r.Topics[0].Partitions[0].ErrorCode
	}
	deleteTopic(c, topic)
	eq(t, "deleted", incremental(1), 3)
	createTopic(c, topic, 1)
	eq(t, "recreated", incremental(2), 103)
	sessionless := fetchOpts{version: 13, maxWait: 100, maxBytes: 1 << 20, epoch: -1, topicID: old}
	eq(t, "sessionless by the old id", fetchWith(c, "", sessionless, want{0, 0, 1 << 20})[0].ErrorCode, 100)
	eq(t, "by name beyond the new end", fetch(c, topic, 0, 8).ErrorCode, 1)
	idem.seq = 8
	eq(t, "sequence 8", mustProduce(c, topic, 0, idem.encode()), 0)
}
