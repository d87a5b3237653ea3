package cli

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/protocol"
)

func TestParseDuration(t *testing.T) {
	for s, want := range map[string]time.Duration{
		"P10D": 240 * time.Hour, "PT0S": 0, "PT1H30M": 90 * time.Minute, "P1DT2H3M4.5S": 26*time.Hour + 3*time.Minute + 4500*time.Millisecond,
		"-PT1H": -time.Hour, "PT-0.5S": -500 * time.Millisecond, "pt5m": 5 * time.Minute, "P-1D": -24 * time.Hour, "PT,5S": 0,
	} {
		got, err := parseDuration(s)
		if s == "PT,5S" {
			if err == nil {
				t.Errorf("%s is understood", s)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"", "P", "PT", "1H", "P1H", "PT1D", "xx", "P99999999999999D", "P1Y"} {
		if d, err := parseDuration(s); err == nil {
			t.Errorf("%q is understood as %v", s, d)
		}
	}
}

func TestParseDateTime(t *testing.T) {
	for s, want := range map[string]int64{
		"2020-01-01T00:00:00.000":       1577836800000,
		"2020-01-01T00:00:00.5":         1577836800005, // a count of milliseconds, as Kafka's tool reads it
		"2020-01-01T00:00:00.123Z":      1577836800123,
		"2020-01-01T01:00:00.000+01":    1577836800000,
		"2020-01-01T01:30:00.000+0130":  1577836800000,
		"2019-12-31T19:00:00.000-05:00": 1577836800000,
	} {
		got, err := parseDateTime(s)
		if err != nil || got.UnixMilli() != want {
			t.Errorf("%s: %d, %v; want %d", s, got.UnixMilli(), err, want)
		}
	}
	for _, s := range []string{"", "2020-01-01", "2020-01-01T00:00:00", "2020-02-30T00:00:00.000", "2020-01-01T25:00:00.000", "2020-01-01T00:00:00.1234"} {
		if d, err := parseDateTime(s); err == nil {
			t.Errorf("%q is understood as %v", s, d)
		}
	}
}

func TestParseAddConfig(t *testing.T) {
	for s, want := range map[string]clientConfig{
		"a=1":                       {"a": "1"},
		"a=1,b=2":                   {"a": "1", "b": "2"},
		" a = 1 ,b=":                {"a": "1", "b": ""},
		"a=[x,y],b=2":               {"a": "x,y", "b": "2"},
		"s=[iterations=1,password]": {"s": "iterations=1,password"},
		"a=[x=y],b=[z]":             {"a": "x=y", "b": "z"},
	} {
		got, err := parseAddConfig(s)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %v, %v; want %v", s, got, err, want)
		}
	}
	for _, s := range []string{"a", "a=1,b", "a=b=c", ""} {
		if got, err := parseAddConfig(s); err == nil {
			t.Errorf("%q is understood as %v", s, got)
		}
	}
}

func TestParseReplicaAssignment(t *testing.T) {
	got, err := parseReplicaAssignment("1:2,2: 3,3:1")
	if err != nil || len(got) != 3 || joinIDs(got[1], ",") != "2,3" {
		t.Errorf("got %v, %v", got, err)
	}
	for s, want := range map[string]string{
		"1,1:1": "Partition replica lists may not contain duplicate entries: 1",
		"1,2:3": "Partition 1 has different replication factor: [2, 3]",
		"1,x":   `For input string: "x"`,
	} {
		if _, err := parseReplicaAssignment(s); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", s, err, want)
		}
	}
}

func TestTopicConfigs(t *testing.T) {
	got, err := topicConfigs([]string{"retention.ms=1", "segment.ms = 2", "retention.ms=3"})
	if err != nil || len(got) != 2 || got[0].Name != "segment.ms" || *got[0].Value != "2" || got[1].Name != "retention.ms" || *got[1].Value != "3" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, s := range []string{"retention.ms", "retention.ms=", "retention.ms=b=c", "foo=1"} {
		if _, err := topicConfigs([]string{s}); err == nil {
			t.Errorf("%q is understood", s)
		}
	}
}

func TestPartitionRules(t *testing.T) {
	tests := []struct {
		rule, allowed, refused string
	}{
		{"a:1", "a-1", "a-0 b-1 aa-1"},
		{"a", "a-0 a-99", "b-0"},
		{"a:", "a-0", "b-0"},
		{"a:1-3", "a-1 a-2", "a-0 a-3"},
		{"a:2-", "a-2 a-100", "a-1"},
		{"a:-2", "a-0 a-1", "a-2"},
		{":0", "a-0 zz-0", "a-1"},
		{"a.*:0", "a-0 abc-0", "ba-0"},
	}
	for _, tt := range tests {
		r, err := parseRule(tt.rule)
		if err != nil {
			t.Errorf("%s: %v", tt.rule, err)
			continue
		}
		for text, want := range map[string]bool{tt.allowed: true, tt.refused: false} {
			for _, f := range strings.Fields(text) {
				tp, err := protocol.ParseTopicPartition(f)
				if err != nil {
					t.Fatal(err)
				}
				if got := r.allows(tp.Topic, tp.Partition); got != want {
					t.Errorf("%s allows %s: %t", tt.rule, f, got)
				}
			}
		}
	}
	for _, s := range []string{"a:2-x", "a:b", "a:1:2", "a:1-2-3"} {
		if _, err := parseRule(s); err == nil || !strings.HasSuffix(err.Error(), "Invalid rule specification: "+s) {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func TestParsePlan(t *testing.T) {
	plans, err := parsePlan("a,0,5\na,1,6\nb,0,7\n", []string{"g"})
	if err != nil || len(plans) != 1 || plans[0].group != "g" || len(plans[0].offsets) != 3 ||
		plans[0].offsets[protocol.TopicPartition{Topic: "a", Partition: 1}] != 6 {
		t.Errorf("got %v, %v", plans, err)
	}
	plans, err = parsePlan("g,a,0,5\nh,a,0,6\n", []string{"g", "h"})
	if err != nil || len(plans) != 2 || plans[1].group != "h" {
		t.Errorf("got %v, %v", plans, err)
	}
	for _, s := range []string{"a,0\n", "a,x,5\n", "a,0,x\n", "a\n"} {
		if _, err := parsePlan(s, []string{"g"}); err == nil {
			t.Errorf("%q is understood", s)
		}
	}
	if _, err := parsePlan("a,0,5\n", []string{"g", "h"}); err == nil {
		t.Error("a plan without groups is understood for several")
	}
}

func TestParseDeletions(t *testing.T) {
	order, offsets, err := parseDeletions([]byte(`{"version":1,"partitions":[{"topic":"b","partition":1,"offset":-1},{"topic":"a","partition":0,"offset":7}]}`))
	if err != nil || len(order) != 2 || order[0].String() != "b-1" || offsets[order[1]] != 7 {
		t.Errorf("got %v %v %v", order, offsets, err)
	}
	for text, want := range map[string]string{
		"nope":                           "The input string is not a valid JSON",
		`{"version":2,"partitions":[]}`:  "Not supported version field value 2",
		`{"version":1}`:                  "Missing partitions field",
		`{"partitions":[{"topic":"a"}]}`: "Every partition needs the fields topic, partition and offset",
		`{"partitions":[{"topic":"a","partition":0,"offset":1},{"topic":"a","partition":0,"offset":2}]}`: "Offset json file contains duplicate topic partitions: a-0",
	} {
		if _, _, err := parseDeletions([]byte(text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestParseTime(t *testing.T) {
	for s, want := range map[string]int64{"latest": -1, "earliest": -2, "max-timestamp": -3, "earliest-local": -4, "latest-tiered": -5,
		"earliest-pending-upload": -6, "-1": -1, "0": 0, "1700000000000": 1700000000000} {
		if got, err := parseTime(s); err != nil || got != want {
			t.Errorf("%s: %d, %v", s, got, err)
		}
	}
	if _, err := parseTime("now"); err == nil {
		t.Error("now is understood")
	}
}

func TestTopicFilter(t *testing.T) {
	tests := []struct {
		expr, allowed, refused string
	}{
		{"a", "a", "aa ba"},
		{"a,b", "a b", "ab c"},
		{"a.*", "a abc", "ba"},
		{`"x y"`, "xy", "x"},
	}
	for _, tt := range tests {
		f, err := newTopicFilter(tt.expr)
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]bool{tt.allowed: true, tt.refused: false} {
			for _, topic := range strings.Fields(text) {
				if f.allows(topic) != want {
					t.Errorf("%s allows %s: %t", tt.expr, topic, !want)
				}
			}
		}
	}
	if _, err := newTopicFilter("["); err == nil || err.Error() != "[ is an invalid regex." {
		t.Error(err)
	}
}

func TestHostPorts(t *testing.T) {
	for _, s := range []string{"a:1", "a:1,b:2", "[::1]:9092", "PLAINTEXT://a:1", "10.0.0.1:65535"} {
		if err := checkHostPorts(s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
	for _, s := range []string{"", " ", "a", "a:", "a:1,b", "a:x"} {
		if err := checkHostPorts(s); err == nil {
			t.Errorf("%q is accepted", s)
		}
	}
}
