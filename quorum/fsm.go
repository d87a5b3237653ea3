package quorum

import (
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/hashicorp/raft"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

// applier is Raft's state machine: it takes committed entries, in order, and writes the batches into the log.
// Everything but the atomics belongs to Raft's one applying goroutine.
type applier struct {
	log    metaLog
	node   *Node
	state  state
	failed bool

	unsaved   atomic.Int64 // bytes of entries applied since the last snapshot
	unsavedNo atomic.Int64 // their number
}

var _ raft.BatchingFSM = (*applier)(nil)

// Apply is ApplyBatch of one.
func (a *applier) Apply(l *raft.Log) any { return a.ApplyBatch([]*raft.Log{l})[0] }

// ApplyBatch writes what the log does not have yet with one append, and then tells. The answers are not used:
// waiters wait for offsets.
func (a *applier) ApplyBatch(logs []*raft.Log) []any {
	answers := make([]any, len(logs))
	if a.failed {
		return answers
	}
	fresh, err := a.accept(logs)
	if err == nil {
		err = a.append(fresh)
	}
	if err != nil {
		a.failed = true
		a.node.fail(asStorageError(err))
		return answers
	}
	a.node.committed(fresh, a.state.next)
	return answers
}

// accept decides the entries and returns the batches that are not in the log.
func (a *applier) accept(logs []*raft.Log) ([]record.Batch, error) {
	end := a.log.LogEndOffset()
	var fresh []record.Batch
	for _, l := range logs {
		if l.Type != raft.LogCommand {
			continue
		}
		if len(l.Data) == 0 {
			a.node.caughtUp(l.Term, a.state)
			continue
		}
		a.unsaved.Add(int64(len(l.Data)))
		a.unsavedNo.Add(1)
		b, err := a.state.accept(l.Term, l.Data)
		if err != nil {
			return nil, err
		}
		if b != nil && b.NextOffset() > end { // else it was appended before a restart
			fresh = append(fresh, b)
		}
	}
	return fresh, nil
}

func (a *applier) append(fresh []record.Batch) error {
	if len(fresh) > 0 {
		all := []byte(fresh[0])
		if len(fresh) > 1 {
			size := 0
			for _, b := range fresh {
				size += len(b)
			}
			all = make([]byte, 0, size)
			for _, b := range fresh {
				all = append(all, b...)
			}
		}
		if end := a.log.LogEndOffset(); end != fresh[0].BaseOffset() {
			return fmt.Errorf("the metadata log ends at %d, the next committed batch begins at %d", end, fresh[0].BaseOffset())
		}
		if err := a.log.appendBatches(all, a.state.epoch); err != nil {
			return err
		}
	}
	a.log.SetHighWatermark(a.state.next)
	return nil
}

// Snapshot captures the state; what it stands for is made durable by Persist, off the applying goroutine.
func (a *applier) Snapshot() (raft.FSMSnapshot, error) {
	if a.failed {
		return nil, protocol.KafkaStorageError
	}
	p := &point{log: a.log, state: a.state.encode()}
	a.unsaved.Store(0)
	a.unsavedNo.Store(0)
	return p, nil
}

// Restore would take another controller's snapshot; a lone voter never gets one.
func (a *applier) Restore(r io.ReadCloser) error {
	return errors.New("a quorum of several controllers is not supported: cannot take a snapshot from another one")
}

// point is a snapshot: how far the log counts, once it is synced.
type point struct {
	log   metaLog
	state []byte
}

// Persist syncs the log, so that Raft may drop the entries that are in it.
func (p *point) Persist(sink raft.SnapshotSink) error {
	if err := p.log.Flush(); err != nil {
		return err
	}
	if _, err := sink.Write(p.state); err != nil {
		return err
	}
	return nil // the caller closes or cancels the sink
}

// Release has nothing to release.
func (p *point) Release() {}

func asStorageError(err error) error {
	if protocol.CodeOf(err) == protocol.KafkaStorageError {
		return err
	}
	return fmt.Errorf("%w: %w", protocol.KafkaStorageError, err)
}
