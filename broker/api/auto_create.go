package api

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/protocol"
)

// topicCreator creates topics that are missing, in the background: at most one request a topic is on its
// way to the controller, however many clients ask.
type topicCreator struct {
	mu       sync.Mutex
	inFlight map[string]struct{}
	told     complaint
}

// complaint is the last failure in the log.
type complaint struct {
	topic string
	code  protocol.ErrorCode
	at    time.Time
}

// maxCreating bounds the topics that are on their way to the controller.
const maxCreating = 10_000

// create asks the controller for the topics that nobody asks for yet and does not wait.
func (t *topicCreator) create(ctx context.Context, h *handlers, c *Call, names []string) {
	names = t.claim(names)
	if len(names) == 0 {
		return
	}
	broker := h.Config().Broker()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.SetVersion(req.MaxVersion())
	req.TimeoutMillis = broker.Int("request.timeout.ms")
	for _, name := range names {
		req.Topics = append(req.Topics, creatable(name, broker))
	}
	call := &Call{Header: protocol.RequestHeader{Key: req.Key(), Version: req.Version}, Conn: c.Conn, Received: c.Received}
	go func() {
		defer t.release(names)
		ctx, cancel := context.WithTimeout(ctx, time.Duration(req.TimeoutMillis)*time.Millisecond)
		defer cancel()
		resp, _, err := h.Controller(ctx, call, req)
		if err != nil {
			h.Log.Warn("Missing topics cannot be created", zap.Strings("topics", names), zap.Error(err))
			return
		}
		for _, r := range resp.(*kmsg.CreateTopicsResponse).Topics {
			if code := protocol.ErrorCode(r.ErrorCode); code != protocol.None && code != protocol.TopicAlreadyExists && t.news(r.Topic, code, c.Received) {
				h.Log.Warn("A missing topic cannot be created", zap.String("topic", r.Topic), zap.Stringer("error", code), zap.Stringp("message", r.ErrorMessage))
			}
		}
	}()
}

// news reports that a failure is another one than the last in the log, or the same a minute later: clients
// ask again many times a second.
func (t *topicCreator) news(topic string, code protocol.ErrorCode, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.told.topic == topic && t.told.code == code && now.Sub(t.told.at) < time.Minute {
		return false
	}
	t.told = complaint{topic, code, now}
	return true
}

func (t *topicCreator) claim(names []string) []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.inFlight == nil {
		t.inFlight = make(map[string]struct{})
	}
	return slices.DeleteFunc(names, func(name string) bool {
		if _, ok := t.inFlight[name]; ok || len(t.inFlight) >= maxCreating {
			return true
		}
		t.inFlight[name] = struct{}{}
		return false
	})
}

func (t *topicCreator) release(names []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, name := range names {
		delete(t.inFlight, name)
	}
}

// creatable is a topic with the broker's defaults, or an internal one with its own settings.
func creatable(name string, broker config.Values) kmsg.CreateTopicsRequestTopic {
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic = name
	switch name {
	case protocol.ConsumerOffsetsTopic:
		t.NumPartitions = broker.Int("offsets.topic.num.partitions")
		t.ReplicationFactor = int16(broker.Int("offsets.topic.replication.factor"))
		t.Configs = configsOf("cleanup.policy", "compact", "compression.type", "producer",
			"segment.bytes", strconv.Itoa(int(broker.Int("offsets.topic.segment.bytes"))))
	case protocol.TransactionStateTopic:
		t.NumPartitions = broker.Int("transaction.state.log.num.partitions")
		t.ReplicationFactor = int16(broker.Int("transaction.state.log.replication.factor"))
		t.Configs = configsOf("cleanup.policy", "compact", "compression.type", "uncompressed", "unclean.leader.election.enable", "false",
			"min.insync.replicas", strconv.Itoa(int(broker.Int("transaction.state.log.min.isr"))),
			"segment.bytes", strconv.Itoa(int(broker.Int("transaction.state.log.segment.bytes"))))
	case protocol.ShareGroupStateTopic:
		t.NumPartitions = broker.Int("share.coordinator.state.topic.num.partitions")
		t.ReplicationFactor = int16(broker.Int("share.coordinator.state.topic.replication.factor"))
		t.Configs = configsOf("cleanup.policy", "delete", "compression.type", "producer", "retention.ms", "-1",
			"min.insync.replicas", strconv.Itoa(int(broker.Int("share.coordinator.state.topic.min.isr"))),
			"segment.bytes", strconv.Itoa(int(broker.Int("share.coordinator.state.topic.segment.bytes"))))
	default:
		t.NumPartitions = broker.Int("num.partitions")
		t.ReplicationFactor = int16(broker.Int("default.replication.factor"))
	}
	return t
}

func configsOf(pairs ...string) []kmsg.CreateTopicsRequestTopicConfig {
	var out []kmsg.CreateTopicsRequestTopicConfig
	for i := 0; i < len(pairs); i += 2 {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = pairs[i], &pairs[i+1]
		out = append(out, c)
	}
	return out
}
