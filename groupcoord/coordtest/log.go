// Package coordtest has the offsets topic in memory, for tests of what is built on the group coordinator.
package coordtest

import (
	"context"
	"slices"
	"sync"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
	"github.com/ottla/ottla/storage"
)

// Log is one partition in memory, committed at once unless Hold is set. It is safe for concurrent use.
type Log struct {
	mu      sync.Mutex
	epoch   int32
	batches []record.Batch
	end     int64
	high    int64
	hold    bool
	fail    error
	refuse  error
	waiting []waiting
}

type waiting struct {
	offset int64
	done   func(error)
}

// NewLog is an empty partition led under epoch.
func NewLog(epoch int32) *Log { return &Log{epoch: epoch} }

// Hold keeps the high watermark where it is, until Commit.
func (l *Log) Hold(on bool) { l.mu.Lock(); l.hold = on; l.mu.Unlock() }

// FailAppend makes the next append fail.
func (l *Log) FailAppend(err error) { l.mu.Lock(); l.fail = err; l.mu.Unlock() }

// Refuse makes the partition unwritable until called with nil.
func (l *Log) Refuse(err error) { l.mu.Lock(); l.refuse = err; l.mu.Unlock() }

// Commit moves the high watermark to the end.
func (l *Log) Commit() {
	l.mu.Lock()
	l.high = l.end
	done := l.waiting
	l.waiting = nil
	l.mu.Unlock()
	for _, w := range done {
		w.done(nil)
	}
}

// Elect puts the partition under a new leader epoch; who waits learns that the old one is over.
func (l *Log) Elect(epoch int32) {
	l.mu.Lock()
	l.epoch = epoch
	lost := l.waiting
	l.waiting = nil
	l.mu.Unlock()
	for _, w := range lost {
		w.done(protocol.NotLeaderOrFollower)
	}
}

// Writable implements groupcoord.Log.
func (l *Log) Writable(epoch int32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if epoch != l.epoch {
		return protocol.NotLeaderOrFollower
	}
	return l.refuse
}

// Append implements groupcoord.Log.
func (l *Log) Append(b record.Batch, epoch int32) (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.fail; err != nil {
		l.fail = nil
		return 0, err
	}
	if epoch != l.epoch {
		return 0, protocol.NotLeaderOrFollower
	}
	b = slices.Clone(b)
	b.SetBaseOffset(l.end)
	b.SetPartitionLeaderEpoch(epoch)
	l.batches = append(l.batches, b)
	base := l.end
	l.end = b.NextOffset()
	if !l.hold {
		l.high = l.end
	}
	return base, nil
}

// guard is what every verification gives.
const guard = 1

// StartVerification implements groupcoord.Log: a transaction is open from its first batch to its marker.
func (l *Log) StartVerification(producerID int64, epoch int16, _ bool) (storage.Guard, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.openLocked(producerID, epoch) {
		return storage.NoGuard, nil
	}
	return guard, nil
}

func (l *Log) openLocked(producerID int64, epoch int16) (open bool) {
	for _, b := range l.batches {
		if b.IsTransactional() && b.ProducerID() == producerID {
			open = !b.IsControl() && b.ProducerEpoch() == epoch
		}
	}
	return open
}

// AppendTransactional implements groupcoord.Log.
func (l *Log) AppendTransactional(b record.Batch, epoch int32, g storage.Guard) (int64, error) {
	l.mu.Lock()
	open := l.openLocked(b.ProducerID(), b.ProducerEpoch())
	l.mu.Unlock()
	if !open && g != guard && g != storage.Unverified {
		return 0, protocol.InvalidTxnState
	}
	return l.Append(b, epoch)
}

// AppendMarker implements groupcoord.Log.
func (l *Log) AppendMarker(m storage.Marker, epoch int32) (int64, error) {
	o := record.NewOptions()
	o.ProducerID, o.ProducerEpoch = m.ProducerID, m.Epoch
	kind := record.Abort
	if m.Commit {
		kind = record.Commit
	}
	return l.Append(record.NewMarker(o, 1, kind, m.CoordinatorEpoch), epoch)
}

// OnHighWatermark implements groupcoord.Log.
func (l *Log) OnHighWatermark(offset int64, done func(error)) {
	l.mu.Lock()
	if l.high < offset {
		l.waiting = append(l.waiting, waiting{offset, done})
		l.mu.Unlock()
		return
	}
	l.mu.Unlock()
	done(nil)
}

// Bounds implements groupcoord.Log.
func (l *Log) Bounds() (start, end int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return 0, l.end
}

// Read implements groupcoord.Log.
func (l *Log) Read(buf []byte, offset int64, maxBytes int) ([]byte, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, _ := slices.BinarySearchFunc(l.batches, offset, func(b record.Batch, o int64) int {
		if b.LastOffset() < o {
			return -1
		}
		return 1
	})
	read := 0
	for _, b := range l.batches[at:] {
		if read > 0 && read+len(b) > maxBytes {
			break
		}
		read += len(b)
		buf = append(buf, b...)
	}
	return buf, nil
}

// MaxMessageBytes implements groupcoord.Log.
func (l *Log) MaxMessageBytes() int { return 1048588 }

// Batches is a copy of all that was appended.
func (l *Log) Batches() []record.Batch {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.batches)
}

// Records is all records appended, in order.
func (l *Log) Records(ctx context.Context) []record.Record {
	var out []record.Record
	for _, b := range l.Batches() {
		for r, err := range b.Records(record.MaxDecompressed) {
			if err != nil || ctx.Err() != nil {
				return out
			}
			out = append(out, r)
		}
	}
	return out
}
