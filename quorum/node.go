package quorum

// Node is this controller's part in the quorum. All methods are safe for concurrent use.
type Node struct{}

// Start opens Raft's store, brings it and the log into agreement, and joins the quorum. A lone voter leads within
// milliseconds; Start does not wait for it, Listener.Became tells. An error leaves nothing running.
func Start(o Options) (*Node, error) { panic("not yet") }

// Writable is nil while this node leads epoch and may write, else NOT_CONTROLLER.
func (n *Node) Writable(epoch int32) error { panic("not yet") }

// Propose hands one batch of metadata records (frame, type, version, message each) to the quorum and returns the
// offset behind its last record. It does not wait for the commit: see OnCommit. The batch is committed only in
// epoch and only at offset base.
//
// Errors, with nothing written: NOT_CONTROLLER if this node does not lead epoch; a Fault with UNKNOWN_SERVER_ERROR
// if base is not the next offset; POLICY_VIOLATION above the limits of a batch.
func (n *Node) Propose(epoch int32, base int64, records [][]byte) (end int64, err error) {
	panic("not yet")
}

// OnCommit calls done once: with nil when everything below end is committed, in the log, and has been handed to
// the Listener; with NOT_CONTROLLER when this node resigned before; with KAFKA_STORAGE_ERROR after a fault. It may
// be called before OnCommit returns. It must not block.
func (n *Node) OnCommit(end int64, done func(error)) { panic("not yet") }

// Leader is the voter that leads and the epoch; -1 while none is known.
func (n *Node) Leader() (id, epoch int32) { panic("not yet") }

// Status describes the quorum as this node sees it.
func (n *Node) Status() Status { panic("not yet") }

// Snapshot syncs the log and drops from Raft's store what it then no longer has to keep. It happens by itself from
// time to time.
func (n *Node) Snapshot() error { panic("not yet") }

// Resign gives leadership up. A lone voter takes it again under a new epoch.
func (n *Node) Resign(epoch int32) { panic("not yet") }

// Close resigns and stops. Everything committed is in the log and synced.
func (n *Node) Close() error { panic("not yet") }
