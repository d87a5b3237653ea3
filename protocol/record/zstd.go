package record

import (
	"bytes"
	"errors"
	"sync"

	"github.com/klauspost/compress/zstd"
)

const (
	// zstdWindowMax is the largest window that Kafka's zstd library reads.
	zstdWindowMax = 128 << 20
	// zstdWindowKeep is the largest window a pooled stream decoder allocates without proof.
	zstdWindowKeep = 8 << 20
	// zstdFlat is the most that is decoded into one pooled buffer.
	zstdFlat = 1 << 20
	// zstdBlock is above the most that one block decodes to.
	zstdBlock = 129 << 10
)

// zstdReader decodes into one buffer while the output is small, without a window, and from a
// stream when it is not. A frame may claim a window of 128 MiB in a few bytes; it gets one only
// after as many bytes really came out of it.
type zstdReader struct {
	flat   *zstd.Decoder
	stream *zstd.Decoder // made when first needed
	out    []byte
	in     bytes.Reader
}

var zstdReaders sync.Pool

func newZstdDecoder(o ...zstd.DOption) (*zstd.Decoder, error) {
	return zstd.NewReader(nil, append(o,
		zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecodeBuffersBelow(0))...)
}

func openZstd(payload []byte) (stream, error) {
	r, _ := zstdReaders.Get().(*zstdReader)
	if r == nil {
		flat, err := newZstdDecoder(zstd.WithDecoderMaxWindow(zstdWindowMax), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return stream{}, err
		}
		r = &zstdReader{flat: flat}
	}
	if size := min(max(8*len(payload), 2*zstdBlock), zstdFlat); cap(r.out) < size {
		r.out = make([]byte, 0, size)
	}
	out, err := r.flat.DecodeAll(payload, r.out[:0])
	switch {
	case err == nil:
		r.in.Reset(out)
		return stream{&r.in, r.giveBack}, nil
	case errors.Is(err, zstd.ErrDecoderSizeExceeded), cap(r.out)-len(out) < zstdBlock:
		return r.openLarge(payload) // there was not enough room, or there may not have been
	}
	r.giveBack()
	return stream{}, err
}

// openLarge streams, with a small window if the frame is content with one.
func (r *zstdReader) openLarge(payload []byte) (stream, error) {
	var header zstd.Header
	if err := header.Decode(payload); err != nil {
		r.giveBack()
		return stream{}, err
	}
	claim := header.WindowSize
	if header.SingleSegment {
		claim = header.FrameContentSize
	}
	if claim > zstdWindowKeep {
		return r.openWide(withoutClaims(payload, &header))
	}
	if r.stream == nil {
		d, err := newZstdDecoder(zstd.WithDecoderMaxWindow(zstdWindowKeep))
		if err != nil {
			return stream{}, err
		}
		r.stream = d
	}
	r.in.Reset(payload)
	if err := r.stream.Reset(&r.in); err != nil {
		return stream{}, err
	}
	return stream{r.stream, r.giveBack}, nil
}

// withoutClaims is the frame under a header that says nothing of its content's size and has the
// largest window: what it decodes to then is known only by decoding it.
func withoutClaims(payload []byte, header *zstd.Header) []byte {
	const checksum, window128 = 1 << 2, (27 - 10) << 3
	out := make([]byte, 0, len(payload)+2)
	out = append(out, payload[:4]...)
	out = append(out, payload[4]&checksum, window128)
	return append(out, payload[min(header.HeaderSize, len(payload)):]...)
}

// openWide serves a frame with a large window: decoded in one piece, into memory that grows with
// what comes out, up to the size of the largest window, and as a stream beyond that.
func (r *zstdReader) openWide(payload []byte) (stream, error) {
	d, err := newZstdDecoder(zstd.WithDecoderMaxMemory(zstdWindowMax))
	if err != nil {
		return stream{}, err
	}
	closeAll := func() { d.Close(); r.giveBack() }
	out, err := d.DecodeAll(payload, nil)
	if err == nil {
		r.in.Reset(out)
		return stream{&r.in, closeAll}, nil
	}
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
		r.in.Reset(payload)
		err = d.Reset(&r.in)
	}
	if err != nil {
		closeAll()
		return stream{}, err
	}
	return stream{d, closeAll}, nil
}

func (r *zstdReader) giveBack() {
	r.in.Reset(nil)
	if r.stream != nil {
		if err := r.stream.Reset(nil); err != nil {
			r.stream = nil
		}
	}
	zstdReaders.Put(r)
}

// zstdWriters has one pool a speed of the library.
var zstdWriters [zstd.SpeedBestCompression + 1]sync.Pool

func appendZstd(dst, src []byte, level int) []byte {
	speed := zstd.EncoderLevelFromZstd(level)
	pool := &zstdWriters[speed]
	z, _ := pool.Get().(*zstd.Encoder)
	if z == nil {
		var err error
		z, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(speed), zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderCRC(false), zstd.WithLowerEncoderMem(true), zstd.WithZeroFrames(true))
		if err != nil {
			panic("record: zstd refuses constant options: " + err.Error())
		}
	}
	dst = z.EncodeAll(src, dst)
	pool.Put(z)
	return dst
}
