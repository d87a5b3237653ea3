// Package topiclog reads what a coordinator's shard has to know from a partition of an internal topic.
package topiclog

import (
	"context"
	"fmt"

	"github.com/ottla/ottla/protocol/record"
)

// Source is a partition's log.
type Source interface {
	// Bounds are the log's start and end.
	Bounds() (start, end int64)
	// Read appends whole batches from the one that holds offset on to buf, about maxBytes of them and at least one;
	// nothing at the end of the log.
	Read(buf []byte, offset int64, maxBytes int) ([]byte, error)
}

// Replay gives each all records of the log, with the batch that each is in, and returns the offset behind the last. It
// reads up to readBytes at a time. The records' bytes are used again when each returns.
func Replay(ctx context.Context, log Source, readBytes int, each func(record.Batch, record.Record) error) (int64, error) {
	at, end := log.Bounds()
	var buf []byte
	for at < end {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		var err error
		if buf, err = log.Read(buf[:0], at, min(readBytes, firstRead(buf))); err != nil {
			return 0, fmt.Errorf("read at offset %d: %w", at, err)
		}
		next, err := replay(buf, at, each)
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

// replay goes through the batches in buf, of which the first may begin below at.
func replay(buf []byte, at int64, each func(record.Batch, record.Record) error) (int64, error) {
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
			if err := each(b, r); err != nil {
				return at, fmt.Errorf("record at offset %d: %w", r.Offset, err)
			}
		}
		at = b.NextOffset()
	}
	return at, nil
}
