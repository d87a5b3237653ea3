// Package txncoord is the transaction coordinator of a broker, and what it is made of: producer ids from the
// controller, transactions kept in __transaction_state in Kafka's own records, the markers that end them, and, on
// the side of partition leaders, the questions to coordinators. It drives the rules in txncoord/txn over one replicated
// state machine per partition of that topic that this broker leads.
package txncoord

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/rsm"
	"github.com/ottla/ottla/txncoord/txn"
)

// reloadBackoff is the first pause before a shard that failed reads its log again.
const reloadBackoff = 100 * time.Millisecond

// Options of a Service. All are required.
type Options struct {
	// Config is the settings as of now; it is asked for every operation and must be cheap.
	Config func() Config
	// Level is the cluster's finalised transaction.version.
	Level func() int16
	// Partitions is the number of partitions that __transaction_state has, 0 while it does not exist.
	Partitions func() int32
	// Log is a partition of __transaction_state on this broker, or why there is none (NOT_LEADER_OR_FOLLOWER).
	Log func(partition int32) (Log, error)
	// NextProducerID is an id that nobody has.
	NextProducerID func(context.Context) (int64, error)
	// Leader is the broker that leads a partition, -1 if none does at the moment; false if there is no such partition.
	Leader func(protocol.TopicPartition) (node int32, exists bool)
	// WriteMarkers sends markers to a broker, which may be this one. Errors are those of the connection.
	WriteMarkers func(ctx context.Context, node int32, req *kmsg.WriteTxnMarkersRequest) (*kmsg.WriteTxnMarkersResponse, error)
	Logger       *zap.Logger
}

// Service is the transaction coordinator. All methods are safe for concurrent use; those named after an API block
// until the answer is there, and always give one.
//
// Lock order: mu is never held while a shard is called; neither is that of the markers.
type Service struct {
	o       Options
	timers  *rsm.Timers
	slots   chan struct{} // loads at a time
	markers *markers
	counted atomic.Int32 // partitions of the topic when the first was loaded; 0: none was

	mu     sync.RWMutex
	shards map[int32]*shard
	closed bool
}

// New makes a coordinator that leads nothing yet.
func New(o Options) *Service {
	s := &Service{
		o: o, timers: rsm.NewTimers(), shards: map[int32]*shard{},
		slots: make(chan struct{}, max(2, runtime.GOMAXPROCS(0))),
	}
	s.markers = newMarkers(s)
	return s
}

// Close answers everything that waits with COORDINATOR_NOT_AVAILABLE and stops.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	shards := s.shards
	s.shards = nil
	s.mu.Unlock()
	for _, sh := range shards {
		sh.rsm.Close()
	}
	s.markers.close()
	s.timers.Stop()
}

// OnElection begins to coordinate the transactions of a partition that this broker leads since leaderEpoch: it reads
// the partition in the background. An epoch that is not newer than the one known changes nothing.
func (s *Service) OnElection(partition, leaderEpoch int32) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return
	}
	sh := s.shards[partition]
	if sh == nil {
		sh = s.newShard(partition)
		s.shards[partition] = sh
	}
	s.mu.Unlock()
	sh.rsm.Load(leaderEpoch)
}

// OnResign stops coordinating the transactions of a partition; what waits is answered NOT_COORDINATOR. A
// leaderEpoch older than the one known changes nothing; for a partition that was deleted pass the largest.
func (s *Service) OnResign(partition, leaderEpoch int32) {
	s.mu.RLock()
	sh := s.shards[partition]
	s.mu.RUnlock()
	if sh != nil {
		sh.rsm.Unload(leaderEpoch)
	}
}

// PartitionFor is the partition of __transaction_state that a transactional id's records go to.
func (s *Service) PartitionFor(id string) int32 {
	n := s.o.Partitions()
	if n <= 0 {
		n = s.o.Config().Partitions
	}
	return protocol.CoordinatorPartition(id, n)
}

// checkPartitions refuses to go on when the topic got more partitions: ids would be looked for in the wrong ones.
func (s *Service) checkPartitions() error {
	n := s.o.Partitions()
	if s.counted.CompareAndSwap(0, n) || s.counted.Load() == n {
		return nil
	}
	return fmt.Errorf("%s had %d partitions and has %d now: transactional ids cannot be found any more",
		protocol.TransactionStateTopic, s.counted.Load(), n)
}

// shardOf is where a transactional id lives: COORDINATOR_NOT_AVAILABLE when closed, NOT_COORDINATOR when not here.
func (s *Service) shardOf(id string) (*shard, error) {
	p := s.PartitionFor(id)
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, protocol.CoordinatorNotAvailable
	}
	sh := s.shards[p]
	if sh == nil {
		return nil, protocol.NotCoordinator
	}
	return sh, nil
}

// decide carries out a decision about one transactional id, with a producer id if it needs one, and returns it when
// its record is committed.
func (s *Service) decide(ctx context.Context, id string, f func(*txn.Store, txn.Call) txn.Decision) (txn.Decision, error) {
	sh, err := s.shardOf(id)
	if err != nil {
		return txn.Decision{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.o.Config().RequestTimeout)
	defer cancel()
	fresh := txn.NoProducerID
	for {
		d, err := rsm.Do(ctx, sh.rsm, func(m *machine, now time.Time) (txn.Decision, rsm.Outcome[txn.Record]) {
			d := f(m.store, m.call(now, fresh))
			return d, m.carryOut(d, now)
		})
		if err != nil || !d.NeedsID {
			return d, err
		}
		if fresh, err = s.o.NextProducerID(ctx); err != nil {
			return d, err
		}
	}
}
