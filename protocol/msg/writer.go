package msg

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/ottla/ottla/protocol"
)

var errNull = errors.New("null where the version has none")

const maxTag = math.MaxUint32

// writer appends to b. After the first error what it appends is meaningless.
type writer struct {
	b   []byte
	err error
}

func (w *writer) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// failField: the version has no such field, yet it is set to something.
func (w *writer) failField(name string, v int16) {
	w.fail(fmt.Errorf("version %d has no field %s: %w", v, name, protocol.UnsupportedVersion))
}

func (w *writer) bool(x bool) {
	if x {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

func (w *writer) int8(x int8)             { w.b = append(w.b, byte(x)) }
func (w *writer) uint16(x uint16)         { w.b = binary.BigEndian.AppendUint16(w.b, x) }
func (w *writer) uint32(x uint32)         { w.b = binary.BigEndian.AppendUint32(w.b, x) }
func (w *writer) int16(x int16)           { w.uint16(uint16(x)) }
func (w *writer) int32(x int32)           { w.uint32(uint32(x)) }
func (w *writer) int64(x int64)           { w.b = binary.BigEndian.AppendUint64(w.b, uint64(x)) }
func (w *writer) float64(x float64)       { w.int64(int64(math.Float64bits(x))) }
func (w *writer) uuid(x protocol.UUID)    { w.b = append(w.b, x[:]...) }
func (w *writer) uvarint(x uint64)        { w.b = binary.AppendUvarint(w.b, x) }
func (w *writer) string(s string, f bool) { w.length(len(s), f, true); w.b = append(w.b, s...) }

// length writes the length of a string, bytes or array, -1 for null.
func (w *writer) length(n int, flex, short bool) {
	switch {
	case flex:
		w.uvarint(uint64(n + 1))
	case short && n > math.MaxInt16:
		w.fail(fmt.Errorf("string of %d bytes: at most %d", n, math.MaxInt16))
	case short:
		w.int16(int16(n))
	default:
		w.int32(int32(n))
	}
}

func (w *writer) null(flex, short, nullable bool) {
	if !nullable {
		w.fail(errNull)
	}
	w.length(-1, flex, short)
}

func (w *writer) nullableString(s *string, flex, nullable bool) {
	if s == nil {
		w.null(flex, true, nullable)
		return
	}
	w.string(*s, flex)
}

func (w *writer) bytes(b []byte, flex, nullable bool) {
	if b == nil && nullable {
		w.null(flex, false, true)
		return
	}
	w.length(len(b), flex, false)
	w.b = append(w.b, b...)
}

// arrayLen writes the number of elements and says whether elements follow.
func (w *writer) arrayLen(n int, isNil, flex, nullable bool) bool {
	if isNil && nullable {
		w.null(flex, false, true)
		return false
	}
	w.length(n, flex, false)
	return true
}

func (w *writer) strings(list []string, flex, nullable bool) {
	if w.arrayLen(len(list), list == nil, flex, nullable) {
		for _, s := range list {
			w.string(s, flex)
		}
	}
}

func writeArray[T any](w *writer, list []T, flex, nullable bool, elem func(*writer, T)) {
	if w.arrayLen(len(list), list == nil, flex, nullable) {
		for _, x := range list {
			elem(w, x)
		}
	}
}

func writeStructs[T any, P structure[T]](w *writer, list []T, v int16, flex, nullable bool) {
	if w.arrayLen(len(list), list == nil, flex, nullable) {
		for i := range list {
			P(&list[i]).write(w, v)
		}
	}
}

// writeNullable is the inverse of readNullable.
func writeNullable[T any, P structure[T]](w *writer, m P, v int16, inTag, nullable bool) {
	switch {
	case m == nil && !nullable:
		w.fail(errNull)
	case m == nil && inTag:
		w.uvarint(0)
	case m == nil:
		w.int8(-1)
	case inTag:
		w.uvarint(1)
		m.write(w, v)
	default:
		w.int8(1)
		m.write(w, v)
	}
}

// tags writes the tag section of a struct that has no tags of its own.
func (w *writer) tags(list []Tag) {
	w.uvarint(uint64(len(list)))
	w.tagsBelow(list, maxTag)
}

// tagsBelow writes the tags of the list before limit and returns the others.
func (w *writer) tagsBelow(list []Tag, limit uint32) []Tag {
	for i, t := range list {
		if t.Key >= limit {
			return list[i:]
		}
		w.uvarint(uint64(t.Key))
		w.uvarint(uint64(len(t.Value)))
		w.b = append(w.b, t.Value...)
	}
	return nil
}

// beginTag writes a tag's number; its value follows, then endTag with what this returned.
func (w *writer) beginTag(tag uint32) int {
	w.uvarint(uint64(tag))
	return len(w.b)
}

// endTag puts the size before the value that was written since at.
func (w *writer) endTag(at int) {
	size := len(w.b) - at
	var head [binary.MaxVarintLen32]byte
	n := binary.PutUvarint(head[:], uint64(size))
	w.b = append(w.b, head[:n]...)
	copy(w.b[at+n:], w.b[at:at+size])
	copy(w.b[at:], head[:n])
}
