package record

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/s2"
)

// Java writes snappy in the framing of the xerial library: a header, then per block of at most
// 32 KiB of input its compressed length and a raw snappy block. Other clients write one raw block.
var xerialMagic = [8]byte{0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0}

const (
	xerialHeader = 16 // the magic, int32 version, int32 oldest version that can read it
	xerialBlock  = 32 << 10
	xerialMax    = 512 << 20 // largest block the Java library reads

	// snappyRatio is above the most that snappy can compress: 3 bytes copy up to 64.
	snappyRatio = 22
)

var (
	errSnappyClaim = errors.New("a block claims to be larger than it can be")
	errNoCodec     = errors.New("there is no such codec")
)

type snappyReader struct {
	in     []byte // blocks that are still to come
	framed bool
	block  []byte // memory of the current block, kept from use to use
	out    []byte // what is left of it
}

var snappyReaders sync.Pool

// snappyKeep is the largest block buffer that goes back into the pool.
const snappyKeep = 1 << 20

func openSnappy(payload []byte) (stream, error) {
	r, _ := snappyReaders.Get().(*snappyReader)
	if r == nil {
		r = new(snappyReader)
	}
	r.in, r.out, r.framed = payload, nil, isXerial(payload)
	if r.framed {
		r.in = payload[xerialHeader:]
	}
	return stream{r, func() {
		r.in, r.out = nil, nil
		if cap(r.block) > snappyKeep {
			r.block = nil
		}
		snappyReaders.Put(r)
	}}, nil
}

func isXerial(b []byte) bool {
	return len(b) >= xerialHeader && bytes.Equal(b[:len(xerialMagic)], xerialMagic[:])
}

func (r *snappyReader) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if len(r.in) == 0 {
			return 0, io.EOF
		}
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// next decodes one block into r.out.
func (r *snappyReader) next() error {
	block := r.in
	if r.framed {
		if isXerial(r.in) { // streams that were appended to each other
			r.in = r.in[xerialHeader:]
			return nil
		}
		if len(r.in) < 4 {
			return io.ErrUnexpectedEOF
		}
		size := int64(binary.BigEndian.Uint32(r.in))
		if size > xerialMax || size > int64(len(r.in)-4) {
			return errSnappyClaim
		}
		block = r.in[4 : 4+size]
		r.in = r.in[4+size:]
	} else {
		r.in = nil
	}
	size, err := s2.DecodedLen(block)
	if err != nil {
		return err
	}
	if size > snappyRatio*len(block) {
		return errSnappyClaim
	}
	if cap(r.block) < size {
		r.block = make([]byte, size)
	}
	r.out, err = s2.Decode(r.block[:cap(r.block)], block)
	return err
}

func appendSnappy(dst, src []byte) []byte {
	dst = append(dst, xerialMagic[:]...)
	dst = binary.BigEndian.AppendUint32(dst, 1)
	dst = binary.BigEndian.AppendUint32(dst, 1)
	for len(src) > 0 {
		n := min(len(src), xerialBlock)
		at := len(dst) + 4
		dst = slices.Grow(dst, 4+s2.MaxEncodedLen(n))[:at]
		block := s2.EncodeSnappy(dst[at:cap(dst)], src[:n])
		binary.BigEndian.PutUint32(dst[at-4:at], uint32(len(block)))
		dst = dst[:at+len(block)]
		src = src[n:]
	}
	return dst
}
