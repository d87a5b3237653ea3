package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"github.com/twmb/franz-go/pkg/kgo"
)

const lineMessageReader = "org.apache.kafka.tools.LineMessageReader"

// runConsoleProducer is kafka-console-producer: a record for every line of stdin.
func runConsoleProducer(e *env) int {
	p, code, done, err := e.parse("Produces a record for every line of the standard input.", consoleProducerOptions())
	if done {
		return code
	}
	if err != nil {
		return e.usage(p, err.Error())
	}
	if err = checkConsoleProducer(e, p); e.orUsage(p, err) {
		return 1
	}
	code, err = produceLines(e, p)
	if err == nil {
		return code
	}
	if o := (*optionError)(nil); errors.As(err, &o) {
		e.errorln(err)
	} else {
		e.errorf("%s", trace(err))
	}
	return 1
}

func consoleProducerOptions() []option {
	const reader = "key=value for the reader of lines:\n parse.key=false\n parse.headers=false\n ignore.error=false\n" +
		" key.separator=\\t\n headers.delimiter=\\t (ends the headers)\n headers.separator=, (between headers)\n" +
		" headers.key.separator=: (in a header)\n null.marker= (a field that equals it is null)\n" +
		"A line is headers, key, value, as far as they are parsed."
	return []option{
		{name: "topic", arg: requiredArg, hint: "topic", doc: "REQUIRED: the topic to produce to."},
		{name: "bootstrap-server", arg: requiredArg, hint: "server to connect to", doc: "REQUIRED: host:port of a broker, or several separated by commas."},
		{name: "sync", doc: "Wait for each record to be acknowledged before reading the next."},
		{name: "compression-codec", arg: optionalArg, hint: "compression-codec", doc: "none, gzip, snappy, lz4 or zstd; gzip if no name follows."},
		{name: "batch-size", arg: requiredArg, kind: "Integer", hint: "size", def: "16384", doc: "batch.size: bytes of a batch before it is sent."},
		{name: "message-send-max-retries", arg: requiredArg, kind: "Integer", def: "3", doc: "retries: how often a record is sent again before it is given up."},
		{name: "retry-backoff-ms", arg: requiredArg, kind: "Long", def: "100", doc: "retry.backoff.ms: pause before sending again."},
		{name: "timeout", arg: requiredArg, kind: "Long", hint: "timeout_ms", def: "1000", doc: "linger.ms: how long a record waits for more to share its batch."},
		{name: "request-required-acks", arg: requiredArg, hint: "request required acks", def: "-1", doc: "acks: 0, 1, or -1 and all for every replica in sync."},
		{name: "request-timeout-ms", arg: requiredArg, kind: "Integer", hint: "request timeout ms", def: "1500", doc: "request.timeout.ms: how long the broker may wait for the replicas."},
		{name: "metadata-expiry-ms", arg: requiredArg, kind: "Long", hint: "metadata expiration interval", def: "300000", doc: "metadata.max.age.ms: how often metadata is asked for anyway."},
		{name: "max-block-ms", arg: requiredArg, kind: "Long", hint: "max block on send", def: "60000", doc: "max.block.ms: how long to wait for the topic to be known."},
		{name: "max-memory-bytes", arg: requiredArg, kind: "Long", hint: "total memory in bytes", def: "33554432", doc: "buffer.memory: bytes that may wait to be sent."},
		{name: "max-partition-memory-bytes", arg: requiredArg, kind: "Integer", hint: "memory in bytes per partition", def: "16384", doc: "(Deprecated) The old name of --batch-size."},
		{name: "line-reader", arg: requiredArg, hint: "reader_class", def: lineMessageReader, doc: "The reader of lines; there is no other here."},
		{name: "socket-buffer-size", arg: requiredArg, kind: "Integer", hint: "size", def: "102400", doc: "send.buffer.bytes: has no effect here."},
		{name: "property", arg: requiredArg, hint: "prop", doc: "(DEPRECATED) The old name of --reader-property."},
		{name: "reader-property", arg: requiredArg, hint: "prop", doc: reader},
		{name: "reader-config", arg: requiredArg, hint: "config file", doc: "Properties file for the reader of lines; --reader-property goes before it."},
		{name: "producer-property", arg: requiredArg, hint: "producer_prop", doc: "(DEPRECATED) The old name of --command-property."},
		{name: "command-property", arg: requiredArg, hint: "producer_prop", doc: "key=value setting of the producer."},
		{name: "producer.config", arg: requiredArg, hint: "config file", doc: "(DEPRECATED) The old name of --command-config."},
		{name: "command-config", arg: requiredArg, hint: "config file", doc: "Properties file with settings of the producer; --command-property goes before it."},
	}
}

// renamedProducerOptions are options with a deprecated name: the new one, the old one.
var renamedProducerOptions = [][2]string{
	{"command-config", "producer.config"}, {"command-property", "producer-property"}, {"reader-property", "property"},
}

func checkConsoleProducer(e *env, p *parsed) error {
	if err := requireAll(p, "topic"); err != nil {
		return err
	}
	for _, r := range renamedProducerOptions {
		if p.has(r[0]) && p.has(r[1]) {
			return &usageError{fmt.Sprintf("Options --%s and --%s cannot be specified together.", r[0], r[1])}
		}
	}
	for _, r := range [][2]string{renamedProducerOptions[1], renamedProducerOptions[0], renamedProducerOptions[2]} {
		if p.has(r[1]) {
			e.printf("Warning: --%s is deprecated and will be removed in a future version. Use --%s instead.\n", r[1], r[0])
		}
	}
	if p.has("max-partition-memory-bytes") {
		e.println("Warning: --max-partition-memory-bytes is deprecated and will be removed in Apache Kafka 5.0. Use --batch-size instead.")
	}
	return checkHostPorts(p.str("bootstrap-server"))
}

// either returns the name that was used of an option with two names.
func either(p *parsed, newName, oldName string) string {
	if p.has(oldName) {
		return oldName
	}
	return newName
}

// consoleProducerConfig gathers the producer's settings: file, properties, options, defaults.
func consoleProducerConfig(p *parsed) (clientConfig, error) {
	c, err := loadConfig(p.str(either(p, "command-config", "producer.config")))
	if err != nil {
		return nil, err
	}
	c = c.with(keyValues(p.list(either(p, "command-property", "producer-property"))))
	c["bootstrap.servers"] = p.str("bootstrap-server")
	c["compression.type"] = "none"
	if p.has("compression-codec") {
		c["compression.type"] = cmp.Or(p.str("compression-codec"), "gzip")
	}
	c.fallback("client.id", "console-producer")
	for _, o := range []struct {
		key, opt string
		bits     int
	}{
		{"linger.ms", "timeout", 64}, {"acks", "request-required-acks", 0}, {"request.timeout.ms", "request-timeout-ms", 32},
		{"retries", "message-send-max-retries", 32}, {"retry.backoff.ms", "retry-backoff-ms", 64},
		{"buffer.memory", "max-memory-bytes", 64}, {"batch.size", "batch-size", 32},
		{"batch.size", "max-partition-memory-bytes", 32}, {"metadata.max.age.ms", "metadata-expiry-ms", 64},
		{"max.block.ms", "max-block-ms", 64},
	} {
		if o.bits != 0 {
			p.integer(o.opt, o.bits)
		}
		c.merge(o.key, p, o.opt)
	}
	return c, p.err
}

// produceLines runs until the end of stdin, an error or a signal; buffered records are sent in all cases.
func produceLines(e *env, p *parsed) (int, error) {
	if class := p.str("line-reader"); class != lineMessageReader {
		return 0, &javaError{class: "java.lang.ClassNotFoundException", msg: class}
	}
	readerProps, err := loadConfig(p.str("reader-config"))
	if err != nil {
		return 0, err
	}
	readerProps = readerProps.with(keyValues(p.list(either(p, "reader-property", "property"))))
	topic := p.str("topic")
	if p.err != nil {
		return 0, p.err
	}
	reader, err := newLineReader(topic, readerProps, e.stdin)
	if err != nil {
		return 0, err
	}
	conf, err := consoleProducerConfig(p)
	if err != nil {
		return 0, err
	}
	prod, err := e.newProducer(conf)
	if err != nil {
		return 0, err
	}
	defer prod.close()
	signals, stop := notifySignals()
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- sendLines(e, reader, prod, p.has("sync")) }()
	select {
	case err := <-ended:
		return 0, err
	case s := <-signals:
		return signalCode(s), nil
	}
}

// sendLines sends a record for every line. Without sync, a record that cannot be sent is an error on stderr only.
func sendLines(e *env, reader *lineReader, prod *producer, sync bool) error {
	prompt := isTerminal(e.stdin) && isTerminal(e.stdout)
	for {
		if prompt {
			e.printf(">")
		}
		e.flush()
		rec, err := reader.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if !sync {
			prod.send(rec, func(r *kgo.Record, err error) { logSendError(e, r, err) })
			continue
		}
		result := make(chan error, 1)
		prod.send(rec, func(_ *kgo.Record, err error) { result <- err })
		if err := <-result; err != nil {
			return &javaError{class: "java.util.concurrent.ExecutionException",
				msg: className(err) + ": " + err.Error(), cause: err}
		}
	}
}

func logSendError(e *env, r *kgo.Record, err error) {
	if err == nil {
		return
	}
	size := func(b []byte) string {
		if b == nil {
			return "null"
		}
		return fmt.Sprintf("%d bytes", len(b))
	}
	fmt.Fprintf(e.stderr, "%s%s", logLine("ERROR", "org.apache.kafka.clients.producer.internals.ErrorLoggingCallback",
		fmt.Sprintf("Error when sending message to topic %s with key: %s, value: %s with error:", r.Topic, size(r.Key), size(r.Value))),
		trace(err))
}
