package record

// Options are the fields of the batch that a Builder makes. The zero value of the producer fields
// is a producer with id 0, so start from NewOptions.
type Options struct {
	Codec                Codec
	Levels               Levels
	BaseOffset           int64
	PartitionLeaderEpoch int32
	TimestampType        TimestampType
	AppendTime           int64 // max timestamp in ms of a LogAppendTime batch
	ProducerID           int64
	ProducerEpoch        int16
	BaseSequence         int32
	Transactional        bool
	Control              bool
}

// NewOptions are those of a plain, uncompressed batch without a producer and without a leader epoch.
func NewOptions() Options {
	return Options{
		Levels: DefaultLevels(), PartitionLeaderEpoch: NoLeaderEpoch,
		ProducerID: NoProducerID, ProducerEpoch: NoProducerEpoch, BaseSequence: NoSequence,
	}
}

// Builder makes one batch at a time. It is for one goroutine.
type Builder struct{}

// NewBuilder is a builder that has begun a batch with o.
func NewBuilder(o Options) *Builder { panic("being written") }

// Reset begins the next batch; the memory of the one built before is used again.
func (b *Builder) Reset(o Options) {}

// Append adds a record at the next offset. The first record's timestamp (ms) becomes the base.
func (b *Builder) Append(timestamp int64, key, value []byte, headers ...Header) {}

// AppendAt adds a record at an offset of its own, above all before it.
func (b *Builder) AppendAt(offset, timestamp int64, key, value []byte, headers ...Header) {}

// Count is the number of records appended.
func (b *Builder) Count() int { return 0 }

// Size is the size of the batch in bytes if it is built uncompressed.
func (b *Builder) Size() int { return 0 }

// Build finishes the batch. It is valid until Reset; an uncompressed one is the builder's own
// buffer. With no records it is nil.
func (b *Builder) Build() (Batch, error) { panic("being written") }
