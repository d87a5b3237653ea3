//go:build compat

package takeover

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/compat-tests/fixture"
	"github.com/ottla/ottla/compat-tests/testserver"
)

// TestFixturesBack: what Kafka wrote, taken over and handed back without a change of the data, is for Kafka what it was.
func TestFixturesBack(t *testing.T) {
	for _, name := range fixture.Names {
		for how, signal := range signals {
			if signal == syscall.SIGKILL && name != "clean" && name != "jbod" {
				continue
			}
			t.Run(name+"/"+how, func(t *testing.T) {
				s := fixtureSite(t, name)
				o := s.ottla()
				before := o.view()
				o.end(signal)
				if name != "torn" { // whose damage may be in files that nobody has to look at
					s.dumpLog("compacted", "compacted-zstd", "compacted-expired", "compacted-txn", "compacted-txn-expired", "c", "__consumer_offsets", "__transaction_state")
				}
				k := s.kafka()
				same(t, "Kafka takes back", k.view(), before)
				if name == "clean" {
					k.checkSecurity()
				}
				k.end(signal)
				for _, l := range k.errors() {
					t.Errorf("Kafka takes back: %s", l)
				}
			})
		}
	}
}

// fixtureSite unpacks a fixture, with free ports and nothing that expires.
func fixtureSite(t *testing.T, name string) *site {
	t.Helper()
	s := newSite(t)
	must(t, os.Remove(s.file))
	must(t, fixture.Unpack(name, s.dir, "data", "server.properties"))
	text, err := os.ReadFile(s.file)
	must(t, err)
	var ports [2]int
	for i := range ports {
		ports[i], err = testserver.FreePort()
		must(t, err)
	}
	lines := append([]string{
		strings.ReplaceAll(string(text), "/tmp/store-fixtures/"+name, s.dir),
		fmt.Sprintf("controller.quorum.bootstrap.servers=127.0.0.1:%d", ports[0]),
		fmt.Sprintf("listeners=PLAINTEXT://%s,SASL_PLAINTEXT://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d", s.addr, ports[1], ports[0]),
	}, "log.cleaner.enable=false", "offsets.retention.minutes=2147483647", "producer.id.expiration.ms=2147483647",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms=3600000")
	must(t, os.Chmod(s.file, 0o644))
	must(t, os.WriteFile(s.file, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
	return s
}

// checkSecurity: ACLs, quotas and users of the directory `clean` are all there.
func (n *node) checkSecurity() {
	t := n.s.t
	t.Helper()
	cl, ctx := n.client(), context.Background()
	acls := kmsg.NewPtrDescribeACLsRequest()
	acls.ResourceType, acls.ResourcePatternType = kmsg.ACLResourceTypeAny, kmsg.ACLResourcePatternTypeAny
	acls.Operation, acls.PermissionType = kmsg.ACLOperationAny, kmsg.ACLPermissionTypeAny
	a, err := acls.RequestWith(ctx, cl)
	must(t, err)
	count := 0
	for _, r := range a.Resources {
		count += len(r.ACLs)
	}
	quotas, err := kmsg.NewPtrDescribeClientQuotasRequest().RequestWith(ctx, cl)
	must(t, err)
	users, err := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest().RequestWith(ctx, cl)
	must(t, err)
	if count != 7 || len(quotas.Entries) != 4 || len(users.Results) != 2 {
		t.Errorf("%d ACLs of 7, quotas of %d entities of 4, %d users of 2", count, len(quotas.Entries), len(users.Results))
	}
}
