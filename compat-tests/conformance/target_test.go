package conformance

import (
	"fmt"
	"os"
	"testing"

	"github.com/ottla/ottla/compat-tests/testserver"
)

// target is the server under test.
type target struct {
	addr   string
	srv    *testserver.Process // nil when the server is somebody else's
	binary string
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
	binary, err := testserver.Build(dir)
	if err != nil {
		return 1, err
	}
	srv, err := testserver.Start(binary, dir)
	if err != nil {
		return 1, err
	}
	defer srv.Kill()
	shared = target{addr: srv.Addr, srv: srv, binary: binary}
	return m.Run(), nil
}

// own starts a server that belongs to one test alone.
func own(t *testing.T, overrides ...string) *testserver.Process {
	t.Helper()
	if shared.srv == nil {
		t.Skip("needs a server of its own; OTTLA_CONFORMANCE_TARGET names somebody else's")
	}
	p, err := testserver.Start(shared.binary, t.TempDir(), overrides...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Kill)
	return p
}
