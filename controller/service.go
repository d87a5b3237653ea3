// Package controller is the active controller: Kafka's controller requests in, Kafka's responses out. It decides
// through controller/catalog, one request at a time, and answers when the quorum has committed what it decided.
package controller

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/metadata/loader"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

// Quorum is what the controller needs of a quorum.Node.
type Quorum interface {
	// Writable is nil while this node leads epoch and may write, else NOT_CONTROLLER.
	Writable(epoch int32) error
	// Propose writes one batch at offset base in epoch and returns the offset behind it.
	Propose(epoch int32, base int64, records [][]byte) (end int64, err error)
	// OnCommit calls done when everything below end is committed and was handed to Committed, or never will be.
	OnCommit(end int64, done func(error))
	// Leader is the voter that leads and the epoch; -1 while none is known.
	Leader() (id, epoch int32)
	// Resign gives leadership up.
	Resign(epoch int32)
}

// Options of a Service. Quorum is set with Start, everything without "optional" is required.
type Options struct {
	NodeID    int32
	ClusterID string
	Static    *config.Static
	// Loader is the node's view of the committed metadata. It has read the log up to where the quorum hands over.
	Loader *loader.Loader
	// Supported are the ranges of features this controller supports, without metadata.version and kraft.version.
	Supported []metadata.VersionRange
	// Bootstrap are the records an empty log begins with, metadata.version first. Optional: without them the
	// latest metadata.version and the highest level of every supported feature.
	Bootstrap []metadata.Record
	// Snapshots says where the log's snapshots go; optional: none are written.
	Snapshots *SnapshotOptions
	// Fault is told of what this controller cannot go on from. It is called at most once.
	Fault  func(error)
	Logger *zap.Logger
}

// SnapshotOptions say when and where snapshots are written.
type SnapshotOptions struct {
	FS            vfs.FS
	Dir           string // the directory of __cluster_metadata-0
	BytesBetween  int64  // metadata.log.max.record.bytes.between.snapshots, 0: 20 MiB
	TimeBetween   time.Duration
	RetentionSize int64         // metadata.max.retention.bytes
	RetentionTime time.Duration // metadata.max.retention.ms
	// DeleteBefore drops the log's segments that end at or below the offset. Optional.
	DeleteBefore func(offset int64) error
}

// Request is who asks and how, beside the request itself.
type Request struct {
	// Principal is the client's, such as "User:ANONYMOUS"; it is for delegation tokens and log lines.
	Principal string
	// CanCreate, CanDelete and so on answer what the principal may do; nil allows everything.
	Authorize func(op Operation, r metadata.ResourceType, name string) bool
	// Deadline of the answer, from the request's timeout; the zero time is none.
	Deadline time.Time
}

// Operation as in ACLs.
type Operation int8

// Service is the controller of this node. All methods are safe for concurrent use.
type Service struct{}

// New makes a service that waits for the quorum to make this node the leader.
func New(o Options) *Service { panic("being written") }

// Start hands over the quorum's node. It must be called before the first Do.
func (s *Service) Start(q Quorum) { panic("being written") }

// Do answers one controller request: CreateTopics, DeleteTopics, CreatePartitions, AlterConfigs, IncrementalAlterConfigs,
// UpdateFeatures, AllocateProducerIds, BrokerRegistration, BrokerHeartbeat, UnregisterBroker, AlterPartition,
// AssignReplicasToDirs, ElectLeaders, AlterPartitionReassignments, ListPartitionReassignments, DescribeQuorum.
//
// Protocol errors are in the response, NOT_CONTROLLER included. The Go error is for requests that are none of
// these, and for a ctx that ended before the answer.
func (s *Service) Do(ctx context.Context, r Request, req kmsg.Request) (kmsg.Response, error) {
	panic("being written")
}

// Became, Committed and Resigned make the service a quorum.Listener.
func (s *Service) Became(epoch int32, nextOffset int64) { panic("being written") }
func (s *Service) Committed(b record.Batch)             { panic("being written") }
func (s *Service) Resigned(epoch int32)                 { panic("being written") }

// WaitActive returns when this controller is active, or with ctx's error.
func (s *Service) WaitActive(ctx context.Context) error { panic("being written") }

// Close answers everything NOT_CONTROLLER and stops. The quorum must be closed first.
func (s *Service) Close() error { panic("being written") }

var _ = protocol.None
