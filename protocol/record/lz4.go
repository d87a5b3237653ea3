package record

import (
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"slices"
	"sync"

	"github.com/pierrec/lz4/v4"
)

// The LZ4 frame as Kafka's clients know it: independent blocks only, no dictionary. Its own reader
// is small and as strict as Kafka's, which a general one would not be.
const (
	lz4Magic       = 0x184d2204
	lz4StoredBlock = 1 << 31

	lz4FlagReserved     = 0x03 // a dictionary id, and a bit that must be 0
	lz4FlagContentSum   = 0x04
	lz4FlagContentSize  = 0x08
	lz4FlagBlockSum     = 0x10
	lz4FlagIndependent  = 0x20
	lz4Version          = 0x40
	lz4VersionMask      = 0xc0
	lz4BlockSizeMask    = 0x70
	lz4DescriptorUnused = 0x8f
	lz4WriteBlock       = 64 << 10
	lz4Keep             = 256 << 10 // largest block buffer that goes back into the pool
	lz4Ratio            = 256       // above the most that LZ4 can compress
	lz4FastLevel        = 9         // the level that means the fast compressor
)

var (
	errLZ4Frame    = errors.New("no LZ4 frame, or one of a kind that is not readable")
	errLZ4Header   = errors.New("the frame header's checksum does not match")
	errLZ4Block    = errors.New("a block is larger than the frame allows")
	errLZ4BlockSum = errors.New("a block's checksum does not match")
)

type lz4Reader struct {
	in       []byte
	blockSum bool
	maxBlock int
	block    []byte // memory of the current block, kept from use to use
	out      []byte // what is left of it
}

var lz4Readers sync.Pool

func openLZ4(payload []byte) (stream, error) { return openFrame(payload, true) }

// openOldLZ4 reads a frame whose header has a checksum that means nothing.
func openOldLZ4(payload []byte) (stream, error) { return openFrame(payload, false) }

func openFrame(payload []byte, checked bool) (stream, error) {
	r, _ := lz4Readers.Get().(*lz4Reader)
	if r == nil {
		r = new(lz4Reader)
	}
	r.in, r.out = payload, nil
	if err := r.header(checked); err != nil {
		return stream{}, err
	}
	return stream{r, func() {
		r.in, r.out = nil, nil
		if cap(r.block) > lz4Keep {
			r.block = nil
		}
		lz4Readers.Put(r)
	}}, nil
}

func (r *lz4Reader) header(checked bool) error {
	if len(r.in) < 7 || binary.LittleEndian.Uint32(r.in) != lz4Magic {
		return errLZ4Frame
	}
	flags, descriptor := r.in[4], r.in[5]
	switch {
	case flags&lz4VersionMask != lz4Version, flags&lz4FlagReserved != 0, flags&lz4FlagIndependent == 0:
		return errLZ4Frame
	case descriptor&lz4DescriptorUnused != 0, descriptor>>4 < 4:
		return errLZ4Frame
	}
	end := 6
	if flags&lz4FlagContentSize != 0 {
		end += 8
	}
	if len(r.in) <= end {
		return errLZ4Frame
	}
	if checked && r.in[end] != byte(xxh32(r.in[4:end])>>8) {
		return errLZ4Header
	}
	r.maxBlock = 64 << 10 << (2 * (descriptor>>4 - 4))
	r.blockSum = flags&lz4FlagBlockSum != 0
	r.in = r.in[end+1:]
	return nil
}

func (r *lz4Reader) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// next decodes one block into r.out. What follows the end mark is not looked at.
func (r *lz4Reader) next() error {
	if len(r.in) < 4 {
		return errLZ4Frame
	}
	word := binary.LittleEndian.Uint32(r.in)
	if word == 0 {
		return io.EOF
	}
	size := int(word &^ lz4StoredBlock)
	r.in = r.in[4:]
	if size > r.maxBlock {
		return errLZ4Block
	}
	tail := 0
	if r.blockSum {
		tail = 4
	}
	if len(r.in) < size+tail {
		return errLZ4Frame
	}
	block := r.in[:size]
	if r.blockSum && binary.LittleEndian.Uint32(r.in[size:]) != xxh32(block) {
		return errLZ4BlockSum
	}
	r.in = r.in[size+tail:]
	if word&lz4StoredBlock != 0 {
		r.out = block
		return nil
	}
	return r.expand(block)
}

func (r *lz4Reader) expand(block []byte) error {
	if most := min(r.maxBlock, lz4Ratio*len(block)); cap(r.block) < most {
		r.block = make([]byte, most)
	}
	n, err := lz4.UncompressBlock(block, r.block[:min(cap(r.block), r.maxBlock)])
	if err != nil {
		return err
	}
	r.out = r.block[:n]
	return nil
}

var (
	lz4Fast sync.Pool
	lz4Slow sync.Pool
)

// appendLZ4 writes a frame as Kafka's producers do: 64 KiB blocks, no checksums but the header's.
func appendLZ4(dst, src []byte, level int) []byte {
	const flags, descriptor = lz4Version | lz4FlagIndependent, 4 << 4
	dst = binary.LittleEndian.AppendUint32(dst, lz4Magic)
	dst = append(dst, flags, descriptor, byte(xxh32([]byte{flags, descriptor})>>8))
	compress, done := lz4Compressor(level)
	for len(src) > 0 {
		n := min(len(src), lz4WriteBlock)
		at := len(dst) + 4
		dst = slices.Grow(dst, 4+lz4.CompressBlockBound(n))[:at]
		size, err := compress(src[:n], dst[at:at+lz4.CompressBlockBound(n)])
		if word := uint32(size); err == nil && size > 0 && size < n {
			binary.LittleEndian.PutUint32(dst[at-4:], word)
			dst = dst[:at+size]
		} else {
			binary.LittleEndian.PutUint32(dst[at-4:], uint32(n)|lz4StoredBlock)
			dst = append(dst[:at], src[:n]...)
		}
		src = src[n:]
	}
	done()
	return binary.LittleEndian.AppendUint32(dst, 0)
}

// lz4Compressor is a block compressor for a level of compression.lz4.level, and its return.
func lz4Compressor(level int) (compress func(src, dst []byte) (int, error), done func()) {
	if level == lz4FastLevel {
		c, _ := lz4Fast.Get().(*lz4.Compressor)
		if c == nil {
			c = new(lz4.Compressor)
		}
		return c.CompressBlock, func() { lz4Fast.Put(c) }
	}
	c, _ := lz4Slow.Get().(*lz4.CompressorHC)
	if c == nil {
		c = new(lz4.CompressorHC)
	}
	c.Level = 1 << (8 + max(1, min(level, 9)))
	return c.CompressBlock, func() { lz4Slow.Put(c) }
}

const (
	xxPrime1 uint32 = 2654435761
	xxPrime2 uint32 = 2246822519
	xxPrime3 uint32 = 3266489917
	xxPrime4 uint32 = 668265263
	xxPrime5 uint32 = 374761393
)

// xxh32 is the XXH32 hash with seed 0, the checksum of LZ4 frames.
func xxh32(b []byte) uint32 {
	h := xxPrime5 + uint32(len(b))
	if len(b) >= 16 {
		v := [4]uint32{}
		v[0], v[1], v[3] = xxPrime1, xxPrime2, 0
		v[0] += xxPrime2
		v[3] -= xxPrime1
		for ; len(b) >= 16; b = b[16:] {
			for i := range v {
				v[i] = bits.RotateLeft32(v[i]+binary.LittleEndian.Uint32(b[4*i:])*xxPrime2, 13) * xxPrime1
			}
		}
		h += bits.RotateLeft32(v[0], 1) + bits.RotateLeft32(v[1], 7) + bits.RotateLeft32(v[2], 12) + bits.RotateLeft32(v[3], 18) - xxPrime5
	}
	for ; len(b) >= 4; b = b[4:] {
		h = bits.RotateLeft32(h+binary.LittleEndian.Uint32(b)*xxPrime3, 17) * xxPrime4
	}
	for _, c := range b {
		h = bits.RotateLeft32(h+uint32(c)*xxPrime5, 11) * xxPrime1
	}
	h = (h ^ h>>15) * xxPrime2
	h = (h ^ h>>13) * xxPrime3
	return h ^ h>>16
}
