//go:build compat

package differential

import (
	"fmt"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

type resource struct {
	kind kmsg.ConfigResourceType
	name string
	keys []string
}

func describe(synonyms, docs bool, resources ...resource) *kmsg.DescribeConfigsRequest {
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.IncludeSynonyms, req.IncludeDocumentation = synonyms, docs
	for _, r := range resources {
		rr := kmsg.NewDescribeConfigsRequestResource()
		rr.ResourceType, rr.ResourceName, rr.ConfigNames = r.kind, r.name, r.keys
		req.Resources = append(req.Resources, rr)
	}
	return req
}

func TestDescribeConfigs(t *testing.T) {
	alone(t, func(s *side) {
		s.coordinator(s.n("dc-group")) // then there is __consumer_offsets
		topic := s.n("dc")
		s.newTopic(topic, 1, "retention.ms", "123456", "cleanup.policy", "compact,delete")
		s.each(32, func(v int16) {
			send := func(label string, synonyms, docs bool, resources ...resource) {
				do[*kmsg.DescribeConfigsResponse](s, label, v, describe(synonyms, docs, resources...))
			}
			send("nothing", false, false)
			for _, syn := range []bool{false, true} {
				for _, docs := range []bool{false, true} {
					l := fmt.Sprintf(", synonyms %v, documentation %v", syn, docs)
					send("topic"+l, syn, docs, resource{2, topic, nil})
					send("broker"+l, syn, docs, resource{4, "1", nil})
					send("group"+l, syn, docs, resource{32, s.n("dc-group"), nil})
				}
			}
			send("some topic keys", true, true, resource{2, topic, []string{"retention.ms", "no.such", "segment.bytes", "retention.ms"}})
			send("empty list", true, false, resource{2, topic, []string{}})
			send("empty list for a broker", false, false, resource{4, "1", []string{}})
			send("some broker keys", true, true, resource{4, "1", []string{"num.partitions", "log.retention.ms", "log.retention.hours", "no.such", "ssl.keystore.password", "listener.name.plaintext.ssl.keystore.password"}})
			send("brokers", true, true, resource{4, "", nil})
			send("other brokers", false, false, resource{4, "99", nil}, resource{4, "abc", nil}, resource{4, "-1", nil}, resource{4, "01", []string{"num.partitions"}}, resource{4, " 1", nil}, resource{4, "+1", []string{"num.partitions"}}, resource{4, "99999999999", nil})
			send("other topics", false, false, resource{2, s.n("dc-missing"), nil}, resource{2, "a b", nil}, resource{2, "", nil})
			send("other types", false, false, resource{0, "x", nil}, resource{1, "x", nil}, resource{3, "x", nil}, resource{77, "x", nil}, resource{-1, "x", nil}, resource{64, "x", nil})
			send("client metrics", true, true, resource{16, "x", nil}, resource{16, "", nil})
			send("groups", false, false, resource{32, "", nil}, resource{32, "g", []string{"consumer.session.timeout.ms", "no.such"}})
			send("the same twice", false, false, resource{2, topic, []string{"retention.ms"}}, resource{2, topic, []string{"segment.bytes"}})
			send("loggers of others", false, false, resource{8, "99", nil}, resource{8, "", nil}, resource{8, "abc", nil})
			send("one logger", false, false, resource{8, "1", []string{"root"}})
			send("internal topic", true, false, resource{2, "__consumer_offsets", nil})
		})
	})
}

type op struct {
	op    kmsg.IncrementalAlterConfigOp
	name  string
	value string
}

func incremental(validate bool, kind kmsg.ConfigResourceType, name string, ops ...op) *kmsg.IncrementalAlterConfigsRequest {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.ValidateOnly = validate
	rr := kmsg.NewIncrementalAlterConfigsRequestResource()
	rr.ResourceType, rr.ResourceName = kind, name
	for _, o := range ops {
		rc := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		rc.Op, rc.Name = o.op, o.name
		if o.value != null {
			rc.Value = ptr(o.value)
		}
		rr.Configs = append(rr.Configs, rc)
	}
	req.Resources = append(req.Resources, rr)
	return req
}

func TestIncrementalAlterTopic(t *testing.T) {
	const set, del, app, sub = 0, 1, 2, 3
	cases := [][]op{
		{},
		{{set, "retention.ms", "5000"}},
		{{set, "retention.ms", "5000"}, {set, "retention.ms", "6000"}},
		{{set, "retention.ms", "5000"}, {del, "retention.ms", null}},
		{{set, "retention.ms", null}}, {{set, "retention.ms", "x"}}, {{set, "retention.ms", "-2"}}, {{set, "no.such", "1"}}, {{set, "", "1"}},
		{{del, "retention.ms", null}}, {{del, "retention.ms", "5"}}, {{del, "no.such", null}}, {{del, "segment.bytes", null}},
		{{app, "cleanup.policy", "compact"}}, {{app, "cleanup.policy", "compact"}}, {{app, "cleanup.policy", "delete,compact"}}, {{app, "cleanup.policy", "foo"}},
		{{sub, "cleanup.policy", "delete"}}, {{sub, "cleanup.policy", "delete"}}, {{sub, "cleanup.policy", "compact"}}, {{sub, "cleanup.policy", null}}, {{app, "cleanup.policy", null}},
		{{app, "retention.ms", "5"}}, {{sub, "retention.ms", "5"}}, {{app, "no.such", "x"}}, {{sub, "no.such", "x"}},
		{{app, "leader.replication.throttled.replicas", "0:1"}}, {{app, "leader.replication.throttled.replicas", "1:1"}}, {{sub, "leader.replication.throttled.replicas", "0:1"}}, {{sub, "leader.replication.throttled.replicas", "1:1"}},
		{{4, "retention.ms", "5"}}, {{-1, "retention.ms", "5"}},
		{{set, "segment.bytes", "2000000"}, {set, "min.insync.replicas", "2"}, {set, "compression.type", "zstd"}},
		{{set, "segment.bytes", "2000000"}, {set, "compression.type", "nope"}},
		{{set, "min.compaction.lag.ms", "100"}, {set, "max.compaction.lag.ms", "50"}}, {{set, "remote.storage.enable", "true"}},
		{{set, "retention.ms", " 77 "}}, {{set, "cleanup.policy", ""}}, {{del, "cleanup.policy", null}}, {{set, "message.timestamp.type", "LogAppendTime"}},
	}
	both(t, func(s *side) {
		s.each(44, func(v int16) {
			topic := s.n(fmt.Sprintf("iac-%d", v))
			s.newTopic(topic, 1)
			for i, ops := range cases {
				if v == 0 && i > 10 {
					break
				}
				for _, validate := range []bool{true, false} {
					label := fmt.Sprintf("%d %v (validate %v)", i, ops, validate)
					do[*kmsg.IncrementalAlterConfigsResponse](s, label, v, incremental(validate, 2, topic, ops...))
					if !validate {
						s.settle()
						s.overrides(fmt.Sprintf("v%d %s", v, label), resource{2, topic, nil})
					}
				}
			}
			for _, name := range []string{s.n("iac-missing"), "", "a b"} {
				do[*kmsg.IncrementalAlterConfigsResponse](s, "topic "+name[:min(3, len(name))], v, incremental(false, 2, name, op{0, "retention.ms", "5"}))
			}
			twice := incremental(false, 2, topic, op{0, "retention.ms", "5"})
			twice.Resources = append(twice.Resources, incremental(false, 2, topic, op{0, "segment.ms", "5"}).Resources...)
			do[*kmsg.IncrementalAlterConfigsResponse](s, "the same topic twice", v, twice)
			mixed := incremental(false, 2, topic, op{0, "retention.ms", "7"})
			mixed.Resources = append(mixed.Resources, incremental(false, 2, s.n("iac-missing"), op{0, "segment.ms", "5"}).Resources...)
			mixed.Resources = append(mixed.Resources, incremental(false, 77, "x", op{0, "segment.ms", "5"}).Resources...)
			mixed.Resources = append(mixed.Resources, incremental(false, 4, "9", op{0, "log.retention.ms", "5"}).Resources...)
			do[*kmsg.IncrementalAlterConfigsResponse](s, "mixed", v, mixed)
			mixed.Resources = nil
			do[*kmsg.IncrementalAlterConfigsResponse](s, "nothing", v, mixed)
		})
	})
}

// overrides records what a resource has set dynamically.
func (s *side) overrides(label string, r resource) {
	resp := ask[*kmsg.DescribeConfigsResponse](s, 4, describe(false, false, r))
	st := step{label: "after " + label}
	for _, x := range resp.Resources[0].Configs {
		if x.Source != kmsg.ConfigSourceDefaultConfig && x.Source != kmsg.ConfigSourceStaticBrokerConfig {
			v := "null"
			if x.Value != nil {
				v = fmt.Sprintf("%q", *x.Value)
			}
			st.lines = append(st.lines, line{x.Name, fmt.Sprintf("%s from %d", v, x.Source), false})
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(st)
}

func TestIncrementalAlterBroker(t *testing.T) {
	const set, del, app, sub = 0, 1, 2, 3
	cases := [][]op{
		{{set, "log.retention.ms", "5000000"}}, {{set, "log.retention.ms", "x"}}, {{set, "log.retention.ms", null}}, {{del, "log.retention.ms", null}}, {{set, "no.such", "1"}}, {{set, "num.partitions", "2"}},
		{{set, "log.dirs", "/x"}}, {{set, "node.id", "2"}}, {{set, "message.max.bytes", "-1"}}, {{set, "message.max.bytes", "2000000"}}, {{del, "message.max.bytes", null}}, {{set, "log.cleaner.threads", "2"}},
		{{set, "log.cleaner.threads", "5"}}, {{set, "log.cleaner.threads", "0"}}, {{del, "log.cleaner.threads", null}}, {{set, "num.io.threads", "5"}}, {{set, "num.io.threads", "100"}}, {{del, "num.io.threads", null}}, {{set, "log.retention.hours", "5"}},
		{{set, "log.segment.bytes", "1"}}, {{set, "log.segment.bytes", "1048576"}}, {{del, "log.segment.bytes", null}}, {{set, "log.cleanup.policy", "compact"}}, {{app, "log.cleanup.policy", "delete"}}, {{sub, "log.cleanup.policy", "compact"}},
		{{del, "log.cleanup.policy", null}}, {{set, "log.cleanup.policy", "foo"}}, {{app, "log.retention.ms", "1"}}, {{set, "max.connections", "1000"}}, {{set, "max.connections.per.ip", "-1"}}, {{del, "max.connections", null}},
		{{set, "max.connections.per.ip.overrides", "127.0.0.1:100"}}, {{set, "max.connections.per.ip.overrides", "x"}}, {{del, "max.connections.per.ip.overrides", null}},
		{{set, "unclean.leader.election.enable", "maybe"}}, {{set, "compression.type", "zstd"}}, {{del, "compression.type", null}}, {{set, "min.insync.replicas", "1"}}, {{del, "min.insync.replicas", null}}, {{set, "retention.ms", "5"}},
		{{set, "advertised.listeners", "PLAINTEXT://x:1"}}, {{set, "listeners", "PLAINTEXT://x:1"}}, {{set, "leader.replication.throttled.rate", "1000"}}, {{del, "leader.replication.throttled.rate", null}}, {{set, "leader.replication.throttled.rate", "-1"}},
		{{set, "listener.name.plaintext.max.connections", "500"}}, {{del, "listener.name.plaintext.max.connections", null}}, {{set, "ssl.keystore.location", "/nope"}}, {{set, "listener.name.external.ssl.keystore.location", "/nope"}},
		{{set, "background.threads", "10"}}, {{set, "num.recovery.threads.per.data.dir", "2"}}, {{del, "num.recovery.threads.per.data.dir", null}}, {{set, "producer.id.expiration.ms", "100000"}}, {{del, "producer.id.expiration.ms", null}},
		{{set, "auto.create.topics.enable", "false"}}, {{set, "transaction.partition.verification.enable", "false"}}, {{del, "transaction.partition.verification.enable", null}}, {{set, "connection.failed.authentication.delay.ms", "5"}},
		{{set, "log.message.timestamp.type", "LogAppendTime"}}, {{del, "log.message.timestamp.type", null}}, {{set, "metric.reporters", ""}}, {{set, "principal.builder.class", "x"}}, {{set, "follower.replication.throttled.rate", "5"}}, {{del, "follower.replication.throttled.rate", null}},
	}
	alone(t, func(s *side) {
		for _, node := range []string{"1", ""} {
			for i, ops := range cases {
				for _, validate := range []bool{true, false} {
					if validate && i%7 > 0 {
						continue
					}
					label := fmt.Sprintf("broker %q: %d %v (validate %v)", node, i, ops, validate)
					do[*kmsg.IncrementalAlterConfigsResponse](s, label, 1, incremental(validate, 4, node, ops...))
					s.settle()
					s.overrides(label, resource{4, node, nil})
				}
			}
			do[*kmsg.DescribeConfigsResponse](s, fmt.Sprintf("afterwards broker %q", node), 4, describe(true, false, resource{4, "1", nil}))
		}
		for _, node := range []string{"1", ""} { // as it was, for the next run
			for _, x := range ask[*kmsg.DescribeConfigsResponse](s, 4, describe(false, false, resource{4, node, nil})).Resources[0].Configs {
				if x.Source == kmsg.ConfigSourceDynamicBrokerConfig || x.Source == kmsg.ConfigSourceDynamicDefaultBrokerConfig && node == "" {
					ask[*kmsg.IncrementalAlterConfigsResponse](s, 1, incremental(false, 4, node, op{del, x.Name, null}))
				}
			}
		}
		for _, name := range []string{"9", "x", "-1", " 1"} {
			do[*kmsg.IncrementalAlterConfigsResponse](s, "broker "+name, 1, incremental(false, 4, name, op{0, "log.retention.ms", "5000000"}))
		}
	})
}

func TestIncrementalAlterOthers(t *testing.T) {
	const set, del, app = 0, 1, 2
	both(t, func(s *side) {
		g := s.n("iac-group")
		for i, ops := range [][]op{
			{{set, "consumer.session.timeout.ms", "45000"}}, {{set, "consumer.session.timeout.ms", "1"}}, {{set, "consumer.heartbeat.interval.ms", "100000"}}, {{set, "consumer.session.timeout.ms", "x"}}, {{set, "no.such", "1"}},
			{{set, "session.timeout.ms", "1"}}, {{set, "share.auto.offset.reset", "earliest"}}, {{set, "share.auto.offset.reset", "foo"}}, {{del, "share.auto.offset.reset", null}}, {{del, "no.such", null}}, {{app, "consumer.session.timeout.ms", "1"}},
			{{set, "consumer.session.timeout.ms", null}}, {{set, "consumer.session.timeout.ms", "60000"}}, {{set, "consumer.session.timeout.ms", "60001"}}, {{set, "share.isolation.level", "read_committed"}}, {{set, "streams.num.standby.replicas", "1"}}, {{set, "streams.num.standby.replicas", "5"}},
		} {
			for _, validate := range []bool{true, false} {
				label := fmt.Sprintf("group %d %v (validate %v)", i, ops, validate)
				do[*kmsg.IncrementalAlterConfigsResponse](s, label, 1, incremental(validate, 32, g, ops...))
				if !validate {
					s.settle()
					s.overrides(label, resource{32, g, nil})
				}
			}
		}
		do[*kmsg.DescribeConfigsResponse](s, "group", 4, describe(true, false, resource{32, g, nil}))
		do[*kmsg.IncrementalAlterConfigsResponse](s, "no group", 1, incremental(false, 32, "", op{set, "consumer.session.timeout.ms", "45000"}))
		m := s.n("iac-metrics")
		for i, ops := range [][]op{
			{{set, "interval.ms", "100"}}, {{set, "interval.ms", "1"}}, {{set, "interval.ms", "3600001"}}, {{set, "metrics", "a,b"}}, {{app, "metrics", "c"}}, {{set, "match", "client_id=x"}}, {{set, "match", "foo=x"}}, {{set, "match", "client_id=["}}, {{set, "no.such", "1"}}, {{del, "metrics", null}},
		} {
			label := fmt.Sprintf("metrics %d %v", i, ops)
			do[*kmsg.IncrementalAlterConfigsResponse](s, label, 1, incremental(false, 16, m, ops...))
			s.settle()
			s.overrides(label, resource{16, m, nil})
		}
		do[*kmsg.IncrementalAlterConfigsResponse](s, "no metrics name", 1, incremental(false, 16, "", op{set, "interval.ms", "100"}))
		for i, ops := range [][]op{
			{{set, "kafka.server.X", "DEBUG"}}, {{set, "root", "INFO"}}, {{del, "root", null}}, {{set, "no such logger", "INFO"}}, {{set, "root", "LOUD"}}, {{app, "root", "INFO"}}, {{set, "root", null}},
		} {
			for _, name := range []string{"1", "9", "", "x"} {
				do[*kmsg.IncrementalAlterConfigsResponse](s, fmt.Sprintf("logger of %q %d %v", name, i, ops), 1, incremental(true, 8, name, ops...))
			}
		}
		for _, kind := range []kmsg.ConfigResourceType{0, 1, 3, 5, 64, 127, -1} {
			do[*kmsg.IncrementalAlterConfigsResponse](s, fmt.Sprintf("type %d", kind), 1, incremental(false, kind, "x", op{set, "a", "b"}))
		}
	})
}

func TestListConfigResources(t *testing.T) {
	alone(t, func(s *side) {
		ask[*kmsg.IncrementalAlterConfigsResponse](s, 1, incremental(false, 32, s.n("lcr-group"), op{0, "consumer.session.timeout.ms", "46000"}))
		ask[*kmsg.IncrementalAlterConfigsResponse](s, 1, incremental(false, 16, s.n("lcr-metrics"), op{0, "interval.ms", "1000"}))
		s.newTopic(s.n("lcr"), 1)
		s.each(74, func(v int16) {
			for _, types := range [][]int8{nil, {2}, {4}, {16}, {32}, {2, 32}, {2, 2}, {77}, {2, 77}, {0}, {8}, {-1}} {
				req := kmsg.NewPtrListConfigResourcesRequest()
				req.ResourceTypes = types
				do[*kmsg.ListConfigResourcesResponse](s, fmt.Sprintf("all of types %v", types), v, req)
			}
		})
	})
}

func alter(validate bool, kind kmsg.ConfigResourceType, name string, kv ...string) *kmsg.AlterConfigsRequest {
	req := kmsg.NewPtrAlterConfigsRequest()
	req.ValidateOnly = validate
	rr := kmsg.NewAlterConfigsRequestResource()
	rr.ResourceType, rr.ResourceName = kind, name
	for i := 0; i+1 < len(kv); i += 2 {
		rc := kmsg.NewAlterConfigsRequestResourceConfig()
		rc.Name = kv[i]
		if kv[i+1] != null {
			rc.Value = ptr(kv[i+1])
		}
		rr.Configs = append(rr.Configs, rc)
	}
	req.Resources = append(req.Resources, rr)
	return req
}

func TestAlterConfigs(t *testing.T) {
	alone(t, func(s *side) {
		s.each(33, func(v int16) {
			topic := s.n(fmt.Sprintf("ac-%d", v))
			s.newTopic(topic, 1, "retention.ms", "123456", "cleanup.policy", "compact")
			for i, kv := range [][]string{
				{"segment.bytes", "2000000"}, {"segment.bytes", "1"}, {"no.such", "1"}, {"retention.ms", null}, {"retention.ms", "5", "retention.ms", "6"}, {"", ""}, {"retention.ms", "5", "segment.ms", "7"}, {},
			} {
				for _, validate := range []bool{true, false} {
					label := fmt.Sprintf("%d %q (validate %v)", i, kv, validate)
					do[*kmsg.AlterConfigsResponse](s, label, v, alter(validate, 2, topic, kv...))
					s.settle()
					s.overrides(fmt.Sprintf("v%d %s", v, label), resource{2, topic, nil})
				}
			}
			for _, r := range []resource{{2, s.n("ac-missing"), nil}, {2, "", nil}, {2, "a b", nil}, {4, "9", nil}, {4, "x", nil}, {8, "1", nil}, {8, "9", nil}, {0, "x", nil}, {77, "x", nil}, {-1, "x", nil}, {16, "", nil}, {32, "", nil}} {
				do[*kmsg.AlterConfigsResponse](s, fmt.Sprintf("%d %.3q", r.kind, r.name), v, alter(false, r.kind, r.name, "retention.ms", "5"))
			}
			none := alter(false, 2, topic)
			none.Resources = nil
			do[*kmsg.AlterConfigsResponse](s, "nothing", v, none)
			if v == 2 {
				twice := alter(false, 2, topic, "retention.ms", "5")
				twice.Resources = append(twice.Resources, twice.Resources[0])
				do[*kmsg.AlterConfigsResponse](s, "a resource twice", v, twice)
			}
			for i, kv := range [][]string{{"log.retention.ms", "5000000", "num.partitions", "2"}, {"log.retention.ms", "5000000"}, {"log.cleaner.threads", "2"}, {}} {
				do[*kmsg.AlterConfigsResponse](s, fmt.Sprintf("broker %d %q", i, kv), v, alter(false, 4, "1", kv...))
				s.settle()
				s.overrides(fmt.Sprintf("v%d broker %d", v, i), resource{4, "1", nil})
			}
			g := s.n(fmt.Sprintf("ac-group-%d", v))
			do[*kmsg.AlterConfigsResponse](s, "group", v, alter(false, 32, g, "consumer.session.timeout.ms", "46000"))
			s.settle()
			s.overrides(fmt.Sprintf("v%d group", v), resource{32, g, nil})
		})
	})
}
