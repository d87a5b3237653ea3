//go:build compat

package cli

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// TestGroupWithMembers describes one group that is alive with both tools.
func TestGroupWithMembers(t *testing.T) {
	stamp := "k" + strconv.FormatInt(time.Now().UnixNano()%1e9, 36)
	topic, group := stamp+"-a", stamp+"-g"
	must := func(args ...string) {
		t.Helper()
		if r := ours(t, args[0], "1\n2\n3\n", append([]string{"--bootstrap-server", bootstrap}, args[1:]...)); r.code != 0 {
			t.Fatalf("%v: %s%s", args, r.stdout, r.stderr)
		}
	}
	must("topics", "--create", "--topic", topic, "--partitions", "5")
	must("console-producer", "--topic", topic, "--timeout", "0")
	must("consumer-groups", "--reset-offsets", "--group", group, "--topic", topic+":0,1,2", "--to-earliest", "--execute")
	defer must("topics", "--delete", "--topic", topic)
	for _, id := range []string{"one", "two"} {
		cl, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.ClientID("client-"+id), kgo.InstanceID(id), kgo.ConsumerGroup(group),
			kgo.ConsumeTopics(topic), kgo.Balancers(kgo.RangeBalancer()), kgo.DisableAutoCommit())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		polled := make(chan struct{})
		go func() {
			defer close(polled)
			for ctx.Err() == nil {
				cl.PollFetches(ctx)
			}
		}()
		defer func() {
			cancel()
			<-polled
			cl.Close()
		}()
	}
	awaitMembers(t, group, "Stable               2")
	s := scenario{shared: true, commands: []string{
		"consumer-groups --bootstrap-server {b} --describe --group " + group,
		"consumer-groups --bootstrap-server {b} --describe --group " + group + " --verbose",
		"~consumer-groups --bootstrap-server {b} --describe --group " + group + " --members",
		"~consumer-groups --bootstrap-server {b} --describe --group " + group + " --members --verbose",
		"consumer-groups --bootstrap-server {b} --describe --group " + group + " --state",
		"consumer-groups --bootstrap-server {b} --describe --group " + group + " --state --verbose",
		"consumer-groups --bootstrap-server {b} --reset-offsets --group " + group + " --topic " + topic + " --to-earliest --dry-run",
		"consumer-groups --bootstrap-server {b} --delete --group " + group,
		"consumer-groups --bootstrap-server {b} --delete-offsets --group " + group + " --topic " + topic,
		"~consumer-groups --bootstrap-server {b} --list",
		"~consumer-groups --bootstrap-server {b} --list --state stable",
		"~consumer-groups --bootstrap-server {b} --list --type classic --state",
		"consumer-groups --bootstrap-server {b} --list --type consumer",
		"~groups --bootstrap-server {b} --list",
		"~groups --bootstrap-server {b} --list --consumer",
		"~groups --bootstrap-server {b} --list --share",
		"~groups --bootstrap-server {b} --list --group-type classic --protocol consumer",
	}}
	s.run(t)
}

// awaitMembers waits until the group's description contains a text.
func awaitMembers(t *testing.T, group, text string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		r := ours(t, "consumer-groups", "", []string{"--bootstrap-server", bootstrap, "--describe", "--group", group, "--state"})
		if strings.Contains(r.stdout, text) {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("group %s is not %q after 30 s: %s%s", group, text, r.stdout, r.stderr)
		}
	}
}
