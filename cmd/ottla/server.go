package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"github.com/ottla/ottla"
	"github.com/ottla/ottla/config"
)

// dataDir is where a server without a file keeps its data.
const dataDir = "ottla-data"

// started is when the process began: the processor time it used before this line, on one thread, is
// the time that its loading and initialisation took.
var started = time.Now().Add(-processorTime())

func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// serverFlags are the arguments of `ottla server`.
type serverFlags struct {
	file      string // "": none
	overrides []string
	memory    bool
	version   bool
	help      bool
}

func parseServerFlags(args []string) (serverFlags, error) {
	var f serverFlags
	set := pflag.NewFlagSet("ottla server", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringArrayVar(&f.overrides, "override", nil, "")
	set.BoolVar(&f.memory, "memory", false, "")
	set.BoolVar(&f.version, "version", false, "")
	set.BoolVarP(&f.help, "help", "h", false, "")
	if err := set.Parse(args); err != nil {
		return f, fmt.Errorf("%w; `ottla help` shows the options", err)
	}
	if set.NArg() > 1 {
		return f, fmt.Errorf("one file of properties is enough, but there are %s", strings.Join(set.Args(), " "))
	}
	f.file = set.Arg(0)
	return f, nil
}

// properties are those of the file, or the built-in ones, with the overrides.
func (f serverFlags) properties() (config.Properties, error) {
	var overrides config.Properties
	for _, arg := range f.overrides {
		x, err := config.ParseOverride(arg)
		if err != nil {
			return nil, err
		}
		overrides = append(overrides, x)
	}
	if f.file == "" {
		return config.Default(dataDir, overrides), nil
	}
	text, err := os.ReadFile(f.file)
	if err != nil {
		return nil, err
	}
	p, err := config.ParseProperties(f.file, text)
	return append(p, overrides...), err
}

// server runs a server until a signal or a fault ends it, and returns the exit code.
func server(args []string, stdout, stderr io.Writer) int {
	f, err := parseServerFlags(args)
	if err != nil {
		return refuse(stderr, err)
	}
	if f.help {
		usage(stdout)
		return 0
	}
	if f.version {
		fmt.Fprintln(stdout, versionLine())
		return 0
	}
	p, err := f.properties()
	if err != nil {
		return refuse(stderr, err)
	}
	static, warnings, err := config.Load(p)
	if err != nil {
		return refuse(stderr, err)
	}
	level := logLevel(static)
	log := newLogger(stdout, level)
	for _, w := range warnings {
		log.Warn(w)
	}
	return serve(ottla.Options{Config: static, Memory: f.memory, Logger: log, LogLevel: &level}, log, stderr)
}

// refuse says in one line why nothing was started.
func refuse(stderr io.Writer, err error) int {
	fmt.Fprintf(stderr, "ottla: %s\n", strings.ReplaceAll(err.Error(), "\n", "; "))
	return 1
}

// doubled is how long after the first signal another one is taken for the same: timeout(1) and other programs that start
// servers signal the process and then its process group.
const doubled = 100 * time.Millisecond

// serve starts the server and waits. The first SIGTERM or SIGINT asks for a clean stop, the second ends the process.
func serve(o ottla.Options, log *zap.Logger, stderr io.Writer) int {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	go func() {
		log.Info("Stopping: " + describe(<-signals))
		stop()
		time.Sleep(doubled)
		for len(signals) > 0 {
			<-signals
		}
		again := <-signals
		log.Warn("Ending at once; the next start recovers the logs")
		exitNow(again)
	}()
	srv, err := ottla.Start(ctx, o)
	if err != nil {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			return 0
		}
		return refuse(stderr, err)
	}
	log.Info(readyLine(o.Config, srv, time.Since(started)))
	select {
	case <-ctx.Done():
	case err := <-srv.Err():
		log.Error("Cannot go on: " + err.Error())
		return fail(srv.Close(), log)
	}
	if err := srv.Shutdown(context.Background()); err != nil {
		log.Error("The stop was not clean: " + err.Error())
		return 1
	}
	log.Info("Stopped")
	return 0
}

// fail is the end after a fault; closing may add an error of its own.
func fail(err error, log *zap.Logger) int {
	if err != nil {
		log.Error("Closing: " + err.Error())
	}
	return 1
}

// exitNow ends the process as the second signal asks, with the exit code a shell expects.
func exitNow(s os.Signal) {
	code := 1
	if n, ok := s.(syscall.Signal); ok {
		code = 128 + int(n)
	}
	os.Exit(code)
}

func describe(s os.Signal) string {
	if s == syscall.SIGINT {
		return "interrupted (again to end at once)"
	}
	return s.String() + " (again to end at once)"
}

// readyLine says where the server listens and how long its start took.
func readyLine(c *config.Static, srv *ottla.Server, took time.Duration) string {
	var at []string
	for _, l := range c.Listeners {
		at = append(at, l.Name+"://"+srv.Addr(l.Name))
	}
	return fmt.Sprintf("Ready after %d ms: node %d of cluster %s listens at %s",
		took.Milliseconds(), c.NodeID, srv.ClusterID(), strings.Join(at, ", "))
}
