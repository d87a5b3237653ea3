//go:build compat

// Package stock drives other people's Kafka clients and tools, unchanged,
// against the running binary: Apache Kafka's Java programs, kcat, librdkafka,
// franz-go, sarama, kafkajs, Kafka Connect.
//
// OTTLA_COMPAT_BOOTSTRAP=host:port runs them against another server, Apache
// Kafka itself for example: what fails there is a fault of the test.
package stock

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ottla/ottla/compat-tests/testserver"
)

var (
	bootstrap string
	binary    string // empty when the server is somebody else's
	compatDir string
)

func TestMain(m *testing.M) {
	code, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "stock:", err)
		code = 1
	}
	os.Exit(code)
}

func run(m *testing.M) (int, error) {
	wd, err := os.Getwd()
	if err != nil {
		return 1, err
	}
	compatDir = filepath.Dir(wd)
	if bootstrap = os.Getenv("OTTLA_COMPAT_BOOTSTRAP"); bootstrap != "" {
		return m.Run(), nil
	}
	dir, err := os.MkdirTemp("", "ottla-stock-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	if binary, err = testserver.Build(dir); err != nil {
		return 1, err
	}
	srv, err := testserver.Start(binary, dir)
	if err != nil {
		return 1, err
	}
	defer srv.Kill()
	bootstrap = srv.Addr
	code := m.Run()
	if err := srv.Terminate(); err != nil {
		return 1, err
	}
	return code, nil
}

// own starts a server for one test, which may kill it.
func own(t *testing.T, overrides ...string) *testserver.Process {
	t.Helper()
	if binary == "" {
		t.Skip("needs a server of its own; OTTLA_COMPAT_BOOTSTRAP names somebody else's")
	}
	p, err := testserver.Start(binary, t.TempDir(), overrides...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}

// missing ends a test whose client is not installed: a failure in CI.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf("%s is not installed", what)
	}
	t.Skipf("%s is not installed: compat-tests/run.sh installs it", what)
}

// result is how a program ended.
type result struct {
	stdout, stderr string
	code           int
}

func command(t *testing.T, stdin string, name string, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("%s %s: still running after 3 minutes\n%s%s", name, strings.Join(args, " "), &out, &errs)
	}
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatalf("%s: %v", name, err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// kafka runs one of Apache Kafka's tools and wants exit code 0.
func kafka(t *testing.T, stdin, tool string, args ...string) string {
	t.Helper()
	r := kafkaAny(t, stdin, tool, args...)
	if r.code != 0 {
		t.Fatalf("kafka-%s %s: exit code %d\n%s%s", tool, strings.Join(args, " "), r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

func kafkaAny(t *testing.T, stdin, tool string, args ...string) result {
	t.Helper()
	if _, err := exec.LookPath("java"); err != nil {
		missing(t, "a JDK")
	}
	return command(t, stdin, filepath.Join(compatDir, "kafka-tool.sh"), append([]string{tool}, args...)...)
}

var names atomic.Int64

func unique(prefix string) string {
	return fmt.Sprintf("%s-%d-%d", prefix, time.Now().UnixNano()%1e12, names.Add(1))
}

// lines are the non-empty lines of a text, trimmed.
func lines(s string) []string {
	var out []string
	for _, l := range strings.Split(s, "\n") {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return out
}

func wantContains(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%s: no %q in\n%s", what, p, text)
		}
	}
}

func wantLines(t *testing.T, what, text string, want ...string) {
	t.Helper()
	got := lines(text)
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
