package metadata

import (
	"errors"
	"fmt"

	"github.com/ottla/ottla/protocol/msg"
	"github.com/ottla/ottla/protocol/record"
)

// Step is one step from an image to the next.
type Step struct {
	Delta *Delta
	Image *Image
}

// Follower turns the batches of the metadata log into steps. A metadata transaction becomes part of a step only
// when it has ended; an aborted one leaves nothing behind. It is for one goroutine.
type Follower struct {
	image  *Image
	open   *Delta // what was replayed since image, nil if nothing
	ready  []Step
	inTxn  bool
	offset int64 // of the last record replayed
	epoch  int32
	stamp  int64
}

// NewFollower goes on from an image.
func NewFollower(image *Image) *Follower {
	return &Follower{image: image, offset: image.Offset, epoch: image.Epoch, stamp: image.Timestamp}
}

// NextOffset is where the batch is expected that was not replayed yet.
func (f *Follower) NextOffset() int64 { return f.offset + 1 }

// Image is the image of the last step that was made.
func (f *Follower) Image() *Image { return f.image }

// InTransaction reports that a metadata transaction has begun and not ended.
func (f *Follower) InTransaction() bool { return f.inTxn }

// Batch replays a batch; one that ends before NextOffset was there already and is skipped. After an error the
// follower must not be used any more.
func (f *Follower) Batch(b record.Batch) error {
	if b.LastOffset() < f.NextOffset() {
		return nil
	}
	entries, err := DecodeBatch(b)
	if err != nil {
		return err
	}
	return f.Entries(entries, b.LastOffset(), b.PartitionLeaderEpoch(), b.MaxTimestamp())
}

// Entries replays the entries of a batch that somebody else has decoded.
func (f *Follower) Entries(entries []Entry, lastOffset int64, epoch int32, timestamp int64) error {
	f.epoch, f.stamp = epoch, timestamp
	for _, e := range entries {
		if e.Offset < f.NextOffset() {
			continue
		}
		if err := f.entry(e); err != nil {
			return fmt.Errorf("metadata log, offset %d: %w", e.Offset, err)
		}
		f.offset = e.Offset
	}
	f.offset = lastOffset
	f.delta()
	return nil
}

func (f *Follower) delta() *Delta {
	if f.open == nil {
		f.open = NewDelta(f.image)
	}
	return f.open
}

func (f *Follower) entry(e Entry) error {
	switch m := e.Control.(type) {
	case *msg.KRaftVersionRecord:
		f.delta().ReplayKRaftVersion(m)
	case *msg.VotersRecord:
		f.delta().ReplayVoters(m)
	}
	switch r := e.Record.(type) {
	case nil:
		return nil
	case *msg.BeginTransactionRecord:
		if f.inTxn {
			return errors.New("a transaction begins within a transaction")
		}
		if err := f.close(); err != nil {
			return err
		}
		f.inTxn = true
		return nil
	case *msg.EndTransactionRecord:
		return f.endTxn()
	case *msg.AbortTransactionRecord:
		f.open = nil
		return f.endTxn()
	default:
		return f.delta().Replay(r)
	}
}

func (f *Follower) endTxn() error {
	if !f.inTxn {
		return errors.New("a transaction ends that has not begun")
	}
	f.inTxn = false
	return nil
}

// close makes a step of what is open.
func (f *Follower) close() error {
	if f.open == nil {
		return nil
	}
	next, err := f.open.Apply(f.offset, f.epoch, f.stamp)
	if err != nil {
		return err
	}
	f.ready = append(f.ready, Step{f.open, next})
	f.image, f.open = next, nil
	return nil
}

// Take returns the steps to publish, in order; none inside a transaction.
func (f *Follower) Take() ([]Step, error) {
	if !f.inTxn {
		if err := f.close(); err != nil {
			return nil, err
		}
	}
	steps := f.ready
	f.ready = nil
	return steps, nil
}
