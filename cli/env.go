package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// kafkaVersion is what --version prints: the release of Apache Kafka whose tools these are.
const kafkaVersion = "4.4.0"

// env is what one run of a tool works with. Stdout is buffered: a tool that waits for something flushes first, and
// Run flushes at the end.
type env struct {
	tool   string // the tool's name without "kafka-"
	args   []string
	stdin  io.Reader
	stdout io.Writer // what out buffers
	out    *bufio.Writer
	stderr io.Writer // safe for callbacks
}

func newEnv(tool string, args []string, stdin io.Reader, stdout, stderr io.Writer) *env {
	return &env{tool: tool, args: args, stdin: stdin, stdout: stdout, out: bufio.NewWriterSize(stdout, 32<<10),
		stderr: &lockedWriter{w: stderr}}
}

// lockedWriter lets callbacks of the client library write beside the tool.
type lockedWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

func (e *env) printf(format string, a ...any) { fmt.Fprintf(e.out, format, a...) }

func (e *env) println(a ...any) { fmt.Fprintln(e.out, a...) }

// errorf writes to stderr after what was printed so far, so that a terminal shows them in order.
func (e *env) errorf(format string, a ...any) {
	e.flush()
	fmt.Fprintf(e.stderr, format, a...)
}

func (e *env) errorln(a ...any) {
	e.flush()
	fmt.Fprintln(e.stderr, a...)
}

func (e *env) flush() { _ = e.out.Flush() }

// log writes a line to stderr in the layout of Kafka's tools: time, level, message, logger. It does not touch stdout,
// so callbacks of the client library may use it.
func (e *env) log(level, logger, msg string) {
	fmt.Fprint(e.stderr, logLine(level, logger, msg))
}

func logLine(level, logger, msg string) string {
	return fmt.Sprintf("[%s] %s %s (%s)\n", time.Now().Format("2006-01-02 15:04:05,000"), level, msg, logger)
}

// usage prints msg and the table of options to stderr and returns the exit code of a wrong command line.
func (e *env) usage(p *parsed, msg string) int {
	e.errorln(msg)
	e.errorf("%s", p.usage())
	return 1
}

// parse parses the tool's arguments. If there are none, or --help or --version is among them, it prints what was
// asked for and returns done with the exit code.
func (e *env) parse(about string, opts []option) (p *parsed, code int, done bool, err error) {
	p, err = parseOptions(opts, e.args)
	switch {
	case err != nil:
		return p, 0, false, err
	case p.count == 0 || p.has("help"):
		return p, e.usage(p, about), true, nil
	case p.has("version"):
		e.println(kafkaVersion)
		return p, 0, true, nil
	}
	return p, 0, false, nil
}

// orUsage prints the usage if err asks for it. Otherwise it reports false.
func (e *env) orUsage(p *parsed, err error) bool {
	var u *usageError
	if !errors.As(err, &u) {
		return false
	}
	e.usage(p, u.msg)
	return true
}

// requireAll fails unless all the options are on the command line.
func requireAll(p *parsed, names ...string) error {
	for _, n := range names {
		if !p.has(n) {
			return &usageError{fmt.Sprintf("Missing required argument \"[%s]\"", n)}
		}
	}
	return nil
}

// refuseWith fails if used and any of the others are on the command line together.
func refuseWith(p *parsed, used string, others ...string) error {
	if !p.has(used) {
		return nil
	}
	for _, o := range others {
		if o != used && p.has(o) {
			return &usageError{fmt.Sprintf("Option \"[%s]\" can't be used with option \"[%s]\"", used, o)}
		}
	}
	return nil
}
