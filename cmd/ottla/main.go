// Command ottla is an Apache Kafka server and Kafka's command line tools in one binary.
//
//	ottla server [server.properties] [--override key=value]... [--memory]
//	ottla topics --list --bootstrap-server localhost:9092
//
// Called by the name of a Kafka tool (kafka-topics, kafka-topics.sh, kafka-server-start.sh) it is that tool.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/ottla/ottla/cli"
)

// version is set by the release build.
var version = ""

func main() {
	os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// run is the program: args begins with the name it was called by, the result is the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	called := strings.TrimSuffix(filepath.Base(args[0]), ".sh")
	switch {
	case called == "kafka-server-start":
		return server(args[1:], stdout, stderr)
	case strings.HasPrefix(called, "kafka-") && cli.Has(called):
		return cli.Run(called, args[1:], stdin, stdout, stderr)
	case strings.HasPrefix(called, "kafka-"):
		return unknown(called, stderr)
	case len(args) < 2:
		usage(stderr)
		return 1
	}
	switch name := args[1]; {
	case name == "server":
		return server(args[2:], stdout, stderr)
	case name == "help" || name == "--help" || name == "-h":
		usage(stdout)
		return 0
	case name == "version" || name == "--version":
		fmt.Fprintln(stdout, versionLine())
		return 0
	case cli.Has(name):
		return cli.Run(name, args[2:], stdin, stdout, stderr)
	default:
		return unknown(name, stderr)
	}
}

// unknown is the answer to a name that is no command here, be it a slip or a tool of Kafka that is not built.
func unknown(name string, stderr io.Writer) int {
	fmt.Fprintf(stderr, "ottla: there is no command %s; `ottla help` lists those there are\n", name)
	return 1
}

func versionLine() string {
	v := version
	if info, ok := debug.ReadBuildInfo(); v == "" && ok {
		v = info.Main.Version
	}
	if v == "" || v == "(devel)" {
		v = "(development build)"
	}
	return "ottla " + v + ", as Apache Kafka 4.4"
}

func usage(w io.Writer) {
	fmt.Fprintf(w, `Apache Kafka without the JVM: a server and Kafka's tools in one binary.

  ottla server [FILE]        start a server; FILE is a Kafka server.properties
      --override KEY=VALUE   set one property, as often as needed
      --memory               keep everything in memory
  ottla TOOL ...             one of Kafka's tools, with its own arguments
  ottla help | --version

Without FILE the server is a cluster of one: clients at localhost:9092, data in ./%s.
Tools: %s.
`, dataDir, strings.Join(cli.Names(), ", "))
}
