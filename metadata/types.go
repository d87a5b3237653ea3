package metadata

import (
	"iter"
	"slices"
	"strconv"

	"github.com/ottla/ottla/protocol"
)

// Topic is one topic as of an image. It is never changed: a change makes another Topic.
type Topic struct {
	Name       string
	ID         protocol.UUID
	Partitions []*Partition // by partition number, without gaps
}

// Partition returns the partition, nil if there is none of that number.
func (t *Topic) Partition(n int32) *Partition {
	if t == nil || n < 0 || int(n) >= len(t.Partitions) {
		return nil
	}
	return t.Partitions[n]
}

// Values of a partition's leader and recovery state.
const (
	NoLeader         int32 = -1
	LeaderUnchanged  int32 = -2 // in a PartitionChangeRecord
	Recovered        int8  = 0
	Recovering       int8  = 1 // elected uncleanly, not yet recovered
	RecoveryNoChange int8  = -1
)

// Partition is one partition's registration. It is never changed: a change makes another Partition.
type Partition struct {
	Replicas       []int32
	Directories    []protocol.UUID // of each replica, same order and length
	ISR            []int32
	ELR            []int32 // eligible leader replicas (KIP-966)
	LastKnownELR   []int32
	Removing       []int32
	Adding         []int32
	Leader         int32 // NoLeader without one
	LeaderEpoch    int32
	PartitionEpoch int32
	RecoveryState  int8
}

// Directory is the log directory that hosts the replica, MigratingDir when the broker is not a replica.
func (p *Partition) Directory(broker int32) protocol.UUID {
	if i := slices.Index(p.Replicas, broker); i >= 0 && i < len(p.Directories) {
		return p.Directories[i]
	}
	return protocol.MigratingDir
}

// Reassigning reports whether replicas are being added or removed.
func (p *Partition) Reassigning() bool { return len(p.Adding) > 0 || len(p.Removing) > 0 }

// SecurityProtocol as a number, as in registrations.
type SecurityProtocol int16

const (
	Plaintext     SecurityProtocol = 0
	SSL           SecurityProtocol = 1
	SASLPlaintext SecurityProtocol = 2
	SASLSSL       SecurityProtocol = 3
)

// Endpoint is one listener of a node.
type Endpoint struct {
	Name     string
	Host     string
	Port     uint16
	Protocol SecurityProtocol
}

// VersionRange is what a node supports of a feature.
type VersionRange struct {
	Feature  string
	Min, Max int16
}

// Contains reports whether level is in the range.
func (r VersionRange) Contains(level int16) bool { return r.Min <= level && level <= r.Max }

// Broker is one broker's registration. It is never changed: a change makes another Broker.
type Broker struct {
	ID                   int32
	Epoch                int64
	Incarnation          protocol.UUID
	Listeners            []Endpoint
	Features             []VersionRange
	Rack                 *string
	Fenced               bool
	InControlledShutdown bool
	Migrating            bool            // a ZooKeeper broker of old; kept for the record
	LogDirs              []protocol.UUID // sorted
	CordonedDirs         []protocol.UUID // nil: the broker has not told yet
}

// Active reports that the broker may be in ISRs.
func (b *Broker) Active() bool { return b != nil && !b.Fenced && !b.InControlledShutdown }

// Listener returns the endpoint of that name.
func (b *Broker) Listener(name string) (Endpoint, bool) {
	for _, e := range b.Listeners {
		if e.Name == name {
			return e, true
		}
	}
	return Endpoint{}, false
}

// HasDir says whether replicas in the directory are online: unassigned and migrating ones count, lost ones do
// not, and a broker that names no directories has them all.
func (b *Broker) HasDir(dir protocol.UUID) bool {
	switch {
	case dir == protocol.UnassignedDir || dir == protocol.MigratingDir:
		return true
	case dir == protocol.LostDir:
		return false
	}
	return len(b.LogDirs) == 0 || slices.Contains(b.LogDirs, dir)
}

// Feature is the range the broker supports; one it does not name is 0 to 0.
func (b *Broker) Feature(name string) VersionRange { return featureOf(b.Features, name) }

func featureOf(list []VersionRange, name string) VersionRange {
	for _, f := range list {
		if f.Feature == name {
			return f
		}
	}
	return VersionRange{Feature: name}
}

// Controller is one controller's registration.
type Controller struct {
	ID             int32
	Incarnation    protocol.UUID
	MigrationReady bool
	Listeners      []Endpoint
	Features       []VersionRange
}

// Feature is the range the controller supports; one it does not name is 0 to 0.
func (c *Controller) Feature(name string) VersionRange { return featureOf(c.Features, name) }

// ResourceType is the type of a config resource.
type ResourceType int8

const (
	TopicResource         ResourceType = 2
	BrokerResource        ResourceType = 4
	BrokerLoggerResource  ResourceType = 8
	ClientMetricsResource ResourceType = 16
	GroupResource         ResourceType = 32
)

// Resource names what a dynamic configuration belongs to; the empty broker name is all brokers.
type Resource struct {
	Type ResourceType
	Name string
}

// Broker is the config resource of one broker.
func BrokerConfig(id int32) Resource { return Resource{BrokerResource, strconv.Itoa(int(id))} }

// AllBrokers is the config resource of every broker's dynamic defaults.
var AllBrokers = Resource{Type: BrokerResource}

func (r Resource) key() []byte { return typedKey(int8(r.Type), r.Name) }

// Level is a finalised feature.
type Level struct {
	Feature string
	Level   int16
}

// TopicChange is a topic before and after a delta: Before is nil for a new one, After for a deleted one.
type TopicChange struct{ Before, After *Topic }

// Partitions yields the numbers of the partitions that are new, changed or gone, with both states.
func (c TopicChange) Partitions() iter.Seq2[int32, PartitionChange] {
	return func(yield func(int32, PartitionChange) bool) {
		var before, after []*Partition
		if c.Before != nil {
			before = c.Before.Partitions
		}
		if c.After != nil {
			after = c.After.Partitions
		}
		for n := range max(len(before), len(after)) {
			p := PartitionChange{c.Before.Partition(int32(n)), c.After.Partition(int32(n))}
			if p.Before != p.After && !yield(int32(n), p) {
				return
			}
		}
	}
}

// PartitionChange is a partition before and after a delta, nil where it is not there.
type PartitionChange struct{ Before, After *Partition }
