package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// runVerifiableProducer is kafka-verifiable-producer: produce numbers and say of each whether it was acknowledged.
func runVerifiableProducer(e *env) int {
	cmd := verifiableProducerCommand()
	if len(e.args) == 0 {
		e.complain(&argError{path: []command{cmd}, help: true})
		return 0
	}
	ns, err := parseCommand(cmd, e.args)
	code := 1
	if err == nil {
		code, err = verifiableProducer(e, ns)
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

func verifiableProducerCommand() command {
	return command{name: "verifiable-producer", help: "Produces 0, 1, 2 and so on and prints, as JSON, which were acknowledged and which were not.", args: []argument{
		{names: []string{"--topic"}, required: true, help: "The topic to produce to."},
		{names: []string{"--bootstrap-server"}, group: "connection", oneOf: true, metavar: "HOST1:PORT1[,HOST2:PORT2[...]]", help: "REQUIRED: host:port of a broker, or several separated by commas."},
		{names: []string{"--max-messages"}, number: true, metavar: "MAX-MESSAGES", def: "-1", help: "How many to produce; -1 for no end."},
		{names: []string{"--throughput"}, number: true, def: "-1", help: "Records a second, about; -1 for as many as possible."},
		{names: []string{"--acks"}, choices: []string{"0", "1", "-1"}, def: "-1", help: "Whom to wait for: nobody, the leader, all replicas in sync."},
		{names: []string{"--producer.config"}, metavar: "CONFIG-FILE", help: "(DEPRECATED) The old name of --command-config."},
		{names: []string{"--message-create-time"}, number: true, metavar: "CREATE-TIME", def: "-1", help: "The timestamp of the first record; later ones follow the clock."},
		{names: []string{"--value-prefix"}, number: true, metavar: "VALUE-PREFIX", help: "Values are this, a dot and the number."},
		{names: []string{"--repeating-keys"}, number: true, metavar: "REPEATING-KEYS", help: "Keys are numbers below this, over and over."},
		{names: []string{"--command-config"}, metavar: "CONFIG-FILE", help: "Properties file with settings of the producer."},
	}}
}

// What the events of the producer have beside time and name.
type (
	sendSuccess struct {
		event
		Key       *string `json:"key"`
		Value     string  `json:"value"`
		Offset    int64   `json:"offset"`
		Topic     string  `json:"topic"`
		Partition int32   `json:"partition"`
	}
	sendFailure struct {
		event
		Topic     string  `json:"topic"`
		Key       *string `json:"key"`
		Value     string  `json:"value"`
		Exception string  `json:"exception"`
		Message   string  `json:"message"`
	}
	producerData struct {
		event
		Sent   int64   `json:"sent"`
		Acked  int64   `json:"acked"`
		Target int64   `json:"target_throughput"`
		Rate   float64 `json:"avg_throughput"`
	}
)

// toolConfig is the properties file of --command-config or of its old name.
func toolConfig(e *env, ns *namespace, old string) (clientConfig, error) {
	if ns.has(old) && ns.has("command-config") {
		return nil, &argError{msg: fmt.Sprintf("Options --%s and --command-config are mutually exclusive.", old)}
	}
	file := ns.str("command-config")
	if ns.has(old) {
		e.printf("Option --%s has been deprecated and will be removed in a future version. Use --command-config instead.\n", old)
		file = ns.str(old)
	}
	c, err := loadConfig(file)
	if err != nil {
		return nil, &argError{msg: err.Error()}
	}
	return c, nil
}

func verifiableProducer(e *env, ns *namespace) (int, error) {
	file, err := toolConfig(e, ns, "producer.config")
	if err != nil {
		return 0, err
	}
	acks := "-1"
	if ns.has("acks") {
		acks = ns.str("acks")
	}
	conf := clientConfig{"bootstrap.servers": ns.str("bootstrap-server"), "acks": acks, "retries": "0", "client.id": "producer-1"}.with(file)
	prod, err := e.newProducer(conf)
	if err != nil {
		return 0, err
	}
	signals, stop := notifySignals()
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	code := make(chan int, 1)
	go func() {
		select {
		case s := <-signals:
			code <- signalCode(s)
			cancel()
		case <-ctx.Done():
		}
	}()
	log := &eventLog{env: e}
	start := time.Now()
	sent, acked := produceNumbers(ctx, prod, ns, log)
	prod.close()
	log.print(eventNamed("shutdown_complete"))
	log.print(producerData{eventNamed("tool_data"), sent, acked.Load(), ns.intOr("throughput", -1),
		float64(acked.Load()) / time.Since(start).Seconds()})
	if ctx.Err() != nil {
		return <-code, nil
	}
	return 0, nil
}

// produceNumbers sends the numbers, at the rate that the options set, until there are enough or ctx ends. The second
// answer counts on while what is buffered is sent.
func produceNumbers(ctx context.Context, prod *producer, ns *namespace, log *eventLog) (int64, *atomic.Int64) {
	var acked atomic.Int64
	start := time.Now()
	limit := throttle{start: start, rate: float64(ns.intOr("throughput", -1))}
	topic, most, keys, created := ns.str("topic"), ns.intOr("max-messages", -1), ns.int("repeating-keys"), ns.intOr("message-create-time", -1)
	log.print(eventNamed("startup_complete"))
	sent := int64(0)
	for ; (most < 0 || sent < most) && ctx.Err() == nil; sent++ {
		value := strconv.FormatInt(sent, 10)
		if ns.has("value-prefix") {
			value = ns.str("value-prefix") + "." + value
		}
		r := &kgo.Record{Topic: topic, Value: []byte(value)}
		var key *string
		if keys > 0 {
			k := strconv.FormatInt(sent%keys, 10)
			key, r.Key = &k, []byte(k)
		}
		if created >= 0 {
			r.Timestamp = time.UnixMilli(created).Add(time.Since(start))
		}
		prod.send(r, func(r *kgo.Record, err error) {
			if err != nil {
				log.print(sendFailure{eventNamed("producer_send_error"), topic, key, value, "class " + className(err), err.Error()})
				return
			}
			acked.Add(1)
			log.print(sendSuccess{eventNamed("producer_send_success"), key, value, r.Offset, topic, r.Partition})
		})
		limit.wait(ctx, sent)
	}
	return sent, &acked
}
