package cli

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// printed runs f and returns what it wrote to stdout and stderr.
func printed(f func(e *env)) (string, string) {
	var out, errs bytes.Buffer
	e := newEnv("test", nil, strings.NewReader(""), &out, &errs)
	f(e)
	e.flush()
	return out.String(), errs.String()
}

// Golden lines from kafka-console-consumer of Apache Kafka 4.4.
func TestDefaultFormatter(t *testing.T) {
	rec := &kgo.Record{Partition: 2, Offset: 41, Key: []byte("k"), Value: []byte("v"), Timestamp: time.UnixMilli(1700000000000),
		Headers: []kgo.RecordHeader{{Key: "h1", Value: []byte("a")}, {Key: "h2"}}}
	tests := []struct {
		props clientConfig
		rec   *kgo.Record
		want  string
	}{
		{nil, rec, "v\n"},
		{nil, &kgo.Record{}, "null\n"},
		{clientConfig{"print.key": "true"}, rec, "k\tv\n"},
		{clientConfig{"print.key": " TRUE", "key.separator": " = ", "line.separator": ";"}, rec, "k = v;"},
		{clientConfig{"print.value": "false"}, rec, ""},
		{clientConfig{"print.value": "false", "print.offset": "true"}, rec, "Offset:41\n"},
		{clientConfig{"print.headers": "true"}, &kgo.Record{Value: []byte("v")}, "NO_HEADERS\tv\n"},
		{clientConfig{"print.headers": "true", "headers.separator": "|", "null.literal": "NIL"}, rec, "h1:a|h2:NIL\tv\n"},
		{clientConfig{"print.timestamp": "true", "print.partition": "true", "print.offset": "true", "print.delivery": "true",
			"print.epoch": "true", "print.headers": "true", "print.key": "true"}, rec,
			"CreateTime:1700000000000\tPartition:2\tOffset:41\tDelivery:NOT_PRESENT\tEpoch:NOT_PRESENT\th1:a,h2:null\tk\tv\n"},
		{clientConfig{"value.deserializer": "org.apache.kafka.common.serialization.LongDeserializer"},
			&kgo.Record{Value: []byte{0, 0, 0, 0, 0, 0, 1, 0}}, "256\n"},
		{clientConfig{"value.deserializer": "org.apache.kafka.common.serialization.IntegerDeserializer"},
			&kgo.Record{Value: []byte{255, 255, 255, 255}}, "-1\n"},
		{clientConfig{"value.deserializer": "org.apache.kafka.common.serialization.DoubleDeserializer"},
			&kgo.Record{Value: []byte{0x40, 0x45, 0, 0, 0, 0, 0, 0}}, "42.0\n"},
	}
	for _, tt := range tests {
		got, _ := printed(func(e *env) {
			f, err := newFormatter(e, consumerTools+"DefaultMessageFormatter", tt.props)
			if err == nil {
				err = f.write(e.out, tt.rec)
			}
			if err != nil {
				t.Errorf("%v: %v", tt.props, err)
			}
		})
		if got != tt.want {
			t.Errorf("%v: %q, want %q", tt.props, got, tt.want)
		}
	}
}

func TestDeserializerErrors(t *testing.T) {
	_, errs := printed(func(e *env) {
		f := newDefaultFormatter(e, clientConfig{"key.deserializer": "foo.Bar",
			"value.deserializer": "org.apache.kafka.common.serialization.LongDeserializer"})
		err := f.write(e.out, &kgo.Record{Value: []byte("12")})
		if err == nil || trace(err) != "org.apache.kafka.common.errors.SerializationException: Size of data received by LongDeserializer is not 8\n" {
			t.Errorf("got %v", err)
		}
	})
	if !strings.Contains(errs, "ERROR Unable to instantiate a deserializer from foo.Bar (org.apache.kafka.tools.consumer.DefaultMessageFormatter)") {
		t.Errorf("stderr is %q", errs)
	}
}

func TestJavaDouble(t *testing.T) {
	for v, want := range map[float64]string{0: "0.0", 10: "10.0", 0.5: "0.5", -1.25: "-1.25", 1e7: "1.0E7", 12345678: "1.2345678E7",
		9999999: "9999999.0", 0.001: "0.001", 0.0001: "1.0E-4", math.Inf(1): "Infinity", math.Inf(-1): "-Infinity", 1e300: "1.0E300"} {
		if got := javaDouble(v, 64); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}

// Golden orders of the keys "k.name0", "k.name7", ... from a java.util.HashMap that just fits its table or just does not.
func TestHashOrder(t *testing.T) {
	for _, want := range [][]int{
		{63, 56, 77, 21, 0, 42, 49, 14, 35, 7, 70, 28},
		{49, 14, 35, 28, 63, 84, 56, 77, 21, 0, 42, 7, 70},
		{49, 161, 140, 28, 63, 154, 84, 133, 21, 112, 42, 119, 14, 35, 56, 147, 77, 126, 98, 0, 168, 105, 7, 70, 91},
	} {
		var names, golden []string
		for i, n := range want {
			names = append(names, fmt.Sprintf("k.name%d", i*7))
			golden = append(golden, fmt.Sprintf("k.name%d", n))
		}
		hashOrder(names, func(s string) string { return s })
		if !slices.Equal(names, golden) {
			t.Errorf("got %v, want %v", names, golden)
		}
	}
}

func TestOffsetsFormatter(t *testing.T) {
	key := kmsg.NewOffsetCommitKey()
	key.Version, key.Group, key.Topic, key.Partition = 1, "g", "t", 3
	value := kmsg.NewOffsetCommitValue()
	value.Version, value.Offset, value.LeaderEpoch, value.CommitTimestamp = 3, 7, 2, 1700000000000
	got, _ := printed(func(e *env) {
		f, err := newFormatter(e, consumerTools+"OffsetsMessageFormatter", nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range []*kgo.Record{
			{Key: key.AppendTo(nil), Value: value.AppendTo(nil)},
			{Key: key.AppendTo(nil)},
			{Key: []byte{0, 2, 0, 1, 'g'}}, // a group, not an offset
			{},
		} {
			if err := f.write(e.out, r); err != nil {
				t.Error(err)
			}
		}
	})
	want := `{"key":{"type":1,"data":{"group":"g","topic":"t","partition":3}},"value":{"version":3,"data":` +
		`{"offset":7,"leaderEpoch":2,"metadata":"","commitTimestamp":1700000000000}}}` +
		`{"key":{"type":1,"data":{"group":"g","topic":"t","partition":3}},"value":null}`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Golden lines from kafka-topics of Apache Kafka 4.4.
func TestPrintTopic(t *testing.T) {
	id := protocol.UUID{1}
	topic := topicInfo{name: "t", id: id, partitions: []partitionInfo{
		{id: 0, leader: 1, replicas: []int32{1, 2}, isr: []int32{1}, elr: []int32{2}, knowsELR: true},
		{id: 1, leader: -1, replicas: []int32{2, 1}, isr: []int32{2, 1}},
	}}
	value := func(name, v string, source kmsg.ConfigSource) kmsg.DescribeConfigsResponseResourceConfig {
		return kmsg.DescribeConfigsResponseResourceConfig{Name: name, Value: &v, Source: source}
	}
	configs := []kmsg.DescribeConfigsResponseResourceConfig{
		value("min.insync.replicas", "2", kmsg.ConfigSourceDynamicDefaultBrokerConfig),
		value("segment.bytes", "1", kmsg.ConfigSourceDefaultConfig), value("retention.ms", "5", kmsg.ConfigSourceDynamicTopicConfig),
	}
	head := "Topic: t\tTopicId: " + id.String() + "\tPartitionCount: 2\tReplicationFactor: 2\tConfigs: min.insync.replicas=2,retention.ms=5\n"
	first := "\tTopic: t\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1\tElr: 2\tLastKnownElr: \n"
	second := "\tTopic: t\tPartition: 1\tLeader: none\tReplicas: 2,1\tIsr: 2,1\tElr: N/A\tLastKnownElr: N/A\n"
	for args, want := range map[string]string{
		"":                              head + first + second,
		"--topics-with-overrides":       head,
		"--under-replicated-partitions": first,
		"--unavailable-partitions":      second,
		"--under-min-isr-partitions":    first + second,
		"--at-min-isr-partitions":       second,
	} {
		p, err := parseOptions(topicsOptions(), strings.Fields("--describe "+args))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := printed(func(e *env) { printTopic(e, p, topic, configs, nil, []int32{1, 2}) })
		if got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", args, got, want)
		}
	}
}

// Golden lines from kafka-consumer-groups of Apache Kafka 4.4.
func TestPrintGroup(t *testing.T) {
	tp := protocol.TopicPartition{Topic: "cli-p3", Partition: 2}
	end := int64(42)
	g := groupInfo{id: "cli-g2", state: "Stable", assignor: "range", coordinator: kgo.BrokerMetadata{NodeID: 1, Host: "127.0.0.1", Port: 29092},
		members: []memberInfo{{id: "c2-07c90b1d-09f3-433e-bb10-60a8e9e00eb1", client: "c2", host: "/127.0.0.1",
			assigned: []protocol.TopicPartition{tp, {Topic: "cli-p3", Partition: 0}}}}}
	rows := []offsetRow{{tp: tp, commit: &commit{40, 0}, end: &end, consumer: g.members[0].id, host: "/127.0.0.1", client: "c2"},
		{tp: protocol.TopicPartition{Topic: "cli-p3", Partition: 0}, end: &end, consumer: missing, host: missing, client: missing}}
	tests := []struct {
		name  string
		print func(e *env) error
		want  string
	}{
		{"offsets", func(e *env) error { return printGroupOffsets(e, g, rows, false) }, `
GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID                             HOST            CLIENT-ID
cli-g2          cli-p3          2          40              42              2               c2-07c90b1d-09f3-433e-bb10-60a8e9e00eb1 /127.0.0.1      c2
cli-g2          cli-p3          0          -               42              -               -                                       -               -
`},
		{"offsets verbose", func(e *env) error { return printGroupOffsets(e, g, rows[:1], true) }, `
GROUP           TOPIC           PARTITION  LEADER-EPOCH    CURRENT-OFFSET  LOG-END-OFFSET  LAG             CONSUMER-ID                             HOST            CLIENT-ID
cli-g2          cli-p3          2          0               40              42              2               c2-07c90b1d-09f3-433e-bb10-60a8e9e00eb1 /127.0.0.1      c2
`},
		{"members", func(e *env) error { return printMembers(e, g, true) }, `
GROUP           CONSUMER-ID                             HOST            CLIENT-ID       #PARTITIONS     CURRENT-EPOCH   CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT   ` + `
cli-g2          c2-07c90b1d-09f3-433e-bb10-60a8e9e00eb1 /127.0.0.1      c2              2               -               cli-p3:0,2           -               -                   ` + `
`},
		{"state", func(e *env) error { return printGroupState(e, g, false) }, `
GROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                #MEMBERS
cli-g2          127.0.0.1:29092  (1)      range                Stable               1
`},
	}
	for _, tt := range tests {
		got, _ := printed(func(e *env) {
			if err := tt.print(e); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		})
		if got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
	g.state = "Empty"
	if _, errs := printed(func(e *env) { _ = printGroupState(e, g, false) }); errs != "\nConsumer group 'cli-g2' has no active members.\n" {
		t.Errorf("an empty group gives %q", errs)
	}
}

func TestFormatAPIVersions(t *testing.T) {
	text := formatAPIVersions([]kmsg.ApiVersionsResponseApiKey{
		{ApiKey: 3, MinVersion: 0, MaxVersion: 99}, {ApiKey: 0, MinVersion: 0, MaxVersion: 9}, {ApiKey: 47},
		{ApiKey: 900, MinVersion: 1, MaxVersion: 2}, {ApiKey: 16, MinVersion: 70, MaxVersion: 71},
	})
	for _, want := range []string{"(\n\tProduce(0): 0 to 9 [usable: 9],\n\tFetch(1): UNSUPPORTED,\n", "\tMetadata(3): 0 to 99 [usable: 13],\n",
		"\tListGroups(16): 70 to 71 [unusable: node too new],\n", "\tOffsetDelete(47): 0 [usable: 0],\n", ",\n\tUNKNOWN(900): 1 to 2\n)"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "Vote(") {
		t.Error("an API of controllers is listed for a broker")
	}
}

// Names and sentences of Apache Kafka 4.4's Errors.
func TestExceptionNames(t *testing.T) {
	for code, want := range map[protocol.ErrorCode]string{
		protocol.UnknownServerError:       "UnknownServerException: The server experienced an unexpected error when processing the request.",
		protocol.UnknownTopicOrPartition:  "UnknownTopicOrPartitionException: This server does not host this topic-partition.",
		protocol.TopicAlreadyExists:       "TopicExistsException: Topic with this name already exists.",
		protocol.InvalidTopicException:    "InvalidTopicException: The request attempted to perform an operation on an invalid topic.",
		protocol.RequestTimedOut:          "TimeoutException: The request timed out.",
		protocol.GroupAuthorizationFailed: "GroupAuthorizationException: Group authorization failed.",
		protocol.NonEmptyGroup:            "GroupNotEmptyException: The group is not empty.",
		protocol.GroupIDNotFound:          "GroupIdNotFoundException: The group id does not exist.",
		protocol.PolicyViolation:          "PolicyViolationException: Request parameters do not satisfy the configured policy.",
		protocol.InvalidConfig:            "InvalidConfigurationException: Configuration is invalid.",
		protocol.MessageTooLarge:          "RecordTooLargeException: The request included a message larger than the max message size the server will accept.",
	} {
		if got := trace(coded(int16(code), nil)); got != kafkaErrors+want+"\n" {
			t.Errorf("%d: %s", code, got)
		}
	}
	if err := coded(0, nil); err != nil {
		t.Error(err)
	}
	text := "why"
	err := asRuntime(asExecution(coded(int16(protocol.InvalidConfig), &text)))
	want := "java.lang.RuntimeException: java.util.concurrent.ExecutionException: org.apache.kafka.common.errors.InvalidConfigurationException: why\n" +
		"Caused by: java.util.concurrent.ExecutionException: org.apache.kafka.common.errors.InvalidConfigurationException: why\n" +
		"Caused by: org.apache.kafka.common.errors.InvalidConfigurationException: why\n"
	if trace(err) != want || !errors.Is(err, err) || codeOf(err) != protocol.InvalidConfig {
		t.Errorf("got %s", trace(err))
	}
}
