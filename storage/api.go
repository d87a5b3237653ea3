package storage

import (
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

// Origin says who made a batch, which decides what is checked of it.
type Origin int8

const (
	// Client is a produce request: sequences, epochs and duplicates are checked.
	Client Origin = iota
	// Coordinator is this broker's group, transaction or share coordinator.
	Coordinator
	// Replication is a follower's fetch from its leader.
	Replication
	// Raft is the metadata log's own leader.
	Raft
)

// Bound is how far a reader may see.
type Bound int8

const (
	LogEnd        Bound = iota // replicas
	HighWatermark              // read_uncommitted consumers
	LastStable                 // read_committed consumers
)

// AppendInfo is the outcome of an append.
type AppendInfo struct {
	BaseOffset     int64 // of the first batch; of the earlier copy if Duplicate
	LastOffset     int64 // inclusive; BaseOffset-1 if nothing was appended
	LogAppendTime  int64 // ms; -1 unless the batch carries LogAppendTime or is a Duplicate
	LogStartOffset int64
	LeaderEpoch    int32 // of the last batch
	Bytes          int   // appended
	Duplicate      bool  // one of the producer's last five batches; nothing was appended
}

// FileSlice is a run of whole batches in one segment file. The holder calls
// Release exactly once, after the last use.
type FileSlice struct {
	File   *FileRef
	Offset int64 // position in the file
	Length int
}

// Read is the answer of Log.Read. Release gives back its slices.
type Read struct {
	Slices           []FileSlice // at most one: a read never crosses segments
	Size             int         // sum of the slices' lengths
	HighWatermark    int64
	LastStableOffset int64
	LogStartOffset   int64
	LogEndOffset     int64
	NextOffset       int64        // behind what was read; the offset asked for if nothing was
	Aborted          []AbortedTxn // LastStable bound only; empty, not nil, if there are none
}

// AbortedTxn tells a read_committed consumer whose data to skip from where.
type AbortedTxn struct {
	ProducerID  int64
	FirstOffset int64
}

// OffsetTime is the answer of a timestamp lookup: -1, -1, -1 unless Found.
type OffsetTime struct {
	Offset      int64
	Timestamp   int64
	LeaderEpoch int32
	Found       bool
}

// EpochEnd is where a leader epoch ends: -1, -1 if the epoch is unknown and newer
// than all known ones (KIP-101, KIP-279).
type EpochEnd struct {
	Epoch  int32
	Offset int64
}

// EpochEntry is a line of leader-epoch-checkpoint.
type EpochEntry struct {
	Epoch       int32
	StartOffset int64
}

// ProducerState is what DescribeProducers shows of one producer.
type ProducerState struct {
	ProducerID            int64
	Epoch                 int16
	LastSequence          int32 // -1: no batch kept
	LastTimestamp         int64 // ms
	CoordinatorEpoch      int32 // -1: no marker yet
	CurrentTxnStartOffset int64 // -1: none open
}

// Appender is the write side of a Log; coordinators take it as their seam.
type Appender interface {
	AppendAsLeader(b record.Batch, leaderEpoch int32, o Origin, nowMs int64) (AppendInfo, error)
}

// Marker ends a producer's transaction in a partition.
type Marker struct {
	ProducerID       int64
	Epoch            int16
	Commit           bool
	CoordinatorEpoch int32
	// TransactionVersion of the client: from 2 on the epoch is above that of the data (KIP-890).
	TransactionVersion int16
}

// Decision is what Manager.Load does with a partition found on disk.
type Decision struct {
	Keep   bool      // false: set aside as -stray
	Config LogConfig // used if kept
}

// DirState describes one log directory.
type DirState struct {
	Path string
	ID   protocol.UUID // zero if the directory failed before it could be read
	Err  error         // why it is offline; nil if it serves
}
