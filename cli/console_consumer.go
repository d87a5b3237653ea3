package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/protocol"
)

const consoleConsumer = consumerTools + "ConsoleConsumer"

// runConsoleConsumer is kafka-console-consumer: write the records of topics to stdout.
func runConsoleConsumer(e *env) int {
	p, code, done, err := e.parse("Writes the records of topics to the standard output.", consoleConsumerOptions())
	if done {
		return code
	}
	if err != nil {
		return e.usage(p, err.Error())
	}
	job, err := newConsoleConsumer(e, p)
	if e.orUsage(p, err) {
		return 1
	}
	if t := (*terse)(nil); errors.As(err, &t) {
		e.errorln(t.msg)
		return 1
	}
	if err == nil {
		code, err = job.run()
	}
	if err != nil {
		e.flush()
		fmt.Fprintf(e.stderr, "%s%s", logLine("ERROR", consoleConsumer, "Unknown error when running consumer: "), trace(err))
		return 1
	}
	return code
}

func consoleConsumerOptions() []option {
	const props = "key=value for the formatter:\n print.timestamp, print.key, print.offset, print.epoch, print.partition," +
		" print.headers, print.value=true|false\n key.separator, line.separator, headers.separator, null.literal=TEXT\n" +
		" key.deserializer, value.deserializer, headers.deserializer=CLASS"
	return []option{
		{name: "topic", arg: requiredArg, hint: "topic", doc: "The topic to consume."},
		{name: "include", arg: requiredArg, hint: "Java regex (String)", doc: "Regular expression for the names of the topics to consume."},
		{name: "partition", arg: requiredArg, kind: "Integer", hint: "partition", doc: "The one partition to consume, from its end unless --offset or --from-beginning says otherwise."},
		{name: "offset", arg: requiredArg, hint: "consume offset", def: "latest", doc: "With --partition: the offset to start at, a number, earliest or latest."},
		{name: "consumer-property", arg: requiredArg, hint: "consumer_prop", doc: "(DEPRECATED) The old name of --command-property."},
		{name: "command-property", arg: requiredArg, hint: "consumer_prop", doc: "key=value setting of the consumer."},
		{name: "consumer.config", arg: requiredArg, hint: "config file", doc: "(DEPRECATED) The old name of --command-config."},
		{name: "command-config", arg: requiredArg, hint: "config file", doc: "Properties file with settings of the consumer; --command-property goes before it."},
		{name: "formatter", arg: requiredArg, hint: "class", def: consumerTools + "DefaultMessageFormatter", doc: "What writes the records: Default-, Logging-, NoOp-, Offsets- or GroupMetadataMessageFormatter of " + strings.TrimSuffix(consumerTools, ".") + "."},
		{name: "property", arg: requiredArg, hint: "prop", doc: "(DEPRECATED) The old name of --formatter-property."},
		{name: "formatter-property", arg: requiredArg, hint: "prop", doc: props},
		{name: "formatter-config", arg: requiredArg, hint: "config file", doc: "Properties file for the formatter; --formatter-property goes before it."},
		{name: "from-beginning", doc: "Start at the first record where the group has no committed offset, instead of after the last."},
		{name: "max-messages", arg: requiredArg, kind: "Integer", hint: "num_messages", doc: "Stop after so many records. Without it, never."},
		{name: "timeout-ms", arg: requiredArg, kind: "Long", hint: "timeout_ms", doc: "Stop when no record comes for so long."},
		{name: "skip-message-on-error", doc: "Go on when a record cannot be written."},
		{name: "bootstrap-server", arg: requiredArg, hint: "server to connect to", doc: "REQUIRED: host:port of a broker, or several separated by commas."},
		{name: "key-deserializer", arg: requiredArg, hint: "deserializer for keys", doc: "Class that turns keys into text."},
		{name: "value-deserializer", arg: requiredArg, hint: "deserializer for values", doc: "Class that turns values into text."},
		{name: "enable-systest-events", doc: "Print a line at the end (for Kafka's system tests)."},
		{name: "isolation-level", arg: requiredArg, def: "read_uncommitted", doc: "read_committed leaves out records of transactions that were not committed."},
		{name: "group", arg: requiredArg, hint: "consumer group id", doc: "The consumer group to be a member of."},
	}
}

// consoleJob is what the command line asks for.
type consoleJob struct {
	env       *env
	conf      clientConfig
	topic     string // "" with include
	include   string
	partition int32
	single    bool // only partition, from offset
	offset    int64
	max       int64 // -1 for no end
	timeout   time.Duration
	skipBad   bool
	events    bool
	out       formatter
	count     int64
	at        *positions // of a member that commits, else nil
	consumed  map[protocol.TopicPartition]bool
}

// positionTimeout bounds the questions about where a consumer stands.
const positionTimeout = 10 * time.Second

func newConsoleConsumer(e *env, p *parsed) (*consoleJob, error) {
	if err := checkConsoleConsumer(e, p); err != nil {
		return nil, err
	}
	j := &consoleJob{env: e, topic: p.str("topic"), include: p.str("include"), single: p.has("partition"),
		partition: p.int32("partition"), max: -1, skipBad: p.has("skip-message-on-error"), events: p.has("enable-systest-events")}
	if p.has("max-messages") {
		j.max = int64(p.int32("max-messages"))
	}
	if ms := p.int64("timeout-ms"); p.has("timeout-ms") && ms >= 0 {
		j.timeout = time.Duration(max(ms, 1)) * time.Millisecond
	}
	if p.err != nil {
		return nil, p.err
	}
	var err error
	if j.conf, err = consoleConsumerConfig(p); err != nil {
		return nil, err
	}
	if j.offset, err = startOffset(p); err != nil {
		return nil, err
	}
	j.out, err = consoleFormatter(e, p)
	return j, err
}

func checkConsoleConsumer(e *env, p *parsed) error {
	if p.has("topic") == p.has("include") {
		return &usageError{"Exactly one of the following arguments is required: [topic], [include]"}
	}
	switch {
	case p.has("partition") && !p.has("topic"):
		return &usageError{"The topic is required when partition is specified."}
	case p.has("partition") && p.has("from-beginning") && p.has("offset"):
		return &usageError{"Options from-beginning and offset cannot be specified together."}
	case !p.has("partition") && p.has("offset"):
		return &usageError{"The partition is required when offset is specified."}
	}
	if err := requireAll(p, "bootstrap-server"); err != nil {
		return err
	}
	for _, r := range [][2]string{{"command-property", "consumer-property"}, {"command-config", "consumer.config"}} {
		if p.has(r[0]) && p.has(r[1]) {
			return &usageError{fmt.Sprintf("Options --%s and --%s cannot be specified together.", r[1], r[0])}
		}
	}
	for _, r := range [][2]string{{"command-property", "consumer-property"}, {"command-config", "consumer.config"}} {
		if p.has(r[1]) {
			e.printf("Option --%s is deprecated and will be removed in a future version. Use --%s instead.\n", r[1], r[0])
		}
	}
	return nil
}

// consoleConsumerConfig gathers the consumer's settings: file, properties, options, defaults.
func consoleConsumerConfig(p *parsed) (clientConfig, error) {
	file, err := loadConfig(p.str(either(p, "command-config", "consumer.config")))
	if err != nil {
		return nil, err
	}
	props := keyValues(p.list(either(p, "command-property", "consumer-property")))
	c := file.with(props)
	group, given, err := groupID(p, file, props)
	if err != nil {
		return nil, err
	}
	if reset, ok := c["auto.offset.reset"]; ok && p.has("from-beginning") && reset != "earliest" {
		return nil, &terse{"Can't simultaneously specify --from-beginning and 'auto.offset.reset=" + reset +
			"', please remove one option"}
	}
	if p.has("from-beginning") {
		c.fallback("auto.offset.reset", "earliest")
	}
	c.fallback("auto.offset.reset", "latest")
	c["bootstrap.servers"] = p.str("bootstrap-server")
	c.fallback("client.id", "console-consumer")
	c.merge("isolation.level", p, "isolation-level")
	c["group.id"] = group
	if !given {
		c["group.id"] = "console-consumer-" + strconv.Itoa(rand.IntN(100000))
		c.fallback("enable.auto.commit", "false")
	}
	return c, p.err
}

// groupID is the group id, which may stand in three places that have to agree.
func groupID(p *parsed, file, props clientConfig) (id string, given bool, err error) {
	var ids []string
	add := func(id string, ok bool) {
		if ok && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	add(p.str("group"), p.has("group"))
	id, ok := file["group.id"]
	add(id, ok)
	id, ok = props["group.id"]
	add(id, ok)
	if len(ids) > 1 {
		return "", false, &usageError{"The group ids provided in different places (directly using '--group', via " +
			"'--consumer-property', or via '--consumer.config') do not match. Detected group ids: '" + strings.Join(ids, "', '") + "'"}
	}
	if len(ids) == 1 && p.has("partition") {
		return "", false, &usageError{"Options group and partition cannot be specified together."}
	}
	if len(ids) == 0 {
		return "", false, nil
	}
	return ids[0], true, nil
}

// startOffset is the offset of --offset: a number, timeEarliest or timeLatest.
func startOffset(p *parsed) (int64, error) {
	if !p.has("offset") {
		if p.has("from-beginning") {
			return timeEarliest, nil
		}
		return timeLatest, nil
	}
	s := p.str("offset")
	switch strings.ToLower(s) {
	case "earliest":
		return timeEarliest, nil
	case "latest":
		return timeLatest, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 0 {
		return 0, &usageError{"The provided offset value '" + s + "' is incorrect. Valid values are 'earliest', 'latest', or a non-negative long."}
	}
	return n, nil
}

func consoleFormatter(e *env, p *parsed) (formatter, error) {
	if p.has("formatter-property") && p.has("property") {
		return nil, &usageError{"Options --property and --formatter-property cannot be specified together."}
	}
	if p.has("property") {
		e.println("Option --property is deprecated and will be removed in a future version. Use --formatter-property instead.")
	}
	props, err := loadConfig(p.str("formatter-config"))
	if err != nil {
		return nil, &usageError{err.Error()}
	}
	for _, field := range []string{"key", "value"} {
		if class := p.str(field + "-deserializer"); class != "" {
			props[field+".deserializer"] = class
		}
	}
	props = props.with(keyValues(p.list(either(p, "formatter-property", "property"))))
	return newFormatter(e, p.str("formatter"), props)
}

// client opens the consumer: one partition, or a member of the group.
func (j *consoleJob) client() (*kgo.Client, error) {
	opts, err := j.env.consumerOptions(j.conf)
	if err != nil {
		return nil, err
	}
	if j.single {
		at := kgo.NewOffset().At(j.offset)
		switch j.offset {
		case timeEarliest:
			at = kgo.NewOffset().AtStart()
		case timeLatest:
			at = kgo.NewOffset().AtEnd()
		}
		opts = append(opts, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{j.topic: {j.partition: at}}))
	} else {
		group, err := groupOptions(j.conf)
		if err != nil {
			return nil, err
		}
		opts = append(opts, group...)
		if j.conf["enable.auto.commit"] != "false" {
			j.at, j.consumed = newPositions(j.conf["auto.offset.reset"]), map[protocol.TopicPartition]bool{}
			opts = append(opts, j.at.options()...)
		}
		if j.topic != "" {
			opts = append(opts, kgo.ConsumeTopics(j.topic))
		} else {
			if _, err := javaRegexp(j.include); err != nil {
				return nil, &javaError{class: "java.util.regex.PatternSyntaxException", msg: err.Error()}
			}
			opts = append(opts, kgo.ConsumeRegex(), kgo.ConsumeTopics("^(?:"+j.include+")$"))
		}
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, configError(err.Error())
	}
	return cl, nil
}

// run consumes until the end that the options set, an error or a signal.
func (j *consoleJob) run() (code int, err error) {
	cl, err := j.client()
	if err != nil {
		return 0, err
	}
	signals, stop := notifySignals()
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case s := <-signals:
			code = signalCode(s)
			cancel()
		case <-ctx.Done():
		}
	}()
	err = j.consume(ctx, cl)
	j.close(cl)
	j.env.errorf("Processed a total of %d messages\n", j.count)
	if j.events {
		j.env.println("shutdown_complete")
	}
	if ctx.Err() != nil {
		return code, err
	}
	return 0, err
}

// close commits what was written and leaves the group. A client that never became a member has neither to do, and one
// whose coordinator does not answer is not waited for long: the group drops a member that is silent.
func (j *consoleJob) close(cl *kgo.Client) {
	j.env.flush()
	member, _ := cl.GroupMetadata()
	if j.at != nil && member != "" {
		if err := j.commit(cl); err != nil {
			j.env.log("WARN", consoleConsumer, "The offsets of group "+j.conf["group.id"]+" could not be committed: "+err.Error())
		}
	}
	limit := positionTimeout
	if member == "" {
		limit = time.Second
	}
	closed := make(chan struct{})
	go func() {
		cl.CloseAllowingRebalance()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(limit):
	}
}

func (j *consoleJob) commit(cl *kgo.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*positionTimeout)
	defer cancel()
	if err := cl.CommitMarkedOffsets(ctx); err != nil {
		return err
	}
	rest, err := j.at.uncommitted(cl, j.conf["group.id"], j.consumed)
	if err != nil || len(rest) == 0 {
		return err
	}
	return commitSync(ctx, cl, rest)
}

// consume writes records until it shall end. Only a record that cannot be written is an error.
func (j *consoleJob) consume(ctx context.Context, cl *kgo.Client) error {
	for j.max < 0 || j.count < j.max {
		want := 500
		if j.max >= 0 {
			want = int(min(int64(want), j.max-j.count))
		}
		fetches, err := j.poll(ctx, cl, want)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			j.env.flush()
			fmt.Fprintf(j.env.stderr, "%s%s", logLine("ERROR", consoleConsumer,
				"Error processing message, terminating consumer process: "), trace(err))
			return nil
		}
		for _, r := range fetches.Records() {
			j.count++
			if err := j.out.write(j.env.out, r); err != nil {
				if !j.skipBad {
					return err
				}
				j.env.flush()
				fmt.Fprintf(j.env.stderr, "%s%s", logLine("ERROR", consoleConsumer,
					"Error processing message, skipping this message: "), trace(err))
			}
			if j.at != nil {
				cl.MarkCommitRecords(r)
				j.consumed[protocol.TopicPartition{Topic: r.Topic, Partition: r.Partition}] = true
			}
		}
		if j.env.out.Flush() != nil {
			j.env.errorln("Unable to write to standard out, closing consumer.")
			return nil
		}
	}
	return nil
}

// poll waits for records, as long as --timeout-ms allows.
func (j *consoleJob) poll(ctx context.Context, cl *kgo.Client, want int) (kgo.Fetches, error) {
	wait, cancel := ctx, context.CancelFunc(func() {})
	if j.timeout > 0 {
		wait, cancel = context.WithTimeout(ctx, j.timeout)
	}
	defer cancel()
	for {
		fetches := cl.PollRecords(wait, want)
		if fetches.NumRecords() > 0 {
			return fetches, nil
		}
		if wait.Err() != nil {
			return nil, &bareError{kafkaErrors + "TimeoutException"}
		}
		for _, fe := range fetches.Errors() {
			if err := consumeError(fe); err != nil {
				return nil, err
			}
		}
	}
}

// consumeError is the error of a fetch that ends the tool, nil for one that may pass.
func consumeError(fe kgo.FetchError) error {
	var session *kgo.ErrGroupSession
	if errors.As(fe.Err, &session) && codeOf(fe.Err) == 0 || isTimeout(fe.Err) || kerr.IsRetriable(fe.Err) {
		return nil
	}
	if code := codeOf(fe.Err); code != 0 {
		return &brokerError{code, cmp.Or(codeMessage(code), fe.Err.Error())}
	}
	return fe.Err
}
