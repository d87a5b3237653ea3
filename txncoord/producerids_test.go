package txncoord

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/protocol"
)

// blocks is a controller that hands out blocks of ten.
type blocks struct {
	mu      sync.Mutex
	next    int64
	asked   int
	latency time.Duration
	fail    error
	code    protocol.ErrorCode
}

func (b *blocks) allocate(ctx context.Context, req *kmsg.AllocateProducerIDsRequest) (*kmsg.AllocateProducerIDsResponse, error) {
	b.mu.Lock()
	latency := b.latency
	b.mu.Unlock()
	select {
	case <-time.After(latency):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked++
	r := kmsg.NewPtrAllocateProducerIDsResponse()
	if b.fail != nil || b.code != protocol.None {
		r.ErrorCode = int16(b.code)
		return r, b.fail
	}
	r.ProducerIDStart, r.ProducerIDLen = b.next, 10
	b.next += 10
	return r, nil
}

func ids(b *blocks) *ProducerIDs {
	return NewProducerIDs(ProducerIDOptions{NodeID: 1, BrokerEpoch: func() int64 { return 7 }, Allocate: b.allocate, Logger: zap.NewNop()})
}

func TestIDsAreDenseAndPrefetched(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &blocks{latency: 10 * time.Millisecond}
		p := ids(b)
		for want := range int64(35) {
			start := time.Now()
			got, err := p.Next(t.Context())
			if err != nil || got != want {
				t.Fatalf("id %d, %v; want %d", got, err, want)
			}
			if wait := time.Since(start); (wait > 0) != (want == 0) {
				t.Fatalf("id %d took %v: only the first waits for the controller", want, wait)
			}
			time.Sleep(20 * time.Millisecond)
		}
		if b.asked != 4 {
			t.Fatalf("asked %d times, want 4", b.asked)
		}
	})
}

func TestPrefetchAtNinety(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &blocks{}
		p := ids(b)
		for n := 1; n <= 10; n++ {
			p.Next(t.Context())
			synctest.Wait()
			if want := map[bool]int{false: 1, true: 2}[n >= 9]; b.asked != want {
				t.Fatalf("after %d ids of 10: asked %d times, want %d", n, b.asked, want)
			}
		}
	})
}

func TestNoneIsRetriable(t *testing.T) {
	f := func(name string, b *blocks, within time.Duration) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := ids(b)
				start := time.Now()
				if _, err := p.Next(t.Context()); !errors.Is(err, protocol.CoordinatorLoadInProgress) {
					t.Fatalf("%v, want COORDINATOR_LOAD_IN_PROGRESS", err)
				}
				if d := time.Since(start); d > within {
					t.Fatalf("answered after %v", d)
				}
				b.mu.Lock()
				b.fail, b.code, b.latency = nil, protocol.None, 0
				b.mu.Unlock()
				time.Sleep(time.Minute)
				if _, err := p.Next(t.Context()); err != nil {
					t.Fatalf("afterwards: %v", err)
				}
			})
		})
	}
	f("controller refuses", &blocks{code: protocol.StaleBrokerEpoch}, time.Second)
	f("controller unreachable", &blocks{fail: errors.New("no route")}, time.Second)
	f("controller silent", &blocks{latency: 10 * time.Second}, time.Second)
}

func TestRefusalIsNotAskedInALoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &blocks{code: protocol.NotController}
		p := ids(b)
		for range 1000 {
			p.Next(t.Context())
		}
		if b.asked > 2 {
			t.Fatalf("asked %d times at one moment", b.asked)
		}
	})
}

func TestConcurrentCallersGetDifferentIDs(t *testing.T) {
	b := &blocks{}
	p := ids(b)
	var mu sync.Mutex
	seen := map[int64]bool{}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 200 {
				id, err := p.Next(t.Context())
				mu.Lock()
				if err != nil || seen[id] {
					t.Errorf("id %d again, or %v", id, err)
				}
				seen[id] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

func TestCloseGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := ids(&blocks{latency: time.Hour})
		go p.Next(t.Context())
		synctest.Wait()
		p.Close()
		if _, err := p.Next(t.Context()); !errors.Is(err, protocol.CoordinatorLoadInProgress) {
			t.Fatalf("after close: %v", err)
		}
	})
}

func TestImpossibleBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewProducerIDs(ProducerIDOptions{BrokerEpoch: func() int64 { return 0 }, Logger: zap.NewNop(),
			Allocate: func(context.Context, *kmsg.AllocateProducerIDsRequest) (*kmsg.AllocateProducerIDsResponse, error) {
				return kmsg.NewPtrAllocateProducerIDsResponse(), nil
			}})
		if _, err := p.Next(t.Context()); err == nil {
			t.Fatal("an id from an empty block")
		}
	})
}
