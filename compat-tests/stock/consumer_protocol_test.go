//go:build compat

package stock

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// consumer makes a Java console consumer one of the consumer protocol (KIP-848).
func consumer(topic, group string, more ...string) []string {
	return append(on("--topic", topic, "--group", group, "--from-beginning", "--command-property", "group.protocol=consumer"), more...)
}

// TestConsumerProtocol: Java consumers of the consumer protocol, described while they live, two sharing a topic.
func TestConsumerProtocol(t *testing.T) {
	topic, group := unique("kip848"), unique("kip848-group")
	createTopic(t, topic, 4)
	kafka(t, strings.Repeat("k1\ta\nk2\tb\nk3\tc\nk4\td\nk5\te\n", 20), "console-producer", on("--topic", topic, "--reader-property", "parse.key=true")...)
	out := kafka(t, "", "console-consumer", consumer(topic, group, "--max-messages", "100", "--timeout-ms", "30000")...)
	if n := len(lines(out)); n != 100 {
		t.Errorf("read %d records, want 100", n)
	}
	groups := func(args ...string) string {
		return kafka(t, "", "consumer-groups", append(on(args...), "--group", group)...)
	}
	wantContains(t, "left", groups("--describe", "--state"), "Empty", "uniform")
	wantContains(t, "type", kafka(t, "", "groups", on("--list")...), group)
	a := startKafka(t, "console-consumer", consumer(topic, group)...)
	b := startKafka(t, "console-consumer", consumer(topic, group)...)
	defer a.kill()
	defer b.kill()
	deadline := time.Now().Add(60 * time.Second)
	for {
		rows := 0
		for _, l := range lines(groups("--describe", "--members")) {
			if f := strings.Fields(l); len(f) > 4 && f[0] == group && strings.Contains(strings.Join(f, " "), " 2") {
				rows++
			}
		}
		if rows == 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the members do not share the topic:\n%s", groups("--describe", "--members"))
		}
	}
	wantContains(t, "members", groups("--describe", "--members", "--verbose"), topic+":")
	wantContains(t, "state", groups("--describe", "--state"), "Stable", "uniform")
	wantContains(t, "offsets", groups("--describe"), topic, "60", "40")
}

// TestConfluentPythonConsumerProtocol: librdkafka in the consumer protocol.
func TestConfluentPythonConsumerProtocol(t *testing.T) {
	python := os.Getenv("OTTLA_COMPAT_PYTHON")
	if python == "" {
		missing(t, "confluent-kafka (OTTLA_COMPAT_PYTHON)")
	}
	script(t, filepath.Join(compatDir, "python"), python, "consumer_protocol.py")
}
