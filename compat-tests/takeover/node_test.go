//go:build compat

package takeover

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/compat-tests/testserver"
)

var ottlaBinary string

func TestMain(m *testing.M) {
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ottla-takeover-")
	if err == nil {
		defer os.RemoveAll(dir)
		ottlaBinary, err = testserver.Build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "takeover:", err)
		return 1
	}
	return m.Run()
}

// site is a data directory that Kafka and ottla run on in turn, always at the same address and with the same file.
type site struct {
	t    *testing.T
	dir  string // holds data and server.properties
	file string
	addr string
}

// The settings of both. Segments are small, nothing expires, and nothing happens by itself.
var siteSettings = []string{
	"process.roles=broker,controller", "node.id=1", "controller.listener.names=CONTROLLER",
	"offsets.topic.replication.factor=1", "offsets.topic.num.partitions=3",
	"transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1", "transaction.state.log.num.partitions=3",
	"share.coordinator.state.topic.replication.factor=1", "share.coordinator.state.topic.min.isr=1",
	"log.index.size.max.bytes=65536", "log.retention.ms=-1", "log.retention.check.interval.ms=500", "log.initial.task.delay.ms=200",
	"log.segment.delete.delay.ms=1000", "log.flush.start.offset.checkpoint.interval.ms=200", "log.cleaner.backoff.ms=200", "log.cleaner.dedupe.buffer.size=2097152",
	"group.initial.rebalance.delay.ms=0", "auto.create.topics.enable=false",
	"metadata.log.max.record.bytes.between.snapshots=20000",
}

func newSite(t *testing.T, settings ...string) *site {
	t.Helper()
	dir := t.TempDir()
	s := &site{t: t, dir: dir, file: filepath.Join(dir, "server.properties")}
	var ports [2]int
	for i := range ports {
		var err error
		ports[i], err = testserver.FreePort()
		must(t, err)
	}
	s.addr = fmt.Sprintf("127.0.0.1:%d", ports[0])
	lines := append([]string{
		fmt.Sprintf("controller.quorum.bootstrap.servers=127.0.0.1:%d", ports[1]),
		fmt.Sprintf("listeners=PLAINTEXT://%s,CONTROLLER://127.0.0.1:%d", s.addr, ports[1]),
		"log.dirs=" + s.data(),
	}, siteSettings...)
	must(t, os.WriteFile(s.file, []byte(strings.Join(append(lines, settings...), "\n")+"\n"), 0o644))
	return s
}

func (s *site) data() string { return filepath.Join(s.dir, "data") }

// kafkaTool runs one of Kafka's tools and returns what it printed on each stream.
func (s *site) kafkaTool(args ...string) (stdout, stderr string) {
	s.t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command("../kafka-tool.sh", args...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		s.t.Fatalf("%q: %v\n%s%s", args, err, out.String(), errs.String())
	}
	return out.String(), errs.String()
}

func (s *site) format() {
	s.t.Helper()
	s.kafkaTool("storage", "format", "--standalone", "-t", "b3R0bGEtdGFrZW92ZXItMQ", "-c", s.file)
}

// node is a server that runs on a site.
type node struct {
	s      *site
	name   string
	cmd    *exec.Cmd
	log    string // its file
	exited chan struct{}
}

func (s *site) kafka() *node {
	s.t.Helper()
	n := &node{s: s, name: "Kafka", cmd: exec.Command("../kafka-tool.sh", "server", s.file)}
	n.cmd.Env = append(os.Environ(), "KAFKA_HEAP_OPTS=-Xmx512m", "KAFKA_LOG_LEVEL=WARN")
	return n.start()
}

func (s *site) ottla() *node {
	s.t.Helper()
	return (&node{s: s, name: "ottla", cmd: exec.Command(ottlaBinary, "server", s.file)}).start()
}

func (n *node) start() *node {
	t := n.s.t
	t.Helper()
	f, err := os.CreateTemp(n.s.dir, n.name+"-*.log")
	must(t, err)
	defer f.Close()
	n.log, n.exited = f.Name(), make(chan struct{})
	n.cmd.Stdout, n.cmd.Stderr = f, f
	must(t, n.cmd.Start())
	go func() { n.cmd.Wait(); close(n.exited) }()
	t.Cleanup(func() { n.cmd.Process.Kill(); <-n.exited })
	if err := n.awaitReady(); err != nil {
		t.Fatalf("%s: %v\n%s", n.name, err, n.output())
	}
	return n
}

func (n *node) output() string {
	text, err := os.ReadFile(n.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// awaitReady waits until every partition has a leader.
func (n *node) awaitReady() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cl, err := kgo.NewClient(kgo.SeedBrokers(n.s.addr), kgo.RetryTimeout(time.Second))
	if err != nil {
		return err
	}
	defer cl.Close()
	for {
		ok, _ := allLed(ctx, cl)
		if ok {
			return nil
		}
		select {
		case <-n.exited:
			return errors.New("exited")
		case <-ctx.Done():
			return errors.New("not ready within a minute")
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func allLed(ctx context.Context, cl *kgo.Client) (bool, error) {
	resp, err := kmsg.NewPtrMetadataRequest().RequestWith(ctx, cl)
	if err != nil || len(resp.Brokers) == 0 {
		return false, err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if p.ErrorCode != 0 || p.Leader < 0 {
				return false, nil
			}
		}
	}
	return true, nil
}

// end stops the server, cleanly or not.
func (n *node) end(sig syscall.Signal) {
	t := n.s.t
	t.Helper()
	must(t, n.cmd.Process.Signal(sig))
	select {
	case <-n.exited:
	case <-time.After(30 * time.Second):
		t.Fatalf("%s does not end\n%s", n.name, n.output())
	}
	// Kafka's own exit code after SIGTERM is that of the signal.
	if c := n.cmd.ProcessState.ExitCode(); sig == syscall.SIGTERM && n.name == "ottla" && c != 0 {
		t.Errorf("ottla: exit code %d\n%s", c, n.output())
	}
}

// rebuilt is what Kafka calls an error after a kill: an active segment has its index in memory here, and after a kill
// every index is rebuilt anyway.
const rebuilt = "recovering segment and rebuilding index files"

// errors are the lines of the log that are worse than a warning.
func (n *node) errors() (list []string) {
	for l := range strings.Lines(n.output()) {
		if strings.Contains(l, rebuilt) {
			continue
		}
		if strings.Contains(l, "ERROR") || strings.Contains(l, "FATAL") || strings.Contains(l, "Exception") {
			list = append(list, strings.TrimSpace(l))
		}
	}
	return list
}

func (n *node) client(opts ...kgo.Opt) *kgo.Client {
	n.s.t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(n.s.addr)}, opts...)...)
	must(n.s.t, err)
	n.s.t.Cleanup(cl.Close)
	return cl
}
