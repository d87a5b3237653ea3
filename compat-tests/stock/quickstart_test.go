//go:build compat

package stock

import (
	"slices"
	"strings"
	"testing"
)

// TestQuickstart is Kafka's quickstart with Kafka's tools, and then what an
// operator tries next: kill the server, start it, look again.
func TestQuickstart(t *testing.T) {
	srv := own(t)
	b := []string{"--bootstrap-server", srv.Addr}
	on := func(args ...string) []string { return append(args, b...) }

	wantContains(t, "create", kafka(t, "", "topics", on("--create", "--topic", "quickstart-events", "--partitions", "3")...),
		"Created topic quickstart-events.")
	wantLines(t, "list", kafka(t, "", "topics", on("--list")...), "quickstart-events")
	describe := kafka(t, "", "topics", on("--describe", "--topic", "quickstart-events")...)
	wantContains(t, "describe", describe, "PartitionCount: 3", "ReplicationFactor: 1", "Partition: 2\tLeader: 1\tReplicas: 1\tIsr: 1")

	kafka(t, "This is my first event\nThis is my second event\n", "console-producer", on("--topic", "quickstart-events")...)
	read := func() []string {
		got := lines(kafka(t, "", "console-consumer", on("--topic", "quickstart-events", "--from-beginning", "--max-messages", "2", "--timeout-ms", "20000")...))
		slices.Sort(got)
		return got
	}
	want := []string{"This is my first event", "This is my second event"}
	if got := read(); !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
	kafka(t, "", "console-consumer", on("--topic", "quickstart-events", "--from-beginning", "--group", "readers", "--max-messages", "2", "--timeout-ms", "20000")...)
	lag := func() int {
		n := 0
		for _, l := range lines(kafka(t, "", "consumer-groups", on("--describe", "--group", "readers")...)) {
			f := strings.Fields(l)
			if len(f) > 5 && f[0] == "readers" {
				if f[3] != f[4] {
					t.Errorf("committed %s of %s: %s", f[3], f[4], l)
				}
				n++
			}
		}
		return n
	}
	if n := lag(); n == 0 {
		t.Error("the group has no offsets")
	}

	srv.Kill()
	if err := srv.Start(); err != nil {
		t.Fatal(err)
	}
	if got := read(); !slices.Equal(got, want) {
		t.Errorf("after SIGKILL: read %q, want %q", got, want)
	}
	if n := lag(); n == 0 {
		t.Error("after SIGKILL: the group has no offsets")
	}
}
