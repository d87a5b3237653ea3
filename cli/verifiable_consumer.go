package cli

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// runVerifiableConsumer is kafka-verifiable-consumer: consume as a member of a group and print what happens.
func runVerifiableConsumer(e *env) int {
	cmd := verifiableConsumerCommand()
	if len(e.args) == 0 {
		e.complain(&argError{path: []command{cmd}, help: true})
		return 0
	}
	ns, err := parseCommand(cmd, e.args)
	code := 1
	if err == nil {
		code, err = verifiableConsumer(e, ns)
	}
	var bad *argError
	switch {
	case err == nil:
		return code
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

func verifiableConsumerCommand() command {
	return command{name: "verifiable-consumer", help: "Consumes a topic as a member of a group and prints, as JSON, assignments, records and commits.", args: []argument{
		{names: []string{"--topic"}, required: true, help: "The topic to consume."},
		{names: []string{"--bootstrap-server"}, group: "connection", oneOf: true, metavar: "HOST1:PORT1[,HOST2:PORT2[...]]", help: "host:port of a broker, or several separated by commas."},
		{names: []string{"--group-protocol"}, metavar: "GROUP-PROTOCOL", def: "classic", help: "classic or consumer."},
		{names: []string{"--group-remote-assignor"}, metavar: "GROUP-REMOTE-ASSIGNOR", help: "With protocol consumer: the brokers' assignor, uniform or range."},
		{names: []string{"--group-id"}, required: true, metavar: "GROUP-ID", help: "The consumer group."},
		{names: []string{"--group-instance-id"}, metavar: "GROUP-INSTANCE-ID", help: "A name of this member that stays over restarts."},
		{names: []string{"--max-messages"}, number: true, metavar: "MAX-MESSAGES", def: "-1", help: "How many records to consume; -1 for no end."},
		{names: []string{"--session-timeout"}, number: true, metavar: "TIMEOUT-MS", help: "How long a silent member stays in the group."},
		{names: []string{"--verbose"}, flag: true, help: "Print every record."},
		{names: []string{"--enable-autocommit"}, flag: true, help: "Commit now and then instead of after every poll."},
		{names: []string{"--close-timeout"}, number: true, metavar: "CLOSE-TIMEOUT-MS", def: "30000", help: "How long leaving the group may take."},
		{names: []string{"--reset-policy"}, metavar: "RESET-POLICY", def: "earliest", help: "Where to start without a committed offset: earliest, latest, none."},
		{names: []string{"--assignment-strategy"}, metavar: "ASSIGNMENT-STRATEGY", def: "org.apache.kafka.clients.consumer.RangeAssignor", help: "With protocol classic: the class of the assignor."},
		{names: []string{"--consumer.config"}, metavar: "CONFIG-FILE", help: "(DEPRECATED) The old name of --command-config."},
		{names: []string{"--command-config"}, metavar: "CONFIG-FILE", help: "Properties file with settings of the consumer."},
	}}
}

// What the events of the consumer have beside time and name.
type (
	partitionsEvent struct {
		event
		Partitions []partitionJSON `json:"partitions"`
	}
	recordEvent struct {
		event
		Key       *string `json:"key"`
		Value     *string `json:"value"`
		Topic     string  `json:"topic"`
		Partition int32   `json:"partition"`
		Offset    int64   `json:"offset"`
	}
	consumedEvent struct {
		event
		Count      int64         `json:"count"`
		Partitions []consumedSet `json:"partitions"`
	}
	consumedSet struct {
		partitionJSON
		Count int64 `json:"count"`
		Min   int64 `json:"minOffset"`
		Max   int64 `json:"maxOffset"`
	}
	committedEvent struct {
		event
		Offsets []committedOffset `json:"offsets"`
		Error   *string           `json:"error,omitempty"`
		Success bool              `json:"success"`
	}
	committedOffset struct {
		partitionJSON
		Offset int64 `json:"offset"`
	}
)

func verifiableConsumerConfig(e *env, ns *namespace) (clientConfig, error) {
	conf, err := toolConfig(e, ns, "consumer.config")
	if err != nil {
		return nil, err
	}
	conf = conf.with(clientConfig{"bootstrap.servers": ns.str("bootstrap-server"), "group.id": ns.str("group-id"),
		"group.protocol": "classic", "auto.offset.reset": "earliest", "enable.auto.commit": strconv.FormatBool(ns.has("enable-autocommit"))})
	conf.fallback("client.id", "consumer-"+ns.str("group-id")+"-1")
	for arg, key := range map[string]string{"group-protocol": "group.protocol", "group-instance-id": "group.instance.id",
		"session-timeout": "session.timeout.ms", "reset-policy": "auto.offset.reset"} {
		if ns.has(arg) {
			conf[key] = ns.str(arg)
		}
	}
	if strings.EqualFold(conf["group.protocol"], "classic") {
		conf["partition.assignment.strategy"] = "org.apache.kafka.clients.consumer.RangeAssignor"
		if ns.has("assignment-strategy") {
			conf["partition.assignment.strategy"] = ns.str("assignment-strategy")
		}
	} else if ns.has("group-remote-assignor") {
		conf["group.remote.assignor"] = ns.str("group-remote-assignor")
	}
	return conf, nil
}

// verifyingConsumer is one run of the tool.
type verifyingConsumer struct {
	log     *eventLog
	cl      *kgo.Client
	most    int64 // records to consume, -1 for no end
	verbose bool
	auto    bool // commits are the client library's
	count   int64
}

func verifiableConsumer(e *env, ns *namespace) (int, error) {
	conf, err := verifiableConsumerConfig(e, ns)
	if err != nil {
		return 0, err
	}
	opts, err := e.consumerOptions(conf)
	if err != nil {
		return 0, err
	}
	group, err := groupOptions(conf)
	if err != nil {
		return 0, err
	}
	v := &verifyingConsumer{log: &eventLog{env: e}, most: ns.intOr("max-messages", -1), verbose: ns.has("verbose"), auto: ns.has("enable-autocommit")}
	note := func(name string) func(context.Context, *kgo.Client, map[string][]int32) {
		return func(_ context.Context, _ *kgo.Client, m map[string][]int32) {
			v.log.print(partitionsEvent{eventNamed(name), partitionsJSON(m)})
		}
	}
	// Rebalances wait until what was polled is committed.
	opts = append(append(opts, group...), kgo.ConsumeTopics(ns.str("topic")), kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(note("partitions_assigned")), kgo.OnPartitionsRevoked(note("partitions_revoked")), kgo.OnPartitionsLost(note("partitions_revoked")))
	v.log.print(eventNamed("startup_complete"))
	if v.cl, err = kgo.NewClient(opts...); err != nil {
		return 0, configError(err.Error())
	}
	return v.run(time.Duration(ns.intOr("close-timeout", 30_000)) * time.Millisecond), nil
}

// run consumes until there are enough records or a signal comes, and leaves the group.
func (v *verifyingConsumer) run(closeTimeout time.Duration) int {
	signals, stop := notifySignals()
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	code := make(chan int, 1)
	go func() {
		select {
		case s := <-signals:
			v.log.print(eventNamed("shutdown_requested"))
			code <- signalCode(s)
			cancel()
		case <-ctx.Done():
		}
	}()
	for (v.most < 0 || v.count < v.most) && ctx.Err() == nil {
		v.poll(ctx)
	}
	interrupted := ctx.Err() != nil
	closing, done := context.WithTimeout(context.Background(), closeTimeout)
	defer done()
	if v.auto {
		_ = v.cl.CommitMarkedOffsets(closing) // the tool has no event for it
	}
	_ = v.cl.LeaveGroupContext(closing) // the group drops a member that does not answer
	v.cl.CloseAllowingRebalance()
	v.log.print(eventNamed("shutdown_complete"))
	if interrupted {
		return <-code
	}
	v.log.print(eventNamed("shutdown_requested"))
	return 0
}

// poll waits for records, prints them and commits them.
func (v *verifyingConsumer) poll(ctx context.Context) {
	want := 500
	if v.most >= 0 {
		want = int(min(int64(want), v.most-v.count))
	}
	fetches := v.cl.PollRecords(ctx, want)
	defer v.cl.AllowRebalance()
	if fetches.NumRecords() == 0 {
		return
	}
	consumed := consumedEvent{event: eventNamed("records_consumed"), Count: int64(fetches.NumRecords())}
	commits := map[string]map[int32]kgo.EpochOffset{}
	committed := committedEvent{Success: true}
	fetches.EachPartition(func(p kgo.FetchTopicPartition) {
		n := len(p.Records)
		if n == 0 {
			return
		}
		for _, r := range p.Records {
			if v.verbose {
				v.log.print(recordEvent{eventNamed("record_data"), textOf(r.Key), textOf(r.Value), r.Topic, r.Partition, r.Offset})
			}
		}
		last, tp := p.Records[n-1], partitionJSON{p.Topic, p.Partition}
		consumed.Partitions = append(consumed.Partitions, consumedSet{tp, int64(n), p.Records[0].Offset, last.Offset})
		committed.Offsets = append(committed.Offsets, committedOffset{tp, last.Offset + 1})
		if commits[p.Topic] == nil {
			commits[p.Topic] = map[int32]kgo.EpochOffset{}
		}
		commits[p.Topic][p.Partition] = kgo.EpochOffset{Epoch: last.LeaderEpoch, Offset: last.Offset + 1}
		v.count += int64(n)
		v.cl.MarkCommitRecords(last)
	})
	v.log.print(consumed)
	if v.auto {
		return
	}
	commitCtx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := commitSync(commitCtx, v.cl, commits); err != nil {
		text := err.Error()
		committed.Error, committed.Success = &text, false
	}
	committed.event = eventNamed("offsets_committed")
	v.log.print(committed)
}

// textOf is a key or value as text, nil for null.
func textOf(b []byte) *string {
	if b == nil {
		return nil
	}
	s := string(b)
	return &s
}
