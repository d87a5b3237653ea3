package quorum

import (
	"time"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

// watch follows Raft's leadership and keeps quorum-state up to date.
func (n *Node) watch() {
	defer n.watching.Done()
	saved := int32(-1)
	save := func() {
		if epoch := n.epoch.Load(); epoch > saved && n.o.FS != nil {
			q := quorumState{LeaderID: n.o.Self.ID, LeaderEpoch: epoch, VotedID: -1}
			if err := writeQuorumState(n.o.FS, n.o.Dir, q); err != nil {
				n.fail(err)
				return
			}
			saved = epoch
		}
	}
	for {
		select {
		case <-n.won:
			n.follow()
		case r := <-n.ready:
			n.open(r)
		case <-n.saveState:
			save()
		case <-n.tired:
			n.elect()
		case <-n.stopping:
			n.resigned()
			save()
			return
		}
	}
}

// follow makes our view of our leadership Raft's. Notices may lag behind what is; the state counts, not the notice.
func (n *Node) follow() {
	epoch := n.leads()
	n.calls.Lock()
	known := n.electing
	n.calls.Unlock()
	if epoch == known {
		return
	}
	if known != 0 {
		n.resigned()
	}
	if epoch != 0 {
		n.begin(epoch)
	}
}

// leads is the epoch Raft leads now, 0 if it does not.
func (n *Node) leads() int32 {
	for {
		term, state := n.raft.CurrentTerm(), n.raft.State()
		if n.raft.CurrentTerm() != term {
			continue
		}
		if state != raft.Leader {
			return 0
		}
		return int32(term)
	}
}

// begin sends an empty entry through Raft: when it is applied, all entries of earlier epochs are (see caughtUp).
// Raft's own barrier would do, but its future may never answer when Raft stops meanwhile.
func (n *Node) begin(epoch int32) {
	n.calls.Lock()
	n.electing = epoch
	n.calls.Unlock()
	n.raft.Apply(nil, 0) // an error means that leadership is lost: there will be a notice
}

// caughtUp passes on that an epoch's empty entry was applied, and the state then. It runs on Raft's applying goroutine.
func (n *Node) caughtUp(term uint64, st state) {
	n.calls.Lock()
	ours := n.electing != 0 && uint64(n.electing) == term
	n.calls.Unlock()
	if !ours {
		return // an older epoch's, applied again after a restart
	}
	select {
	case <-n.ready: // of an election that was lost before anybody looked
	default:
	}
	n.ready <- readiness{int32(term), st}
}

// readiness says that an epoch can begin, with its first batch at state.next.
type readiness struct {
	epoch int32
	state state
}

// open proposes the first batch of an epoch; its commit makes the reign.
func (n *Node) open(r readiness) {
	if n.leads() != r.epoch {
		return // there will be a notice, or was
	}
	voters, err := n.votersToWrite(&r.state)
	if err != nil {
		n.fail(asStorageError(err))
		return
	}
	batch, err := epochStart(r.epoch, r.state.next, n.o.Self.ID, []Voter{n.o.Self}, voters, time.Now().UnixMilli())
	if err != nil {
		n.fail(asStorageError(err))
		return
	}
	n.raft.Apply(batch, 0) // as in begin
}

// votersToWrite is the KRaftVoters record that this epoch has to begin with: in a new log, or when our own entry in
// it has changed. A log that Kafka keeps at kraft.version 0 has none and gets none.
func (n *Node) votersToWrite(st *state) ([]byte, error) {
	voters, err := encodeVoters([]Voter{n.o.Self})
	if err != nil {
		return nil, err
	}
	if st.voters == nil {
		if st.next > 0 || n.o.StaticVoters {
			return nil, nil
		}
		return voters, nil
	}
	if string(st.voters) == string(voters) {
		return nil, nil
	}
	return voters, nil
}

// committed tells of newly committed batches. It runs on Raft's applying goroutine.
func (n *Node) committed(fresh []record.Batch, next int64) {
	n.calls.Lock()
	defer n.calls.Unlock()
	for _, b := range fresh {
		n.o.Listener.Committed(b)
	}
	due := n.advance(next)
	for _, b := range fresh {
		if b.IsControl() && b.PartitionLeaderEpoch() == n.electing {
			n.became(b)
		}
	}
	for _, w := range due {
		w.done(nil)
	}
	n.maybeSnapshot()
}

// advance moves the high watermark and returns the waiters that have waited for it.
func (n *Node) advance(next int64) []waiter {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hw.Store(next)
	i := 0
	for i < len(n.waiters) && n.waiters[i].end <= next {
		i++
	}
	due := n.waiters[:i:i]
	n.waiters = n.waiters[i:]
	if len(n.waiters) == 0 {
		n.waiters = nil
	}
	return due
}

// became begins the reign whose LeaderChange is b.
func (n *Node) became(b record.Batch) {
	epoch := b.PartitionLeaderEpoch()
	n.epoch.Store(epoch)
	r := &reign{epoch: epoch}
	r.end.Store(b.NextOffset())
	n.reign.Store(r)
	select {
	case n.saveState <- struct{}{}:
	default:
	}
	n.o.Logger.Info("Leads the controller quorum", zap.Int32("epoch", epoch), zap.Int64("offset", b.NextOffset()))
	n.o.Listener.Became(epoch, b.NextOffset())
}

// resigned ends a reign, or the attempt at one.
func (n *Node) resigned() {
	n.calls.Lock()
	defer n.calls.Unlock()
	epoch := n.electing
	n.electing = 0
	n.mu.Lock()
	n.reign.Store(nil)
	waiters, err := n.waiters, n.ended
	n.waiters = nil
	n.mu.Unlock()
	if err == nil {
		err = protocol.NotController
	}
	for _, w := range waiters {
		w.done(err)
	}
	if epoch != 0 && n.epoch.Load() == epoch {
		n.o.Listener.Resigned(epoch)
	}
}

// maybeSnapshot takes a snapshot on a goroutine of its own when enough has been applied.
func (n *Node) maybeSnapshot() {
	if n.applier.unsaved.Load() < snapshotBytes && n.applier.unsavedNo.Load() < snapshotEntries || n.snapshotting.Swap(true) {
		return
	}
	n.watching.Add(1)
	go func() {
		defer n.watching.Done()
		defer n.snapshotting.Store(false)
		if err := n.Snapshot(); err != nil {
			if !n.stopped() { // else it was cut short
				n.fail(asStorageError(err))
			}
		}
	}()
}

// fail ends the node because of a disk: once, and not on the caller's goroutine, which Raft or a lock may need.
func (n *Node) fail(err error) {
	n.faultOnce.Do(func() {
		n.reign.Store(nil)
		go func() {
			n.o.Logger.Error("The metadata log failed; this controller stops", zap.Error(err))
			n.stop(err)
			if n.o.Fault != nil {
				n.o.Fault(err)
			}
		}()
	})
}

// stop ends everything, once. Waiters get err.
func (n *Node) stop(err error) {
	n.stopOnce.Do(func() {
		n.mu.Lock()
		n.ended = err
		n.mu.Unlock()
		close(n.stopping)
		if n.raft != nil {
			if rerr := n.raft.Shutdown().Error(); rerr != nil {
				n.o.Logger.Error("Raft did not stop", zap.Error(rerr))
			}
		}
		n.watching.Wait()
		n.stopErr = n.store.close()
	})
}
