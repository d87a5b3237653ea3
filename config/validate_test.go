package config

import (
	"strings"
	"testing"

	"github.com/ottla/ottla/protocol"
)

// check compares the code and, for faults, that the sentence names key and value.
func check(t *testing.T, what string, err error, want protocol.ErrorCode, key, value string) {
	t.Helper()
	if got := protocol.CodeOf(err); err == nil && want != protocol.None || err != nil && got != want {
		t.Errorf("%s: %v, want %v", what, err, want)
		return
	}
	if err != nil && !strings.Contains(err.Error(), key+"="+strings.TrimSpace(value)) && !strings.Contains(err.Error(), key+"="+value) {
		t.Errorf("%s: %q does not name %s=%s", what, err.Error(), key, value)
	}
}

// TestTopicValues is B09 and more, with the codes Apache Kafka 4.4 answered to CreateTopics.
func TestTopicValues(t *testing.T) {
	var cases []struct {
		Set  map[string]*string
		Code protocol.ErrorCode
	}
	golden(t, "topic_values.json", &cases)
	for _, c := range cases {
		overrides := map[string]string{}
		var err error
		name, value := "", ""
		for k, v := range c.Set {
			if v == nil {
				name, value, err = k, "null", NullValue(ScopeTopic, k, true)
				continue
			}
			overrides[k] = *v
			if name == "" || k == "min.compaction.lag.ms" {
				name, value = k, *v
			}
		}
		if err == nil {
			err = ValidateTopic(overrides, Layers{})
		}
		if value == "１０４８５７６" { // digits of other scripts, which Java reads
			c.Code = protocol.InvalidConfig
		}
		check(t, name+"="+value, err, c.Code, name, value)
	}
}

// The broker's dynamic settings take part: a topic that only sets min.compaction.lag.ms meets the broker's maximum.
func TestTopicWithBroker(t *testing.T) {
	layers := Layers{Default: map[string]string{"log.cleaner.max.compaction.lag.ms": "50"}}
	err := ValidateTopic(map[string]string{"min.compaction.lag.ms": "100"}, layers)
	check(t, "min above the broker's max", err, protocol.InvalidConfig, "min.compaction.lag.ms", "100")
}

// TestBrokerValues has the codes Apache Kafka 4.4 answered to IncrementalAlterConfigs of broker "1" and "",
// except where it says otherwise.
func TestBrokerValues(t *testing.T) {
	layers := Layers{Static: static("num.io.threads", "4")}
	layers.Static.LogDirs = []string{"/var/kafka"}
	const no = protocol.InvalidRequest
	for _, c := range []struct {
		broker     string
		key, value string
		want       protocol.ErrorCode
	}{
		{"", "log.retention.ms", "90000", 0},
		{"", "log.retention.ms", "-1", 0},
		{"", "log.retention.ms", "0", no},
		{"1", "log.retention.bytes", "12345", 0},
		{"1", "leader.replication.throttled.rate", "1000", 0},
		{"", "follower.replication.throttled.rate", "2000", 0},
		{"1", "foo.dyn", "x", 0},
		{"1", "listener.name.plaintext.max.connections", "99", 0},
		{"", "listener.name.plaintext.max.connections", "88", 0},
		{"1", "ssl.truststore.type", "PEM", no},
		{"1", "num.partitions", "3", no},
		{"", "sasl.kerberos.kinit.cmd", "3", no},
		{"", "log.cleaner.threads", "x", no},
		{"", "num.io.threads", "100", no},
		{"1", "num.io.threads", "1", no},
		{"1", "num.io.threads", "8", 0},
		{"1", "num.network.threads", "10", no},
		{"", "num.replica.fetchers", "5", no},
		{"", "background.threads", "100", no},
		{"", "num.recovery.threads.per.data.dir", "10", no},
		{"", "log.retention.hours", "3", no},
		{"", "message.max.bytes", "-3", no},
		{"", "log.cleaner.min.compaction.lag.ms", "100", 0},
		{"", "log.cleaner.max.compaction.lag.ms", "50", 0},
		{"", "compression.type", "bogus", no},
		{"", "group.consumer.assignment.interval.ms", "99999999", no},
		{"", "group.consumer.assignment.interval.ms", "2000", 0},
		{"", "producer.id.expiration.ms", "1000", 0},
		{"", "transaction.partition.verification.enable", "false", 0},
		{"", "max.connections.per.ip.overrides", "h o:1", no},
		{"", "max.connections.per.ip", "0", no},
		{"", "max.connections", "0", no}, // Kafka takes it and then fails to apply it
		{"", "log.local.retention.ms", "100", 0},
		{"1", "advertised.listeners", "PLAINTEXT://127.0.0.1:29192", no},
		{"1", "listeners", "PLAINTEXT://:1", no}, // Kafka opens and closes listeners while it runs
		{"1", "cordoned.log.dirs", "/nope", no},
		{"1", "cordoned.log.dirs", "*", 0},
		{"1", "cordoned.log.dirs", "/var/kafka", 0},
		{"", "config.providers", "x", no}, // Kafka takes it
		{"", "metric.reporters", "x.Y", no},
		{"1", "principal.builder.class", "x.Y", no},
		{"", "log.cleaner.io.max.bytes.per.second", "1e3", 0},
		{"", "node.id", "1", no},
		{"", "unclean.leader.election.enable", "maybe", no},
	} {
		err := ValidateBroker(map[string]string{c.key: c.value}, c.broker != "", layers)
		check(t, c.broker+" "+c.key+"="+c.value, err, c.want, c.key, c.value)
	}
	check(t, "null", NullValue(ScopeBroker, "log.cleaner.backoff.ms", false), no, "log.cleaner.backoff.ms", "null")
}

// TestGroupValues has the codes Apache Kafka 4.4 answered to IncrementalAlterConfigs of a group.
func TestGroupValues(t *testing.T) {
	const no = protocol.InvalidConfig
	for _, c := range []struct {
		key, value string
		want       protocol.ErrorCode
	}{
		{"consumer.session.timeout.ms", "46000", 0},
		{"consumer.session.timeout.ms", "100", no},
		{"consumer.session.timeout.ms", "100000", no},
		{"consumer.heartbeat.interval.ms", "100", no},
		{"share.auto.offset.reset", "earliest", 0},
		{"share.auto.offset.reset", "LATEST", no},
		{"share.auto.offset.reset", "by_duration:PT-1S", no},
		{"share.auto.offset.reset", "by_duration:P1DT2H", 0},
		{"streams.assignor.name", "foo", no},
		{"streams.assignor.name", "sticky", 0},
		{"streams.num.standby.replicas", "5", no},
		{"streams.num.warmup.replicas", "50", no},
		{"streams.num.warmup.replicas", "5", 0},
		{"no.such", "5", no},
		{"share.delivery.count.limit", "11", no},
		{"share.record.lock.duration.ms", "5000", no},
		{"errors.deadletterqueue.topic.name", "__x", no},
		{"errors.deadletterqueue.topic.name", "x", 0},
		{"streams.rack.aware.assignment.tags", "a,a", no},
		{"streams.rack.aware.assignment.tags", "a,b", 0},
		{"share.isolation.level", "READ_COMMITTED", no},
	} {
		check(t, c.key+"="+c.value, ValidateGroup(map[string]string{c.key: c.value}, Layers{}), c.want, c.key, c.value)
	}
}

// TestClientMetricsValues has the codes Apache Kafka 4.4 answered for a client metrics subscription.
func TestClientMetricsValues(t *testing.T) {
	for _, c := range []struct {
		key, value string
		want       protocol.ErrorCode
	}{
		{"interval.ms", "5000", 0},
		{"interval.ms", "50", protocol.InvalidRequest},
		{"metrics", "org.apache.a,org.b", 0},
		{"metrics", "a b", 0},
		{"match", "client_id=a.*,client_software_name=b", 0},
		{"match", "foo=b", protocol.InvalidConfig},
		{"match", "client_id=[", protocol.InvalidConfig},
		{"match", "client_id", protocol.InvalidConfig},
		{"nope", "1", protocol.InvalidRequest},
	} {
		check(t, c.key+"="+c.value, ValidateClientMetrics(map[string]string{c.key: c.value}), c.want, c.key, c.value)
	}
}

func TestOffsetReset(t *testing.T) {
	for text, want := range map[string]bool{"PT0S": true, "P1D": true, "PT1.5S": true, "pt1h": true, "P1DT": false, "P": false, "": false,
		"PT": false, "P1Y": false, "PT1S1H": false, "PT1.5H": false, "-PT1S": false, "PT-1S": false, "-PT-1S": true, "P1DT-1H": true, "PT1": false} {
		if got := resetAllows("by_duration:" + text); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}
