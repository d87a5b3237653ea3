package catalog

import (
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

type op = kmsg.IncrementalAlterConfigsRequestResourceConfig

func set(name, value string) op { return op{Name: name, Value: &value} }
func del(name string) op        { return op{Name: name, Op: kmsg.IncrementalAlterConfigOpDelete} }
func add(name, value string) op {
	return op{Name: name, Value: &value, Op: kmsg.IncrementalAlterConfigOpAppend}
}
func sub(name, value string) op {
	return op{Name: name, Value: &value, Op: kmsg.IncrementalAlterConfigOpSubtract}
}

// alter is the code of one resource.
func (k *cluster) alter(kind metadata.ResourceType, name string, ops ...op) protocol.ErrorCode {
	k.t.Helper()
	r := newest(kmsg.NewPtrIncrementalAlterConfigsRequest())
	r.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: kmsg.ConfigResourceType(kind), ResourceName: name, Configs: ops}}
	out := k.do(r).(*kmsg.IncrementalAlterConfigsResponse).Resources[0]
	if out.ErrorCode != 0 && out.ErrorMessage == nil {
		k.t.Errorf("%v without a message", protocol.ErrorCode(out.ErrorCode))
	}
	return protocol.ErrorCode(out.ErrorCode)
}

func TestAlterConfigCodes(t *testing.T) {
	long := strings.Repeat("x", 32768)
	for _, c := range []struct {
		kind metadata.ResourceType
		name string
		ops  []op
		code protocol.ErrorCode
	}{
		{2, "a", []op{set("retention.ms", "1")}, protocol.None},
		{2, "a", []op{set("retention.ms", "-2")}, protocol.InvalidConfig},
		{2, "a", []op{set("no.such", "1")}, protocol.InvalidConfig},
		{2, "a", []op{del("no.such")}, protocol.None},
		{2, "nope", []op{set("retention.ms", "1")}, protocol.UnknownTopicOrPartition},
		{2, "nope", []op{set("retention.ms", "x")}, protocol.InvalidConfig},
		{2, "", []op{set("retention.ms", "1")}, protocol.InvalidRequest},
		{2, "bad name", []op{set("retention.ms", "1")}, protocol.InvalidTopicException},
		{2, "a", []op{{Name: "retention.ms"}}, protocol.InvalidRequest}, // null
		{2, "a", []op{set("retention.ms", "1"), del("retention.ms")}, protocol.InvalidRequest},
		{2, "a", []op{{Name: "retention.ms", Op: 9, Value: new(string)}}, protocol.InvalidRequest},
		{2, "a", []op{add("retention.ms", "1")}, protocol.InvalidConfig},
		{2, "a", []op{add("cleanup.policy", "compact")}, protocol.None},
		{16, "m", []op{add("metrics", "a")}, protocol.InvalidConfig},
		{2, "a", []op{set("leader.replication.throttled.replicas", long)}, protocol.InvalidConfig},
		{4, "", []op{set("log.retention.ms", "1000000")}, protocol.None},
		{4, "1", []op{set("log.retention.ms", "1000000")}, protocol.None},
		{4, "-1", []op{set("log.retention.ms", "1000000")}, protocol.InvalidRequest},
		{4, "x", []op{set("log.retention.ms", "1000000")}, protocol.InvalidRequest},
		{4, "99", []op{set("log.retention.ms", "1000000")}, protocol.BrokerIDNotRegistered},
		{4, "1", []op{set("min.insync.replicas", "2")}, protocol.InvalidConfig},
		{4, "", []op{del("min.insync.replicas")}, protocol.InvalidConfig},
		{4, "", []op{set("min.insync.replicas", "2")}, protocol.None},
		{8, "1", []op{set("root", "INFO")}, protocol.InvalidRequest},
		{77, "1", []op{set("root", "INFO")}, protocol.InvalidRequest},
		{32, "g", []op{set("consumer.session.timeout.ms", "50000")}, protocol.None},
		{32, "", []op{set("consumer.session.timeout.ms", "50000")}, protocol.InvalidRequest},
		{16, "m", []op{set("interval.ms", "1000")}, protocol.None},
		{16, "m", []op{set("no.such", "1")}, protocol.InvalidRequest},
	} {
		k := newCluster(t, testOptions(t), 1)
		k.mustCreate("a", []int32{1})
		if got := k.alter(c.kind, c.name, c.ops...); got != c.code {
			t.Errorf("%d %q %+v: %v, want %v", c.kind, c.name, c.ops, got, c.code)
		}
	}
}

func TestIncrementalOperations(t *testing.T) {
	k := newCluster(t, testOptions(t), 1)
	k.mustCreate("a", []int32{1})
	res := metadata.Resource{Type: metadata.TopicResource, Name: "a"}
	for _, c := range []struct {
		op   op
		want string
	}{
		{add("cleanup.policy", "compact"), "delete,compact"}, // on top of the default
		{add("cleanup.policy", "compact"), "delete,compact"},
		{sub("cleanup.policy", "delete"), "compact"},
		{sub("cleanup.policy", "delete"), "compact"},
		{set("cleanup.policy", "delete"), "delete"},
		{del("cleanup.policy"), ""},
	} {
		k.alter(2, "a", c.op)
		if got := k.c.settle().Config(res)["cleanup.policy"]; got != c.want {
			t.Errorf("%+v: %q, want %q", c.op, got, c.want)
		}
	}
	k.alter(2, "a", set("retention.ms", "5"))
	if k.alter(2, "a", set("retention.ms", "5")); len(k.wrote) != 0 {
		t.Errorf("the same value was written again: %v", k.wrote)
	}
	k.alter(4, "1", set("log.cleaner.threads", "2"))
	if k.alter(4, "1", set("log.cleaner.threads", "2")); len(k.wrote) != 1 {
		t.Errorf("a broker's value was not written again: %v", k.wrote)
	}
	if k.alter(2, "a", set("min.insync.replicas", "2")); len(k.wrote) != 2 {
		t.Errorf("no ClearElr: %v", k.wrote)
	} else if clear, ok := k.wrote[1].(*msg.ClearElrRecord); !ok || clear.TopicName != "a" {
		t.Errorf("no ClearElr: %v", k.wrote[1])
	}
}

// TestLegacyAlterConfigs is case B11: what is not named is gone.
func TestLegacyAlterConfigs(t *testing.T) {
	k := newCluster(t, testOptions(t), 1)
	k.mustCreate("a", []int32{1})
	k.alter(2, "a", set("retention.ms", "123456"), set("cleanup.policy", "compact"))
	r := newest(kmsg.NewPtrAlterConfigsRequest())
	value := "2000000"
	resource := kmsg.AlterConfigsRequestResource{ResourceType: 2, ResourceName: "a", Configs: []kmsg.AlterConfigsRequestResourceConfig{{Name: "segment.bytes", Value: &value}}}
	r.Resources, r.ValidateOnly = []kmsg.AlterConfigsRequestResource{resource}, true
	k.do(r)
	if got := k.c.settle().Config(metadata.Resource{Type: 2, Name: "a"}); len(got) != 2 {
		t.Errorf("validate only: %v", got)
	}
	r.ValidateOnly = false
	k.do(r)
	if got := k.c.settle().Config(metadata.Resource{Type: 2, Name: "a"}); len(got) != 1 || got["segment.bytes"] != value {
		t.Errorf("settings %v", got)
	}
	r.Resources = append(r.Resources, resource)
	for _, out := range k.do(r).(*kmsg.AlterConfigsResponse).Resources {
		if protocol.ErrorCode(out.ErrorCode) != protocol.InvalidRequest {
			t.Errorf("twice: %v", protocol.ErrorCode(out.ErrorCode))
		}
	}
}

func TestUpdateFeatures(t *testing.T) {
	type update = kmsg.UpdateFeaturesRequestFeatureUpdate
	for name, c := range map[string]struct {
		updates []update
		code    protocol.ErrorCode
	}{
		"same level":                {[]update{{Feature: metadata.GroupVersion, MaxVersionLevel: 1, UpgradeType: 1}}, protocol.None},
		"down without the type":     {[]update{{Feature: metadata.GroupVersion, MaxVersionLevel: 0, UpgradeType: 1}}, protocol.InvalidUpdateVersion},
		"down":                      {[]update{{Feature: metadata.GroupVersion, MaxVersionLevel: 0, UpgradeType: 2}}, protocol.None},
		"up as a downgrade":         {[]update{{Feature: metadata.GroupVersion, MaxVersionLevel: 2, UpgradeType: 2}}, protocol.InvalidUpdateVersion},
		"unknown type":              {[]update{{Feature: metadata.GroupVersion, MaxVersionLevel: 1, UpgradeType: 9}}, protocol.InvalidUpdateVersion},
		"unknown feature":           {[]update{{Feature: "nope", MaxVersionLevel: 1, UpgradeType: 1}}, protocol.InvalidUpdateVersion},
		"unknown feature, level 0":  {[]update{{Feature: "nope", UpgradeType: 2}}, protocol.InvalidUpdateVersion},
		"level nobody supports":     {[]update{{Feature: metadata.TransactionVersion, MaxVersionLevel: 9, UpgradeType: 1}}, protocol.InvalidUpdateVersion},
		"negative":                  {[]update{{Feature: metadata.TransactionVersion, MaxVersionLevel: -1, UpgradeType: 2}}, protocol.InvalidUpdateVersion},
		"metadata.version, records": {[]update{{Feature: metadata.MetadataVersion, MaxVersionLevel: 32, UpgradeType: 2}}, protocol.InvalidUpdateVersion},
		"metadata.version, unsafe":  {[]update{{Feature: metadata.MetadataVersion, MaxVersionLevel: 32, UpgradeType: 3}}, protocol.InvalidUpdateVersion},
		"kraft.version down":        {[]update{{Feature: metadata.KRaftVersion, MaxVersionLevel: 1, UpgradeType: 1}}, protocol.InvalidUpdateVersion},
		"all or nothing":            {[]update{{Feature: metadata.GroupVersion, MaxVersionLevel: 0, UpgradeType: 2}, {Feature: "nope", MaxVersionLevel: 1, UpgradeType: 1}}, protocol.InvalidUpdateVersion},
		"ELR off":                   {[]update{{Feature: metadata.ELRVersion, MaxVersionLevel: 0, UpgradeType: 2}}, protocol.None},
	} {
		k := newCluster(t, testOptions(t), 1)
		r := newest(kmsg.NewPtrUpdateFeaturesRequest())
		r.FeatureUpdates = c.updates
		if got := k.do(r).(*kmsg.UpdateFeaturesResponse); protocol.ErrorCode(got.ErrorCode) != c.code {
			t.Errorf("%s: %v %v", name, protocol.ErrorCode(got.ErrorCode), got.ErrorMessage)
		}
		r = newest(kmsg.NewPtrUpdateFeaturesRequest())
		if r.Version, r.FeatureUpdates = 1, c.updates; c.code != protocol.None {
			if got := k.do(r).(*kmsg.UpdateFeaturesResponse); len(got.Results) > 0 {
				t.Errorf("%s: results beside an error: %+v", name, got)
			}
		}
		if c.code == protocol.None && k.c.settle().Feature(c.updates[0].Feature) != c.updates[0].MaxVersionLevel {
			t.Errorf("%s: level %d", name, k.c.settle().Feature(c.updates[0].Feature))
		}
		if c.code != protocol.None && len(k.wrote) > 0 {
			t.Errorf("%s: wrote %v", name, k.wrote)
		}
	}
}

// TestELRUpgrade: turning eligible leader replicas on fixes min.insync.replicas for the cluster, on no single broker.
func TestELRUpgrade(t *testing.T) {
	o := testOptions(t, "min.insync.replicas=2")
	k := &cluster{t: t, twin: metadata.New()}
	k.c = New(o, metadata.New(), 1, 0, k.now)
	k.write(k.c.Activation([]metadata.Record{&msg.FeatureLevelRecord{Name: metadata.MetadataVersion, FeatureLevel: 33}}, false))
	k.join(1)
	k.alter(4, "1", set("min.insync.replicas", "3"))
	r := newest(kmsg.NewPtrUpdateFeaturesRequest())
	r.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{{Feature: metadata.ELRVersion, MaxVersionLevel: 1, UpgradeType: 1}}
	if got := k.do(r).(*kmsg.UpdateFeaturesResponse); got.ErrorCode != 0 {
		t.Fatal(protocol.ErrorCode(got.ErrorCode), *got.ErrorMessage)
	}
	image := k.c.settle()
	if image.Config(metadata.AllBrokers)[minISRKey] != "2" || image.Config(metadata.BrokerConfig(1)) != nil || image.Feature(metadata.ELRVersion) != 1 {
		t.Errorf("%v", dump(image))
	}
}

// TestActivation: what an empty log begins with, and what a failed predecessor leaves.
func TestActivation(t *testing.T) {
	c := New(testOptions(t), metadata.New(), 1, 3, testTime)
	res := c.Activation(nil, true)
	names := ""
	for _, r := range res.Records {
		names += strings.TrimSuffix(r.(msg.Message).Schema(), "Record") + " "
	}
	if want := "AbortTransaction BeginTransaction FeatureLevel FeatureLevel FeatureLevel FeatureLevel FeatureLevel FeatureLevel Config EndTransaction "; names != want {
		t.Errorf("%s", names)
	}
	if f := res.Records[2].(*msg.FeatureLevelRecord); f.Name != metadata.MetadataVersion || f.FeatureLevel != 33 {
		t.Errorf("first feature %+v", f)
	}
	k := newCluster(t, testOptions(t), 1)
	if res := k.c.Activation(nil, false); len(res.Records) != 0 {
		t.Errorf("a log with metadata: %v", res.Records)
	}
	if res := k.c.Activation(nil, true); len(res.Records) != 1 {
		t.Errorf("an open transaction: %v", res.Records)
	}
}
