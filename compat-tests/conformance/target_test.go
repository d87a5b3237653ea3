package conformance

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// target is the server under test. Its address never changes, also over restarts.
type target struct {
	addr string
	srv  *process // nil when the server is somebody else's
}

var shared target

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	if addr := os.Getenv("OTTLA_CONFORMANCE_TARGET"); addr != "" {
		shared = target{addr: addr}
		return m.Run(), nil
	}
	dir, err := os.MkdirTemp("", "ottla-conformance-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if err := buildServer(dir); err != nil {
		return 1, err
	}
	srv, err := startServer(dir, filepath.Join(dir, "data"))
	if err != nil {
		return 1, err
	}
	defer srv.kill()
	shared = target{addr: srv.addr, srv: srv}
	return m.Run(), nil
}

var ottlaBinary string

func buildServer(dir string) error {
	if b := os.Getenv("OTTLA_BINARY"); b != "" {
		ottlaBinary = b
		return nil
	}
	ottlaBinary = filepath.Join(dir, "ottla")
	cmd := exec.Command("go", "build", "-o", ottlaBinary, "github.com/ottla/ottla/cmd/ottla")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build: %w: %s", err, out)
	}
	return nil
}

// process is one ottla server started by the tests.
type process struct {
	dir, data, addr string
	args            []string
	cmd             *exec.Cmd
	exited          chan struct{} // closed when the process has been reaped
	mu              sync.Mutex
	log             strings.Builder // what the server printed, mu
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

func startServer(dir, data string, overrides ...string) (*process, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	ctl, err := freePort()
	if err != nil {
		return nil, err
	}
	p := &process{dir: dir, data: data, addr: fmt.Sprintf("127.0.0.1:%d", port)}
	set := append([]string{
		"process.roles=broker,controller", "node.id=1", "controller.listener.names=CONTROLLER",
		fmt.Sprintf("controller.quorum.bootstrap.servers=127.0.0.1:%d", ctl),
		fmt.Sprintf("listeners=PLAINTEXT://%s,CONTROLLER://127.0.0.1:%d", p.addr, ctl),
		"log.dirs=" + data, "offsets.topic.replication.factor=1", "group.initial.rebalance.delay.ms=0",
		"transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1",
	}, overrides...)
	file := filepath.Join(dir, fmt.Sprintf("server-%d.properties", port))
	if err := os.WriteFile(file, []byte(strings.Join(set, "\n")+"\n"), 0o644); err != nil {
		return nil, err
	}
	p.args = []string{"server", file}
	for _, o := range overrides { // the address to wait for, when a test sets its own
		if list, ok := strings.CutPrefix(o, "listeners="); ok {
			_, first, _ := strings.Cut(strings.Split(list, ",")[0], "://")
			p.addr = first
		}
	}
	return p, p.start()
}

func (p *process) start() error {
	p.cmd = exec.Command(ottlaBinary, p.args...)
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	p.cmd.Stdout, p.cmd.Stderr = w, w
	if err := p.cmd.Start(); err != nil {
		return err
	}
	w.Close()
	go func() {
		defer r.Close()
		for sc := bufio.NewScanner(r); sc.Scan(); {
			p.mu.Lock()
			p.log.WriteString(sc.Text() + "\n")
			p.mu.Unlock()
		}
	}()
	exited := make(chan struct{})
	p.exited = exited
	go func() { p.cmd.Wait(); close(exited) }()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		if c, err := net.Dial("tcp", p.addr); err == nil {
			c.Close()
			return nil
		}
		select {
		case <-exited:
			return fmt.Errorf("the server exited: %s", p.output())
		case <-ctx.Done():
			p.kill()
			return errors.New("the server did not listen within 20 s: " + p.output())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

func (p *process) kill() {
	p.cmd.Process.Kill()
	<-p.exited
}

func (p *process) terminate() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.exited:
		if c := p.cmd.ProcessState.ExitCode(); c != 0 {
			return fmt.Errorf("exit code %d: %s", c, p.output())
		}
		return nil
	case <-time.After(15 * time.Second):
		return errors.New("still running 15 s after SIGTERM: " + p.output())
	}
}

// own starts a server that belongs to one test alone.
func own(t *testing.T, overrides ...string) *process {
	t.Helper()
	if shared.srv == nil {
		t.Skip("needs a server of its own; OTTLA_CONFORMANCE_TARGET names somebody else's")
	}
	dir := t.TempDir()
	p, err := startServer(dir, filepath.Join(dir, "data"), overrides...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	return p
}
