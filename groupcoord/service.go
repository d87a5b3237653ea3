// Package groupcoord is the group coordinator of a broker: groups and their committed offsets, kept in
// __consumer_offsets in Kafka's own records. It drives the rules in groupcoord/group over one replicated state machine
// per partition of that topic that this broker leads.
package groupcoord

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/groupcoord/group/consumer"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/rsm"
)

// reloadBackoff is the first pause before a shard that failed reads its log again.
const reloadBackoff = 100 * time.Millisecond

// Options of a Service.
type Options struct {
	// Config is the settings as of now; it is asked for every operation and must be cheap.
	Config func() Config
	// Partitions is the number of partitions that __consumer_offsets has, 0 while it does not exist.
	Partitions func() int32
	// Log is a partition of __consumer_offsets on this broker, or why there is none (NOT_LEADER_OR_FOLLOWER).
	Log func(partition int32) (Log, error)
	// ConsumerConfig is the settings of a consumer group that has some of its own.
	ConsumerConfig func(overrides map[string]string) consumer.Config
	// Metadata is the cluster's metadata as of now.
	Metadata func() *metadata.Image
	// Verify asks a transaction's coordinator about a partition of __consumer_offsets that is led here.
	Verify func(context.Context, Question) protocol.ErrorCode
	// Logger must not be nil.
	Logger *zap.Logger
}

// Client is who sends a request.
type Client struct {
	ID   string // the header's client id, "" if null
	Host string // "/127.0.0.1"
}

// Service is the group coordinator. All methods are safe for concurrent use; those named after an API block until the
// answer is there, and always give one.
//
// Lock order: mu is never held while a shard is called.
type Service struct {
	o      Options
	timers *rsm.Timers
	slots  chan struct{} // loads at a time
	tokens atomic.Uint64

	mu     sync.RWMutex
	shards map[int32]*shard
	closed bool
}

// New makes a coordinator that leads nothing yet.
func New(o Options) *Service {
	return &Service{
		o: o, timers: rsm.NewTimers(), shards: map[int32]*shard{},
		slots: make(chan struct{}, max(2, runtime.GOMAXPROCS(0))),
	}
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
	s.timers.Stop()
}

// OnElection begins to coordinate the groups of a partition that this broker leads since leaderEpoch: it reads the
// partition in the background. An epoch that is not newer than the one known changes nothing.
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

// OnResign stops coordinating the groups of a partition; what waits is answered NOT_COORDINATOR. A leaderEpoch
// older than the one known changes nothing; for a partition that was deleted pass the largest.
func (s *Service) OnResign(partition, leaderEpoch int32) {
	s.mu.RLock()
	sh := s.shards[partition]
	s.mu.RUnlock()
	if sh != nil {
		sh.rsm.Unload(leaderEpoch)
	}
}

// PartitionFor is the partition of __consumer_offsets that a group's records go to.
func (s *Service) PartitionFor(id string) int32 {
	n := s.o.Partitions()
	if n <= 0 {
		n = s.o.Config().OffsetsPartitions
	}
	return protocol.CoordinatorPartition(id, n)
}

// shardOf is where a group lives: COORDINATOR_NOT_AVAILABLE when closed, NOT_COORDINATOR when not here.
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

// allShards lists the shards in order of their partitions.
func (s *Service) allShards() ([]*shard, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if s.closed {
		return nil, protocol.CoordinatorNotAvailable
	}
	return sortedShards(s.shards), nil
}

// do decides an operation in the shard of a group and returns its reply when it is committed.
func do[T any](ctx context.Context, s *Service, id string, decide func(m *machine, now time.Time) (T, group.Outcome)) (T, error) {
	sh, err := s.shardOf(id)
	if err != nil {
		var none T
		return none, err
	}
	return doIn(ctx, sh, decide)
}

func doIn[T any](ctx context.Context, sh *shard, decide func(m *machine, now time.Time) (T, group.Outcome)) (T, error) {
	return rsm.Do(ctx, sh.rsm, func(m *machine, now time.Time) (T, rsm.Outcome[group.Record]) {
		reply, o := decide(m, now)
		return reply, sh.outcome(o)
	})
}

// parked decides an operation whose answer comes out as a reply, at once or later.
func parked(ctx context.Context, s *Service, id string, decide func(m *machine, now time.Time, t group.Token) group.Outcome) (answer, error) {
	sh, err := s.shardOf(id)
	if err != nil {
		return answer{}, err
	}
	token := group.Token(s.tokens.Add(1))
	wait := sh.waiters.add(token)
	defer sh.waiters.remove(token)
	if _, err := doIn(ctx, sh, func(m *machine, now time.Time) (struct{}, group.Outcome) {
		return struct{}{}, decide(m, now, token)
	}); err != nil {
		return answer{}, err
	}
	select {
	case a := <-wait:
		return a, a.err
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
}
