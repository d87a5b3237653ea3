package cli

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// producerKeys are the producer settings that have an effect in these tools, beside those of every client.
var producerKeys = []string{"acks", "batch.size", "buffer.memory", "compression.type", "delivery.timeout.ms",
	"enable.idempotence", "linger.ms", "max.block.ms", "max.request.size", "request.timeout.ms", "retries",
	"transactional.id", "transaction.timeout.ms", "max.in.flight.requests.per.connection"}

// producer sends records with Kafka's producer settings.
type producer struct {
	cl       *kgo.Client
	maxBlock time.Duration
	known    map[string]error // topics that awaitTopic has settled
}

// newProducer opens a producer; close it. The settings have bootstrap.servers and client.id.
func (e *env) newProducer(c clientConfig) (*producer, error) {
	opts, err := producerOptions(c)
	if err != nil {
		return nil, err
	}
	maxBlock, err := c.millis("max.block.ms", time.Minute)
	if err != nil {
		return nil, err
	}
	e.reportUnused(c, producerKeys)
	base, err := e.clientOptions(c, "producer", "Producer")
	if err != nil {
		return nil, err
	}
	cl, err := kgo.NewClient(append(base, opts...)...)
	if err != nil {
		return nil, configError(err.Error())
	}
	return &producer{cl: cl, maxBlock: maxBlock, known: map[string]error{}}, nil
}

func producerOptions(c clientConfig) ([]kgo.Opt, error) {
	n := numbers{conf: c}
	linger := n.millis("linger.ms", 5*time.Millisecond)
	timeout := n.millis("request.timeout.ms", 30*time.Second)
	delivery := n.millis("delivery.timeout.ms", 2*time.Minute)
	size := n.int("batch.size", 16384)
	largest := n.int("max.request.size", 1048576)
	memory := n.int("buffer.memory", 32<<20)
	retries := n.int("retries", math.MaxInt32)
	if n.err != nil {
		return nil, n.err
	}
	acks, err := c.oneOf("acks", "all", "all", "-1", "0", "1")
	if err != nil {
		return nil, err
	}
	codec, err := c.oneOf("compression.type", "none", "none", "gzip", "snappy", "lz4", "zstd")
	if err != nil {
		return nil, err
	}
	opts := []kgo.Opt{
		kgo.AllowAutoTopicCreation(),
		kgo.ProducerLinger(linger),
		// A record may be larger than batch.size; then it goes alone. The client library has the one limit only.
		kgo.ProducerBatchMaxBytes(int32(min(max(size, largest), 1<<30))),
		kgo.MaxBufferedBytes(int(max(memory, 1))),
		kgo.MaxBufferedRecords(1 << 20),
		kgo.ProduceRequestTimeout(timeout),
		kgo.RecordDeliveryTimeout(max(delivery, time.Second)),
		kgo.RecordRetries(int(min(retries, math.MaxInt32))),
		kgo.ProducerBatchCompression(codecOf(codec)),
	}
	idempotent := c["enable.idempotence"] != "false"
	switch acks {
	case "0":
		opts = append(opts, kgo.RequiredAcks(kgo.NoAck()))
		idempotent = false
	case "1":
		opts = append(opts, kgo.RequiredAcks(kgo.LeaderAck()))
		idempotent = false
	}
	if !idempotent || retries == 0 {
		opts = append(opts, kgo.DisableIdempotentWrite())
		if inFlight := n.int("max.in.flight.requests.per.connection", 5); inFlight > 1 {
			opts = append(opts, kgo.MaxProduceRequestsInflightPerBroker(int(inFlight)))
		}
	}
	if id := c["transactional.id"]; id != "" {
		opts = append(opts, kgo.TransactionalID(id),
			kgo.TransactionTimeout(n.millis("transaction.timeout.ms", time.Minute)))
	}
	return opts, n.err
}

func codecOf(name string) kgo.CompressionCodec {
	switch name {
	case "gzip":
		return kgo.GzipCompression()
	case "snappy":
		return kgo.SnappyCompression()
	case "lz4":
		return kgo.Lz4Compression()
	case "zstd":
		return kgo.ZstdCompression()
	}
	return kgo.NoCompression()
}

// oneOf reads a setting that has few valid values.
func (c clientConfig) oneOf(key, def string, valid ...string) (string, error) {
	v, ok := c[key]
	if !ok {
		v = def
	}
	if !slices.Contains(valid, v) {
		return "", configError(fmt.Sprintf("Invalid value %s for configuration %s: String must be one of: %s",
			v, key, strings.Join(valid, ", ")))
	}
	return v, nil
}

// numbers reads several numeric settings and keeps the first error.
type numbers struct {
	conf clientConfig
	err  error
}

func (n *numbers) int(key string, def int64) int64 {
	v, err := n.conf.number(key, def)
	n.err = firstError(n.err, err)
	return v
}

func (n *numbers) millis(key string, def time.Duration) time.Duration {
	v, err := n.conf.millis(key, def)
	n.err = firstError(n.err, err)
	return v
}

// awaitTopic waits until the topic is there, which may create it, for max.block.ms. It asks once for each topic.
func (p *producer) awaitTopic(topic string) error {
	if err, ok := p.known[topic]; ok {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.maxBlock)
	defer cancel()
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		settled, err := p.askTopic(ctx, topic)
		if settled {
			p.known[topic] = err
			return err
		}
		select {
		case <-ctx.Done():
			return &javaError{class: kafkaErrors + "TimeoutException",
				msg: fmt.Sprintf("Topic %s not present in metadata after %d ms.", topic, p.maxBlock.Milliseconds())}
		case <-time.After(pause):
		}
	}
}

// askTopic asks for the topic's metadata once. It is settled if the topic is there or never can be.
func (p *producer) askTopic(ctx context.Context, topic string) (settled bool, err error) {
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(topic)
	req.Topics, req.AllowAutoTopicCreation = append(req.Topics, t), true
	resp, err := p.cl.Request(ctx, req)
	if err != nil {
		return false, nil
	}
	topics := resp.(*kmsg.MetadataResponse).Topics
	if len(topics) != 1 {
		return false, nil
	}
	switch code := protocol.ErrorCode(topics[0].ErrorCode); code {
	case protocol.None:
		return true, nil
	case protocol.InvalidTopicException:
		return true, &brokerError{code, "Invalid topics: [" + topic + "]"}
	case protocol.TopicAuthorizationFailed:
		return true, &brokerError{code, "Not authorized to access topics: [" + topic + "]"}
	}
	return false, nil
}

// send buffers a record and calls done when it is acknowledged or given up, maybe on another goroutine. It blocks
// while the topic is not known and while the buffer is full.
func (p *producer) send(r *kgo.Record, done func(*kgo.Record, error)) {
	if err := p.awaitTopic(r.Topic); err != nil {
		done(r, err)
		return
	}
	p.cl.Produce(context.Background(), r, func(r *kgo.Record, err error) { done(r, produceError(err)) })
}

// close sends what is buffered and closes the connections.
func (p *producer) close() {
	_ = p.cl.Flush(context.Background()) // fails only when its context ends
	p.cl.Close()
}

// produceError names an error of the client library as Kafka's producer does.
func produceError(err error) error {
	if err == nil {
		return nil
	}
	if code := codeOf(err); code != protocol.None {
		if code == protocol.InvalidRecord {
			return &javaError{class: "org.apache.kafka.common.InvalidRecordException", msg: codeMessage(code), cause: err}
		}
		return &brokerError{code, codeMessage(code)}
	}
	if err == kgo.ErrRecordTimeout || isTimeout(err) {
		return &javaError{class: kafkaErrors + "TimeoutException", msg: err.Error(), cause: err}
	}
	return err
}
