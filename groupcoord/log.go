package groupcoord

import (
	"context"
	"fmt"
	"time"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol/record"
)

// Log is a partition of __consumer_offsets, as far as its coordinator needs it. Errors are protocol errors.
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
	// Bounds are the log's start and end.
	Bounds() (start, end int64)
	// Read appends whole batches from the one that holds offset on to buf, about maxBytes of them and at least one;
	// nothing at the end of the log.
	Read(buf []byte, offset int64, maxBytes int) ([]byte, error)
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

// Append writes the records as one uncompressed CreateTime batch (or as offsets.topic.compression.codec says).
func (l *shardLog) Append(epoch int32, base int64, rs []group.Record) (int64, error) {
	o := record.NewOptions()
	o.Codec = l.s.o.Config().Codec
	l.builder.Reset(o)
	now := time.Now().UnixMilli()
	for i := range rs {
		l.builder.Append(now, rs[i].Key, rs[i].Value)
	}
	at, err := l.log.Append(l.builder.Build(), epoch)
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
	readBytes := l.s.o.Config().LoadBuffer
	at, end := log.Bounds()
	var buf []byte
	for at < end {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if buf, err = log.Read(buf[:0], at, min(readBytes, firstRead(buf))); err != nil {
			return 0, fmt.Errorf("read at offset %d: %w", at, err)
		}
		next, err := replay(buf, at, apply)
		if err != nil {
			return 0, err
		}
		if next <= at {
			return 0, fmt.Errorf("read at offset %d of %d: no batch", at, end)
		}
		at = next
	}
	return at, nil
}

// firstRead lets the buffer grow with what the log turns out to hold.
func firstRead(buf []byte) int { return max(64<<10, 4*cap(buf)) }

// replay applies the batches in buf, of which the first may begin below at, and returns the offset behind them.
// The records' bytes alias buf, and rules copy what they keep.
func replay(buf []byte, at int64, apply func(int64, group.Record) error) (int64, error) {
	for len(buf) > 0 {
		b, rest, err := record.Next(buf)
		if err != nil {
			return at, fmt.Errorf("batch at offset %d: %w", at, err)
		}
		buf = rest
		if b.LastOffset() < at {
			continue
		}
		for r, err := range b.Records(record.MaxDecompressed) {
			if err != nil {
				return at, fmt.Errorf("batch at offset %d: %w", b.BaseOffset(), err)
			}
			if r.Offset < at {
				continue
			}
			stored, ok, err := storedRecord(b, r)
			if err == nil && ok {
				err = apply(r.Offset, stored)
			}
			if err != nil {
				return at, fmt.Errorf("record at offset %d: %w", r.Offset, err)
			}
		}
		at = b.NextOffset()
	}
	return at, nil
}

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
