package api_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap/zapcore"

	"github.com/ottla/ottla/broker/api"
	"github.com/ottla/ottla/controller/catalog"
	"github.com/ottla/ottla/protocol"
)

func itoa(n int16) string { return strconv.Itoa(int(n)) }

// Case B01, and features as Kafka 4.4 shows them.
func TestApiVersions(t *testing.T) {
	e := newEdge(t)
	ask4 := func(version int16, change func(*kmsg.ApiVersionsRequest)) *kmsg.ApiVersionsResponse {
		req := kmsg.NewPtrApiVersionsRequest()
		req.ClientSoftwareName, req.ClientSoftwareVersion = "test-client", "1.0"
		if change != nil {
			change(req)
		}
		return ask[*kmsg.ApiVersionsResponse](e, req, version)
	}
	for v := int16(0); v <= 5; v++ {
		r := ask4(v, nil)
		if r.ErrorCode != 0 || len(r.ApiKeys) == 0 || !isRange(r.ApiKeys[0], 0, 0, 13) {
			t.Errorf("v%d: %+v", v, r)
		}
		for _, k := range r.ApiKeys {
			if a, ok := protocol.APIOf(k.ApiKey); !ok || a.Min != k.MinVersion || a.Max != k.MaxVersion || a.Listeners&protocol.ScopeBroker == 0 {
				t.Errorf("v%d: %+v", v, k)
			}
		}
		want := map[int16]int{0: 0, 1: 0, 2: 0, 3: 1, 4: 2, 5: 2}[v] // those from level 0 on are left out below 4
		if len(r.SupportedFeatures) != want {
			t.Errorf("v%d: features %+v", v, r.SupportedFeatures)
		}
		if v >= 3 && (len(r.FinalizedFeatures) == 0 || r.FinalizedFeaturesEpoch != e.Deps.Metadata().Offset) {
			t.Errorf("v%d: finalized %+v at %d", v, r.FinalizedFeatures, r.FinalizedFeaturesEpoch)
		}
	}
	other, ours := "other", e.Deps.ClusterID
	for name, c := range map[string]struct {
		change func(*kmsg.ApiVersionsRequest)
		want   protocol.ErrorCode
	}{
		"space in the name":   {func(r *kmsg.ApiVersionsRequest) { r.ClientSoftwareName = "a b" }, protocol.InvalidRequest},
		"empty version":       {func(r *kmsg.ApiVersionsRequest) { r.ClientSoftwareVersion = "" }, protocol.InvalidRequest},
		"ends with a dot":     {func(r *kmsg.ApiVersionsRequest) { r.ClientSoftwareVersion = "1." }, protocol.InvalidRequest},
		"cluster only":        {func(r *kmsg.ApiVersionsRequest) { r.ClusterID = &ours }, protocol.InvalidRequest},
		"node only":           {func(r *kmsg.ApiVersionsRequest) { r.NodeID = 1 }, protocol.InvalidRequest},
		"another cluster":     {func(r *kmsg.ApiVersionsRequest) { r.ClusterID, r.NodeID = &other, 1 }, protocol.RebootstrapRequired},
		"another node":        {func(r *kmsg.ApiVersionsRequest) { r.ClusterID, r.NodeID = &ours, 2 }, protocol.RebootstrapRequired},
		"this node, and such": {func(r *kmsg.ApiVersionsRequest) { r.ClusterID, r.NodeID = &ours, 1 }, protocol.None},
	} {
		if got := protocol.ErrorCode(ask4(5, c.change).ErrorCode); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	reply, err := e.rows[protocol.ApiVersions].Handle(t.Context(), &api.Call{Header: protocol.RequestHeader{Key: 18, Version: 127}, Conn: &e.conn},
		kmsg.NewPtrApiVersionsRequest())
	if err != nil {
		t.Fatal(err)
	}
	r := reply.Body().(*kmsg.ApiVersionsResponse)
	if r.Version != 0 || r.ErrorCode != 35 || len(r.ApiKeys) != 1 || !isRange(r.ApiKeys[0], 18, 0, 5) {
		t.Errorf("unknown version: %+v", r)
	}
}

func isRange(k kmsg.ApiVersionsResponseApiKey, key, lo, hi int16) bool {
	return k.ApiKey == key && k.MinVersion == lo && k.MaxVersion == hi
}

func listOffset(topic string, partition int32, timestamps ...int64) *kmsg.ListOffsetsRequest {
	r := kmsg.NewPtrListOffsetsRequest()
	r.ReplicaID = -1
	t := kmsg.NewListOffsetsRequestTopic()
	t.Topic = topic
	for _, ts := range timestamps {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = partition, ts
		t.Partitions = append(t.Partitions, p)
	}
	r.Topics = append(r.Topics, t)
	return r
}

// Case B28, and the special timestamps version by version as Kafka 4.4 answers them.
func TestListOffsets(t *testing.T) {
	e := newEdge(t)
	e.CreateTopic("t", 2)
	e.put("t", 0, batch("a", "b", "c")) // stamped 1000, 1001, 1002
	for _, c := range []struct {
		version   int16
		timestamp int64
		partition int32
		code      protocol.ErrorCode
		offset    int64
		stamp     int64
	}{
		{1, -1, 0, 0, 3, -1}, {11, -1, 0, 0, 3, -1}, {1, -2, 0, 0, 0, -1},
		{6, -3, 0, protocol.UnsupportedVersion, -1, -1}, {7, -3, 0, 0, 2, 1002},
		{7, -4, 0, protocol.UnsupportedVersion, -1, -1}, {8, -4, 0, 0, 0, -1},
		{8, -5, 0, protocol.UnsupportedVersion, -1, -1}, {9, -5, 0, 0, -1, -1},
		{10, -6, 0, protocol.UnsupportedVersion, -1, -1}, {11, -6, 0, 0, -1, -1},
		{11, -7, 0, protocol.UnsupportedVersion, -1, -1},
		{7, 0, 0, 0, 0, 1000}, {7, 1001, 0, 0, 1, 1001}, {7, 1003, 0, 0, -1, -1},
		{7, -1, 1, 0, 0, -1}, {7, 0, 1, 0, -1, -1}, {7, -3, 1, 0, -1, -1},
		{7, -1, 9, protocol.UnknownTopicOrPartition, -1, -1}, {7, -1, -1, protocol.UnknownTopicOrPartition, -1, -1},
	} {
		r := ask[*kmsg.ListOffsetsResponse](e, listOffset("t", c.partition, c.timestamp), c.version)
		p := r.Topics[0].Partitions[0]
		if protocol.ErrorCode(p.ErrorCode) != c.code || p.Offset != c.offset || p.Timestamp != c.stamp {
			t.Errorf("%+v: %+v", c, p)
		}
	}
	r := ask[*kmsg.ListOffsetsResponse](e, listOffset("t", 0, -1, -2), 7)
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 || protocol.ErrorCode(r.Topics[0].Partitions[0].ErrorCode) != protocol.InvalidRequest {
		t.Errorf("a partition twice: %+v", r)
	}
	for epoch, want := range map[int32]protocol.ErrorCode{0: 0, 5: protocol.UnknownLeaderEpoch} {
		req := listOffset("t", 0, -1)
		req.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch
		if p := ask[*kmsg.ListOffsetsResponse](e, req, 7).Topics[0].Partitions[0]; protocol.ErrorCode(p.ErrorCode) != want {
			t.Errorf("epoch %d: %+v", epoch, p)
		}
	}
}

// Case B12.
func TestDeleteRecords(t *testing.T) {
	e := newEdge(t)
	e.CreateTopic("t", 1)
	e.CreateTopic("compacted", 1, "cleanup.policy", "compact")
	e.CreateTopic("both", 1, "cleanup.policy", "compact,delete")
	for range 5 {
		e.put("t", 0, batch("a", "b"))
	}
	for _, c := range []struct {
		topic  string
		offset int64
		code   protocol.ErrorCode
		low    int64
	}{
		{"t", 3, 0, 3}, {"t", 3, 0, 3}, {"t", 1, 0, 3}, {"t", 11, protocol.OffsetOutOfRange, -1}, {"t", -2, protocol.OffsetOutOfRange, -1}, {"t", -1, 0, 10},
		{"compacted", 0, protocol.PolicyViolation, -1}, {"both", 0, 0, 0}, {"nope", 0, protocol.UnknownTopicOrPartition, -1},
	} {
		req := kmsg.NewPtrDeleteRecordsRequest()
		topic := kmsg.NewDeleteRecordsRequestTopic()
		topic.Topic = c.topic
		p := kmsg.NewDeleteRecordsRequestTopicPartition()
		p.Offset = c.offset
		topic.Partitions = append(topic.Partitions, p)
		req.Topics = append(req.Topics, topic)
		got := ask[*kmsg.DeleteRecordsResponse](e, req, 2).Topics[0].Partitions[0]
		if protocol.ErrorCode(got.ErrorCode) != c.code || got.LowWatermark != c.low {
			t.Errorf("%+v: %+v", c, got)
		}
	}
	if got := e.put("t", 0, batch("a")); got != 10 {
		t.Errorf("next offset %d", got)
	}
}

func TestOffsetForLeaderEpoch(t *testing.T) {
	e := newEdge(t)
	e.CreateTopic("t", 1)
	e.put("t", 0, batch("a", "b"))
	for _, c := range []struct {
		partition, current, asked int32
		code                      protocol.ErrorCode
		epoch                     int32
		end                       int64
	}{
		{0, 0, 0, 0, 0, 2}, {0, -1, 0, 0, 0, 2}, {0, 0, 5, 0, -1, -1}, {0, 5, 0, protocol.UnknownLeaderEpoch, -1, -1},
		{7, 0, 0, protocol.UnknownTopicOrPartition, -1, -1},
	} {
		req := kmsg.NewPtrOffsetForLeaderEpochRequest()
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.Partition, p.CurrentLeaderEpoch, p.LeaderEpoch = c.partition, c.current, c.asked
		topic := kmsg.NewOffsetForLeaderEpochRequestTopic()
		topic.Topic, topic.Partitions = "t", []kmsg.OffsetForLeaderEpochRequestTopicPartition{p}
		req.Topics = append(req.Topics, topic)
		got := ask[*kmsg.OffsetForLeaderEpochResponse](e, req, 4).Topics[0].Partitions[0]
		if protocol.ErrorCode(got.ErrorCode) != c.code || got.LeaderEpoch != c.epoch || got.EndOffset != c.end {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// Case B10: which resources there are, and what is left out.
func TestDescribeConfigs(t *testing.T) {
	e := newEdge(t)
	e.CreateTopic("t", 1, "retention.ms", "123456")
	describe := func(kind kmsg.ConfigResourceType, name string, version int16, keys ...string) kmsg.DescribeConfigsResponseResource {
		req := kmsg.NewPtrDescribeConfigsRequest()
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName, r.ConfigNames = kind, name, keys
		req.Resources = append(req.Resources, r)
		return ask[*kmsg.DescribeConfigsResponse](e, req, version).Resources[0]
	}
	for _, c := range []struct {
		kind kmsg.ConfigResourceType
		name string
		code protocol.ErrorCode
		keys int
	}{
		{2, "t", 0, 37}, {2, "nope", protocol.UnknownTopicOrPartition, 0}, {2, "bad name", protocol.InvalidTopicException, 0}, {2, "", protocol.InvalidTopicException, 0},
		{4, "99", protocol.InvalidRequest, 0}, {4, "abc", protocol.InvalidRequest, 0}, {4, "", 0, 0},
		{8, "", protocol.InvalidRequest, 0}, {8, "99", protocol.InvalidRequest, 0}, {8, "1", 0, 1},
		{16, "x", 0, 3}, {16, "", protocol.InvalidRequest, 0}, {32, "g", 0, 21}, {32, "", protocol.InvalidRequest, 0},
		{77, "g", protocol.InvalidRequest, 0}, {0, "g", protocol.InvalidRequest, 0},
	} {
		r := describe(c.kind, c.name, 4)
		if protocol.ErrorCode(r.ErrorCode) != c.code || len(r.Configs) != c.keys {
			t.Errorf("%+v: %v, %d keys", c, protocol.ErrorCode(r.ErrorCode), len(r.Configs))
		}
	}
	if r := describe(4, "1", 4); len(r.Configs) < 300 {
		t.Errorf("broker has %d keys", len(r.Configs))
	}
	r := describe(2, "t", 4, "retention.ms", "no.such")
	if len(r.Configs) != 1 || *r.Configs[0].Value != "123456" || r.Configs[0].Source != kmsg.ConfigSourceDynamicTopicConfig || r.Configs[0].ConfigType != 5 {
		t.Errorf("%+v", r.Configs)
	}
	if r := describe(2, "t", 1, "retention.ms"); r.Configs[0].ConfigType != 0 {
		t.Errorf("version 1 has no type: %+v", r.Configs)
	}
}

func TestListConfigResources(t *testing.T) {
	e := newEdge(t)
	e.CreateTopic("t", 1)
	list := func(version int16, types ...int8) (out string, code protocol.ErrorCode) {
		req := kmsg.NewPtrListConfigResourcesRequest()
		req.ResourceTypes = types
		r := ask[*kmsg.ListConfigResourcesResponse](e, req, version)
		for _, c := range r.ConfigResources {
			out += c.Name + ":" + itoa(int16(c.Type)) + " "
		}
		return out, protocol.ErrorCode(r.ErrorCode)
	}
	for _, c := range []struct {
		version int16
		types   []int8
		want    string
		code    protocol.ErrorCode
	}{
		{0, nil, "", 0}, {1, nil, "1:8 1:4 t:2 ", 0}, {1, []int8{2}, "t:2 ", 0}, {1, []int8{4}, "1:4 ", 0}, {1, []int8{16}, "", 0}, {1, []int8{77}, "", protocol.UnsupportedVersion},
	} {
		if got, code := list(c.version, c.types...); got != c.want || code != c.code {
			t.Errorf("v%d %v: %q, %v", c.version, c.types, got, code)
		}
	}
}

// KIP-412: the level of this server's log, changed while it runs.
func TestLogLevel(t *testing.T) {
	e := newEdge(t)
	alter := func(op kmsg.IncrementalAlterConfigOp, logger, level string, validate bool) protocol.ErrorCode {
		req := kmsg.NewPtrIncrementalAlterConfigsRequest()
		req.ValidateOnly = validate
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Op, c.Value = logger, op, &level
		r := kmsg.NewIncrementalAlterConfigsRequestResource()
		r.ResourceType, r.ResourceName, r.Configs = 8, "1", append(r.Configs, c)
		req.Resources = append(req.Resources, r)
		return protocol.ErrorCode(ask[*kmsg.IncrementalAlterConfigsResponse](e, req, 1).Resources[0].ErrorCode)
	}
	for _, c := range []struct {
		op       kmsg.IncrementalAlterConfigOp
		logger   string
		level    string
		validate bool
		want     protocol.ErrorCode
		after    zapcore.Level
	}{
		{0, "root", "DEBUG", true, 0, zapcore.InfoLevel}, {0, "root", "DEBUG", false, 0, zapcore.DebugLevel}, {0, "root", "LOUD", false, protocol.InvalidConfig, zapcore.DebugLevel},
		{0, "no.such", "WARN", false, protocol.InvalidConfig, zapcore.DebugLevel}, {1, "root", "", false, protocol.InvalidRequest, zapcore.DebugLevel},
		{2, "root", "WARN", false, protocol.InvalidRequest, zapcore.DebugLevel}, {0, "root", "WARN", false, 0, zapcore.WarnLevel},
	} {
		if got := alter(c.op, c.logger, c.level, c.validate); got != c.want || e.Deps.LogLevel.Level() != c.after {
			t.Errorf("%+v: %v, level %v", c, got, e.Deps.LogLevel.Level())
		}
	}
}

// A broker refuses changes of another's settings itself, and answers in the order of the request.
func TestAlterConfigsOfAnotherBroker(t *testing.T) {
	e := newEdge(t)
	e.Deps.Controller = func(_ context.Context, _ *api.Call, req kmsg.Request) (kmsg.Response, int64, error) {
		return catalog.Refuse(req, protocol.PolicyViolation), 0, nil // it says that it was asked
	}
	value := "5000000"
	resources := []struct {
		kind kmsg.ConfigResourceType
		name string
		want protocol.ErrorCode
	}{{8, "1", protocol.InvalidConfig}, {4, "1", protocol.PolicyViolation}, {4, "9", protocol.InvalidRequest}, {4, "x", protocol.InvalidRequest}, {4, "", protocol.PolicyViolation}, {2, "t", protocol.PolicyViolation}}
	incremental, legacy := kmsg.NewPtrIncrementalAlterConfigsRequest(), kmsg.NewPtrAlterConfigsRequest()
	for _, r := range resources {
		c := kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: "log.retention.ms", Value: &value}
		incremental.Resources = append(incremental.Resources, kmsg.IncrementalAlterConfigsRequestResource{ResourceType: r.kind, ResourceName: r.name, Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{c}})
		l := kmsg.AlterConfigsRequestResourceConfig{Name: "log.retention.ms", Value: &value}
		legacy.Resources = append(legacy.Resources, kmsg.AlterConfigsRequestResource{ResourceType: r.kind, ResourceName: r.name, Configs: []kmsg.AlterConfigsRequestResourceConfig{l}})
	}
	i, l := ask[*kmsg.IncrementalAlterConfigsResponse](e, incremental, 1), ask[*kmsg.AlterConfigsResponse](e, legacy, 2)
	for n, r := range resources {
		if got := i.Resources[n]; protocol.ErrorCode(got.ErrorCode) != r.want || got.ResourceName != r.name || got.ResourceType != r.kind {
			t.Errorf("%+v: %+v", r, got)
		}
		if r.kind == 8 {
			r.want = protocol.PolicyViolation // the controller refuses it
		}
		if got := l.Resources[n]; protocol.ErrorCode(got.ErrorCode) != r.want || got.ResourceName != r.name || got.ResourceType != r.kind {
			t.Errorf("legacy %+v: %+v", r, got)
		}
	}
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: 8, ResourceName: "1"}}
	if d := ask[*kmsg.DescribeConfigsResponse](e, req, 4).Resources[0].Configs[0].Documentation; d == nil || *d != "" {
		t.Errorf("documentation of a logger: %v", d)
	}
}

func TestDescribeLogDirsAndProducers(t *testing.T) {
	e := newEdge(t)
	e.CreateTopic("t", 2)
	e.CreateTopic("u", 1)
	e.put("t", 0, batch("a"))
	req := kmsg.NewPtrDescribeLogDirsRequest()
	topic := kmsg.NewDescribeLogDirsRequestTopic()
	topic.Topic, topic.Partitions = "t", []int32{0, 77}
	for v := int16(1); v <= 5; v++ {
		req.Topics = []kmsg.DescribeLogDirsRequestTopic{topic}
		r := ask[*kmsg.DescribeLogDirsResponse](e, req, v)
		if len(r.Dirs) != 1 || r.Dirs[0].Dir != "/data" || len(r.Dirs[0].Topics) != 1 || len(r.Dirs[0].Topics[0].Partitions) != 1 || r.Dirs[0].Topics[0].Partitions[0].Size == 0 {
			t.Errorf("v%d: %+v", v, r)
		}
	}
	req.Topics = []kmsg.DescribeLogDirsRequestTopic{}
	if r := ask[*kmsg.DescribeLogDirsResponse](e, req, 4); len(r.Dirs) != 1 || len(r.Dirs[0].Topics) != 0 {
		t.Errorf("no topics: %+v", r)
	}
	req.Topics = nil
	if r := ask[*kmsg.DescribeLogDirsResponse](e, req, 4); len(r.Dirs[0].Topics) != 2 || len(r.Dirs[0].Topics[0].Partitions) != 2 {
		t.Errorf("all topics: %+v", r)
	}
	p := kmsg.NewPtrDescribeProducersRequest()
	for _, name := range []string{"t", "bad name", "nope"} {
		pt := kmsg.NewDescribeProducersRequestTopic()
		pt.Topic, pt.Partitions = name, []int32{0}
		p.Topics = append(p.Topics, pt)
	}
	r := ask[*kmsg.DescribeProducersResponse](e, p, 0)
	for i, want := range []protocol.ErrorCode{0, protocol.InvalidTopicException, protocol.UnknownTopicOrPartition} {
		if got := protocol.ErrorCode(r.Topics[i].Partitions[0].ErrorCode); got != want || (want == 0) != (r.Topics[i].Partitions[0].ErrorMessage == nil) {
			t.Errorf("%s: %v, want %v", r.Topics[i].Topic, got, want)
		}
	}
}

// A topic can be produced to when CreateTopics returns.
func TestCreatedTopicIsUsable(t *testing.T) {
	e := newEdge(t)
	req := kmsg.NewPtrCreateTopicsRequest()
	topic := kmsg.NewCreateTopicsRequestTopic()
	topic.Topic, topic.NumPartitions = "t", 1
	req.Topics = append(req.Topics, topic)
	ask[*kmsg.CreateTopicsResponse](e, req, 7)
	if got := e.put("t", 0, batch("a")); got != 0 {
		t.Errorf("offset %d", got)
	}
}
