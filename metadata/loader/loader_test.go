package loader

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap/zaptest"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
	"github.com/ottla/ottla/protocol/record"
)

func batchAt(t *testing.T, base int64, records ...metadata.Record) record.Batch {
	t.Helper()
	o := record.NewOptions()
	o.BaseOffset, o.PartitionLeaderEpoch = base, 1
	b := record.NewBuilder(o)
	for _, r := range records {
		v, err := metadata.EncodeRecord(nil, r, 0)
		if err != nil {
			t.Fatal(err)
		}
		b.Append(1000+base, nil, v)
	}
	return b.Build()
}

func topic(n int) metadata.Record {
	return &msg.TopicRecord{Name: fmt.Sprintf("t%d", n), TopicID: protocol.UUID{0: 1, 15: byte(n)}}
}

// watcher is a publisher that notes what it is told.
type watcher struct {
	name  string
	steps []string
	err   error
	hold  chan struct{}
}

func (w *watcher) Name() string { return w.name }

func (w *watcher) Publish(d *metadata.Delta, i *metadata.Image) error {
	if w.hold != nil {
		<-w.hold
	}
	n := 0
	for range d.Topics() {
		n++
	}
	w.steps = append(w.steps, fmt.Sprintf("%d topics to %d", n, i.Offset))
	return w.err
}

func newLoader(t *testing.T) (*Loader, chan error) {
	faults := make(chan error, 3)
	return New(Options{Fault: func(err error) { faults <- err }, Logger: zaptest.NewLogger(t)}), faults
}

// TestSteps: the first step is everything, later ones are what came, slow publishers get several batches as one.
func TestSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := newLoader(t)
		defer l.Close()
		l.Offer(batchAt(t, 0, topic(1), topic(2)))
		l.Offer(batchAt(t, 2, topic(3)))
		first, second := &watcher{name: "first"}, &watcher{name: "second", hold: make(chan struct{}, 10)}
		second.hold <- struct{}{}
		if err := l.Start(first, second); err != nil {
			t.Fatal(err)
		}
		l.Offer(batchAt(t, 3, topic(4)))
		synctest.Wait()
		l.Offer(batchAt(t, 4, topic(5)))
		l.Offer(batchAt(t, 5, topic(6)))
		l.Offer(batchAt(t, 3, topic(4))) // was there
		synctest.Wait()
		if got := l.Current().Offset; got != 2 {
			t.Errorf("published to %d before the second publisher took it", got)
		}
		waited := make(chan error, 1)
		go func() { waited <- l.Await(t.Context(), 5) }()
		synctest.Wait()
		for range 2 {
			second.hold <- struct{}{}
		}
		if err := <-waited; err != nil {
			t.Error(err)
		}
		want := "[3 topics to 2 1 topics to 3 2 topics to 5]"
		if fmt.Sprint(first.steps) != want || fmt.Sprint(second.steps) != want {
			t.Errorf("%v %v", first.steps, second.steps)
		}
		if i := l.Current(); i.Timestamp != 1005 || i.Epoch != 1 || l.NextOffset() != 6 || l.Aligned() != i {
			t.Errorf("%+v", i)
		}
	})
}

func TestAwait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, _ := newLoader(t)
		if err := l.Await(t.Context(), -1); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := l.Await(ctx, 0); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		l.Offer(batchAt(t, 0, &msg.BeginTransactionRecord{}, topic(1)))
		image, open, err := l.Settle(t.Context(), 1)
		if err != nil || !open || image.TopicCount() != 0 || l.Aligned() != nil {
			t.Errorf("within a transaction: %v %v %v", image, open, err)
		}
		waited := make(chan error, 1)
		go func() { waited <- l.Await(t.Context(), 1) }()
		synctest.Wait()
		l.Offer(batchAt(t, 2, &msg.EndTransactionRecord{}))
		if err := <-waited; err != nil || l.Current().TopicCount() != 1 {
			t.Error(err)
		}
		go func() { waited <- l.Await(t.Context(), 99) }()
		synctest.Wait()
		l.Close()
		if err := <-waited; err != ErrClosed {
			t.Error(err)
		}
		if err := l.Start(&watcher{}); err != ErrClosed {
			t.Error(err)
		}
	})
}

// TestFaults: a record that does not fit, a gap and a publisher's error end the loader, once.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		second  func(*testing.T) record.Batch
		publish error
	}{
		"a record that does not fit": {func(t *testing.T) record.Batch { return batchAt(t, 1, topic(1)) }, nil},
		"a gap":                      {func(t *testing.T) record.Batch { return batchAt(t, 7, topic(2)) }, nil},
		"a publisher":                {func(t *testing.T) record.Batch { return batchAt(t, 1, topic(2)) }, errors.New("disk")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l, faults := newLoader(t)
				defer l.Close()
				w := &watcher{name: "w"}
				l.Offer(batchAt(t, 0, topic(1)))
				if err := l.Start(w); err != nil {
					t.Fatal(err)
				}
				w.err = c.publish
				l.Offer(c.second(t))
				err := <-faults
				if waited := l.Await(t.Context(), 1); waited != err {
					t.Errorf("fault %v, Await %v", err, waited)
				}
				l.Offer(batchAt(t, 2, topic(3)))
				synctest.Wait()
				if len(faults) > 0 || l.Current().Offset != 0 {
					t.Errorf("more faults, or published to %d", l.Current().Offset)
				}
			})
		})
	}
}

func TestRestore(t *testing.T) {
	l, _ := newLoader(t)
	defer l.Close()
	const name = "../testdata/00000000000000000699-0000000005.checkpoint"
	file, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Restore(bytes.NewReader(file), 699, 5); err != nil {
		t.Fatal(err)
	}
	w := &watcher{name: "w"}
	if err := l.Start(w); err != nil || fmt.Sprint(w.steps) != "[33 topics to 698]" {
		t.Errorf("%v %v", w.steps, err)
	}
	l.Offer(batchAt(t, 698, topic(1), topic(2))) // only the second is new
	if err := l.Await(t.Context(), 699); err != nil || l.Current().TopicCount() != 34 || l.Current().Topic("t1") != nil {
		t.Errorf("%d topics, %v", l.Current().TopicCount(), err)
	}

	fresh, _ := newLoader(t)
	defer fresh.Close()
	boot, err := os.ReadFile("../testdata/00000000000000000000-0000000000.checkpoint")
	if err != nil {
		t.Fatal(err)
	}
	if err := fresh.Restore(bytes.NewReader(boot), 0, 0); err != nil {
		t.Fatal(err)
	}
	if i := fresh.Current(); i.HasMetadataVersion() || len(fresh.Bootstrap()) != 8 {
		t.Errorf("a bootstrap snapshot is not metadata: %v, %d records", i.Features(), len(fresh.Bootstrap()))
	}
}
