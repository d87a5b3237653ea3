package controller

import (
	"time"

	"go.uber.org/zap"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/metadata/loader"
)

// Quorum is what the controller needs of a quorum.Node.
type Quorum interface {
	// Writable is nil while this node leads epoch and may write, else NOT_CONTROLLER.
	Writable(epoch int32) error
	// Propose writes one batch at offset base in epoch and returns the offset behind it.
	Propose(epoch int32, base int64, records [][]byte) (end int64, err error)
	// OnCommit calls done when everything below end is committed and was handed to Committed, or never will be in epoch.
	OnCommit(epoch int32, end int64, done func(error))
	// Leader is the voter that leads and the epoch; -1 while none is known.
	Leader() (id, epoch int32)
	// Resign gives leadership up.
	Resign(epoch int32)
}

// Options of a Service. Everything without "optional" is required.
type Options struct {
	NodeID    int32
	ClusterID string
	Static    *config.Static
	// Loader is the node's view of the committed metadata. It is offered every committed batch before the service
	// hears of it.
	Loader *loader.Loader
	// Supported are the ranges of features this node supports, without metadata.version and kraft.version.
	Supported []metadata.VersionRange
	// Bootstrap are the records an empty log begins with, metadata.version first. Optional: without them those of
	// the directory's bootstrap snapshot, or the latest metadata.version and the highest level of every
	// supported feature.
	Bootstrap []metadata.Record
	// Snapshots says where the log's snapshots go. Optional: none are written.
	Snapshots *SnapshotOptions
	// Fault is told of what this controller cannot go on from, at most once. Optional.
	Fault  func(error)
	Logger *zap.Logger
}

// SnapshotOptions say when and where snapshots are written.
type SnapshotOptions struct {
	FS  vfs.FS
	Dir string // of __cluster_metadata-0
	// BytesBetween and TimeBetween are how much log, or how long after a change, until the next snapshot. 0 is
	// Kafka's default: 20 MiB, an hour.
	BytesBetween int64
	TimeBetween  time.Duration
	// RetentionSize and RetentionTime bound what is kept before the newest snapshot. 0 is Kafka's default: 100 MiB, a
	// week.
	RetentionSize int64
	RetentionTime time.Duration
	// DeleteBefore drops what the log holds below the offset. Optional.
	DeleteBefore func(offset int64) error
}

// Request is who asks, beside the request itself.
type Request struct {
	// Principal is the client's, such as "User:ANONYMOUS".
	Principal string
}

// supported are all features this controller knows.
func (o *Options) supported() []metadata.VersionRange {
	own := []metadata.VersionRange{metadata.SupportedMetadataVersion(), metadata.SupportedKRaftVersion()}
	return append(own, o.Supported...)
}

func (o *Options) sessionTimeout() time.Duration { return o.millis("broker.session.timeout.ms") }

func (o *Options) millis(key string) time.Duration {
	return time.Duration(config.Layers{Static: o.Static}.Broker().Int(key)) * time.Millisecond
}
