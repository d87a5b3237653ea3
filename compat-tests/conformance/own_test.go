package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ottla/ottla/compat-tests/testserver"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type listeners struct{ inside, outside string }

// twoListeners starts a server that advertises another name on each listener.
func twoListeners(t *testing.T, p1, p2 int) listeners {
	t.Helper()
	ctl, err := testserver.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	own(t,
		fmt.Sprintf("listeners=IN://127.0.0.1:%d,OUT://127.0.0.1:%d,CONTROLLER://127.0.0.1:%d", p1, p2, ctl),
		fmt.Sprintf("advertised.listeners=IN://127.0.0.1:%d,OUT://localhost:%d", p1, p2),
		"listener.security.protocol.map=IN:PLAINTEXT,OUT:PLAINTEXT,CONTROLLER:PLAINTEXT",
		"inter.broker.listener.name=IN",
		fmt.Sprintf("controller.quorum.bootstrap.servers=127.0.0.1:%d", ctl))
	return listeners{fmt.Sprintf("127.0.0.1:%d", p1), fmt.Sprintf("127.0.0.1:%d", p2)}
}

// findCoordinator asks until the group's coordinator is there.
func findCoordinator(c *conn, group string) kmsg.FindCoordinatorResponseCoordinator {
	c.t.Helper()
	for deadline := time.Now().Add(15 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.CoordinatorKeys = []string{group}
		r := do[*kmsg.FindCoordinatorResponse](c, 4, req)
		if len(r.Coordinators) != 1 {
			c.t.Fatalf("FindCoordinator answered %+v", r.Coordinators)
		}
		switch k := r.Coordinators[0]; {
		case k.ErrorCode == 0 && loaded(c, group):
			return k
		case k.ErrorCode == 0 && time.Now().Before(deadline):
		case k.ErrorCode != 15 || time.Now().After(deadline):
			c.t.Fatalf("FindCoordinator: error %d", k.ErrorCode)
		}
	}
}

// loaded says whether the coordinator answers for a group: Kafka names it
// before it has taken over the partition.
func loaded(c *conn, group string) bool {
	c.t.Helper()
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{group}
	switch do[*kmsg.DescribeGroupsResponse](c, 5, req).Groups[0].ErrorCode {
	case 14, 15, 16:
		return false
	}
	return true
}

// partitionDir is where a server of ours keeps one partition.
func partitionDir(p *testserver.Process, topic string, partition int) string {
	return filepath.Join(p.Data, fmt.Sprintf("%s-%d", topic, partition))
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
