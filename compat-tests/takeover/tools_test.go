package takeover

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/cli"
)

// tool is what a tool prints about the server, its lines sorted.
func (s *server) tool(t *testing.T, name string, args ...string) []string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := cli.Run(name, append([]string{"--bootstrap-server", s.addr}, args...), strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("%s %q: exit code %d: %s", name, args, code, errs.String())
	}
	return sorted(strings.ReplaceAll(out.String(), s.addr, "127.0.0.1:22100"))
}

func sorted(text string) []string {
	list := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for i, l := range list {
		if head, configs, ok := strings.Cut(l, "Configs: "); ok { // in the order of a hash map
			c := strings.Split(configs, ",")
			slices.Sort(c)
			l = head + "Configs: " + strings.Join(c, ",")
		}
		list[i] = strings.TrimRight(l, " ")
	}
	slices.Sort(list)
	return list
}

// TestTools compares what the tools say of the directory `clean` with what Kafka's said of Kafka.
func TestTools(t *testing.T) {
	d := unpack(t, "clean")
	s := d.start()
	for _, c := range []struct {
		file string
		args []string
	}{
		{"topics.txt", []string{"topics", "--describe"}},
		{"configs-topics.txt", []string{"configs", "--describe", "--entity-type", "topics"}},
		{"configs-brokers.txt", []string{"configs", "--describe", "--entity-type", "brokers"}},
		{"configs-groups.txt", []string{"configs", "--describe", "--entity-type", "groups"}},
		{"configs-client-metrics.txt", []string{"configs", "--describe", "--entity-type", "client-metrics"}},
		{"groups.txt", []string{"groups", "--list"}},
		{"consumer-groups-offsets.txt", []string{"consumer-groups", "--describe", "--all-groups", "--offsets"}},
		{"consumer-groups-members.txt", []string{"consumer-groups", "--describe", "--all-groups", "--members", "--verbose"}},
	} {
		got, want := s.tool(t, c.args[0], c.args[1:]...), sorted(d.expected(c.file))
		if c.file == "configs-brokers.txt" { // what the test sets
			got = slices.DeleteFunc(got, func(l string) bool { return strings.HasPrefix(l, "  log.cleaner.enable=") })
		}
		for _, l := range got {
			if !slices.Contains(want, l) {
				t.Errorf("%s: too much: %s", c.file, l)
			}
		}
		for _, l := range want {
			if !slices.Contains(got, l) {
				t.Errorf("%s: missing: %s", c.file, l)
			}
		}
	}
	s.checkWarning(t)
}

// checkWarning: what is not enforced is named in one line.
func (s *server) checkWarning(t *testing.T) {
	t.Helper()
	const want = "Kept as they are, but neither enforced nor run by this version: group.version 1, share.version 2, streams.version 1, transaction.version 2, " +
		"7 ACLs, 4 entities' quotas, 2 SCRAM users, 1 delegation token, client metrics subscription sub1, open transactions in txn-open-0"
	if s.logs.FilterMessage(want).Len() != 1 {
		for _, e := range s.logs.All() {
			t.Log(e.Level, e.Message)
		}
		t.Errorf("not in the log: %s", want)
	}
}
