// Package loader keeps a node's image of the committed metadata up to date and tells publishers of every step.
package loader

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"go.uber.org/zap"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol/record"
)

// ErrClosed is what Await answers once nothing more will be published.
var ErrClosed = errors.New("metadata loader is closed")

// Options of a Loader.
type Options struct {
	// Fault is told of a record that cannot be applied or a publisher that failed, at most once; nothing is
	// published afterwards.
	Fault  func(error)
	Logger *zap.Logger
}

// Loader is a node's view of the committed metadata log. Batches are taken by Offer and applied on a goroutine of
// the loader's own, several at a time when they come faster than they are published. All methods but Restore are
// safe for concurrent use.
type Loader struct {
	o       Options
	current atomic.Pointer[metadata.Image]

	mu       sync.Mutex
	wake     *sync.Cond // signalled when queue, installs or failed change
	queue    []batch
	installs []install
	next     int64 // offset behind the last batch taken
	bytes    int64 // of all batches taken
	applied  int64 // offset of the last record applied, also within a metadata transaction
	inTxn    bool
	waiters  []waiter
	failed   error // ErrClosed or the fault; nothing is published any more
	started  bool
	done     chan struct{}

	bootstrap []metadata.Record // Restore's

	// The goroutine's own.
	follower   *metadata.Follower
	publishers []metadata.Publisher
}

// install is a call of Start that waits.
type install struct {
	publishers []metadata.Publisher
	done       chan error
}

// batch is a decoded batch in the queue.
type batch struct {
	entries    []metadata.Entry
	lastOffset int64
	epoch      int32
	timestamp  int64
}

// waiter waits for an offset to be published, or only to be applied.
type waiter struct {
	offset  int64
	applied bool
	ch      chan error
}

// New makes a loader with an empty image. It applies what it is offered, and publishes nothing until Start.
func New(o Options) *Loader {
	l := &Loader{o: o, done: make(chan struct{}), applied: -1}
	l.wake = sync.NewCond(&l.mu)
	l.follower = metadata.NewFollower(metadata.New())
	l.current.Store(metadata.New())
	return l
}

// Restore takes a snapshot in Kafka's format that ends before endOffset. It comes before the first Offer and before
// Start. The snapshot that ends at 0 is not metadata yet, but what an empty log is to begin with: see Bootstrap.
func (l *Loader) Restore(r io.Reader, endOffset int64, epoch int32) error {
	image, err := metadata.ReadSnapshot(r, metadata.SnapshotID{EndOffset: endOffset, Epoch: epoch})
	if err != nil {
		return err
	}
	if endOffset == 0 {
		l.bootstrap = slices.Collect(image.Records())
		return nil
	}
	l.follower = metadata.NewFollower(image)
	l.next, l.applied = endOffset, image.Offset
	l.current.Store(image)
	return nil
}

// Bootstrap are the records of the snapshot that formatting a directory leaves, nil without one.
func (l *Loader) Bootstrap() []metadata.Record { return l.bootstrap }

// NextOffset is the offset behind the last batch that was taken.
func (l *Loader) NextOffset() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.next
}

// OfferedBytes is the size of all batches that were taken, which is the log behind the snapshot that was restored.
func (l *Loader) OfferedBytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bytes
}

// Offer takes the next committed batch, in order; one that ends below what is already there is skipped. Nothing
// of it is kept after the return.
func (l *Loader) Offer(b record.Batch) {
	entries, err := metadata.DecodeBatch(b)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.failed != nil || b.LastOffset() < l.next:
		return
	case err == nil && b.BaseOffset() > l.next:
		err = fmt.Errorf("metadata log: a batch at offset %d where %d was expected", b.BaseOffset(), l.next)
	}
	if err != nil {
		l.fail(err)
		return
	}
	l.next = b.NextOffset()
	l.bytes += int64(b.Size())
	l.queue = append(l.queue, batch{entries, b.LastOffset(), b.PartitionLeaderEpoch(), b.MaxTimestamp()})
	l.workLocked()
}

// fail ends the loader. The caller holds mu.
func (l *Loader) fail(err error) {
	if l.failed != nil {
		return
	}
	l.failed = err
	l.queue = nil
	for _, w := range l.waiters {
		w.ch <- err
	}
	for _, i := range l.installs {
		i.done <- err
	}
	l.waiters, l.installs = nil, nil
	l.wake.Broadcast()
	if err != ErrClosed {
		l.o.Logger.Error("Metadata is not followed any further", zap.Error(err))
		go l.o.Fault(err)
	}
}

// Start adds publishers behind those that are there, and returns when each has taken the current image as one step
// from nothing. The error is the one that Fault is told of, or ErrClosed.
func (l *Loader) Start(publishers ...metadata.Publisher) error {
	l.mu.Lock()
	if l.failed != nil {
		defer l.mu.Unlock()
		return l.failed
	}
	i := install{publishers, make(chan error, 1)}
	l.installs = append(l.installs, i)
	l.workLocked()
	l.mu.Unlock()
	return <-i.done
}

// workLocked lets the goroutine look at what there is to do, and starts it the first time.
func (l *Loader) workLocked() {
	if !l.started {
		l.started = true
		go l.run()
	}
	l.wake.Broadcast()
}

func (l *Loader) run() {
	defer close(l.done)
	for {
		batches, installs, ok := l.take()
		if !ok {
			return
		}
		err := l.apply(batches)
		for _, i := range installs {
			if err == nil {
				err = l.install(i.publishers)
			}
			i.done <- err
		}
		if err != nil {
			l.mu.Lock()
			l.fail(err)
			l.mu.Unlock()
			return
		}
	}
}

// take waits for something to do.
func (l *Loader) take() ([]batch, []install, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.queue) == 0 && len(l.installs) == 0 && l.failed == nil {
		l.wake.Wait()
	}
	if l.failed != nil {
		return nil, nil, false
	}
	q, i := l.queue, l.installs
	l.queue, l.installs = nil, nil
	return q, i, true
}

func (l *Loader) apply(batches []batch) error {
	if len(batches) == 0 {
		return nil
	}
	for _, b := range batches {
		if err := l.follower.Entries(b.entries, b.lastOffset, b.epoch, b.timestamp); err != nil {
			return err
		}
	}
	steps, err := l.follower.Take()
	if err != nil {
		return err
	}
	for _, s := range steps {
		for _, p := range l.publishers {
			if err := publish(p, s); err != nil {
				return err
			}
		}
		l.current.Store(s.Image)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.applied, l.inTxn = batches[len(batches)-1].lastOffset, l.follower.InTransaction()
	l.release()
	return nil
}

func publish(p metadata.Publisher, s metadata.Step) error {
	if err := p.Publish(s.Delta, s.Image); err != nil {
		return fmt.Errorf("%s cannot take the metadata at offset %d: %w", p.Name(), s.Image.Offset, err)
	}
	return nil
}

func (l *Loader) install(publishers []metadata.Publisher) error {
	s, err := sinceNothing(l.current.Load())
	if err != nil {
		return err
	}
	for _, p := range publishers {
		if err := publish(p, s); err != nil {
			return err
		}
	}
	l.publishers = append(l.publishers, publishers...)
	return nil
}

// release answers the waiters whose offset was reached. The caller holds mu.
func (l *Loader) release() {
	published := l.current.Load().Offset
	kept := l.waiters[:0]
	for _, w := range l.waiters {
		if w.offset <= published || w.applied && w.offset <= l.applied {
			w.ch <- nil
		} else {
			kept = append(kept, w)
		}
	}
	clear(l.waiters[len(kept):])
	l.waiters = kept
}

// sinceNothing is the step from the empty image to image.
func sinceNothing(image *metadata.Image) (metadata.Step, error) {
	d := metadata.NewDelta(metadata.New())
	for r := range image.Records() {
		if err := d.Replay(r); err != nil {
			return metadata.Step{}, err
		}
	}
	_, err := d.Apply(image.Offset, image.Epoch, image.Timestamp)
	return metadata.Step{Delta: d, Image: image}, err
}

// Current is the image that was published last.
func (l *Loader) Current() *metadata.Image { return l.current.Load() }

// Await returns once everything up to and including offset has been published; the error is ctx's, ErrClosed, or
// the fault that ended the loader.
func (l *Loader) Await(ctx context.Context, offset int64) error {
	return l.await(ctx, waiter{offset, false, make(chan error, 1)})
}

// Settle returns once everything up to and including offset has been applied: the image then, and whether a
// metadata transaction is open whose records the image does not have.
func (l *Loader) Settle(ctx context.Context, offset int64) (image *metadata.Image, inTransaction bool, err error) {
	if err := l.await(ctx, waiter{offset, true, make(chan error, 1)}); err != nil {
		return nil, false, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.current.Load(), l.inTxn, nil
}

func (l *Loader) await(ctx context.Context, w waiter) error {
	l.mu.Lock()
	switch {
	case l.current.Load().Offset >= w.offset || w.applied && l.applied >= w.offset:
		l.mu.Unlock()
		return nil
	case l.failed != nil:
		defer l.mu.Unlock()
		return l.failed
	}
	l.waiters = append(l.waiters, w)
	l.mu.Unlock()
	select {
	case err := <-w.ch:
		return err
	case <-ctx.Done():
		l.forget(w)
		return ctx.Err()
	}
}

func (l *Loader) forget(w waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.waiters {
		if l.waiters[i].ch == w.ch {
			l.waiters = append(l.waiters[:i], l.waiters[i+1:]...)
			return
		}
	}
}

// Aligned is the image that was published last if it holds whole batches and nothing is pending, as a snapshot must;
// else nil.
func (l *Loader) Aligned() *metadata.Image {
	l.mu.Lock()
	defer l.mu.Unlock()
	if image := l.current.Load(); !l.inTxn && image.Offset == l.applied {
		return image
	}
	return nil
}

// Close stops publishing and waits for a publisher that is running.
func (l *Loader) Close() {
	l.mu.Lock()
	l.fail(ErrClosed)
	started := l.started
	l.mu.Unlock()
	if started {
		<-l.done
	}
}
