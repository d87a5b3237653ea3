// Package replication holds the partitions of this broker: a log, who leads it, how far it is
// replicated, and who waits for it. The Manager follows the metadata image; the rules are in the
// package replica.
package replication

import (
	"go.uber.org/zap"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/storage"
)

// AnyEpoch stands for a leader epoch that the caller does not know: nothing is compared.
const AnyEpoch int32 = -1

// Options of a Manager. NodeID, Storage and LogConfig are required.
type Options struct {
	NodeID int32
	// Storage is open and neither loaded nor started: the first Publish does both, when it is known
	// what to keep. It is closed by its owner, after the Manager.
	Storage *storage.Manager
	// LogConfig is the effective configuration of a topic with these overrides, under the broker's
	// configuration as of now.
	LogConfig func(overrides map[string]string) storage.LogConfig
	// OnLeadership is called for every partition that this broker begins to lead, leads under another
	// epoch, or ceases to lead, once all partitions of the published image are in place, in order.
	OnLeadership func(Leadership)
	// OnPlaced is called when a partition's log lies in another directory than its registration says.
	OnPlaced func(p *Partition, dir protocol.UUID)
	// OnOffline is called when a partition cannot be served because of its disk.
	OnOffline func(tp protocol.TopicPartition, err error)
	Logger    *zap.Logger
}

// Leadership is a change in who leads a partition, as far as this broker is concerned.
type Leadership struct {
	TopicPartition protocol.TopicPartition
	Epoch          int32
	Leading        bool // false: another broker leads, nobody does, or the partition is gone
}

var _ metadata.Publisher = (*Manager)(nil)
