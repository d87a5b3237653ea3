//go:build compat

package stock

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// running is a program that goes on while the test does.
type running struct {
	cmd  *exec.Cmd
	mu   sync.Mutex
	out  []string      // mu
	grew chan struct{} // mu; closed and replaced at every line
	done chan struct{}
}

// startKafka runs one of Apache Kafka's tools beside the test; it is killed at the end.
func startKafka(t *testing.T, tool string, args ...string) *running {
	t.Helper()
	if _, err := exec.LookPath("java"); err != nil {
		missing(t, "a JDK")
	}
	return start(t, filepath.Join(compatDir, "kafka-tool.sh"), append([]string{tool}, args...)...)
}

func start(t *testing.T, name string, args ...string) *running {
	t.Helper()
	r := &running{cmd: exec.Command(name, args...), grew: make(chan struct{}), done: make(chan struct{})}
	pipe, err := r.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	r.cmd.Stderr = r.cmd.Stdout
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(r.done)
		sc := bufio.NewScanner(pipe)
		sc.Buffer(nil, 1<<20)
		for sc.Scan() {
			r.mu.Lock()
			r.out = append(r.out, sc.Text())
			close(r.grew)
			r.grew = make(chan struct{})
			r.mu.Unlock()
		}
		r.cmd.Wait()
	}()
	t.Cleanup(r.kill)
	return r
}

// await waits for a line with text in it and returns all lines so far.
func (r *running) await(t *testing.T, text string, limit time.Duration) []string {
	t.Helper()
	timeout := time.After(limit)
	for {
		r.mu.Lock()
		lines, grew := append([]string(nil), r.out...), r.grew
		r.mu.Unlock()
		for _, l := range lines {
			if strings.Contains(l, text) {
				return lines
			}
		}
		select {
		case <-grew:
		case <-r.done:
			t.Fatalf("ended without %q:\n%s", text, strings.Join(r.lines(), "\n"))
		case <-timeout:
			t.Fatalf("no %q within %v:\n%s", text, limit, strings.Join(lines, "\n"))
		}
	}
}

func (r *running) lines() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.out...)
}

func (r *running) kill() {
	r.cmd.Process.Kill()
	<-r.done
}

// stop asks the program to end and waits for it.
func (r *running) stop(t *testing.T) {
	t.Helper()
	r.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-r.done:
	case <-time.After(30 * time.Second):
		t.Fatal("still running 30 s after SIGTERM")
	}
}
