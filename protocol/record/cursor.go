package record

import (
	"io"
	"math"
)

// window is how much of a decompressed stream is held while it is walked.
const window = 32 << 10

// maxVarint is the longest varint there is: 64 bits, 7 at a time.
const maxVarint = 10

// cursor walks the records of one batch. With src nil, buf is all of them and nothing is copied;
// else buf is a window that is refilled from src, so memory stays bounded whatever the records
// claim to be. The first error sticks and every read after it answers zero.
type cursor struct {
	buf   []byte
	pos   int
	base  int64 // what was consumed before buf
	src   io.Reader
	codec Codec
	eof   bool
	limit int // longest record allowed in a stream
	err   error
	arena []byte // where keys and values of a stream go
}

// raw is one record as it is stored: relative to the batch's base offset and timestamp.
type raw struct {
	timestampDelta int64
	offsetDelta    int32
	key, value     []byte // not set by skip
	headers        []Header
	hasKey         bool
}

// consumed is how many bytes of records were read.
func (c *cursor) consumed() int64 { return c.base + int64(c.pos) }

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *cursor) bad(what string) { c.fail(invalid("record at byte %d: %s", c.consumed(), what)) }

// fill makes at least n bytes of a stream available, fewer at its end. n is at most window.
func (c *cursor) fill(n int) {
	if c.src == nil || c.eof || len(c.buf)-c.pos >= n || c.err != nil {
		return
	}
	have := copy(c.buf[:cap(c.buf)], c.buf[c.pos:])
	c.base += int64(c.pos)
	c.pos = 0
	for have < n {
		m, err := c.src.Read(c.buf[have:cap(c.buf)])
		have += m
		if err != nil {
			c.buf = c.buf[:have]
			c.eof = true
			if err != io.EOF {
				c.fail(undecodable(c.codec, err))
			}
			return
		}
	}
	c.buf = c.buf[:have]
}

// varint reads a zig-zag varint of at most 32 bits.
func (c *cursor) varint() int32 {
	if c.pos < len(c.buf) {
		if b := c.buf[c.pos]; b < 0x80 {
			c.pos++
			return int32(b>>1) ^ -int32(b&1)
		}
	}
	v := c.slowVarint(5)
	if v > math.MaxInt32 || v < math.MinInt32 {
		c.bad("a varint does not fit 32 bits")
		return 0
	}
	return int32(v)
}

// varlong reads a zig-zag varint of at most 64 bits.
func (c *cursor) varlong() int64 {
	if c.pos < len(c.buf) {
		if b := c.buf[c.pos]; b < 0x80 {
			c.pos++
			return int64(b>>1) ^ -int64(b&1)
		}
	}
	return c.slowVarint(maxVarint)
}

func (c *cursor) slowVarint(most int) int64 {
	c.fill(maxVarint)
	if c.err != nil {
		return 0
	}
	var u uint64
	rest := c.buf[c.pos:]
	for i := 0; i < len(rest) && i < most; i++ {
		b := rest[i]
		u |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			c.pos += i + 1
			return int64(u>>1) ^ -int64(u&1)
		}
	}
	if len(rest) < most {
		c.bad("the bytes end inside a varint")
	} else {
		c.bad("a varint does not end")
	}
	return 0
}

// skip passes over n bytes.
func (c *cursor) skip(n int) {
	for n > 0 {
		have := len(c.buf) - c.pos
		if have == 0 {
			c.fill(1)
			if have = len(c.buf) - c.pos; have == 0 {
				c.bad("the bytes end inside a record")
				return
			}
		}
		step := min(n, have)
		c.pos += step
		n -= step
	}
}

// take reads n bytes: an alias of buf, or memory of their own if they come from a stream. It grows
// with what is really there.
func (c *cursor) take(n int) []byte {
	if c.src == nil {
		if len(c.buf)-c.pos < n {
			c.bad("the bytes end inside a record")
			return nil
		}
		c.pos += n
		return c.buf[c.pos-n : c.pos : c.pos]
	}
	if n == 0 {
		return []byte{}
	}
	if cap(c.arena)-len(c.arena) < min(n, window) {
		c.arena = make([]byte, 0, max(min(n, window), 1<<10))
	}
	out := c.arena[len(c.arena):]
	for n > 0 {
		c.fill(1)
		have := len(c.buf) - c.pos
		if have == 0 {
			c.bad("the bytes end inside a record")
			return nil
		}
		step := min(n, have)
		out = append(out, c.buf[c.pos:c.pos+step]...)
		c.pos += step
		n -= step
	}
	if cap(out) <= cap(c.arena)-len(c.arena) {
		c.arena = c.arena[:len(c.arena)+len(out)]
	}
	return out[:len(out):len(out)]
}

// begin reads a record's length and is the position where the record ends.
func (c *cursor) begin() int64 {
	length := int64(c.varint())
	switch {
	case c.err != nil:
	case length < 0:
		c.bad("negative record length")
	case c.src == nil && length > int64(len(c.buf)-c.pos):
		c.bad("a record is longer than its batch")
	case c.src != nil && length > int64(c.limit):
		c.bad("a record is longer than max.decompressed.message.bytes")
	}
	return c.consumed() + length
}

// field reads the length of a key or value, −1 or less being null, within a record that ends at end.
func (c *cursor) field(end int64) int {
	n := int(c.varint())
	if int64(n) > end-c.consumed() {
		c.bad("a field is longer than its record")
		return 0
	}
	return n
}

// attributes passes over the byte that no format uses.
func (c *cursor) attributes() {
	if c.pos < len(c.buf) {
		c.pos++
		return
	}
	c.skip(1)
}

// head reads what precedes the key.
func (c *cursor) head(r *raw) (end int64) {
	end = c.begin()
	c.attributes()
	r.timestampDelta = c.varlong()
	r.offsetDelta = c.varint()
	return end
}

// headerCount reads how many headers follow.
func (c *cursor) headerCount(end int64) int {
	n := int(c.varint())
	if n < 0 || int64(n) > end-c.consumed() {
		c.bad("impossible number of headers")
		return 0
	}
	return n
}

// finish checks that a record took exactly the bytes it claimed.
func (c *cursor) finish(end int64) bool {
	if c.err == nil && c.consumed() != end {
		c.bad("a record's length does not match its fields")
	}
	return c.err == nil
}

// varintAt reads an unsigned varint of at most 5 bytes at b[at:], and where it ends; −1 if it does not end.
func varintAt(b []byte, at int) (uint64, int) {
	if uint(at) < uint(len(b)) && b[at] < 0x80 {
		return uint64(b[at]), at + 1
	}
	return longVarintAt(b, at)
}

func longVarintAt(b []byte, at int) (uint64, int) {
	if at < 0 || at+2 >= len(b) {
		return 0, -1
	}
	u := uint64(b[at]&0x7f) | uint64(b[at+1]&0x7f)<<7
	if b[at+1] < 0x80 {
		return u, at + 2
	}
	for i := 2; i < 5 && at+i < len(b); i++ {
		u |= uint64(b[at+i]&0x7f) << (7 * i)
		if b[at+i] < 0x80 {
			return u, at + i + 1
		}
	}
	return 0, -1
}

// unzigzag is the inverse of zigzag.
func unzigzag(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// skipPlain does what skipRecord does for a record without headers that lies in buf whole, several
// times as fast: most records of a busy broker pass here. On anything else it consumes nothing and
// says false.
func (c *cursor) skipPlain(r *raw) bool {
	b := c.buf
	length, at := varintAt(b, c.pos)
	if at < 0 || length&1 != 0 || length>>1 > uint64(len(b)-at) {
		return false
	}
	end := at + int(length>>1)
	timestamp, at := varintAt(b, at+1)
	offset, at := varintAt(b, at)
	key, at := varintAt(b, at)
	if at < 0 || offset > math.MaxUint32 || key > math.MaxUint32 {
		return false
	}
	if r.hasKey = key&1 == 0; r.hasKey {
		if key>>1 > uint64(len(b)-at) {
			return false
		}
		at += int(key >> 1)
	}
	value, at := varintAt(b, at)
	if at < 0 || value > math.MaxUint32 {
		return false
	}
	if value&1 == 0 {
		if value>>1 > uint64(len(b)-at) {
			return false
		}
		at += int(value >> 1)
	}
	if at+1 != end || b[at] != 0 || c.src != nil && length>>1 > uint64(c.limit) {
		return false
	}
	r.timestampDelta, r.offsetDelta = unzigzag(timestamp), int32(unzigzag(offset))
	c.pos = end
	return true
}

// skipRecord walks over one record and keeps what validation asks for.
func (c *cursor) skipRecord(r *raw) bool {
	if c.skipPlain(r) {
		return true
	}
	end := c.head(r)
	n := c.field(end)
	r.hasKey = n >= 0
	c.skip(n)
	c.skip(c.field(end))
	for i := c.headerCount(end); i > 0 && c.err == nil; i-- {
		n := c.field(end)
		if n < 0 {
			c.bad("null header key")
			return false
		}
		c.skip(n)
		c.skip(c.field(end))
	}
	return c.finish(end)
}

// readRecord reads one record whole. The headers slice is fresh.
func (c *cursor) readRecord(r *raw) bool {
	end := c.head(r)
	r.key, r.value, r.headers = nil, nil, nil
	if n := c.field(end); n >= 0 {
		r.key = c.take(n)
	}
	r.hasKey = r.key != nil
	if n := c.field(end); n >= 0 {
		r.value = c.take(n)
	}
	count := c.headerCount(end)
	if count > 0 && c.err == nil {
		r.headers = make([]Header, 0, min(count, 16))
	}
	for i := 0; i < count && c.err == nil; i++ {
		r.headers = append(r.headers, c.header(end))
	}
	return c.finish(end)
}

func (c *cursor) header(end int64) Header {
	var h Header
	n := c.field(end)
	if n < 0 {
		c.bad("null header key")
		return h
	}
	h.Key = string(c.take(n))
	if n := c.field(end); n >= 0 {
		h.Value = c.take(n)
	}
	return h
}

// done checks that nothing follows the last record.
func (c *cursor) done() error {
	if c.err == nil {
		c.fill(1)
	}
	if c.err == nil && c.pos < len(c.buf) {
		c.bad("bytes are left over after the last record")
	}
	return c.err
}
