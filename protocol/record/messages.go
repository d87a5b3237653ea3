package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/ottla/ottla/protocol"
)

// Layout of a message of format 0 or 1: offset and size as in a batch, then CRC, magic, attributes, in format 1
// the timestamp, key and value, each with its length before it.
const (
	messageAttributes = posMagic + 1
	messageTimestamp  = posMagic + 2
	timestampSize     = 8
)

var (
	errNested    = errors.New("a compressed message within a compressed message")
	errMixed     = errors.New("messages of two formats within one compressed message")
	errNoContent = errors.New("a compressed message without a value")
)

// Messages iterates over the messages of a batch of format 0 or 1: itself, or what it holds compressed. Those of
// format 0 have no timestamp. An error is the last element, if there is one. A compressed set of more than
// maxDecompressed bytes is an error.
func (b Batch) Messages(maxDecompressed int) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		all, err := b.messages(maxDecompressed)
		for _, m := range all {
			if !yield(m, nil) {
				return
			}
		}
		if err != nil {
			yield(Record{}, err)
		}
	}
}

func (b Batch) messages(maxDecompressed int) ([]Record, error) {
	size, err := SizeOf(b)
	switch {
	case err != nil:
		return nil, err
	case b.Magic() >= Magic2:
		return nil, unsupportedFormat(b.Magic())
	case len(b) < size:
		return nil, incomplete("message", len(b), size)
	}
	b = b[:size]
	outer, err := b.message()
	if err != nil || b.Codec() == None {
		return []Record{outer}[:oneIf(err == nil)], err
	}
	if outer.Value == nil {
		return nil, badMessages(errNoContent)
	}
	set, err := b.expandSet(outer.Value, maxDecompressed)
	if err != nil {
		return nil, err
	}
	return b.inner(set, outer.Timestamp)
}

func oneIf(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// message reads the fields of the one message that b is.
func (b Batch) message() (Record, error) {
	m := Record{Offset: b.BaseOffset(), Timestamp: NoTimestamp}
	rest := b[messageAttributes+1:]
	if b.Magic() == 1 {
		m.Timestamp = b.MaxTimestamp()
		rest = rest[timestampSize:]
	}
	var err error
	if m.Key, rest, err = bytesField(rest, "key"); err != nil {
		return m, err
	}
	m.Value, rest, err = bytesField(rest, "value")
	if err == nil && len(rest) > 0 {
		err = badMessages(fmt.Errorf("%d bytes behind the value", len(rest)))
	}
	return m, err
}

// bytesField reads an int32 length, −1 being null, and as many bytes.
func bytesField(b []byte, what string) (field, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, badMessages(fmt.Errorf("%s: %d bytes, 4 needed for its length", what, len(b)))
	}
	n := int32(binary.BigEndian.Uint32(b))
	b = b[4:]
	switch {
	case n == -1:
		return nil, b, nil
	case n < 0 || int(n) > len(b):
		return nil, nil, badMessages(fmt.Errorf("%s: %d bytes, %d claimed", what, len(b), n))
	}
	return b[:n:n], b[n:], nil
}

// expandSet decompresses the messages that a compressed one holds. Kafka's old clients wrote a wrong checksum into
// the header of LZ4 frames in format 0; it is not looked at there.
func (b Batch) expandSet(value []byte, limit int) ([]byte, error) {
	var s stream
	var err error
	switch codec := b.Codec(); {
	case codec == Zstd || !codec.Known():
		return nil, undecodable(codec, errNoCodec)
	case codec == LZ4 && b.Magic() == 0:
		if s, err = openOldLZ4(value); err != nil {
			err = undecodable(codec, err)
		}
	default:
		s, err = openStream(codec, value)
	}
	if err != nil {
		return nil, err
	}
	defer s.giveBack()
	set, err := io.ReadAll(io.LimitReader(s, int64(limit)+1))
	switch {
	case err != nil:
		return nil, undecodable(b.Codec(), err)
	case len(set) > limit:
		return nil, badMessages(fmt.Errorf("more than %d bytes when decompressed", limit))
	}
	return set, nil
}

// inner reads the messages of a decompressed set. Format 1 has offsets relative to the first of them, and the last one
// is that of the message around them; format 0 has absolute ones.
func (b Batch) inner(set []byte, stamp int64) ([]Record, error) {
	var all []Record
	for len(set) > 0 {
		in, rest, err := Next(set)
		if err != nil {
			return nil, badMessages(err)
		}
		switch {
		case in.Magic() != b.Magic():
			return nil, badMessages(errMixed)
		case in.Codec() != None:
			return nil, badMessages(errNested)
		}
		m, err := in.message()
		if err != nil {
			return nil, err
		}
		if b.TimestampType() == LogAppendTime {
			m.Timestamp = stamp
		}
		all, set = append(all, m), rest
	}
	if len(all) == 0 {
		return nil, badMessages(errNoContent)
	}
	if b.Magic() == 1 {
		base := b.BaseOffset() - all[len(all)-1].Offset
		for i := range all {
			all[i].Offset += base
		}
	}
	return all, nil
}

func badMessages(cause error) error {
	return fmt.Errorf("message: %w: %w", cause, protocol.CorruptMessage)
}
