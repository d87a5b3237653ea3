package api

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
	"github.com/ottla/ottla/replication"
	"github.com/ottla/ottla/storage"
)

// Produce 3 to 13.
//
//   - v5: log start offset; v7: zstd is allowed (KIP-110); v8: which records were at fault (KIP-467); v10: where
//     the leader went (KIP-951); v11: TRANSACTION_ABORTABLE (KIP-890); v12: partitions become part of a transaction by
//     themselves (KIP-890); v13: topics by id (KIP-516).
//   - Each partition's records are one batch of the current format, appended as they are but for what the
//     leader fills in. Topics are never created here.
//   - acks=0: no answer; an error closes the connection, the only way to tell. acks=-1: the answer waits
//     for the in-sync replicas, later requests of the connection go on meanwhile.
func (h *handlers) produce(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.ProduceRequest)
	resp := r.ResponseKind().(*kmsg.ProduceResponse)
	resp.Topics = make([]kmsg.ProduceResponseTopic, len(r.Topics))
	p := producing{h: h, call: c, req: r, resp: resp, hints: leaderHints{view: view{h.Metadata(), c.Conn.Listener}}}
	if p.refuse = p.refusal(); p.refuse == nil && r.TransactionID != nil {
		p.verify(ctx)
	}
	for i := range r.Topics {
		p.topic(&r.Topics[i], &resp.Topics[i])
	}
	for _, n := range p.hints.nodes {
		b := kmsg.NewProduceResponseBroker()
		b.NodeID, b.Host, b.Port, b.Rack = n.id, n.host, n.port, n.rack
		resp.Brokers = append(resp.Brokers, b)
	}
	switch {
	case r.Acks == 0 && p.failed != nil:
		return Reply{}, fmt.Errorf("produce with acks=0: %w", p.failed)
	case r.Acks == 0:
		return NoReply(), nil
	case len(p.waits) > 0:
		return p.wait(), nil
	}
	return Body(resp), nil
}

// adminClient is the client id whose requests may write to internal topics.
const adminClient = "__admin_client"

// producing is one request on its way.
type producing struct {
	h      *handlers
	call   *Call
	req    *kmsg.ProduceRequest
	resp   *kmsg.ProduceResponse
	hints  leaderHints
	refuse error // for every partition
	failed error // of some partition
	// verdicts are about the batches of a transaction, by the partition's place in the request.
	verdicts map[*kmsg.ProduceRequestTopicPartition]verdict
	waits    []produceWait
}

// produceWait is a partition whose answer is due when the high watermark gets there.
type produceWait struct {
	partition *replication.Partition
	offset    int64
	out       *kmsg.ProduceResponseTopicPartition
}

// refusal is what is wrong with the request as a whole.
func (p *producing) refusal() error {
	if acks := p.req.Acks; acks != 0 && acks != 1 && acks != replication.AllReplicas {
		return protocol.InvalidRequiredAcks
	}
	return p.transactionRefusal()
}

func (p *producing) topic(in *kmsg.ProduceRequestTopic, out *kmsg.ProduceResponseTopic) {
	t, code := findTopic(p.hints.image, in.Topic, in.TopicID, p.req.Version >= 13)
	if t != nil {
		out.Topic, out.TopicID = t.Name, t.ID // the request's name goes with its frame
	} else {
		out.Topic, out.TopicID = string([]byte(in.Topic)), in.TopicID
	}
	out.Partitions = make([]kmsg.ProduceResponseTopicPartition, len(in.Partitions))
	for i := range in.Partitions {
		o := &out.Partitions[i]
		o.Default()
		o.Partition = in.Partitions[i].Partition
		var err error = code
		if code == protocol.None {
			err = p.append(t, &in.Partitions[i], o)
		}
		if err != nil {
			p.fail(t, o, err)
		}
	}
}

func (p *producing) append(t *metadata.Topic, in *kmsg.ProduceRequestTopicPartition, out *kmsg.ProduceResponseTopicPartition) error {
	if t.Partition(in.Partition) == nil {
		return protocol.UnknownTopicOrPartition
	}
	if p.refuse != nil {
		return p.refuse
	}
	if !p.mayWrite(t) {
		return &protocol.Fault{Code: protocol.InvalidTopicException, Message: "Cannot append to internal topic " + t.Name}
	}
	part, err := p.h.Partitions.Partition(protocol.TopicPartition{Topic: t.Name, Partition: in.Partition})
	if err != nil {
		return err
	}
	v := p.verdicts[in]
	if v.err != nil {
		return v.err
	}
	done, err := part.Append(in.Records, replication.AppendOptions{
		Acks: p.req.Acks, Origin: storage.Client, LeaderEpoch: replication.AnyEpoch, RefuseZstd: p.req.Version < 7, Guard: v.guard,
	})
	if err != nil {
		out.LogStartOffset = startBeside(part, err)
		return err
	}
	out.BaseOffset, out.LogAppendTime, out.LogStartOffset = done.BaseOffset, done.LogAppendTime, done.LogStartOffset
	if p.req.Acks == replication.AllReplicas && !replicated(part, done.AwaitOffset) {
		p.waits = append(p.waits, produceWait{part, done.AwaitOffset, out})
	}
	return nil
}

// startBeside is the log start offset that goes with an error of an append: Kafka has none beside some codes.
func startBeside(part *replication.Partition, err error) int64 {
	var rejected *record.Rejection
	if errors.As(err, &rejected) && rejected.Early {
		return -1
	}
	switch protocol.CodeOf(err) {
	case protocol.NotLeaderOrFollower, protocol.MessageTooLarge, protocol.RecordListTooLarge, protocol.CorruptMessage, protocol.KafkaStorageError:
		return -1
	}
	if log := part.Log(); log != nil {
		return log.LogStartOffset()
	}
	return -1
}

func (p *producing) mayWrite(t *metadata.Topic) bool {
	return !protocol.IsInternalTopic(t.Name) || p.call.Header.Client() == adminClient
}

// replicated says that all in-sync replicas have everything below offset already, as when there is one only.
func replicated(part *replication.Partition, offset int64) bool {
	log := part.Log()
	return log != nil && log.HighWatermark() >= offset
}

func (p *producing) fail(t *metadata.Topic, out *kmsg.ProduceResponseTopicPartition, err error) {
	p.failed = err
	code := protocol.CodeOf(err)
	if code == protocol.KafkaStorageError && p.req.Version < 4 {
		code = protocol.NotLeaderOrFollower // older clients do not know the other
	}
	out.ErrorCode, out.BaseOffset = int16(code), -1
	var rejected *record.Rejection
	if errors.As(err, &rejected) {
		if rejected.Message != "" { // Kafka explains nothing else
			out.ErrorMessage = &rejected.Message
		}
		for _, r := range rejected.Records {
			o := kmsg.NewProduceResponseTopicPartitionErrorRecord()
			o.RelativeOffset, o.ErrorMessage = int32(r.Index), &r.Message
			out.ErrorRecords = append(out.ErrorRecords, o)
		}
	}
	if p.req.Version >= 10 && code == protocol.NotLeaderOrFollower {
		l := p.hints.of(t, out.Partition, code)
		out.CurrentLeader.LeaderID, out.CurrentLeader.LeaderEpoch = l.id, l.epoch
	}
}
