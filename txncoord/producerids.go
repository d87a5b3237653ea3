package txncoord

import (
	"context"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/protocol"
)

const (
	// prefetchTenths of a block used up, the next one is asked for.
	prefetchTenths = 9
	// waitForBlock is how long a client without a producer id waits for a block before it is told to come again.
	waitForBlock = time.Second
	// allocateTimeout is how long the controller may take.
	allocateTimeout = 30 * time.Second
	// retryPause keeps a controller that refuses from being asked in a loop.
	retryPause = 50 * time.Millisecond
	// blockSizeMax bounds what a controller's answer is believed.
	blockSizeMax = 1 << 20
)

// ProducerIDOptions are those of ProducerIDs.
type ProducerIDOptions struct {
	NodeID int32
	// BrokerEpoch is this broker's epoch as registered.
	BrokerEpoch func() int64
	// Allocate asks the active controller.
	Allocate func(context.Context, *kmsg.AllocateProducerIDsRequest) (*kmsg.AllocateProducerIDsResponse, error)
	Logger   *zap.Logger
}

// ProducerIDs hands out ids from blocks that the controller allocates: each id once in the life of the cluster.
// Ids of a block that was not used up when the broker stops are lost, as in Kafka.
type ProducerIDs struct {
	o      ProducerIDOptions
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	asking sync.WaitGroup

	mu       sync.Mutex
	current  block
	next     block         // prefetched; empty: none
	arriving chan struct{} // closed when the request in flight is answered; nil: none in flight
	pausedTo time.Time
}

// block is the ids [from, end).
type block struct {
	from, end int64
	size      int64 // when it was new
}

func (b *block) empty() bool { return b.from >= b.end }

// NewProducerIDs asks for nothing until an id is needed.
func NewProducerIDs(o ProducerIDOptions) *ProducerIDs {
	ctx, cancel := context.WithCancel(context.Background())
	return &ProducerIDs{o: o, ctx: ctx, cancel: cancel}
}

// Close gives up a request in flight and waits for its end.
func (p *ProducerIDs) Close() {
	p.cancel()
	p.asking.Wait()
}

// Next is a producer id nobody else has. Without one in time: COORDINATOR_LOAD_IN_PROGRESS, which all clients retry.
func (p *ProducerIDs) Next(ctx context.Context) (int64, error) {
	var timeout <-chan time.Time
	for {
		id, ok, arriving := p.take()
		if ok {
			return id, nil
		}
		if timeout == nil {
			timer := time.NewTimer(waitForBlock)
			defer timer.Stop()
			timeout = timer.C
		}
		if arriving == nil {
			return 0, protocol.CoordinatorLoadInProgress
		}
		select {
		case <-arriving:
		case <-timeout:
			return 0, protocol.CoordinatorLoadInProgress
		case <-ctx.Done():
			return 0, protocol.CoordinatorLoadInProgress
		}
	}
}

// take takes an id, and asks for the next block when it is time. Without an id it returns what to wait for, nil if
// the controller has just refused.
func (p *ProducerIDs) take() (id int64, ok bool, arriving <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current.empty() {
		p.current, p.next = p.next, block{}
	}
	if ok = !p.current.empty(); ok {
		id = p.current.from
		p.current.from++
	}
	left := p.current.end - p.current.from
	if p.next.empty() && left*10 <= p.current.size*(10-prefetchTenths) {
		p.request()
	}
	if p.arriving == nil {
		return id, ok, nil
	}
	return id, ok, p.arriving
}

// request asks for a block in the background, once at a time; the lock is held.
func (p *ProducerIDs) request() {
	if p.arriving != nil || p.ctx.Err() != nil || time.Now().Before(p.pausedTo) {
		return
	}
	arriving := make(chan struct{})
	p.arriving = arriving
	p.asking.Go(func() {
		ctx, cancel := context.WithTimeout(p.ctx, allocateTimeout)
		defer cancel()
		b, err := p.allocate(ctx)
		p.mu.Lock()
		defer p.mu.Unlock()
		defer close(arriving)
		p.arriving = nil
		if err != nil {
			p.pausedTo = time.Now().Add(retryPause)
			p.o.Logger.Warn("no block of producer ids from the controller", zap.Error(err))
			return
		}
		p.next = b
	})
}

func (p *ProducerIDs) allocate(ctx context.Context) (block, error) {
	req := kmsg.NewPtrAllocateProducerIDsRequest()
	req.BrokerID, req.BrokerEpoch = p.o.NodeID, p.o.BrokerEpoch()
	resp, err := p.o.Allocate(ctx, req)
	if err != nil {
		return block{}, err
	}
	if code := protocol.ErrorCode(resp.ErrorCode); code != protocol.None {
		return block{}, code
	}
	size := int64(resp.ProducerIDLen)
	if resp.ProducerIDStart < 0 || size <= 0 || size > blockSizeMax {
		return block{}, &protocol.Fault{Code: protocol.UnknownServerError, Message: "the controller answered with an impossible block of producer ids"}
	}
	return block{resp.ProducerIDStart, resp.ProducerIDStart + size, size}, nil
}
