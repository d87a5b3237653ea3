//go:build compat

package cli

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ottla/ottla/cli"
	"github.com/ottla/ottla/compat-tests/testserver"
)

// result is what a run of a tool left behind.
type result struct {
	code           int
	stdout, stderr string
}

// runner runs a tool by its short name.
type runner func(t *testing.T, tool, stdin string, args []string) result

// ours runs the tool of this repository, in this process.
func ours(_ *testing.T, tool, stdin string, args []string) result {
	var out, errs bytes.Buffer
	code := cli.Run(tool, args, strings.NewReader(stdin), &out, &errs)
	return result{code, out.String(), errs.String()}
}

// kafkaJVM runs Kafka's tools one after another in one JVM: ToolBatch.java.
type kafkaJVM struct {
	mu      sync.Mutex
	classes map[string]string
	in      io.WriteCloser
	out     io.Reader
	cmd     *exec.Cmd
}

const script = "../kafka-tool.sh"

func startKafka() (*kafkaJVM, error) {
	list, err := exec.Command(script, "tools").Output()
	if err != nil {
		return nil, err
	}
	k := &kafkaJVM{classes: map[string]string{}, cmd: exec.Command(script, "batch")}
	for line := range strings.Lines(string(list)) {
		if f := strings.Fields(line); len(f) == 2 {
			k.classes[f[0]] = f[1]
		}
	}
	k.cmd.Stderr = os.Stderr
	if k.in, err = k.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if k.out, err = k.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	return k, k.cmd.Start()
}

func (k *kafkaJVM) close() {
	_ = k.in.Close()
	_ = k.cmd.Wait()
}

// endsItself reports whether a run would end the JVM without asking Kafka's exit procedure, as some tools do when the
// command line is wrong.
func endsItself(tool string, args []string) bool {
	switch tool {
	case "cluster", "verifiable-producer", "verifiable-consumer":
		return len(args) == 0 || slices.Contains(args, "--help")
	}
	return false
}

// alone runs a tool in a JVM of its own.
func alone(t *testing.T, tool string, args []string) result {
	var out, errs bytes.Buffer
	cmd := exec.Command(script, append([]string{tool}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// run is a runner.
func (k *kafkaJVM) run(t *testing.T, tool, stdin string, args []string) result {
	if endsItself(tool, args) {
		return alone(t, tool, args)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	fields := append([]string{k.classes[tool], stdin}, args...)
	b := binary.BigEndian.AppendUint32(nil, uint32(len(fields)))
	for _, f := range fields {
		b = append(binary.BigEndian.AppendUint32(b, uint32(len(f))), f...)
	}
	if _, err := k.in.Write(b); err != nil {
		t.Fatalf("Kafka's tools: %v", err)
	}
	var r result
	r.code = int(int32(k.number(t)))
	r.stdout = k.text(t)
	r.stderr = k.text(t)
	return r
}

func (k *kafkaJVM) number(t *testing.T) uint32 {
	var b [4]byte
	if _, err := io.ReadFull(k.out, b[:]); err != nil {
		t.Fatalf("Kafka's tools ended: %v", err)
	}
	return binary.BigEndian.Uint32(b[:])
}

func (k *kafkaJVM) text(t *testing.T) string {
	b := make([]byte, k.number(t))
	if _, err := io.ReadFull(k.out, b); err != nil {
		t.Fatalf("Kafka's tools ended: %v", err)
	}
	return string(b)
}

var (
	bootstrap string
	kafka     *kafkaJVM
)

func TestMain(m *testing.M) {
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runAll(m *testing.M) (int, error) {
	if bootstrap = os.Getenv("OTTLA_COMPAT_BOOTSTRAP"); bootstrap == "" {
		dir, err := os.MkdirTemp("", "ottla-compat-cli")
		if err != nil {
			return 1, err
		}
		defer os.RemoveAll(dir)
		binary, err := testserver.Build(dir)
		if err != nil {
			return 1, err
		}
		server, err := testserver.Start(binary, dir)
		if err != nil {
			return 1, err
		}
		defer server.Kill()
		bootstrap = server.Addr
	}
	var err error
	if kafka, err = startKafka(); err != nil {
		return 1, err
	}
	defer kafka.close()
	return m.Run(), nil
}
