package main

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary be the program, for the tests that need a process.
func TestMain(m *testing.M) {
	if os.Getenv("OTTLA_TEST_RUN") != "" {
		main()
	}
	os.Exit(m.Run())
}

// command is the program called by name with arguments, in a directory of its own.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Args[0] = name
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "OTTLA_TEST_RUN=1")
	return cmd
}

func TestDispatch(t *testing.T) {
	for _, c := range []struct {
		args     []string
		code     int
		out, err string
	}{
		{[]string{"ottla"}, 1, "", "ottla server"},
		{[]string{"ottla", "help"}, 0, "Tools: ", ""},
		{[]string{"ottla", "--version"}, 0, "as Apache Kafka 4.4", ""},
		{[]string{"ottla", "server", "--version"}, 0, "as Apache Kafka 4.4", ""},
		{[]string{"kafka-acls.sh", "--list"}, 1, "", "ottla: there is no command kafka-acls"},
		{[]string{"ottla", "server", "--help"}, 0, "--override", ""},
		{[]string{"ottla", "nonsense"}, 1, "", "ottla: there is no command nonsense"},
		{[]string{"ottla", "server", "--nonsense"}, 1, "", "ottla: unknown flag: --nonsense"},
		{[]string{"ottla", "server", "a", "b"}, 1, "", "ottla: one file of properties is enough"},
		{[]string{"ottla", "server", "/no/such/file"}, 1, "", "ottla: open /no/such/file"},
		{[]string{"ottla", "server", "--override", "x"}, 1, "", "ottla: --override x: write it as key=value"},
		{[]string{"ottla", "server", "--override", "num.partitions=0"}, 1, "", "ottla: num.partitions=0: allowed is"},
		{[]string{"/usr/bin/kafka-server-start.sh", "/no/such/file"}, 1, "", "ottla: open /no/such/file"},
		{[]string{"ottla", "topics"}, 1, "", ""},
		{[]string{"/opt/bin/kafka-topics.sh"}, 1, "", ""},
		{[]string{"kafka-topics"}, 1, "", ""},
	} {
		var out, err bytes.Buffer
		code := run(c.args, strings.NewReader(""), &out, &err)
		if code != c.code || !strings.Contains(out.String(), c.out) || !strings.Contains(err.String(), c.err) {
			t.Errorf("%v: exit %d\n%s%s", c.args, code, out.String(), err.String())
		}
		if strings.HasPrefix(c.err, "ottla: ") && strings.Count(err.String(), "\n") != 1 {
			t.Errorf("%v: more than one line: %q", c.args, err.String())
		}
	}
}

// process is a server that a test talks to.
type process struct {
	cmd   *exec.Cmd
	lines chan string // its log
}

func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{command(t, "ottla", append([]string{"server"}, args...)...), make(chan string, 1000)}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.cmd.Stderr = os.Stderr
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	go func() {
		for s := bufio.NewScanner(out); s.Scan(); {
			p.lines <- s.Text()
		}
		close(p.lines)
	}()
	return p
}

// await returns the first line that matches.
func (p *process) await(t *testing.T, pattern string) []string {
	t.Helper()
	re := regexp.MustCompile(pattern)
	limit := time.After(30 * time.Second)
	var seen []string
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				t.Fatalf("ended before a line matched %s:\n%s", pattern, strings.Join(seen, "\n"))
			}
			if m := re.FindStringSubmatch(line); m != nil {
				return m
			}
			seen = append(seen, line)
		case <-limit:
			t.Fatalf("no line matched %s:\n%s", pattern, strings.Join(seen, "\n"))
		}
	}
}

const readyPattern = `^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} INFO  Ready after (\d+) ms: node 1 of cluster \S{22} listens at PLAINTEXT://([^,]+), CONTROLLER://\S+$`

var freePort = []string{"--override", "listeners=PLAINTEXT://localhost:0"}

// Without a file a server runs in ./ottla-data, says where it listens, and SIGTERM stops it cleanly.
func TestServer(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		p := start(t, append(freePort, "--override", "no.such=1")...)
		p.await(t, `WARN  Unknown properties are ignored: no\.such$`)
		ready := p.await(t, readyPattern)
		c, err := net.Dial("tcp", ready[2])
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := os.Stat(filepath.Join(p.cmd.Dir, dataDir, "meta.properties")); err != nil {
			t.Error(err)
		}
		if err := p.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		p.await(t, `INFO  Stopped$`)
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("%v: %v", s, err)
		}
	}
}

// With --memory nothing is written, and the log level is a property.
func TestServerMemory(t *testing.T) {
	p := start(t, append(freePort, "--memory")...)
	p.await(t, readyPattern)
	if left, err := os.ReadDir(p.cmd.Dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	p.await(t, `INFO  Stopped$`)
}

// A server that cannot start says why in one line and exits with 1.
func TestServerRefused(t *testing.T) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	taken := fmt.Sprintf("listeners=PLAINTEXT://localhost:%d", l.Addr().(*net.TCPAddr).Port)
	cmd := command(t, "ottla", "server", "--memory", "--override", taken, "--override", "ottla.log.level=error")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("%v\n%s%s", err, out.String(), errs.String())
	}
	if s := errs.String(); !strings.HasPrefix(s, "ottla: ") || strings.Count(s, "\n") != 1 || !strings.Contains(s, "address already in use") {
		t.Errorf("%q", s)
	}
	if out.Len() > 0 {
		t.Errorf("at level error: %s", out.String())
	}
}
