package record

import (
	"io"
	"sync"
)

// Buffers, encoders and decoders are expensive to make and hold no state between uses, so they are
// pooled: made when first needed, dropped by the garbage collector when idle.
var windows = sync.Pool{New: func() any { b := make([]byte, 0, window); return &b }}

// stream is an open decompressor; close gives what it borrowed back.
type stream struct {
	io.Reader
	giveBack func()
}

// openStream starts to decompress. Its errors carry the code.
func openStream(codec Codec, payload []byte) (stream, error) {
	var s stream
	var err error
	switch codec {
	case Gzip:
		s, err = openGzip(payload)
	case Snappy:
		s, err = openSnappy(payload)
	case LZ4:
		s, err = openLZ4(payload)
	case Zstd:
		s, err = openZstd(payload)
	default:
		return s, undecodable(codec, errNoCodec)
	}
	if err != nil {
		return s, undecodable(codec, err)
	}
	return s, nil
}

// open is a cursor on a batch's records, and how to give back what it borrowed (nil for nothing).
func (b Batch) open(maxRecord int) (cursor, func(), error) {
	codec := b.Codec()
	if codec == None {
		return cursor{buf: b.Payload()}, nil, nil
	}
	s, err := openStream(codec, b.Payload())
	if err != nil {
		return cursor{}, nil, err
	}
	w := windows.Get().(*[]byte)
	c := cursor{buf: (*w)[:0], src: s, codec: codec, limit: maxRecord}
	return c, func() { s.giveBack(); windows.Put(w) }, nil
}
