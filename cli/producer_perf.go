package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/protocol"
)

// runProducerPerfTest is kafka-producer-perf-test: how fast records can be produced.
func runProducerPerfTest(e *env) int {
	cmd := producerPerfCommand()
	if len(e.args) == 0 {
		e.complain(&argError{path: []command{cmd}, help: true})
		return 0
	}
	ns, err := parseCommand(cmd, e.args)
	var test *producerPerf
	if err == nil {
		test, err = newProducerPerf(e, ns)
	}
	if err == nil {
		err = test.run()
	}
	var bad *argError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &bad):
		if bad.path == nil {
			bad.path = []command{cmd}
		}
		e.complain(bad)
	default:
		e.errorf("Exception in thread \"main\" %s", trace(err))
	}
	return 1
}

func producerPerfCommand() command {
	return command{name: "kafka-producer-perf-test", help: "Measures how fast records can be produced.", args: []argument{
		{names: []string{"--bootstrap-server"}, metavar: "BOOTSTRAP-SERVER", help: "host:port of a broker, or several separated by commas."},
		{names: []string{"--topic"}, required: true, help: "The topic to produce to."},
		{names: []string{"--num-records"}, number: true, required: true, metavar: "NUM-RECORDS", help: "How many records to produce."},
		{names: []string{"--record-size"}, number: true, group: "payload", oneOf: true, metavar: "RECORD-SIZE", help: "Values of so many random letters."},
		{names: []string{"--payload-file"}, group: "payload", oneOf: true, metavar: "PAYLOAD-FILE", help: "Values chosen at random from a file."},
		{names: []string{"--payload-monotonic"}, flag: true, group: "payload", oneOf: true, help: "Values 0, 1, 2 and so on."},
		{names: []string{"--payload-delimiter"}, metavar: "PAYLOAD-DELIMITER", def: `\n`, help: "What separates the values in the file."},
		{names: []string{"--throughput"}, float: true, required: true, help: "Records a second, about; -1 for as many as possible."},
		{names: []string{"--producer-props"}, many: true, metavar: "PROP-NAME=PROP-VALUE", help: "(DEPRECATED) The old name of --command-property."},
		{names: []string{"--command-property"}, many: true, metavar: "PROP-NAME=PROP-VALUE", help: "Settings of the producer."},
		{names: []string{"--producer.config"}, metavar: "CONFIG-FILE", help: "(DEPRECATED) The old name of --command-config."},
		{names: []string{"--command-config"}, metavar: "CONFIG-FILE", help: "Properties file with settings of the producer; --command-property goes before it."},
		{names: []string{"--print-metrics"}, flag: true, help: "Has no effect: the client library here keeps no such metrics."},
		{names: []string{"--transactional-id"}, metavar: "TRANSACTIONAL-ID", help: "Produce in transactions under this id."},
		{names: []string{"--transaction-duration-ms"}, number: true, metavar: "TRANSACTION-DURATION", help: "Commit a transaction after so long; 3000 if only an id is given."},
		{names: []string{"--warmup-records"}, number: true, metavar: "WARMUP-RECORDS", def: "0", help: "So many records first are left out of a second summary."},
		{names: []string{"--reporting-interval"}, number: true, metavar: "INTERVAL-MS", def: "5000", help: "Milliseconds between lines of progress."},
		{names: []string{"--record-key-range"}, number: true, metavar: "KEY-RANGE", help: "Keys are numbers below this."},
		{names: []string{"--key-distribution"}, choices: []string{"none", "range", "random"}, metavar: "KEY-DISTRIBUTION", def: "none", help: "How keys are chosen: none at all, one after the other, or at random."},
		{names: []string{"--random-seed"}, number: true, metavar: "RANDOM-SEED", def: "0", help: "Another seed gives other random values."},
	}}
}

// producerPerf is one test.
type producerPerf struct {
	env          *env
	conf         clientConfig
	topic        string
	count        int64
	warmup       int64
	size         int      // of values; 0 for payloads or numbers
	payloads     [][]byte // values to choose from
	rate         float64
	keys         string // none, range or random
	keyRange     int64
	transaction  time.Duration // 0 for no transactions
	interval     time.Duration
	random       *rand.Rand
	free         sync.Pool // *kgo.Record with a value that can be overwritten
	total, later *perfStats
}

// checkProducerPerf refuses values that make no sense.
func checkProducerPerf(ns *namespace) error {
	for _, rule := range []struct {
		broken bool
		msg    string
	}{
		{ns.int("num-records") <= 0, "--num-records should be greater than zero."},
		{ns.intOr("warmup-records", 0) >= ns.int("num-records"), "The value for --warmup-records must be strictly fewer than the number of records in the test, --num-records."},
		{ns.intOr("record-size", 1) <= 0, "--record-size should be greater than zero."},
		{!ns.has("bootstrap-server") && !ns.has("command-property") && !ns.has("producer-props") && !ns.has("producer.config") && !ns.has("command-config"),
			"At least one of --bootstrap-server, --command-property, --producer-props, --producer.config or --command-config must be specified."},
		{ns.has("command-property") && ns.has("producer-props"), "--command-property and --producer-props cannot be specified together."},
		{ns.has("command-config") && ns.has("producer.config"), "--command-config and --producer.config cannot be specified together."},
		{ns.intOr("transaction-duration-ms", 1) <= 0, "--transaction-duration-ms should be greater than zero."},
		{ns.intOr("reporting-interval", 1) <= 0, "--reporting-interval should be greater than zero."},
		{ns.intOr("record-key-range", 1) <= 0, "--record-key-range should be greater than zero."},
	} {
		if rule.broken {
			return &argError{msg: rule.msg}
		}
	}
	keyed := ns.has("key-distribution") && ns.str("key-distribution") != "none"
	if keyed && !ns.has("record-key-range") {
		return &argError{msg: "--record-key-range is required when --key-distribution is 'range' or 'random'."}
	}
	if !keyed && ns.has("record-key-range") {
		return &argError{msg: "--key-distribution must be 'range' or 'random' when --record-key-range is specified."}
	}
	return nil
}

func newProducerPerf(e *env, ns *namespace) (*producerPerf, error) {
	if err := checkProducerPerf(ns); err != nil {
		return nil, err
	}
	t := &producerPerf{env: e, topic: ns.str("topic"), count: ns.int("num-records"), warmup: max(0, ns.intOr("warmup-records", 0)),
		size: int(ns.intOr("record-size", 0)), keys: ns.str("key-distribution"), keyRange: ns.intOr("record-key-range", 0),
		interval: time.Duration(ns.intOr("reporting-interval", 5000)) * time.Millisecond}
	t.rate, _ = strconv.ParseFloat(ns.str("throughput"), 64) // the parser checked it
	seed := uint64(ns.intOr("random-seed", 0))
	t.random = rand.New(rand.NewPCG(seed, seed))
	var err error
	if file := ns.str("payload-file"); file != "" {
		if t.payloads, err = readPayloads(e, file, ns.str("payload-delimiter")); err != nil {
			return nil, err
		}
	}
	for _, old := range [][2]string{{"producer-props", "command-property"}, {"producer.config", "command-config"}} {
		if ns.has(old[0]) {
			e.printf("Option --%s has been deprecated and will be removed in a future version. Use --%s instead.\n", old[0], old[1])
		}
	}
	if t.conf, err = producerPerfConfig(ns); err != nil {
		return nil, err
	}
	if id, ok := t.conf["transactional.id"]; ok || ns.has("transaction-duration-ms") {
		if id == "" {
			t.conf["transactional.id"] = "performance-producer-" + protocol.NewUUID().String()
		}
		t.transaction = time.Duration(ns.intOr("transaction-duration-ms", 3000)) * time.Millisecond
	}
	return t, nil
}

func producerPerfConfig(ns *namespace) (clientConfig, error) {
	file := ns.str("command-config")
	if file == "" {
		file = ns.str("producer.config")
	}
	c, err := loadConfig(file)
	if err != nil {
		return nil, err
	}
	for _, p := range slices.Concat(ns.values["command-property"], ns.values["producer-props"]) {
		k, v, ok := strings.Cut(p, "=")
		if !ok || v == "" || strings.Contains(v, "=") {
			return nil, illegalArgument("Invalid property: %s", p)
		}
		c[k] = v
	}
	c.fallback("client.id", "perf-producer-client")
	if ns.has("bootstrap-server") {
		c["bootstrap.servers"] = ns.str("bootstrap-server")
	}
	if ns.has("transactional-id") {
		c["transactional.id"] = ns.str("transactional-id")
	}
	return c, nil
}

// readPayloads reads values from a file.
func readPayloads(e *env, file, delimiter string) ([][]byte, error) {
	if delimiter == "" || delimiter == `\n` {
		delimiter = "\n"
	}
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	e.println("Reading payloads from: " + path)
	text, err := os.ReadFile(path)
	if err != nil || len(text) == 0 {
		return nil, illegalArgument("File does not exist or empty file provided.")
	}
	payloads := bytes.Split(bytes.TrimSuffix(text, []byte(delimiter)), []byte(delimiter))
	e.printf("Number of records read: %d\n", len(payloads))
	return payloads, nil
}

// run produces the records and prints the summary.
func (t *producerPerf) run() error {
	prod, err := t.env.newProducer(t.conf)
	if err != nil {
		return err
	}
	defer prod.cl.Close()
	if err := prod.awaitTopic(t.topic); err != nil {
		return err
	}
	if t.warmup > 0 {
		t.env.printf("Warmup first %d records. Steady state results will print after the complete test summary.\n", t.warmup)
	}
	t.env.flush()
	signals, stop := notifySignals()
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-signals:
			cancel()
		case <-ctx.Done():
		}
	}()
	t.total = newPerfStats(t.env, t.count, t.interval, false)
	if err := t.produce(ctx, prod); err != nil {
		return err
	}
	_ = prod.cl.Flush(ctx) // cut short by a signal
	t.total.printTotal()
	if t.later != nil {
		t.later.printTotal()
	}
	return nil
}

func (t *producerPerf) produce(ctx context.Context, prod *producer) error {
	limit := throttle{start: time.Now(), rate: t.rate}
	open, began := false, time.Time{}
	for i := int64(0); i < t.count && ctx.Err() == nil; i++ {
		if t.transaction > 0 && !open {
			if err := prod.cl.BeginTransaction(); err != nil {
				return err
			}
			open, began = true, time.Now()
		}
		if t.warmup > 0 && i == t.warmup {
			t.total.quiet()
			t.later = newPerfStats(t.env, t.count-t.warmup, t.interval, true)
		}
		t.send(ctx, prod, i)
		if open && time.Since(began) >= t.transaction {
			if err := commitTransaction(ctx, prod.cl); err != nil {
				return err
			}
			open = false
		}
		limit.wait(ctx, i)
	}
	if open {
		return commitTransaction(ctx, prod.cl)
	}
	return nil
}

func commitTransaction(ctx context.Context, cl *kgo.Client) error {
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	return cl.EndTransaction(ctx, kgo.TryCommit)
}

// send produces record i and counts it when it is acknowledged.
func (t *producerPerf) send(ctx context.Context, prod *producer, i int64) {
	r := t.record(i)
	size := len(r.Value)
	total, later := t.total, t.later
	start := time.Now()
	prod.cl.Produce(ctx, r, func(r *kgo.Record, err error) {
		t.free.Put(r)
		if err != nil {
			err = produceError(err)
			fmt.Fprint(t.env.stderr, trace(err))
			return
		}
		now := time.Now()
		total.record(now.Sub(start), size, now)
		if later != nil {
			later.record(now.Sub(start), size, now)
		}
	})
}

// record makes record i, in the memory of one that is done with if there is one.
func (t *producerPerf) record(i int64) *kgo.Record {
	r, ok := t.free.Get().(*kgo.Record)
	if !ok {
		r = &kgo.Record{Value: make([]byte, 0, t.size)}
	}
	*r = kgo.Record{Topic: t.topic, Value: r.Value[:0], Key: r.Key[:0]}
	switch {
	case len(t.payloads) > 0:
		r.Value = append(r.Value, t.payloads[t.random.IntN(len(t.payloads))]...)
	case t.size > 0:
		r.Value = t.letters(r.Value)
	default:
		r.Value = strconv.AppendInt(r.Value, i, 10)
	}
	switch t.keys {
	case "range":
		r.Key = strconv.AppendInt(r.Key, i%t.keyRange, 10)
	case "random":
		r.Key = strconv.AppendInt(r.Key, t.random.Int64N(t.keyRange), 10)
	default:
		r.Key = nil
	}
	return r
}

// letters appends random letters up to the size of values, several from one random number.
func (t *producerPerf) letters(b []byte) []byte {
	const perNumber = 13 // 26^13 < 2^64
	for len(b) < t.size {
		n := t.random.Uint64()
		for range min(perNumber, t.size-len(b)) {
			b = append(b, byte('A'+n%26))
			n /= 26
		}
	}
	return b
}

// perfStats counts acknowledged records and how long they took, in total and since the last line of progress.
type perfStats struct {
	mu        sync.Mutex
	env       *env
	start     time.Time
	interval  time.Duration
	steady    bool // only records after the warm-up
	silent    bool // no lines of progress
	sampling  int64
	latencies []int32 // milliseconds, of every sampling-th record
	all       perfCount
	window    perfCount
	since     time.Time // of window
}

type perfCount struct{ records, bytes, latency, worst int64 }

func (c *perfCount) add(ms int64, size int) {
	c.records++
	c.bytes += int64(size)
	c.latency += ms
	c.worst = max(c.worst, ms)
}

// maxSamples bounds the memory for latencies.
const maxSamples = 500_000

func newPerfStats(e *env, records int64, interval time.Duration, steady bool) *perfStats {
	now := time.Now()
	return &perfStats{env: e, start: now, since: now, interval: interval, steady: steady, sampling: max(1, records/maxSamples)}
}

func (s *perfStats) quiet() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.silent = true
}

// record counts one record; it prints a line of progress when it is time.
func (s *perfStats) record(latency time.Duration, size int, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ms := latency.Milliseconds()
	if s.all.records%s.sampling == 0 {
		s.latencies = append(s.latencies, int32(min(ms, math.MaxInt32)))
	}
	s.all.add(ms, size)
	s.window.add(ms, size)
	elapsed := now.Sub(s.since)
	if elapsed < s.interval {
		return
	}
	if s.steady && s.all.records == s.window.records {
		s.env.println("In steady state.")
	}
	if !s.silent {
		w := s.window
		s.env.printf("%d records sent, %.1f records/sec (%.2f MB/sec), %.1f ms avg latency, %.1f ms max latency.\n", w.records,
			float64(w.records)/elapsed.Seconds(), megabytes(w.bytes)/elapsed.Seconds(), float64(w.latency)/float64(w.records), float64(w.worst))
	}
	s.env.flush()
	s.window, s.since = perfCount{}, now
}

func megabytes(n int64) float64 { return float64(n) / (1 << 20) }

func (s *perfStats) printTotal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	elapsed := time.Since(s.start).Seconds()
	slices.Sort(s.latencies)
	percentile := func(p float64) int32 {
		if len(s.latencies) == 0 {
			return 0
		}
		return s.latencies[min(int(p*float64(len(s.latencies))), len(s.latencies)-1)]
	}
	kind := ""
	if s.steady {
		kind = " steady state"
	}
	n := float64(max(1, s.all.records))
	s.env.printf("%d%s records sent, %f records/sec (%.2f MB/sec), %.2f ms avg latency, %.2f ms max latency, %d ms 50th, %d ms 95th, %d ms 99th, %d ms 99.9th.\n",
		s.all.records, kind, float64(s.all.records)/elapsed, megabytes(s.all.bytes)/elapsed, float64(s.all.latency)/n, float64(s.all.worst),
		percentile(0.5), percentile(0.95), percentile(0.99), percentile(0.999))
	s.env.flush()
}
