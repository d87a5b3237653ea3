package quorum

import (
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"

	"github.com/ottla/ottla/protocol"
)

// Node is this controller's part in the quorum. All methods are safe for concurrent use.
//
// Who does what: Raft's main goroutine stores entries, its applying goroutine runs applier and calls committed, and
// watch follows Raft's leadership. Between winning an election and Became lie a barrier (everything earlier is
// applied) and the commit of the epoch's LeaderChange batch; only then there is a reign, and only a reign takes
// proposals.
//
// Locks, in this order: calls (one Listener call at a time), reign.mu (proposals in offset order), mu (waiters).
// The applying goroutine takes only calls and mu; neither is held while something is handed to Raft.
type Node struct {
	o       Options
	id      raft.ServerID // node id and, within one process, address
	log     metaLog
	store   *store
	applier *applier
	raft    *raft.Raft
	trans   *raft.InmemTransport

	calls    sync.Mutex
	electing int32 // epoch whose LeaderChange is on its way, 0: none; under calls
	reign    atomic.Pointer[reign]
	epoch    atomic.Int32 // last one known
	hw       atomic.Int64

	mu      sync.Mutex
	waiters []waiter // by end
	ended   error    // why there are no more commits, nil while there may be

	won          chan bool // from Raft: leadership came or went
	ready        chan readiness
	saveState    chan struct{} // to watch: write quorum-state
	tired        chan struct{} // to watch: give leadership up
	stopping     chan struct{}
	watching     sync.WaitGroup
	snapshotting atomic.Bool
	stopOnce     sync.Once
	stopErr      error
	faultOnce    sync.Once
}

// reign is the time this node leads one epoch.
type reign struct {
	epoch int32
	mu    sync.Mutex
	end   atomic.Int64 // offset behind the last proposed record; written under mu
}

type waiter struct {
	end  int64
	done func(error)
}

// Snapshot when this much was applied since the last one: it bounds the store's memory, its file, and the restart.
const (
	snapshotBytes   = 1 << 20
	snapshotEntries = 1024
)

// Open opens Raft's store and brings it and the log into agreement. It starts no goroutine. Afterwards everything in
// the log counts as committed.
func Open(o Options) (*Node, error) { return open(o, kafkaLog{o.Log}) }

func open(o Options, log metaLog) (*Node, error) {
	if len(o.Others) > 0 {
		return nil, fmt.Errorf("a quorum of %d controllers is not supported yet, only one of a single controller", 1+len(o.Others))
	}
	n := &Node{
		o: o, log: log, id: raft.ServerID(strconv.Itoa(int(o.Self.ID))),
		won: make(chan bool, 16), ready: make(chan readiness, 1), saveState: make(chan struct{}, 1), tired: make(chan struct{}, 1), stopping: make(chan struct{}),
	}
	var err error
	if n.store, err = openStore(o.FS, o.Dir+"/raft", true); err != nil {
		return nil, err
	}
	if err := n.agree(); err != nil {
		_ = n.store.close() // the first error is the one that matters
		return nil, err
	}
	return n, nil
}

func (n *Node) agree() error {
	st, err := reconcile(n.store, n.log, &n.o)
	if err != nil {
		return err
	}
	term, err := n.store.GetUint64([]byte(keyTerm))
	if err != nil {
		return storageError("read", n.store.path(storeFile), 0, err)
	}
	n.epoch.Store(int32(term))
	n.hw.Store(n.log.SetHighWatermark(n.log.LogEndOffset()))
	n.applier = &applier{log: n.log, node: n, state: st}
	return nil
}

// Start joins the quorum. A lone voter leads within milliseconds; Start does not wait for it, Listener.Became tells.
// After an error the Node can only be closed.
func (n *Node) Start() error {
	address := raft.ServerAddress(n.id)
	_, n.trans = raft.NewInmemTransportWithTimeout(address, time.Second)
	n.trans.Connect(address, n.trans)
	r, err := raft.NewRaft(n.config(), n.applier, n.store, n.store, snapshots{n.store}, n.trans)
	if err != nil {
		return fmt.Errorf("metadata quorum: %w", err)
	}
	n.raft = r
	n.watching.Add(1)
	go n.watch()
	n.store.onFault(n.fail)
	n.elect()
	return nil
}

// config has timeouts as short as a quorum over a network wants them, and leaves the rest of Raft's timers idle.
func (n *Node) config() *raft.Config {
	const timeout = 2 * time.Second
	c := raft.DefaultConfig()
	c.LocalID = n.id
	c.HeartbeatTimeout, c.ElectionTimeout, c.LeaderLeaseTimeout = timeout, timeout, timeout
	c.MaxAppendEntries, c.BatchApplyCh = 64, true
	c.SnapshotInterval, c.SnapshotThreshold = 10000*time.Hour, 1<<62 // we say when, see maybeSnapshot
	c.TrailingLogs = 0
	c.NoSnapshotRestoreOnStart = true // the state is read by reconcile
	c.NotifyCh = n.won
	c.NoLegacyTelemetry = true
	c.Logger = raftLog{zap: n.o.Logger}
	return c
}

// elect makes a lone voter a candidate without waiting for an election timeout. When it leads already, it loses
// leadership and takes it again under the next epoch.
func (n *Node) elect() {
	request := raft.TimeoutNowRequest{RPCHeader: raft.RPCHeader{ProtocolVersion: raft.ProtocolVersionMax}}
	var response raft.TimeoutNowResponse
	if err := n.trans.TimeoutNow(n.id, n.trans.LocalAddr(), &request, &response); err != nil {
		n.o.Logger.Warn("Cannot begin an election; waiting for the election timeout", zap.Error(err))
	}
}

// Writable is nil while this node leads epoch and may write, else NOT_CONTROLLER.
func (n *Node) Writable(epoch int32) error {
	if r := n.reign.Load(); r == nil || r.epoch != epoch {
		return protocol.NotController
	}
	return nil
}

// Propose hands one batch of metadata records (frame, type, version, message each) to the quorum and returns the
// offset behind its last record. It does not wait for the commit: see OnCommit; it may wait for room when dozens are
// under way. The batch is committed only in epoch and only at offset base.
//
// Errors, with nothing written: NOT_CONTROLLER if this node does not lead epoch; UNKNOWN_SERVER_ERROR if base is not
// the next offset; POLICY_VIOLATION above the limits of a batch, INVALID_REQUEST for no records at all.
func (n *Node) Propose(epoch int32, base int64, records [][]byte) (end int64, err error) {
	switch {
	case len(records) == 0:
		return 0, &protocol.Fault{Code: protocol.InvalidRequest, Message: "a metadata batch needs a record"}
	case len(records) > MaxBatchRecords:
		return 0, &protocol.Fault{Code: protocol.PolicyViolation,
			Message: fmt.Sprintf("a metadata batch of %d records exceeds the %d allowed", len(records), MaxBatchRecords)}
	}
	r := n.reign.Load()
	if r == nil || r.epoch != epoch {
		return 0, protocol.NotController
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if next := r.end.Load(); base != next {
		return 0, &protocol.Fault{Code: protocol.UnknownServerError,
			Message: fmt.Sprintf("a metadata batch is meant for offset %d, but the next one is %d", base, next)}
	}
	batch := dataBatch(epoch, base, records, time.Now().UnixMilli())
	if len(batch) > MaxBatchBytes {
		return 0, &protocol.Fault{Code: protocol.PolicyViolation,
			Message: fmt.Sprintf("a metadata batch of %d bytes exceeds the %d allowed", len(batch), MaxBatchBytes)}
	}
	end = base + int64(len(records))
	r.end.Store(end)
	// The future is not needed: the batch is committed, or leadership is lost, or the node stops; all three are seen
	// elsewhere.
	n.raft.Apply(batch, 0)
	return end, nil
}

// OnCommit calls done once: with nil when everything below end is committed, in the log, and has been handed to
// the Listener; with NOT_CONTROLLER when this node does not lead epoch, or resigned before; with KAFKA_STORAGE_ERROR
// after a fault. It may be called before OnCommit returns. It must not block.
func (n *Node) OnCommit(epoch int32, end int64, done func(error)) {
	n.mu.Lock()
	r := n.reign.Load()
	switch {
	case n.ended != nil:
		err := n.ended
		n.mu.Unlock()
		done(err)
	case r == nil || r.epoch != epoch:
		n.mu.Unlock()
		done(protocol.NotController)
	case end <= n.hw.Load():
		n.mu.Unlock()
		done(nil)
	default:
		at := len(n.waiters)
		for at > 0 && n.waiters[at-1].end > end {
			at--
		}
		n.waiters = append(n.waiters, waiter{})
		copy(n.waiters[at+1:], n.waiters[at:])
		n.waiters[at] = waiter{end, done}
		n.mu.Unlock()
	}
}

// Leader is the voter that leads and may write, and the epoch; -1 while none is known.
func (n *Node) Leader() (id, epoch int32) {
	if r := n.reign.Load(); r != nil {
		return n.o.Self.ID, r.epoch
	}
	return -1, n.epoch.Load()
}

// Status describes the quorum as this node sees it.
func (n *Node) Status() Status {
	s := Status{HighWatermark: n.hw.Load(), Voters: []Voter{n.o.Self}}
	s.LeaderID, s.Epoch = n.Leader()
	s.LogEndOffset = s.HighWatermark
	if r := n.reign.Load(); r != nil {
		s.LogEndOffset = max(s.LogEndOffset, r.end.Load())
	}
	return s
}

// Snapshot syncs the log and drops from Raft's store what it then no longer has to keep. It happens by itself from
// time to time.
func (n *Node) Snapshot() error {
	if n.raft == nil { // not started: nothing was applied
		return nil
	}
	if err := n.raft.Snapshot().Error(); err != nil && !errors.Is(err, raft.ErrNothingNewToSnapshot) {
		return fmt.Errorf("metadata quorum: %w", err)
	}
	return nil
}

// Resign gives leadership of epoch up. A lone voter takes it again under the next one.
func (n *Node) Resign(epoch int32) {
	if r := n.reign.Load(); r != nil && r.epoch == epoch && n.reign.CompareAndSwap(r, nil) {
		select {
		case n.tired <- struct{}{}:
		default: // it is on its way already
		}
	}
}

// Close resigns and stops. Everything committed is in the log and synced.
func (n *Node) Close() error {
	n.reign.Store(nil)
	var err error
	if n.raft != nil && n.applier.unsavedNo.Load() > 0 && !n.stopped() {
		err = n.Snapshot()
	}
	n.stop(protocol.NotController)
	return errors.Join(err, n.stopErr)
}

func (n *Node) stopped() bool {
	select {
	case <-n.stopping:
		return true
	default:
		return false
	}
}
