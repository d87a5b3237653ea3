package record

import "iter"

// MaxDecompressed is the default of max.decompressed.message.bytes.
const MaxDecompressed = 2147483639

// Record is one record of a batch. A nil Key or Value is Kafka's null, an empty one is not.
type Record struct {
	Offset    int64
	Timestamp int64 // ms, −1 none
	Key       []byte
	Value     []byte
	Headers   []Header
}

// Header is a record's header. Keys may repeat and be empty; a nil Value is null.
type Header struct {
	Key   string
	Value []byte
}

// Records iterates over the records of a batch, one error at most, as the last element. Keys and
// values of an uncompressed batch alias it, those of a compressed one are fresh memory: both stay
// valid after the iteration. A record longer than maxDecompressed bytes is an error
// (max.decompressed.message.bytes). Messages of format 0 and 1 are not read here yet.
func (b Batch) Records(maxDecompressed int) iter.Seq2[Record, error] {
	panic("being written")
}
