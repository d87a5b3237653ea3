package record

import (
	"fmt"

	"github.com/ottla/ottla/protocol"
)

// Codec is how the records of a batch are compressed: the number in the attributes.
type Codec int8

const (
	None   Codec = 0
	Gzip   Codec = 1
	Snappy Codec = 2
	LZ4    Codec = 3
	Zstd   Codec = 4

	// AsSent is for Rules only: what compression.type=producer means.
	AsSent Codec = -1
)

// Known is true of the five codecs there are.
func (c Codec) Known() bool { return c >= None && c <= Zstd }

// String is the codec's name in compression.type.
func (c Codec) String() string {
	switch c {
	case None:
		return "uncompressed"
	case Gzip:
		return "gzip"
	case Snappy:
		return "snappy"
	case LZ4:
		return "lz4"
	case Zstd:
		return "zstd"
	case AsSent:
		return "producer"
	}
	return fmt.Sprintf("codec %d", int8(c))
}

// ParseCodec reads a value of compression.type: "uncompressed", "gzip", "snappy", "lz4", "zstd",
// "producer" (AsSent); "none" is the producers' word for uncompressed.
func ParseCodec(name string) (Codec, error) {
	for c := AsSent; c <= Zstd; c++ {
		if c.String() == name {
			return c, nil
		}
	}
	if name == "none" {
		return None, nil
	}
	return 0, &protocol.Fault{Code: protocol.InvalidConfig, Message: fmt.Sprintf("no compression type is called %q", name)}
}

// Levels are the compression levels for what this side compresses: compression.gzip.level (−1 or
// 1 to 9), compression.lz4.level (1 to 17, 9 = fast), compression.zstd.level (−131072 to 22).
type Levels struct{ Gzip, LZ4, Zstd int }

// DefaultLevels are Kafka's defaults.
func DefaultLevels() Levels { return Levels{Gzip: -1, LZ4: 9, Zstd: 3} }
