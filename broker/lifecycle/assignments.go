package lifecycle

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/protocol"
)

const (
	// maxAssignments is the most that one request tells, as in Kafka.
	maxAssignments = 2250
	// Pauses after a request that failed; each is twice the one before.
	firstAssignmentPause = 100 * time.Millisecond
	lastAssignmentPause  = 10 * time.Second
)

// Replica is a partition's replica on this broker.
type Replica struct {
	TopicID   protocol.UUID
	Partition int32
}

// Assignments tells the controller in which log directory each replica lies (AssignReplicasToDirs, KIP-858), where
// the metadata does not say so already. It needs that to know which partitions a failed directory takes with it.
// Safe for concurrent use.
type Assignments struct {
	nodeID int32
	epoch  func() int64 // of the broker, as registered
	do     func(ctx context.Context, req kmsg.Request) (kmsg.Response, error)
	log    *zap.Logger

	kick chan struct{} // something waits; capacity 1
	stop context.CancelFunc
	done chan struct{} // the loop has ended

	mu      sync.Mutex
	waiting map[Replica]protocol.UUID // not told yet, mu
}

// NewAssignments makes what tells the controller through do. Nothing is told before Start.
func NewAssignments(nodeID int32, epoch func() int64, do func(context.Context, kmsg.Request) (kmsg.Response, error), log *zap.Logger) *Assignments {
	return &Assignments{nodeID: nodeID, epoch: epoch, do: do, log: log,
		kick: make(chan struct{}, 1), done: make(chan struct{}), waiting: map[Replica]protocol.UUID{}}
}

// Placed is told of a replica that lies in another directory than the metadata says. It does not wait.
func (a *Assignments) Placed(r Replica, dir protocol.UUID) {
	a.mu.Lock()
	a.waiting[r] = dir
	a.mu.Unlock()
	select {
	case a.kick <- struct{}{}:
	default:
	}
}

// Start begins to tell.
func (a *Assignments) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	a.stop = cancel
	go a.run(ctx)
}

// Close ends it; what was not told is told by the next process.
func (a *Assignments) Close() {
	if a.stop != nil {
		a.stop()
		<-a.done
	}
}

func (a *Assignments) run(ctx context.Context) {
	defer close(a.done)
	pause := firstAssignmentPause
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.kick:
		}
		for batch := a.batch(); len(batch) > 0; batch = a.batch() {
			err := a.tell(ctx, batch)
			if err == nil {
				pause = firstAssignmentPause
				continue
			}
			a.log.Info("The controller does not know yet in which directories some replicas are", zap.Int("replicas", len(batch)), zap.Error(err))
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
				pause = min(2*pause, lastAssignmentPause)
			}
		}
	}
}

// batch is some of what waits.
func (a *Assignments) batch() map[Replica]protocol.UUID {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := make(map[Replica]protocol.UUID, min(len(a.waiting), maxAssignments))
	for r, dir := range a.waiting {
		if len(out) == maxAssignments {
			break
		}
		out[r] = dir
	}
	return out
}

// tell sends one request and forgets what it settled: what the controller has taken, and replicas that are not, or
// not any more, this broker's.
func (a *Assignments) tell(ctx context.Context, batch map[Replica]protocol.UUID) error {
	resp, err := a.do(ctx, a.request(batch))
	if err != nil {
		return err
	}
	r := resp.(*kmsg.AssignReplicasToDirsResponse)
	if r.ErrorCode != 0 {
		return protocol.ErrorCode(r.ErrorCode)
	}
	var errs []error
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range r.Directories {
		for _, t := range d.Topics {
			for _, p := range t.Partitions {
				switch code := protocol.ErrorCode(p.ErrorCode); code {
				case protocol.None, protocol.UnknownTopicID, protocol.UnknownTopicOrPartition, protocol.NotLeaderOrFollower:
					if replica := (Replica{t.TopicID, p.Partition}); a.waiting[replica] == d.ID { // else it has moved meanwhile
						delete(a.waiting, replica)
					}
				default:
					errs = append(errs, code)
				}
			}
		}
	}
	return errors.Join(errs...)
}

func (a *Assignments) request(batch map[Replica]protocol.UUID) *kmsg.AssignReplicasToDirsRequest {
	byDir := map[protocol.UUID]map[protocol.UUID][]int32{}
	for r, dir := range batch {
		if byDir[dir] == nil {
			byDir[dir] = map[protocol.UUID][]int32{}
		}
		byDir[dir][r.TopicID] = append(byDir[dir][r.TopicID], r.Partition)
	}
	req := kmsg.NewPtrAssignReplicasToDirsRequest()
	req.BrokerID, req.BrokerEpoch = a.nodeID, a.epoch()
	for dir, topics := range byDir {
		d := kmsg.NewAssignReplicasToDirsRequestDirectory()
		d.ID = dir
		for id, partitions := range topics {
			t := kmsg.NewAssignReplicasToDirsRequestDirectoryTopic()
			t.TopicID = id
			for _, n := range partitions {
				p := kmsg.NewAssignReplicasToDirsRequestDirectoryTopicPartition()
				p.Partition = n
				t.Partitions = append(t.Partitions, p)
			}
			d.Topics = append(d.Topics, t)
		}
		req.Directories = append(req.Directories, d)
	}
	return req
}
