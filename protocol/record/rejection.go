package record

import (
	"errors"
	"fmt"

	"github.com/ottla/ottla/protocol"
)

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
	// Early: the form of the request is wrong, which Kafka sees before it looks at the partition.
	Early bool
}

// Error has code, reason and message.
func (r *Rejection) Error() string {
	return fmt.Sprintf("%s: %s%s", r.Code, r.Reason, r.Message)
}

// Unwrap is the code, so that protocol.CodeOf finds it.
func (r *Rejection) Unwrap() error { return r.Code }

func reject(code protocol.ErrorCode, format string, args ...any) *Rejection {
	return &Rejection{Code: code, Reason: fmt.Sprintf(format, args...)}
}

// rejectFor turns what stopped the walk over a batch into a rejection; it is nil for nil.
func rejectFor(err error) *Rejection {
	if err == nil {
		return nil
	}
	if r := (*Rejection)(nil); errors.As(err, &r) {
		return r
	}
	return &Rejection{Code: protocol.CodeOf(err), Reason: err.Error()}
}

// maxRecordErrors bounds what one batch can make the response hold.
const maxRecordErrors = 1000

// findings collects the bad records of a batch. A bad timestamp decides the code.
type findings struct {
	records       []RecordError
	badTimestamps bool
}

func (f *findings) add(index int32, message string) {
	if len(f.records) < maxRecordErrors {
		f.records = append(f.records, RecordError{index, message})
	}
}

func (f *findings) rejection() *Rejection {
	if len(f.records) == 0 {
		return nil
	}
	r := &Rejection{Code: protocol.InvalidRecord, Records: f.records}
	r.Message = fmt.Sprintf("%d records are invalid, the first is record %d: %s", len(f.records), f.records[0].Index, f.records[0].Message)
	if f.badTimestamps {
		r.Code = protocol.InvalidTimestamp
		r.Message = "the timestamps of some records are invalid"
	}
	return r
}
