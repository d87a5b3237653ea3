package config

import (
	"fmt"
	"testing"
	"time"
)

func static(kv ...string) *Static {
	s := &Static{set: map[string]string{}}
	for i := 0; i < len(kv); i += 2 {
		s.set[kv[i]] = kv[i+1]
	}
	return s
}

func TestRetentionPrecedence(t *testing.T) {
	for _, c := range []struct {
		name   string
		layers Layers
		topic  map[string]string
		want   int64
	}{
		{"nothing", Layers{}, nil, 604800000},
		{"hours", Layers{Static: static("log.retention.hours", "1")}, nil, 3600000},
		{"minutes before hours", Layers{Static: static("log.retention.hours", "1", "log.retention.minutes", "2")}, nil, 120000},
		{"ms before both", Layers{Static: static("log.retention.hours", "1", "log.retention.minutes", "2", "log.retention.ms", "3")}, nil, 3},
		{"for ever in hours", Layers{Static: static("log.retention.hours", "-1")}, nil, -1},
		{"for ever in any negative number", Layers{Static: static("log.retention.ms", "-5")}, nil, -1},
		{"all brokers before the file", Layers{Static: static("log.retention.ms", "3"), Default: map[string]string{"log.retention.ms": "4"}}, nil, 4},
		{"this broker before all", Layers{Own: map[string]string{"log.retention.ms": "5"}, Default: map[string]string{"log.retention.ms": "4"}}, nil, 5},
		{"the topic before everything", Layers{Own: map[string]string{"log.retention.ms": "5"}}, map[string]string{"retention.ms": "6"}, 6},
		{"a value that is none", Layers{}, map[string]string{"retention.ms": "x"}, 604800000},
	} {
		if got := c.layers.Topic(c.topic).Long("retention.ms"); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

func TestGetters(t *testing.T) {
	v := Layers{Static: static("broker.rack", " r1 ", "log.dirs", "/a, /b,/a")}.Broker()
	if v.Int("num.partitions") != 1 || v.Int("offsets.topic.replication.factor") != 3 || v.Long("num.partitions") != 1 ||
		v.Double("log.cleaner.io.buffer.load.factor") != 0.9 || !v.Bool("auto.create.topics.enable") || v.String("broker.rack") != "r1" {
		t.Error("getters")
	}
	if got := v.List("log.dirs"); fmt.Sprint(got) != "[/a /b]" {
		t.Error(got)
	}
	if !v.IsNull("metadata.log.dir") || v.IsNull("num.partitions") || v.String("metadata.log.dir") != "" {
		t.Error("null")
	}
	v = Layers{Static: static("listener.name.internal.max.connections", " 7 ")}.Broker()
	if got, ok := v.OfListener("INTERNAL", "max.connections"); !ok || got != "7" {
		t.Error(got, ok)
	}
	if got, ok := v.OfListener("PLAINTEXT", "max.connections"); ok {
		t.Error(got)
	}
	if got := (Layers{}).Group(nil).String("streams.assignor.name"); got != "sticky" {
		t.Error(got)
	}
	if got := (Layers{}).Topic(nil).Long("segment.ms"); got != 168*time.Hour.Milliseconds() {
		t.Error(got)
	}
}

func TestJavaDouble(t *testing.T) {
	for _, c := range [][2]string{{"0.5", "0.5"}, {"1e3", "1000.0"}, {"1e7", "1.0E7"}, {"9999999.5", "9999999.5"}, {"0.001", "0.001"},
		{"0.00099", "9.9E-4"}, {"1e-5", "1.0E-5"}, {"123456789", "1.23456789E8"}, {"1.7976931348623157E308", "1.7976931348623157E308"},
		{"NaN", "NaN"}, {"Infinity", "Infinity"}, {"-Infinity", "-Infinity"}, {"0", "0.0"}, {"-0.0", "-0.0"}, {"100", "100.0"}, {"0.1f", "0.1"},
		{"1d", "1.0"}, {"0x1p-1", "0.5"}, {".5", "0.5"}, {"5.", "5.0"}, {"1e22", "1.0E22"}, {"2e-3", "0.002"}, {"-1e10", "-1.0E10"}} {
		if got := canonical(Double, c[0]); got != c[1] {
			t.Errorf("%s: %s, want %s", c[0], got, c[1])
		}
	}
}

// Each key is found, has text and satisfies its own rule; names are unique.
func TestRegistry(t *testing.T) {
	for _, s := range []Scope{ScopeTopic, ScopeBroker, ScopeGroup, ScopeClientMetrics} {
		last := ""
		for _, k := range Keys(s) {
			if k.Name <= last {
				t.Errorf("%s after %s", k.Name, last)
			}
			last = k.Name
			if Find(s, k.Name) != k {
				t.Errorf("%s is not found", k.Name)
			}
			if k.Doc == "" || (k.Support == Supported) != (k.Why == "") {
				t.Errorf("%s: doc %q, support %d, why %q", k.Name, k.Doc, k.Support, k.Why)
			}
			if !k.Null && (!k.Allows(k.Default) || canonical(k.Type, k.Default) != k.Default) {
				t.Errorf("%s: the default %q", k.Name, k.Default)
			}
			for _, from := range k.Synonyms {
				if Find(ScopeBroker, from.Name) == nil {
					t.Errorf("%s: no %s", k.Name, from.Name)
				}
			}
		}
	}
	if k := Find(ScopeBroker, "listener.name.x.max.connections"); k == nil || k.Name != "max.connections" {
		t.Error(k)
	}
	if k := Find(ScopeBroker, "listener.name.x.scram-sha-256.sasl.jaas.config"); k == nil || k.Name != "sasl.jaas.config" {
		t.Error(k)
	}
}

func BenchmarkStart(b *testing.B) {
	p := Default("d", nil)
	for b.Loop() {
		newIndex(brokerAreas[:])
		newIndex(topicArea[:])
		if _, _, err := Load(p); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTopicLong(b *testing.B) {
	v := Layers{Static: static()}.Topic(nil)
	for b.Loop() {
		v.Long("retention.ms")
	}
}
