package cli

import (
	"bufio"
	"fmt"
	"io"
)

// env is what one run of a tool works with. Stdout is buffered: a tool that waits for something flushes first, and
// finish flushes at the end.
type env struct {
	tool   string // the tool's name without "kafka-"
	args   []string
	stdin  io.Reader
	out    *bufio.Writer
	stderr io.Writer
}

func newEnv(tool string, args []string, stdin io.Reader, stdout, stderr io.Writer) *env {
	return &env{tool: tool, args: args, stdin: stdin, out: bufio.NewWriterSize(stdout, 32<<10), stderr: stderr}
}

func (e *env) printf(format string, a ...any) { fmt.Fprintf(e.out, format, a...) }

func (e *env) println(a ...any) { fmt.Fprintln(e.out, a...) }

// errorf writes to stderr after what was printed so far, so that a terminal shows them in order.
func (e *env) errorf(format string, a ...any) {
	e.flush()
	fmt.Fprintf(e.stderr, format, a...)
}

func (e *env) flush() { _ = e.out.Flush() }
