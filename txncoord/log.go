package txncoord

import (
	"context"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/ottla/ottla/protocol/record"
	"github.com/ottla/ottla/rsm/topiclog"
	"github.com/ottla/ottla/txncoord/txn"
)

// Log is a partition of __transaction_state, as far as its coordinator needs it. Errors are protocol errors.
type Log interface {
	// Writable says why an append under the leader epoch would be refused now: NOT_LEADER_OR_FOLLOWER,
	// NOT_ENOUGH_REPLICAS, KAFKA_STORAGE_ERROR.
	Writable(leaderEpoch int32) error
	// Append appends a batch as the leader of that epoch, on behalf of the coordinator, and returns its base offset.
	// The batch may be used again when it returns.
	Append(b record.Batch, leaderEpoch int32) (baseOffset int64, err error)
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
const builderKeep = 4 << 10

func (l *shardLog) Writable(epoch int32) error { return l.log.Writable(epoch) }

func (l *shardLog) maxBatchBytes() int { return l.log.MaxMessageBytes() - record.HeaderSize }

// Append writes the records as one uncompressed batch.
func (l *shardLog) Append(epoch int32, _ int64, rs []txn.Record) (int64, error) {
	o := record.NewOptions()
	l.builder.Reset(o)
	now, level := time.Now().UnixMilli(), l.s.o.Level()
	for i := range rs {
		key, value := rs[i].Encode(level)
		l.builder.Append(now, key, value)
	}
	at, err := l.log.Append(l.builder.Build(), epoch)
	l.builder.Release(o, builderKeep)
	if err != nil {
		return 0, err
	}
	return at + int64(len(rs)), nil
}

func (l *shardLog) OnCommit(end int64, done func(error)) { l.log.OnHighWatermark(end, done) }

// load replays the partition. Which partition an id belongs to depends on their number, so it must not change.
func (l *shardLog) load(ctx context.Context, _ int32, apply func(int64, txn.Record) error) (int64, error) {
	log, err := l.s.o.Log(l.partition)
	if err != nil {
		return 0, err
	}
	if err := l.s.checkPartitions(); err != nil {
		return 0, err
	}
	l.log = log
	skipped := 0
	next, err := topiclog.Replay(ctx, log, l.s.o.Config().LoadBuffer, func(b record.Batch, r record.Record) error {
		if b.IsControl() {
			return nil
		}
		decoded, known, err := txn.Decode(r.Key, r.Value)
		switch {
		case err != nil:
			return err
		case !known:
			skipped++
			return nil
		}
		return apply(r.Offset, decoded)
	})
	if skipped > 0 {
		l.s.o.Logger.Warn("records of a kind that is not known were ignored", zap.String("shard", shardName(l.partition)), zap.Int("records", skipped))
	}
	if err != nil {
		return 0, fmt.Errorf("transactions: %w", err)
	}
	return next, nil
}
