// Package quorum is the consensus among controllers: it commits batches of
// metadata records and writes the committed ones to `__cluster_metadata-0`.
//
// The engine is hashicorp/raft; nothing of it shows here. What does show is
// KRaft's: an epoch is a Raft term, an offset counts records (not Raft entries),
// a leader begins its epoch with a LeaderChange control batch, and a write says
// at which epoch and base offset it expects to land, so that offsets (and with
// them broker epochs) are known before the commit.
//
// What is durable where: Raft's own store, in the subdirectory `raft` of the
// partition's directory (Kafka looks at files only there), is synced before an
// append is committed. The partition's segments are Kafka's format and are not
// synced for each append: after a crash, entries that are missing there are
// written again from Raft's store, which is trimmed only after the segments were
// synced. If the segments hold more than Raft knows, or something else, then
// Kafka itself ran on the directory in the meantime and the segments are right.
package quorum

import (
	"go.uber.org/zap"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
	"github.com/ottla/ottla/storage"
)

// Limits of one write, as Kafka's controller has them.
const (
	MaxBatchRecords = 10_000
	MaxBatchBytes   = 8 << 20 // also the largest Raft entry
)

// Options of a Node. Log, Listener and Logger are required.
type Options struct {
	// Self is this controller as the voter set shows it.
	Self Voter
	// Others are the remaining voters. None are supported yet: Open refuses them.
	Others []Voter
	// StaticVoters says that the voters come from `controller.quorum.voters` (kraft.version 0): no voter records are
	// written to a log that has none.
	StaticVoters bool
	// FS and Dir say where the partition's directory is. FS nil: memory only, no file is written.
	FS  vfs.FS
	Dir string
	// Log is the open log of `__cluster_metadata-0`. The caller closes it, after the Node.
	Log *storage.Log
	// Listener is told what happens; see there.
	Listener Listener
	// Fault is called at most once, on its own goroutine, when a disk or the log fails: the node has resigned
	// and will not come back. The error wraps protocol.KafkaStorageError.
	Fault  func(error)
	Logger *zap.Logger
}

// Voter is a controller with a vote. Endpoints are those of its controller listeners, the first of
// `controller.listener.names` first.
type Voter struct {
	ID          int32
	DirectoryID protocol.UUID
	Endpoints   []Endpoint
}

// Endpoint of a controller listener.
type Endpoint struct {
	Name string
	Host string
	Port uint16
}

// Listener is told of leadership and of commits, one call at a time, in order. Calls must not block: they hold
// up everything that is being committed. They may call the Node, but not Close, and Propose only from Became.
type Listener interface {
	// Became says that this node leads and may write. All that was committed before has been handed over;
	// nextOffset is behind the LeaderChange batch of this epoch, where the first write goes.
	Became(epoch int32, nextOffset int64)
	// Committed hands over the next committed batch, control batches too, right after it went to the log. Batches
	// that were in the log when the Node was opened are not handed over: the caller reads them from the log.
	// The batch is not the listener's to change.
	Committed(b record.Batch)
	// Resigned says that this node leads no longer. Writes not yet committed have been answered NOT_CONTROLLER.
	Resigned(epoch int32)
}

// Status is what DescribeQuorum and metrics show.
type Status struct {
	LeaderID      int32 // -1: unknown
	Epoch         int32
	HighWatermark int64 // offset behind the last committed record
	LogEndOffset  int64 // of the leader: behind the last record written, committed or not
	Voters        []Voter
}
