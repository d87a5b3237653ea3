// Package loader keeps a node's image of the committed metadata up to date and tells publishers of every step.
package loader

import (
	"context"
	"io"

	"go.uber.org/zap"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol/record"
)

// Options of a Loader.
type Options struct {
	// Fault is told of a record that cannot be applied or a publisher that failed, at most once; nothing is
	// published afterwards.
	Fault  func(error)
	Logger *zap.Logger
}

// Loader is a node's view of the committed metadata log. All methods but Restore are safe for concurrent use.
type Loader struct{}

// New makes a loader with an empty image that publishes nothing until Start.
func New(o Options) *Loader { panic("being written") }

// Restore takes a snapshot in Kafka's format that ends before endOffset. It comes before the first Offer.
func (l *Loader) Restore(r io.Reader, endOffset int64, epoch int32) error { panic("being written") }

// Offer takes the next committed batch, in order; batches that end below what is already there are skipped. It
// copies what it needs and returns at once.
func (l *Loader) Offer(b record.Batch) { panic("being written") }

// Start begins to publish, to these publishers in this order, first everything that is there so far as one step.
func (l *Loader) Start(publishers ...metadata.Publisher) { panic("being written") }

// Current is the image that was published last.
func (l *Loader) Current() *metadata.Image { panic("being written") }

// Await returns once everything up to and including offset has been published.
func (l *Loader) Await(ctx context.Context, offset int64) error { panic("being written") }

// Close stops publishing and waits for a publisher that is running.
func (l *Loader) Close() { panic("being written") }
