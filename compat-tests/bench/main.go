// Command bench measures ottla beside Apache Kafka 4.4 and kfake on one machine
// in one run: the same client for all, rounds alternating between them, medians
// and ratios at the end. It also measures the floor: what a bare Go program
// pays to receive the same bytes over loopback and write them to a file, and
// to send a file by sendfile.
//
//	go run . -ottla ../../bin/ottla               everything, about ten minutes
//	go run . -ottla ../../bin/ottla -quick        one short round
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"strings"
	"time"
)

type options struct {
	ottla, tool string
	rounds, mb  int
	idle        time.Duration
	targets     []string
	loads       []load
	rates       []int
	latencyFor  time.Duration
}

func main() {
	log.SetFlags(0)
	if len(os.Args) > 1 {
		switch os.Args[1] { // the bench is its own kfake and floor server
		case "serve-kfake":
			log.Fatal(serveKfake(os.Args[2], os.Args[3]))
		case "serve-floor":
			log.Fatal(serveFloor(os.Args[2], os.Args[3]))
		}
	}
	var o options
	flag.StringVar(&o.ottla, "ottla", "../../bin/ottla", "the ottla binary")
	flag.StringVar(&o.tool, "kafka-libs", os.Getenv("HOME")+"/.cache/apache-kafka-4.4.0/libs", "the jars of Apache Kafka (compat-tests/kafka-tool.sh install)")
	flag.IntVar(&o.rounds, "rounds", 3, "rounds, alternating between the servers")
	flag.IntVar(&o.mb, "mb", 1024, "megabytes of each throughput run")
	flag.DurationVar(&o.idle, "idle", time.Minute, "how long a server idles before its memory is read")
	flag.DurationVar(&o.latencyFor, "latency", 10*time.Second, "length of the latency run")
	targets := flag.String("targets", "ottla,kafka,kfake,floor", "what to measure")
	quick := flag.Bool("quick", false, "one short round: for seeing that it works, not for quoting")
	flag.Parse()
	o.targets = strings.Split(*targets, ",")
	o.rates = []int{1000, 5000}
	o.loads = []load{
		{size: 1024, partitions: 1, clients: 1, part: 1},
		{size: 100, partitions: 1, clients: 1, part: 1},
		{size: 1024, partitions: 100, clients: 1, part: 2},
		{size: 1024, partitions: 1, clients: 1, part: 2, lz4: true},
		{size: 1024, partitions: 1, clients: 50, part: 2},
	}
	if *quick {
		o.rounds, o.mb, o.idle, o.latencyFor = 1, 128, 5*time.Second, 3*time.Second
	}
	if err := run(o); err != nil {
		log.Fatal(err)
	}
}

func run(o options) error {
	res := newResults(o.targets)
	for round := range o.rounds {
		for _, name := range o.targets {
			fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, o.rounds, name)
			if err := measure(o, name, res); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	res.print(os.Stdout, o)
	return nil
}

func measure(o options, name string, res *results) error {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if name == "floor" {
		return measureFloor(o, dir, res)
	}
	s, err := newServer(o, name, dir)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := measureStart(s, name, res); err != nil {
		return err
	}
	time.Sleep(o.idle) // idling is what is measured
	res.add("idle memory, MB", name, s.rssMB())
	for _, l := range o.loads {
		if err := measureThroughput(o, s, name, l, res); err != nil {
			return fmt.Errorf("%s: %w", l, err)
		}
	}
	res.add("largest memory under load, MB", name, s.peakMB())
	for _, rate := range o.rates {
		if err := measureLatency(o, s, name, rate, res); err != nil {
			return err
		}
	}
	if err := measureCommits(s, name, res); err != nil {
		return fmt.Errorf("commits: %w", err)
	}
	return measureSize(o, s, name, res)
}

// measureStart times exec to the first acknowledged record: on an empty
// directory with a new topic, Apache Kafka's formatting included, then on the
// directory as it was left.
func measureStart(s *server, name string, res *results) error {
	for _, kind := range []string{"fresh", "restart"} {
		start := time.Now()
		if kind == "fresh" && s.format != nil {
			if out, err := exec.Command(s.format[0], s.format[1:]...).CombinedOutput(); err != nil {
				return fmt.Errorf("format: %w: %s", err, out)
			}
		}
		if err := s.start(); err != nil {
			return err
		}
		if err := firstRecord(s.addr, kind == "fresh"); err != nil {
			return fmt.Errorf("%s start: %w\n%s", kind, err, s.output())
		}
		res.add("first acknowledged record, "+kind+", ms", name, float64(time.Since(start).Microseconds())/1000)
		if kind == "fresh" {
			s.terminate()
		}
	}
	return nil
}
