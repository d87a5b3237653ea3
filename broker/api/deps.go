package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/groupcoord"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/replication"
	"github.com/ottla/ottla/storage"
	"github.com/ottla/ottla/txncoord"
)

// Deps is what handlers call. The composition root fills every field.
type Deps struct {
	NodeID    int32
	ClusterID string
	Log       *zap.Logger
	LogLevel  *zap.AtomicLevel // of Log, changed through IncrementalAlterConfigs

	// Features are the features and levels this node supports.
	Features []metadata.VersionRange
	// Metadata is the current image.
	Metadata func() *metadata.Image
	// AwaitMetadata waits until every publisher has seen the image at offset or a later one.
	AwaitMetadata func(ctx context.Context, offset int64) error
	// Config is the node's settings as of now.
	Config func() config.Layers

	// ActiveController is the id of the active controller as far as this node knows, -1 if it does not.
	ActiveController func() int32
	// Controller sends a request to the active controller, on behalf of the call's principal, and
	// gives its answer, in the request's version, with the offset of the metadata log at which what it
	// did is visible. In process or over the wire, only requests go across.
	Controller func(ctx context.Context, c *Call, req kmsg.Request) (resp kmsg.Response, offset int64, err error)

	// Partitions are those of this node.
	Partitions *replication.Manager
	// LogDirs are the log directories of this node.
	LogDirs *storage.Manager
	// VolumeSize is the size and the free space in bytes of the volume a log directory is on, -1 if
	// unknown. It may be nil.
	VolumeSize func(dir string) (total, usable int64)
	// Groups coordinates the groups whose partition of __consumer_offsets this node leads.
	Groups *groupcoord.Service
	// ProducerIDs hands out ids for idempotent producers.
	ProducerIDs *txncoord.ProducerIDs
	// Transactions coordinates those whose partition of __transaction_state this node leads.
	Transactions *txncoord.Service
	// Verifier asks transactions' coordinators about partitions that this node leads.
	Verifier *txncoord.Verifier
}

// handlers are the methods behind the table, one file an API.
type handlers struct {
	*Deps
	rows   []Row
	topics topicCreator

	sessions  *fetchSessions
	fetchPool fetchPool
}
