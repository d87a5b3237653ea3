package config

import (
	"encoding/json"
	"fmt"
	"testing"
)

// goldenEntry is [name, value, type, read only, sensitive, source, [[name, value, source], ...]].
type goldenEntry struct {
	name     string
	value    *string
	typ      Type
	readOnly int
	secret   int
	source   Source
	synonyms []goldenSynonym
}

type goldenSynonym struct {
	name   string
	value  *string
	source Source
}

func (e *goldenEntry) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&e.name, &e.value, &e.typ, &e.readOnly, &e.secret, &e.source, &e.synonyms})
}

func (s *goldenSynonym) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&s.name, &s.value, &s.source})
}

type goldenNode struct {
	Properties, Default, Own map[string]string
	Resources                []struct {
		Scope     Scope
		Defaults  bool // broker ""
		Overrides map[string]string
		Entries   []goldenEntry
	}
}

func (n *goldenNode) layers() Layers {
	set := map[string]string{"broker.id": n.Properties["node.id"]}
	for k, v := range n.Properties {
		set[k] = v
	}
	return Layers{Static: &Static{set: set}, Default: n.Default, Own: n.Own}
}

// TestDescribeAsKafka compares with what Apache Kafka 4.4 answered to DescribeConfigs version 4: once on a node
// with the plainest file, once with settings in every layer.
func TestDescribeAsKafka(t *testing.T) {
	for _, file := range []string{"describe_default.json", "describe_set.json"} {
		var node goldenNode
		golden(t, file, &node)
		layers := node.layers()
		for _, r := range node.Resources {
			t.Run(fmt.Sprint(file, r.Scope, r.Defaults, len(r.Overrides)), func(t *testing.T) {
				v := Values{r.Scope, r.Overrides, layers}
				got := v.Entries(nil)
				if r.Defaults {
					got = layers.BrokerDefaults(nil)
				}
				compareEntries(t, got, r.Entries)
			})
		}
	}
}

func compareEntries(t *testing.T, got []Entry, want []goldenEntry) {
	t.Helper()
	have := map[string]string{}
	for _, e := range got {
		have[e.Name] = entryText(e)
		if e.Doc == "" && e.Type != 0 {
			t.Errorf("%s has no documentation", e.Name)
		}
	}
	for _, w := range want {
		if s := goldenText(w); have[w.name] != s {
			t.Errorf("%s\nhave %s\nwant %s", w.name, have[w.name], s)
		}
		delete(have, w.name)
	}
	for name, s := range have {
		t.Errorf("Kafka does not describe %s: %s", name, s)
	}
}

func show(s *string) string {
	if s == nil {
		return "null"
	}
	return fmt.Sprintf("%q", *s)
}

func entryText(e Entry) string {
	s := fmt.Sprint(show(e.Value), " type ", e.Type, " readonly ", e.ReadOnly, " sensitive ", e.Sensitive, " source ", e.Source)
	for _, x := range e.Synonyms {
		s += fmt.Sprint(" [", x.Name, " ", show(x.Value), " ", x.Source, "]")
	}
	return s
}

func goldenText(e goldenEntry) string {
	s := fmt.Sprint(show(e.value), " type ", e.typ, " readonly ", e.readOnly == 1, " sensitive ", e.secret == 1, " source ", e.source)
	for _, x := range e.synonyms {
		s += fmt.Sprint(" [", x.name, " ", show(x.value), " ", x.source, "]")
	}
	return s
}

// B10: a filter returns the known keys among those asked for.
func TestEntriesFilter(t *testing.T) {
	layers := Layers{Static: &Static{set: map[string]string{"listener.name.sasl.plain.sasl.jaas.config": "secret"}}}
	names := func(list []Entry) (out []string) {
		for _, e := range list {
			if e.Sensitive && e.Value != nil {
				t.Errorf("%s shows its value", e.Name)
			}
			out = append(out, e.Name)
		}
		return out
	}
	if got := names(layers.Topic(nil).Entries([]string{"retention.ms", "no.such"})); fmt.Sprint(got) != "[retention.ms]" {
		t.Error(got)
	}
	ask := []string{"num.partitions", "default.replication.factor", "log.retention.ms", "message.max.bytes", "listener.name.sasl.plain.sasl.jaas.config"}
	got := names(layers.Broker().Entries(ask))
	if fmt.Sprint(got) != "[default.replication.factor listener.name.sasl.plain.sasl.jaas.config log.retention.ms message.max.bytes num.partitions]" {
		t.Error(got)
	}
	if n := len(layers.Topic(nil).Entries(nil)); n != 37 {
		t.Errorf("%d topic settings, want 37", n)
	}
	if n := len(layers.Topic(map[string]string{"internal.segment.bytes": "1"}).Entries(nil)); n != 38 {
		t.Errorf("%d topic settings with internal.segment.bytes, want 38", n)
	}
	if n := len(layers.Group(nil).Entries(nil)); n != 21 {
		t.Errorf("%d group settings, want 21", n)
	}
	if got := names(Layers{Default: map[string]string{"log.retention.ms": "1"}}.BrokerDefaults(nil)); fmt.Sprint(got) != "[log.retention.ms]" {
		t.Error(got)
	}
}
