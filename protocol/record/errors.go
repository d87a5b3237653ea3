package record

import (
	"errors"
	"fmt"

	"github.com/ottla/ottla/protocol"
)

// ErrIncomplete is wrapped by errors about bytes that end before the batch does: the normal end of
// a fetched or torn buffer.
var ErrIncomplete = errors.New("incomplete batch")

func incomplete(field string, have, need int) error {
	return fmt.Errorf("%w: %s: %d bytes, %d needed", ErrIncomplete, field, have, need)
}

// corrupt is CORRUPT_MESSAGE about a header field with a value that no batch has.
func corrupt(field string, have int64, want int) error {
	return fmt.Errorf("%s %d where %d was expected at the most extreme: %w", field, have, want, protocol.CorruptMessage)
}

// invalid is INVALID_RECORD about the records of a batch.
func invalid(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), protocol.InvalidRecord)
}

// undecodable is what Kafka answers UNKNOWN_SERVER_ERROR to: bytes that the codec cannot read.
func undecodable(c Codec, cause error) error {
	return fmt.Errorf("%s: %w: %w", c, cause, protocol.UnknownServerError)
}

func unsupportedFormat(magic int8) error {
	return fmt.Errorf("message format %d: %w", magic, protocol.UnsupportedForMessageFormat)
}

func corruptControl(field string, have, need int) error {
	return fmt.Errorf("control record %s: %d bytes, %d needed: %w", field, have, need, protocol.CorruptMessage)
}
