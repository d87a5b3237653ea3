package takeover

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap/zaptest/observer"

	"github.com/ottla/ottla/cli"
)

// shortSession is where a setting of TestTools shows.
const shortSession = " STATIC_BROKER_CONFIG:group.consumer.session.timeout.ms=500,"

// tool is what a tool prints about the server, its lines sorted.
func (s *server) tool(t *testing.T, name string, args ...string) []string {
	t.Helper()
	var out, errs bytes.Buffer
	if code := cli.Run(name, append([]string{"--bootstrap-server", s.addr}, args...), strings.NewReader(""), &out, &errs); code != 0 {
		t.Fatalf("%s %q: exit code %d: %s", name, args, code, errs.String())
	}
	return sorted(strings.NewReplacer(s.addr, "127.0.0.1:22100", shortSession, "").Replace(out.String()))
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

// TestTools compares what the tools say of the directory `clean` with what Kafka's said of Kafka. Members of groups that
// were there when Kafka stopped are gone after their session, which is short here.
func TestTools(t *testing.T) {
	d := unpack(t, "clean")
	d.settings = append(d.settings, "group.consumer.min.session.timeout.ms=100", "group.consumer.session.timeout.ms=500",
		"group.consumer.min.heartbeat.interval.ms=50", "group.consumer.heartbeat.interval.ms=100")
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
		var wrong []string
		for end := time.Now().Add(5 * time.Second); ; time.Sleep(50 * time.Millisecond) {
			wrong = differences(s.tool(t, c.args[0], c.args[1:]...), sorted(d.expected(c.file)), s.dir.settings)
			if len(wrong) == 0 || !strings.HasPrefix(c.file, "consumer-groups") || time.Now().After(end) {
				break
			}
		}
		for _, l := range wrong {
			t.Errorf("%s: %s", c.file, l)
		}
	}
	s.checkWarning(t)
}

// differences between what is printed and what should be, apart from settings of the test's own.
func differences(got, want, own []string) (list []string) {
	for _, l := range got {
		ours := slices.ContainsFunc(own, func(s string) bool {
			name, _, _ := strings.Cut(s, "=")
			return strings.HasPrefix(l, "  "+name+"=")
		})
		if !ours && !slices.Contains(want, l) {
			list = append(list, "too much: "+l)
		}
	}
	for _, l := range want {
		if !slices.Contains(got, l) {
			list = append(list, "missing: "+l)
		}
	}
	return list
}

// checkWarning: what is not enforced is named in one line.
func (s *server) checkWarning(t *testing.T) {
	t.Helper()
	const want = "7 ACLs, 4 entities' quotas, 2 SCRAM users, 1 delegation token, client metrics subscription sub1"
	lines := s.logs.Filter(func(e observer.LoggedEntry) bool {
		return strings.HasPrefix(e.Message, "Kept as they are, but neither enforced nor run by this version: ") && strings.Contains(e.Message, want)
	})
	if lines.Len() != 1 {
		for _, e := range s.logs.All() {
			t.Log(e.Level, e.Message)
		}
		t.Errorf("not in the log: %s", want)
	}
}
