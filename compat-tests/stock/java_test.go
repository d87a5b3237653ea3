//go:build compat

package stock

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func on(args ...string) []string { return append(args, "--bootstrap-server", bootstrap) }

func createTopic(t *testing.T, name string, partitions int, config ...string) {
	t.Helper()
	args := on("--create", "--topic", name, "--partitions", fmt.Sprint(partitions))
	for _, c := range config {
		args = append(args, "--config", c)
	}
	kafka(t, "", "topics", args...)
}

// TestConsoleKeysAndHeaders: keys, headers, partition choice, offsets.
func TestConsoleKeysAndHeaders(t *testing.T) {
	topic := unique("console")
	createTopic(t, topic, 4)
	kafka(t, "h1:v1,h2:v2\tk1\tone\nh1:w\tk2\ttwo\nh:x\tk1\tthree\n", "console-producer",
		on("--topic", topic, "--reader-property", "parse.key=true", "--reader-property", "parse.headers=true")...)
	out := kafka(t, "", "console-consumer", on("--topic", topic, "--from-beginning", "--max-messages", "3", "--timeout-ms", "20000",
		"--formatter-property", "print.key=true", "--formatter-property", "print.headers=true", "--formatter-property", "print.partition=true")...)
	got := lines(out)
	slices.Sort(got)
	// murmur2 of the key decides the partition, as in every Kafka client
	partition := map[string]string{}
	for _, l := range got {
		f := strings.Split(l, "\t")
		if len(f) != 4 {
			t.Fatalf("unexpected line %q", l)
		}
		if p, ok := partition[f[2]]; ok && p != f[0] {
			t.Errorf("key %s is in two partitions", f[2])
		}
		partition[f[2]] = f[0]
	}
	wantContains(t, "records", out, "h1:v1,h2:v2\tk1\tone", "h1:w\tk2\ttwo", "h:x\tk1\tthree")
	p := strings.TrimPrefix(partition["k2"], "Partition:")
	one := kafka(t, "", "console-consumer", on("--topic", topic, "--partition", p, "--offset", "earliest", "--max-messages", "1", "--timeout-ms", "20000",
		"--formatter-property", "print.offset=true")...)
	if !strings.Contains(one, "Offset:0") {
		t.Errorf("one partition from its start: %q", one)
	}
}

// TestCodecs: each codec through the Java producer and consumer.
func TestCodecs(t *testing.T) {
	topic := unique("codecs")
	createTopic(t, topic, 1)
	var want []string
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		line := codec + " " + strings.Repeat("x", 300)
		want = append(want, line)
		kafka(t, line+"\n", "console-producer", on("--topic", topic, "--compression-codec", codec)...)
	}
	got := lines(kafka(t, "", "console-consumer", on("--topic", topic, "--from-beginning", "--max-messages", "5", "--timeout-ms", "20000")...))
	if !slices.Equal(got, want) {
		t.Errorf("read %q", got)
	}
}

// TestConfigsTool: describe, alter, delete on topics and brokers.
func TestConfigsTool(t *testing.T) {
	topic := unique("configs")
	createTopic(t, topic, 1, "retention.ms=100000")
	entity := []string{"--entity-type", "topics", "--entity-name", topic}
	run := func(args ...string) string { return kafka(t, "", "configs", append(on(args...), entity...)...) }
	wantContains(t, "describe", run("--describe"), "retention.ms=100000")
	run("--alter", "--add-config", "cleanup.policy=[compact,delete],segment.bytes=2000000")
	out := run("--describe")
	wantContains(t, "altered", out, "cleanup.policy=compact,delete", "segment.bytes=2000000", "retention.ms=100000")
	run("--alter", "--delete-config", "retention.ms")
	if out := run("--describe"); strings.Contains(out, "retention.ms=100000") {
		t.Errorf("still there: %s", out)
	}
	if r := kafkaAny(t, "", "configs", append(on("--alter", "--add-config", "retention.ms=-7"), entity...)...); r.code == 0 {
		t.Errorf("retention.ms=-7 was accepted: %s%s", r.stdout, r.stderr)
	}
	broker := func(args ...string) string {
		return kafka(t, "", "configs", append(on(args...), "--entity-type", "brokers", "--entity-default")...)
	}
	broker("--alter", "--add-config", "log.cleaner.threads=2")
	wantContains(t, "broker default", broker("--describe"), "log.cleaner.threads=2")
	broker("--alter", "--delete-config", "log.cleaner.threads")
	wantContains(t, "all of a broker's", kafka(t, "", "configs", append(on("--describe", "--all"), "--entity-type", "brokers", "--entity-name", "1")...), "num.io.threads=")
}

// TestConsumerGroupsTool: describe, every way of resetting offsets, delete.
func TestConsumerGroupsTool(t *testing.T) {
	topic, group := unique("cg"), unique("cg-group")
	createTopic(t, topic, 1)
	kafka(t, strings.Repeat("x\n", 10), "console-producer", on("--topic", topic)...)
	kafka(t, "", "console-consumer", on("--topic", topic, "--group", group, "--from-beginning", "--max-messages", "10", "--timeout-ms", "20000")...)
	run := func(args ...string) string {
		return kafka(t, "", "consumer-groups", append(on(args...), "--group", group)...)
	}
	committed := func() string {
		for _, l := range lines(run("--describe")) {
			if f := strings.Fields(l); len(f) > 4 && f[0] == group && f[1] == topic {
				return f[3]
			}
		}
		return "none"
	}
	if c := committed(); c != "10" {
		t.Errorf("committed %s, want 10", c)
	}
	wantContains(t, "state", run("--describe", "--state"), "Empty")
	wantContains(t, "list", kafka(t, "", "consumer-groups", on("--list")...), group)
	plan := filepath.Join(t.TempDir(), "plan.csv")
	if err := os.WriteFile(plan, []byte(topic+",0,7\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		how  []string
		want string
	}{
		{[]string{"--to-earliest"}, "0"}, {[]string{"--to-latest"}, "10"}, {[]string{"--to-offset", "4"}, "4"},
		{[]string{"--shift-by", "2"}, "6"}, {[]string{"--shift-by", "-100"}, "0"}, {[]string{"--to-datetime", "2020-01-01T00:00:00.000"}, "0"},
		{[]string{"--by-duration", "PT1H"}, "0"}, {[]string{"--to-current"}, "0"}, {[]string{"--from-file", plan}, "7"},
	} {
		args := append([]string{"--reset-offsets", "--execute"}, x.how...)
		if x.how[0] != "--from-file" {
			args = append(args, "--topic", topic)
		}
		run(args...)
		if c := committed(); c != x.want {
			t.Errorf("%v: committed %s, want %s", x.how, c, x.want)
		}
	}
	run("--delete-offsets", "--topic", topic)
	wantContains(t, "delete", run("--delete"), "was successful")
	if out := kafka(t, "", "consumer-groups", on("--list")...); strings.Contains(out, group) {
		t.Errorf("still listed: %s", out)
	}
}

// TestOffsetsAndRecordsTools: kafka-get-offsets, kafka-delete-records, kafka-log-dirs.
func TestOffsetsAndRecordsTools(t *testing.T) {
	topic := unique("offsets")
	createTopic(t, topic, 1)
	kafka(t, "a\nb\nc\n", "console-producer", on("--topic", topic)...)
	wantLines(t, "latest", kafka(t, "", "get-offsets", on("--topic", topic)...), topic+":0:3")
	file := filepath.Join(t.TempDir(), "delete.json")
	plan := fmt.Sprintf(`{"partitions":[{"topic":%q,"partition":0,"offset":2}],"version":1}`, topic)
	if err := os.WriteFile(file, []byte(plan), 0o644); err != nil {
		t.Fatal(err)
	}
	wantContains(t, "delete records", kafka(t, "", "delete-records", on("--offset-json-file", file)...), "low_watermark: 2")
	wantLines(t, "earliest", kafka(t, "", "get-offsets", on("--topic", topic, "--time", "earliest")...), topic+":0:2")
	out := kafka(t, "", "log-dirs", on("--describe", "--topic-list", topic)...)
	wantContains(t, "log dirs", out, `"partition":"`+topic+`-0"`, `"isFuture":false`)
}

// TestApiVersionsTool: what is advertised is Kafka's own range.
func TestApiVersionsTool(t *testing.T) {
	out := kafka(t, "", "broker-api-versions", on()...)
	wantContains(t, "ranges", out, "Produce(0): 0 to 13", "Fetch(1): 4 to 18", "JoinGroup(11): 0 to 9", "OffsetCommit(8): 2 to 10", "ApiVersions(18): 0 to 5")
}

// TestMetadataQuorumTool: KRaft's state as Kafka's tool shows it.
func TestMetadataQuorumTool(t *testing.T) {
	out := kafka(t, "", "metadata-quorum", append(on(), "describe", "--status")...)
	wantContains(t, "status", out, "LeaderId:", "HighWatermark:")
}

// TestVerifiable: two consumers in a group of which one dies; acks equal reads.
func TestVerifiable(t *testing.T) {
	topic, group := unique("verifiable"), unique("verifiable-group")
	createTopic(t, topic, 4)
	first := startKafka(t, "verifiable-consumer", on("--topic", topic, "--group-id", group, "--session-timeout", "6000", "--reset-policy", "earliest")...)
	second := startKafka(t, "verifiable-consumer", on("--topic", topic, "--group-id", group, "--session-timeout", "6000", "--reset-policy", "earliest")...)
	first.await(t, `"name":"partitions_assigned"`, 40*time.Second)
	second.await(t, `"name":"partitions_assigned"`, 40*time.Second)
	out := kafka(t, "", "verifiable-producer", on("--topic", topic, "--max-messages", "20000", "--repeating-keys", "100", "--acks", "-1")...)
	acked := 0
	for _, l := range lines(out) {
		var e struct{ Name string }
		if json.Unmarshal([]byte(l), &e) == nil && e.Name == "producer_send_success" {
			acked++
		}
	}
	if acked != 20000 {
		t.Fatalf("%d acknowledged, want 20000", acked)
	}
	first.await(t, `"name":"records_consumed"`, 40*time.Second)
	first.kill()
	deadline := time.Now().Add(60 * time.Second)
	for {
		state := kafka(t, "", "consumer-groups", on("--describe", "--group", group)...)
		total, behind := 0, 0
		for _, l := range lines(state) {
			if f := strings.Fields(l); len(f) > 5 && f[0] == group {
				total++
				if f[5] != "0" {
					behind++
				}
			}
		}
		if total == 4 && behind == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the survivor did not catch up:\n%s", state)
		}
	}
	second.kill()
}

// TestPerf: Kafka's perf tools run through.
func TestPerf(t *testing.T) {
	topic := unique("perf")
	createTopic(t, topic, 3)
	n := os.Getenv("OTTLA_COMPAT_PERF_RECORDS")
	if n == "" {
		n = "200000"
	}
	out := kafka(t, "", "producer-perf-test", "--topic", topic, "--num-records", n, "--record-size", "1024", "--throughput", "-1",
		"--bootstrap-server", bootstrap, "--command-property", "acks=all")
	t.Log(lines(out)[len(lines(out))-1])
	wantContains(t, "producer", out, n+" records sent")
	out = kafka(t, "", "consumer-perf-test", on("--topic", topic, "--num-records", n, "--timeout", "60000")...)
	t.Log(lines(out)[len(lines(out))-1])
	if f := strings.Split(lines(out)[len(lines(out))-1], ","); len(f) < 5 || strings.TrimSpace(f[4]) != n {
		t.Errorf("consumer read:\n%s", out)
	}
}
