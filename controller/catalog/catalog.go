// Package catalog is the controller's rules: what each controller request decides, given the metadata as it is.
// A decision is records and a response; only Apply changes the metadata. Nothing here waits, locks or looks at a
// clock.
package catalog

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
)

// MaxRecords is how many records one request may lead to.
const MaxRecords = 10_000

// Options of a Catalog. Everything is required.
type Options struct {
	NodeID    int32 // of this controller
	ClusterID string
	Static    *config.Static
	// Supported are the features this controller knows, metadata.version and kraft.version included.
	Supported []metadata.VersionRange
	// Rand places replicas.
	Rand *rand.Rand
	// NewID makes topic ids.
	NewID func() protocol.UUID
	// SessionTimeout is how long a broker may be silent before it is fenced.
	SessionTimeout time.Duration
}

// Catalog is the metadata as the active controller sees it, with everything decided so far, committed or not.
type Catalog struct {
	o     Options
	image *metadata.Image
	delta *metadata.Delta // what was applied since image, nil if nothing
	next  int64           // offset of the next record
	epoch int32

	sessions map[int32]*session
}

// New makes a catalog from the image of everything below next, at the start of a leadership. Brokers that are not fenced
// get a new session, all but the one in the controller's own process: it has not registered yet, and whoever
// registered under its id before is gone.
func New(o Options, image *metadata.Image, epoch int32, next int64, now time.Time) *Catalog {
	c := &Catalog{o: o, image: image, next: next, epoch: epoch, sessions: map[int32]*session{}}
	for b := range image.Brokers() {
		c.sessions[b.ID] = newSession(b.Epoch)
		if !b.Fenced && b.ID != o.NodeID {
			c.sessions[b.ID].contact = now
		}
	}
	return c
}

// Result is what a request decided.
type Result struct {
	Records []metadata.Record
	// Divisible records may go into several batches; otherwise they are atomic.
	Divisible bool
}

// Apply changes the metadata by the record at offset. Markers of transactions are none of its business: until a
// transaction of its own has ended the controller sees it as done.
func (c *Catalog) Apply(offset int64, r metadata.Record) error {
	if c.delta == nil {
		c.delta = metadata.NewDelta(c.image)
	}
	if !isMarker(r) {
		if err := c.delta.Replay(r); err != nil {
			return err
		}
	}
	c.next = offset + 1
	c.track(offset, r)
	return nil
}

// Image is the metadata with everything applied.
func (c *Catalog) Image() (*metadata.Image, error) {
	if c.delta == nil {
		return c.image, nil
	}
	image, err := c.delta.Apply(c.next-1, c.epoch, 0)
	if err != nil {
		return nil, err
	}
	c.image, c.delta = image, nil
	return image, nil
}

// Adopt takes the node's image of the committed log in place of the catalog's own, when both hold the same: then the
// node keeps the metadata once.
func (c *Catalog) Adopt(image *metadata.Image) {
	if image.Offset == c.next-1 {
		c.image, c.delta = image, nil
	}
}

// settle is Image for the rules. What was applied was decided here, so it fits together.
func (c *Catalog) settle() *metadata.Image {
	image, err := c.Image()
	if err != nil {
		panic(fmt.Sprintf("catalog: decided records do not apply: %v", err))
	}
	return image
}

// NextOffset is the offset that the next record gets.
func (c *Catalog) NextOffset() int64 { return c.next }

// layers are the settings of this controller's node with the dynamic ones.
func (c *Catalog) layers() config.Layers {
	i := c.settle()
	return config.Layers{
		Static:  c.o.Static,
		Default: i.Config(metadata.AllBrokers),
		Own:     i.Config(metadata.BrokerConfig(c.o.NodeID)),
	}
}

// topicConfig is the effective settings of a topic.
func (c *Catalog) topicConfig(name string) config.Values {
	return c.layers().Topic(c.settle().Config(metadata.Resource{Type: metadata.TopicResource, Name: name}))
}

// elr reports whether eligible leader replicas are kept (KIP-966).
func (c *Catalog) elr() bool { return c.settle().Feature(metadata.ELRVersion) >= 1 }

// tooMany refuses a request that would write more records than one batch holds.
func tooMany(records []metadata.Record) error {
	if len(records) > MaxRecords {
		return fault(protocol.PolicyViolation, "The request needs %d metadata records, at most %d are allowed", len(records), MaxRecords)
	}
	return nil
}

func fault(code protocol.ErrorCode, format string, args ...any) *protocol.Fault {
	return &protocol.Fault{Code: code, Message: fmt.Sprintf(format, args...)}
}

// text is a fault's message, for use within another.
func text(err error) string {
	if m := protocol.MessageOf(err); m != nil {
		return *m
	}
	return err.Error()
}
