// Package controller is the active controller: Kafka's controller requests in, Kafka's responses out. It decides
// through controller/catalog, one request at a time, and answers when the quorum has committed what it decided.
package controller

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/controller/catalog"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
	"github.com/ottla/ottla/rsm"
)

// Service is the controller of this node. All methods are safe for concurrent use.
//
// Leadership comes from the quorum: Became starts a load, which waits until the loader has applied everything below
// the first offset of the new epoch, and makes a catalog of that image. What the catalog decides goes to the
// quorum as batches at known offsets. Resigned drops the catalog and with it everything that was not committed.
type Service struct {
	o       Options
	quorum  Quorum
	shard   *rsm.Shard[*machine, entry]
	timers  *rsm.Timers
	snaps   *snapshotter // nil: none are written
	catalog catalog.Options
	epoch   atomic.Int32 // of the last load

	mu      sync.Mutex
	begins  map[int32]int64 // first offset of an epoch whose load has not begun
	machine *machine        // made by the load that runs
	changed chan struct{}   // closed and made anew when leadership changes
	active  int32           // epoch whose first write is committed, -1 none
	closed  bool
	faulted bool
}

// New makes a service that waits for the quorum to make this node the leader.
func New(o Options) *Service {
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	s := &Service{o: o, timers: rsm.NewTimers(), begins: map[int32]int64{}, changed: make(chan struct{}), active: -1}
	s.catalog = o.catalog()
	s.shard = rsm.NewShard(rsm.Options[*machine, entry]{
		Name: "controller", New: s.newMachine, Load: s.load, Log: journal{s}, Timers: s.timers,
		Loaded: (*machine).activate, Failed: s.shardFailed,
		Size:          func(e entry) int { return len(e.value) + recordOverhead },
		MaxBatchBytes: func() int { return maxBatchBytes }, MaxBatchRecords: catalog.MaxRecords,
		Logger: o.Logger,
	})
	if o.Snapshots != nil {
		s.snaps = newSnapshotter(*o.Snapshots, o.Loader, s.fault, o.Logger)
	}
	return s
}

func (o *Options) catalog() catalog.Options {
	seed := rand.Uint64()
	return catalog.Options{
		NodeID: o.NodeID, ClusterID: o.ClusterID, Static: o.Static, Supported: o.supported(),
		Rand: rand.New(rand.NewPCG(seed, seed)), NewID: protocol.NewUUID, SessionTimeout: o.sessionTimeout(),
	}
}

// Start hands over the quorum's node. It must be called before the quorum starts.
func (s *Service) Start(q Quorum) { s.quorum = q }

// Do answers one controller request: CreateTopics, DeleteTopics, CreatePartitions, AlterConfigs,
// IncrementalAlterConfigs, ElectLeaders, UpdateFeatures, AlterPartitionReassignments, ListPartitionReassignments,
// AllocateProducerIds, BrokerRegistration, BrokerHeartbeat, UnregisterBroker, AlterPartition, AssignReplicasToDirs,
// ControllerRegistration, DescribeQuorum.
//
// Protocol errors are in the response, NOT_CONTROLLER included. The Go error is for requests that are none of these,
// and for a ctx that ended before the answer. Right after an election Do waits for the catalog to be there.
func (s *Service) Do(ctx context.Context, _ Request, req kmsg.Request) (kmsg.Response, error) {
	if r, ok := req.(*kmsg.DescribeQuorumRequest); ok {
		return s.describeQuorum(r), nil
	}
	for {
		change := s.change()
		resp, err := rsm.Do(ctx, s.shard, func(m *machine, now time.Time) (kmsg.Response, rsm.Outcome[entry]) { return m.decide(req, now) })
		switch {
		case errors.Is(err, rsm.ErrLoading):
			select {
			case <-change:
				continue
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		case err == nil && resp == nil:
			return nil, fmt.Errorf("the controller has no answer to %s: %w", kmsg.NameForKey(req.Key()), protocol.InvalidRequest)
		case err != nil && ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case err != nil:
			resp = catalog.Refuse(req, s.codeOf(err))
		}
		return resp, nil
	}
}

// codeOf turns what ended an operation into what the client is told.
func (s *Service) codeOf(err error) error {
	switch {
	case errors.Is(err, rsm.ErrNotActive), errors.Is(err, rsm.ErrClosed):
		return protocol.NotController
	case errors.Is(err, rsm.ErrTooLarge):
		return &protocol.Fault{Code: protocol.PolicyViolation, Message: "The request needs more metadata than fits in one write"}
	}
	return err
}

// change is closed when leadership or the catalog changes.
func (s *Service) change() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// signal wakes whoever waits for a change. The caller holds mu.
func (s *Service) signal() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Became, Committed and Resigned make the service a quorum.Listener.
func (s *Service) Became(epoch int32, nextOffset int64) {
	s.mu.Lock()
	s.begins[epoch] = nextOffset
	s.mu.Unlock()
	s.shard.Load(epoch)
}

// Committed notes what went to the log; the loader has been offered the batch before.
func (s *Service) Committed(record.Batch) {
	if s.snaps != nil {
		s.snaps.committed()
	}
}

// Resigned ends this controller's being active.
func (s *Service) Resigned(epoch int32) {
	s.mu.Lock()
	delete(s.begins, epoch)
	s.active = -1
	s.signal()
	s.mu.Unlock()
	s.shard.Unload(epoch)
	s.o.Logger.Info("This controller is not active any more", zap.Int32("epoch", epoch))
}

// WaitActive returns when this controller is active and its first write is committed, or with ctx's error.
func (s *Service) WaitActive(ctx context.Context) error {
	for {
		s.mu.Lock()
		active, closed, change := s.active, s.closed, s.changed
		s.mu.Unlock()
		switch {
		case active >= 0:
			return nil
		case closed:
			return rsm.ErrClosed
		}
		select {
		case <-change:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// activated is called when the first write of the epoch is committed.
func (s *Service) activated(epoch int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active = epoch
	s.signal()
}

// shardFailed: what was decided could not be applied or logged. With the quorum gone that is no news; else leadership is
// given up, and the next epoch begins from what is committed.
func (s *Service) shardFailed(epoch int32, err error) {
	if s.quorum.Writable(epoch) == nil {
		s.o.Logger.Error("The controller resigns", zap.Int32("epoch", epoch), zap.Error(err))
		s.quorum.Resign(epoch)
	}
}

func (s *Service) fault(err error) {
	s.mu.Lock()
	told := s.faulted
	s.faulted = true
	s.mu.Unlock()
	if !told && s.o.Fault != nil {
		s.o.Fault(err)
	}
}

// Close answers everything NOT_CONTROLLER and stops. The quorum must be closed first.
func (s *Service) Close() error {
	s.mu.Lock()
	s.closed = true
	s.active = -1
	s.signal()
	s.mu.Unlock()
	s.shard.Close()
	s.timers.Stop()
	if s.snaps != nil {
		s.snaps.close()
	}
	return nil
}
