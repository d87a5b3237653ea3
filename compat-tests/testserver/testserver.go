// Package testserver builds ottla and runs it as a process of its own, for
// tests that need the real binary: start, kill, terminate, start again.
package testserver

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
	"time"
)

// Build compiles the server into dir and returns the binary's path. OTTLA_BINARY
// names one that is there already.
func Build(dir string) (string, error) {
	if b := os.Getenv("OTTLA_BINARY"); b != "" {
		return b, nil
	}
	binary := filepath.Join(dir, "ottla")
	cmd := exec.Command("go", "build", "-o", binary, "github.com/ottla/ottla/cmd/ottla")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build: %w: %s", err, out)
	}
	return binary, nil
}

// Process is one ottla server. Its address never changes, also over restarts.
type Process struct {
	Binary string
	Data   string // the log directory
	Addr   string // host:port of the first listener
	args   []string
	cmd    *exec.Cmd
	exited chan struct{} // closed when the process has been reaped
	mu     sync.Mutex
	log    strings.Builder // what the server printed, mu
}

// FreePort is a TCP port of 127.0.0.1 that nobody listened on a moment ago.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// Start runs one combined node with its files below dir. Overrides are lines of
// server.properties that win over the defaults of the tests.
func Start(binary, dir string, overrides ...string) (*Process, error) {
	port, err := FreePort()
	if err != nil {
		return nil, err
	}
	ctl, err := FreePort()
	if err != nil {
		return nil, err
	}
	p := &Process{Binary: binary, Data: filepath.Join(dir, "data"), Addr: fmt.Sprintf("127.0.0.1:%d", port)}
	set := append([]string{
		"process.roles=broker,controller", "node.id=1", "controller.listener.names=CONTROLLER",
		fmt.Sprintf("controller.quorum.bootstrap.servers=127.0.0.1:%d", ctl),
		fmt.Sprintf("listeners=PLAINTEXT://%s,CONTROLLER://127.0.0.1:%d", p.Addr, ctl),
		"log.dirs=" + p.Data, "offsets.topic.replication.factor=1", "group.initial.rebalance.delay.ms=0",
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
			p.Addr = first
		}
	}
	return p, p.Start()
}

// Start runs the server again, with the same settings, and waits until it listens.
func (p *Process) Start() error {
	p.cmd = exec.Command(p.Binary, p.args...)
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
		if c, err := net.Dial("tcp", p.Addr); err == nil {
			c.Close()
			return nil
		}
		select {
		case <-exited:
			return fmt.Errorf("the server exited: %s", p.Output())
		case <-ctx.Done():
			p.Kill()
			return errors.New("the server did not listen within 20 s: " + p.Output())
		case <-time.After(2 * time.Millisecond):
		}
	}
}

// Output is what the server has printed so far.
func (p *Process) Output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// Kill ends the server with SIGKILL and reaps it.
func (p *Process) Kill() {
	p.cmd.Process.Kill()
	<-p.exited
}

// PID is the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Terminate sends SIGTERM and wants exit code 0 within 15 s.
func (p *Process) Terminate() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-p.exited:
		if c := p.cmd.ProcessState.ExitCode(); c != 0 {
			return fmt.Errorf("exit code %d: %s", c, p.Output())
		}
		return nil
	case <-time.After(15 * time.Second):
		return errors.New("still running 15 s after SIGTERM: " + p.Output())
	}
}
