package record

import "github.com/ottla/ottla/protocol"

// Rules are what a leader asks of a produced batch: the topic's configuration.
type Rules struct {
	TimestampType        TimestampType // message.timestamp.type
	TimestampBeforeMaxMs int64         // message.timestamp.before.max.ms
	TimestampAfterMaxMs  int64         // message.timestamp.after.max.ms
	Compacted            bool          // cleanup.policy has compact: every record needs a key
	Target               Codec         // compression.type; AsSent = producer
	Levels               Levels        // compression.*.level
	MaxMessageBytes      int           // max.message.bytes, of the whole batch
	SegmentBytes         int           // segment.bytes; 0 = unbounded
	MaxDecompressed      int           // max.decompressed.message.bytes, of one record
	RefuseZstd           bool          // the request's version is below 7
	Internal             bool          // a batch of our own: base offset, counts, control bit and sequence are not checked
}

// Validated is what Validate learned of a batch.
type Validated struct {
	MaxTimestamp int64 // of the batch as it is to be stored, ms
	Recompressed bool  // the batch is not the caller's bytes any more
}

// RecordError names one bad record of a refused batch.
type RecordError struct {
	Index   int32 // in the batch
	Message string
}

// Rejection is why a batch is refused. Message and Records are for the producer (Produce v8) and
// empty where Kafka says nothing; Reason is for the log.
type Rejection struct {
	Code    protocol.ErrorCode
	Message string
	Records []RecordError
	Reason  string
}

// Error has code, reason and message.
func (r *Rejection) Error() string { return r.Code.String() + ": " + r.Reason + r.Message }

// Unwrap is the code, so that protocol.CodeOf finds it.
func (r *Rejection) Unwrap() error { return r.Code }

// Validate checks the records of one partition in a Produce request in Kafka's order and makes
// them what the leader stores. In place where possible: the batch then aliases in, of which
// attributes, max timestamp and CRC may have been rewritten. Base offset and leader epoch are left
// to the append. The error is a *Rejection.
func Validate(in []byte, r Rules, nowMs int64) (Batch, Validated, error) {
	panic("being written")
}
