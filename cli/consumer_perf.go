package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// runConsumerPerfTest is kafka-consumer-perf-test: how fast records can be consumed.
func runConsumerPerfTest(e *env) int {
	p, code, done, err := e.parse("Measures how fast records can be consumed.", consumerPerfOptions())
	if done {
		return code
	}
	if err != nil {
		return e.usage(p, err.Error())
	}
	if err = checkConsumerPerf(e, p); e.orUsage(p, err) {
		return 1
	}
	if err = consumerPerf(e, p); err != nil {
		e.errorf("%s\n%s\n", err, trace(err))
		return 1
	}
	return 0
}

func consumerPerfOptions() []option {
	return []option{
		{name: "bootstrap-server", arg: requiredArg, hint: "server to connect to", doc: "REQUIRED: host:port of a broker, or several separated by commas."},
		{name: "topic", arg: requiredArg, hint: "topic", doc: "The topic to consume."},
		{name: "include", arg: requiredArg, hint: "Java regex (String)", doc: "Regular expression for the names of the topics to consume."},
		{name: "group", arg: requiredArg, hint: "gid", def: "perf-consumer-" + strconv.Itoa(rand.IntN(100000)), doc: "The consumer group to be a member of."},
		{name: "fetch-size", arg: requiredArg, kind: "Integer", hint: "size", def: "1048576", doc: "Bytes to ask of a partition at a time."},
		{name: "command-property", arg: requiredArg, hint: "prop1=val1", doc: "key=value setting of the consumer; it goes before the file."},
		{name: "from-latest", doc: "Start at the end where the group has no committed offset."},
		{name: "socket-buffer-size", arg: requiredArg, kind: "Integer", hint: "size", def: "2097152", doc: "receive.buffer.bytes: has no effect here."},
		{name: "consumer.config", arg: requiredArg, hint: "config file", doc: "(DEPRECATED) The old name of --command-config."},
		{name: "command-config", arg: requiredArg, hint: "config file", doc: "Properties file with settings of the consumer."},
		{name: "print-metrics", doc: "Has no effect: the client library here keeps no such metrics."},
		{name: "show-detailed-stats", doc: "A line for every reporting interval instead of one at the end."},
		{name: "timeout", arg: optionalArg, kind: "Long", hint: "milliseconds", def: "10000", doc: "Give up when no record comes for so long."},
		{name: "messages", arg: requiredArg, kind: "Long", hint: "count", doc: "(DEPRECATED) The old name of --num-records."},
		{name: "num-records", arg: requiredArg, kind: "Long", hint: "count", doc: "REQUIRED: how many records to consume."},
		{name: "reporting-interval", arg: requiredArg, kind: "Long", hint: "interval_ms", def: "5000", doc: "Milliseconds between lines of progress."},
		{name: "date-format", arg: requiredArg, hint: "date format", def: "yyyy-MM-dd HH:mm:ss:SSS", doc: "How times are written, in Java's letters."},
		{name: "hide-header", doc: "Leave out the line with the names of the columns."},
	}
}

func checkConsumerPerf(e *env, p *parsed) error {
	if err := requireAll(p, "bootstrap-server"); err != nil {
		return err
	}
	for _, pair := range [][2]string{{"topic", "include"}, {"messages", "num-records"}} {
		if p.has(pair[0]) == p.has(pair[1]) {
			return &usageError{fmt.Sprintf("Exactly one of the following arguments is required: [%s], [%s]", pair[0], pair[1])}
		}
	}
	if err := refuseWith(p, "consumer.config", "command-config"); err != nil {
		return err
	}
	if p.has("messages") {
		e.println("Warning: --messages is deprecated. Use --num-records instead.")
	}
	if p.has("consumer.config") {
		e.println("Warning: --consumer.config is deprecated. Use --command-config instead.")
	}
	return nil
}

// javaDate turns a pattern of Java's SimpleDateFormat into a function that formats with it.
func javaDate(pattern string) func(time.Time) string {
	layout := strings.NewReplacer("yyyy", "2006", "yy", "06", "MMM", "Jan", "MM", "01", "dd", "02", "HH", "15", "hh", "03",
		"mm", "04", "ss", "05", "SSS", "\x00", "a", "PM", "XXX", "Z07:00", "Z", "-0700", "'", "").Replace(pattern)
	return func(t time.Time) string {
		return strings.ReplaceAll(t.Format(layout), "\x00", fmt.Sprintf("%03d", t.Nanosecond()/1e6))
	}
}

// rebalances measures the time that a consumer has no partitions.
type rebalances struct {
	mu       sync.Mutex
	since    time.Time // when the partitions were gone
	held     int
	total    time.Duration
	interval time.Duration // since the last line of progress
}

func (r *rebalances) gained(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held == 0 {
		r.total += time.Since(r.since)
		r.interval += time.Since(r.since)
	}
	r.held += n
}

func (r *rebalances) lost(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held -= n; r.held <= 0 {
		r.held, r.since = 0, time.Now()
	}
}

func countPartitions(m map[string][]int32) int {
	n := 0
	for _, ps := range m {
		n += len(ps)
	}
	return n
}

func consumerPerfConfig(p *parsed) (clientConfig, error) {
	c, err := loadConfig(p.str(either(p, "command-config", "consumer.config")))
	if err != nil {
		return nil, err
	}
	c = c.with(keyValues(p.list("command-property"))).with(clientConfig{
		"bootstrap.servers": p.str("bootstrap-server"), "group.id": p.str("group"), "auto.offset.reset": "earliest",
		"max.partition.fetch.bytes": strconv.Itoa(int(p.int32("fetch-size"))), "check.crcs": "false",
	})
	if p.has("from-latest") {
		c["auto.offset.reset"] = "latest"
	}
	c.fallback("client.id", "perf-consumer-client")
	return c, p.err
}

func consumerPerf(e *env, p *parsed) error {
	conf, err := consumerPerfConfig(p)
	if err != nil {
		return err
	}
	want := p.int64(either(p, "num-records", "messages"))
	timeout := time.Duration(p.int64("timeout")) * time.Millisecond
	interval := time.Duration(p.int64("reporting-interval")) * time.Millisecond
	date := javaDate(p.str("date-format"))
	if p.err == nil && interval <= 0 {
		p.err = illegalArgument("Reporting interval must be greater than 0.")
	}
	if p.err != nil {
		return p.err
	}
	detailed := p.has("show-detailed-stats")
	if !p.has("hide-header") {
		first := "start.time, end.time"
		if detailed {
			first = "time, threadId"
		}
		e.println(first + ", data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec")
		e.flush()
	}
	joined := &rebalances{}
	cl, err := perfConsumer(e, p, conf, joined)
	if err != nil {
		return err
	}
	defer cl.Close()
	start := time.Now()
	joined.since = start
	progress := perfProgress{env: e, joined: joined, date: date, interval: interval, detailed: detailed, last: start}
	progress.consume(cl, want, timeout)
	end := time.Now()
	if progress.records < want {
		e.printf("WARNING: Exiting before consuming the expected number of records: timeout (%d ms) exceeded. You can use the --timeout option to increase the timeout.\n", timeout.Milliseconds())
	}
	if !detailed {
		mb, seconds := megabytes(progress.bytes), end.Sub(start).Seconds()
		joined.mu.Lock()
		fetching := end.Sub(start) - joined.total
		e.printf("%s, %s, %.4f, %.4f, %d, %.4f, %d, %d, %.4f, %.4f\n", date(start), date(end), mb, mb/seconds, progress.records,
			float64(progress.records)/seconds, joined.total.Milliseconds(), fetching.Milliseconds(), mb/fetching.Seconds(), float64(progress.records)/fetching.Seconds())
		joined.mu.Unlock()
	}
	return nil
}

func perfConsumer(e *env, p *parsed, conf clientConfig, joined *rebalances) (*kgo.Client, error) {
	opts, err := e.consumerOptions(conf)
	if err != nil {
		return nil, err
	}
	group, err := groupOptions(conf)
	if err != nil {
		return nil, err
	}
	opts = append(append(opts, group...),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, m map[string][]int32) { joined.gained(countPartitions(m)) }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, m map[string][]int32) { joined.lost(countPartitions(m)) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, m map[string][]int32) { joined.lost(countPartitions(m)) }))
	if p.has("topic") {
		opts = append(opts, kgo.ConsumeTopics(p.str("topic")))
	} else {
		opts = append(opts, kgo.ConsumeRegex(), kgo.ConsumeTopics("^(?:"+p.str("include")+")$"))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, configError(err.Error())
	}
	return cl, nil
}

// perfProgress counts what was consumed, in total and at the last line of progress.
type perfProgress struct {
	env                *env
	joined             *rebalances
	date               func(time.Time) string
	interval           time.Duration
	detailed           bool
	records, bytes     int64
	last               time.Time
	lastRecords, lastB int64
}

// consume reads until it has the records wanted or none came for the timeout.
func (g *perfProgress) consume(cl *kgo.Client, want int64, timeout time.Duration) {
	idle := time.Now()
	for g.records < want && time.Since(idle) <= timeout {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		fetches := cl.PollRecords(ctx, 10_000)
		cancel()
		now := time.Now()
		if fetches.NumRecords() > 0 {
			idle = now
		}
		fetches.EachPartition(func(part kgo.FetchTopicPartition) {
			for _, r := range part.Records {
				g.records++
				g.bytes += int64(len(r.Key) + len(r.Value))
			}
			if n := len(part.Records); n > 0 {
				cl.MarkCommitRecords(part.Records[n-1])
			}
		})
		if fetches.NumRecords() > 0 && now.Sub(g.last) >= g.interval {
			g.report(now)
		}
	}
}

// report prints a line of progress.
func (g *perfProgress) report(now time.Time) {
	g.joined.mu.Lock()
	joining := g.joined.interval
	g.joined.interval = 0
	g.joined.mu.Unlock()
	if g.detailed {
		elapsed := now.Sub(g.last)
		mb, n := megabytes(g.bytes-g.lastB), float64(g.records-g.lastRecords)
		fetching := elapsed - joining
		var fetchMB, fetchN float64
		if fetching > 0 {
			fetchMB, fetchN = mb/fetching.Seconds(), n/fetching.Seconds()
		}
		g.env.printf("%s, %d, %.4f, %.4f, %d, %.4f, %d, %d, %.4f, %.4f\n", g.date(now), 0, megabytes(g.bytes), mb/elapsed.Seconds(), g.records,
			n/elapsed.Seconds(), joining.Milliseconds(), fetching.Milliseconds(), fetchMB, fetchN)
		g.env.flush()
	}
	g.last, g.lastRecords, g.lastB = now, g.records, g.bytes
}
