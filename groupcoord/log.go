package groupcoord

import (
	"context"
	"time"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol/record"
	"github.com/ottla/ottla/rsm/topiclog"
	"github.com/ottla/ottla/storage"
)

// Log is a partition of __consumer_offsets, as far as its coordinator needs it. Errors are protocol errors.
type Log interface {
	// Writable says why an append under the leader epoch would be refused now: NOT_LEADER_OR_FOLLOWER,
	// NOT_ENOUGH_REPLICAS, KAFKA_STORAGE_ERROR.
	Writable(leaderEpoch int32) error
	// Append appends a batch as the leader of that epoch, on behalf of the coordinator, and returns its base offset.
	// The batch may be used again when it returns.
	Append(b record.Batch, leaderEpoch int32) (baseOffset int64, err error)
	// StartVerification says NoGuard if the producer's transaction is open in this log; otherwise its coordinator has to
	// be asked, and the guard shown to AppendTransactional. v2 clients are those of transaction.version 2.
	StartVerification(producerID int64, epoch int16, v2 bool) (storage.Guard, error)
	// AppendTransactional is Append for a batch that is part of a producer's transaction.
	AppendTransactional(b record.Batch, leaderEpoch int32, g storage.Guard) (baseOffset int64, err error)
	// AppendMarker appends the end of a producer's transaction and returns its offset.
	AppendMarker(m storage.Marker, leaderEpoch int32) (offset int64, err error)
	// OnHighWatermark calls done once, on any goroutine: with nil when the high watermark is at or past offset, with
	// an error when this broker does not lead the partition any more.
	OnHighWatermark(offset int64, done func(error))
	topiclog.Source
	// MaxMessageBytes is the topic's max.message.bytes.
	MaxMessageBytes() int
}

// shardLog makes the state machine's log of a partition. The partition is looked up by every load, the only place
// where it can change.
type shardLog struct {
	s         *Service
	partition int32
	log       Log
	builder   record.Builder
}

// builderKeep bounds the buffer that an idle shard keeps.
const builderKeep = 16 << 10

func (l *shardLog) Writable(epoch int32) error { return l.log.Writable(epoch) }

func (l *shardLog) maxBatchBytes() int { return l.log.MaxMessageBytes() - record.HeaderSize }

// Append writes the records as one uncompressed CreateTime batch (or as offsets.topic.compression.codec says). Records
// of a transaction, and markers, come alone.
func (l *shardLog) Append(epoch int32, base int64, rs []group.Record) (int64, error) {
	first := &rs[0]
	if first.Marker != group.NotMarker {
		at, err := l.log.AppendMarker(storage.Marker{
			ProducerID: first.ProducerID, Epoch: first.ProducerEpoch, Commit: first.Marker == group.CommitMarker,
			CoordinatorEpoch: first.CoordinatorEpoch, TransactionVersion: first.TransactionVersion,
		}, epoch)
		return at + 1, err
	}
	o := record.NewOptions()
	o.Codec = l.s.o.Config().Codec
	if first.ProducerID != group.NoProducer {
		o.ProducerID, o.ProducerEpoch, o.Transactional = first.ProducerID, first.ProducerEpoch, true
	}
	l.builder.Reset(o)
	now := time.Now().UnixMilli()
	for i := range rs {
		l.builder.Append(now, rs[i].Key, rs[i].Value)
	}
	var at int64
	var err error
	if o.Transactional {
		at, err = l.log.AppendTransactional(l.builder.Build(), epoch, storage.Guard(first.Guard))
	} else {
		at, err = l.log.Append(l.builder.Build(), epoch)
	}
	l.builder.Release(o, builderKeep)
	if err != nil {
		return 0, err
	}
	return at + int64(len(rs)), nil
}

func (l *shardLog) OnCommit(end int64, done func(error)) { l.log.OnHighWatermark(end, done) }

// load replays the partition, with bounded reads.
func (l *shardLog) load(ctx context.Context, _ int32, apply func(int64, group.Record) error) (int64, error) {
	log, err := l.s.o.Log(l.partition)
	if err != nil {
		return 0, err
	}
	l.log = log
	return topiclog.Replay(ctx, log, l.s.o.Config().LoadBuffer, func(b record.Batch, r record.Record) error {
		stored, ok, err := storedRecord(b, r)
		if err != nil || !ok {
			return err
		}
		return apply(r.Offset, stored)
	})
}

// storedRecord is a record of the log; ok is false for a control record that is no marker. Its bytes are used again,
// and rules copy what they keep.
func storedRecord(b record.Batch, r record.Record) (group.Record, bool, error) {
	out := group.Record{ProducerID: group.NoProducer}
	if b.IsTransactional() {
		out.ProducerID, out.ProducerEpoch = b.ProducerID(), b.ProducerEpoch()
	}
	if !b.IsControl() {
		out.Key, out.Value = r.Key, r.Value
		return out, true, nil
	}
	t, err := record.ParseControlKey(r.Key)
	switch t {
	case record.Commit:
		out.Marker = group.CommitMarker
	case record.Abort:
		out.Marker = group.AbortMarker
	default:
		return out, false, err
	}
	return out, true, err
}
