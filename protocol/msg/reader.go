package msg

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/ottla/ottla/protocol"
)

// ErrCorrupt is wrapped by every error about bytes that are not what their schema says.
var ErrCorrupt = errors.New("corrupt message")

// reader decodes from b. The first error stays, what is read after it is zero.
// It allocates no more than a small multiple of the bytes it has.
type reader struct {
	b   []byte
	err error
}

func (r *reader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format+": %w", append(args, ErrCorrupt)...)
	}
	r.b = nil
}

func (r *reader) failNull()                   { r.fail("null where the version has none") }
func (r *reader) failTag(tag uint32, v int16) { r.fail("tag %d is not valid in version %d", tag, v) }

// take is the next n bytes, nil after an error.
func (r *reader) take(n int, what string) []byte {
	if r.err != nil {
		return nil
	}
	if n > len(r.b) {
		r.fail("%s: have %d bytes, need %d", what, len(r.b), n)
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *reader) int8() int8 {
	if b := r.take(1, "int8"); b != nil {
		return int8(b[0])
	}
	return 0
}

// bool is false for 0 and true for every other byte, as in Kafka.
func (r *reader) bool() bool { return r.int8() != 0 }

func (r *reader) uint16() uint16 {
	if b := r.take(2, "int16"); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) uint32() uint32 {
	if b := r.take(4, "int32"); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) uint64() uint64 {
	if b := r.take(8, "int64"); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *reader) int16() int16     { return int16(r.uint16()) }
func (r *reader) int32() int32     { return int32(r.uint32()) }
func (r *reader) int64() int64     { return int64(r.uint64()) }
func (r *reader) float64() float64 { return math.Float64frombits(r.uint64()) }

func (r *reader) uuid() (u protocol.UUID) {
	copy(u[:], r.take(len(u), "uuid"))
	return u
}

// uvarint reads at most five bytes, as Kafka does.
func (r *reader) uvarint() uint32 {
	var x uint32
	for i := range 5 {
		if i == len(r.b) {
			r.fail("varint: have %d bytes, need more", len(r.b))
			return 0
		}
		c := r.b[i]
		x |= uint32(c&0x7f) << (7 * i)
		if c < 0x80 {
			r.b = r.b[i+1:]
			return x
		}
	}
	r.fail("varint: longer than 5 bytes")
	return 0
}

// length reads the length of a string, bytes or array, -1 for null.
func (r *reader) length(flex, short bool) int {
	switch {
	case flex:
		return int(int32(r.uvarint())) - 1
	case short:
		return int(r.int16())
	}
	return int(r.int32())
}

// sized reads a length and that many bytes; ok is false for null and after an error.
func (r *reader) sized(flex, short, nullable bool, what string) (b []byte, ok bool) {
	n := r.length(flex, short)
	switch {
	case r.err != nil:
		return nil, false
	case n == -1:
		if !nullable {
			r.failNull()
		}
		return nil, false
	case n < 0:
		r.fail("%s: length %d", what, n)
		return nil, false
	}
	b = r.take(n, what)
	return b, r.err == nil
}

func (r *reader) string(flex bool) string {
	b, _ := r.sized(flex, true, false, "string")
	return string(b)
}

func (r *reader) nullableString(flex, nullable bool) *string {
	b, ok := r.sized(flex, true, nullable, "string")
	if !ok {
		return nil
	}
	s := string(b)
	return &s
}

func (r *reader) bytes(flex, nullable bool) []byte {
	b, ok := r.sized(flex, false, nullable, "bytes")
	if !ok {
		return nil
	}
	return append([]byte{}, b...)
}

// arrayLen reads the number of elements, each of which takes at least elem bytes; -1 is null or an error.
func (r *reader) arrayLen(flex, nullable bool, elem int) int {
	n := r.length(flex, false)
	switch {
	case r.err != nil:
		return -1
	case n == -1:
		if !nullable {
			r.failNull()
		}
	case n < -1:
		r.fail("array: length %d", n)
	case n > len(r.b)/elem:
		r.fail("array: %d elements of %d bytes or more in %d bytes", n, elem, len(r.b))
	default:
		return n
	}
	return -1
}

func (r *reader) strings(flex, nullable bool) []string {
	if flex {
		return readArray(r, true, nullable, 1, func(r *reader) string { return r.string(true) })
	}
	return readArray(r, false, nullable, 2, func(r *reader) string { return r.string(false) })
}

// readArray reads elements of at least size bytes each. An empty array is nil
// unless nil would mean null.
func readArray[T any](r *reader, flex, nullable bool, size int, elem func(*reader) T) []T {
	n := r.arrayLen(flex, nullable, size)
	if n < 0 || n == 0 && !nullable {
		return nil
	}
	list := make([]T, n)
	for i := range list {
		list[i] = elem(r)
		if r.err != nil {
			return nil
		}
	}
	return list
}

// structure is what the generated structs have.
type structure[T any] interface {
	*T
	setDefaults()
	read(r *reader, v int16)
	write(w *writer, v int16)
}

func readStructs[T any, P structure[T]](r *reader, v int16, flex, nullable bool, size int) []T {
	n := r.arrayLen(flex, nullable, size)
	if n < 0 || n == 0 && !nullable {
		return nil
	}
	list := make([]T, n)
	for i := range list {
		P(&list[i]).read(r, v)
		if r.err != nil {
			return nil
		}
	}
	return list
}

// readNullable reads a nullable struct: a marker, then the struct. In the body
// the marker is an int8, negative for null; inside a tag a varint, 0 for null.
func readNullable[T any, P structure[T]](r *reader, v int16, inTag, nullable bool) *T {
	has := false
	if inTag {
		has = r.uvarint() != 0
	} else {
		has = r.int8() >= 0
	}
	if r.err != nil {
		return nil
	}
	if !has {
		if !nullable {
			r.failNull()
		}
		return nil
	}
	m := new(T)
	P(m).read(r, v)
	return m
}

// tagCount reads how many tagged fields follow.
func (r *reader) tagCount() int {
	n := r.uvarint()
	if int64(n) > int64(len(r.b)/2) {
		r.fail("tags: %d in %d bytes", n, len(r.b))
		return 0
	}
	return int(n)
}

// enterTag reads a tag's number and size and narrows the reader to its bytes;
// what comes after is returned for leaveTag.
func (r *reader) enterTag() (tag uint32, after []byte) {
	tag = r.uvarint()
	size := r.uvarint()
	if int64(size) > int64(len(r.b)) {
		r.fail("tag %d: have %d bytes, need %d", tag, len(r.b), size)
		return tag, nil
	}
	after = r.b[size:]
	r.b = r.b[:size]
	return tag, after
}

func (r *reader) leaveTag(after []byte) {
	if r.err == nil && len(r.b) > 0 {
		r.fail("tag: %d bytes left over", len(r.b))
	}
	if r.err == nil {
		r.b = after
	}
}

// rest copies what is left.
func (r *reader) rest() []byte {
	b := append([]byte{}, r.b...)
	r.b = nil
	return b
}
