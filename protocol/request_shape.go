package protocol

import "fmt"

// kmsg decodes leniently: it takes null or a negative length where Kafka has neither, keeps
// every unknown tag, and turns a byte of input into up to ninety bytes of structs. So a body
// is first walked against its shape, without allocating, by Kafka's own rules.

// shape is the layout of one request over all its versions.
type shape struct {
	flexible int8 // first version with compact lengths and tagged fields
	fields   []shapeField
}

// shapeField is one field. Version ranges are inclusive.
type shapeField struct {
	name         string
	kind         shapeKind
	array        bool
	since, until int8
	nullable     bool
	nullSince    int8
	tagged       bool
	tag          uint8
	tagSince     int8
	fields       []shapeField // of a struct
}

type shapeKind uint8

const (
	kindInt8 shapeKind = iota
	kindInt16
	kindInt32
	kindInt64
	kindUUID
	kindString
	kindBytes
	kindStruct
)

const (
	// maxTags bounds the unknown tagged fields of one struct, as Kafka does.
	maxTags = 10_000
	// maxDecoded bounds what a body may take in memory beyond its own bytes, by estimate.
	// It is room for half a million partitions in one request.
	maxDecoded = 64 << 20
	// Estimates of what kmsg allocates for an element of an array of structs, of an array
	// of strings, and for an unknown tag.
	structCost, stringCost, tagCost = 128, 16, 64
)

// checkBody walks a body; the error names the field. What follows the body is ignored.
func checkBody(s *shape, version int16, body []byte) error {
	w := walker{in: body, version: int8(version), flexible: int8(version) >= s.flexible}
	return w.structure(s.fields)
}

type walker struct {
	in       []byte
	version  int8
	flexible bool
	cost     int
}

func (w *walker) structure(fields []shapeField) error {
	for i := range fields {
		f := &fields[i]
		if w.version < f.since || w.version > f.until || f.tagged && w.version >= f.tagSince {
			continue
		}
		if err := w.field(f); err != nil {
			return err
		}
	}
	if !w.flexible {
		return nil
	}
	return w.tags(fields)
}

func (w *walker) field(f *shapeField) error {
	if !f.array {
		return w.value(f)
	}
	n, null, err := w.length(f, 4)
	if err != nil || null {
		return err
	}
	if n > len(w.in) {
		return fmt.Errorf("%s: array of %d elements in %d bytes", f.name, n, len(w.in))
	}
	switch f.kind {
	case kindStruct:
		w.cost += n * structCost
	case kindString, kindBytes:
		w.cost += n * stringCost
	}
	if w.cost > maxDecoded {
		return fmt.Errorf("%s: array of %d elements makes the request too large", f.name, n)
	}
	if size := f.kind.size(); size > 0 {
		return w.skip(f.name, n*size)
	}
	for range n {
		if err := w.element(f); err != nil {
			return err
		}
	}
	return nil
}

// element is a value inside an array; those are never null.
func (w *walker) element(f *shapeField) error {
	if f.kind == kindStruct {
		return w.structure(f.fields)
	}
	plain := shapeField{name: f.name, kind: f.kind}
	return w.value(&plain)
}

func (w *walker) value(f *shapeField) error {
	switch f.kind {
	case kindString, kindBytes:
		width := 2
		if f.kind == kindBytes {
			width = 4
		}
		n, null, err := w.length(f, width)
		if err != nil || null {
			return err
		}
		if f.kind == kindString && n > 0x7fff {
			return fmt.Errorf("%s: string of %d bytes", f.name, n)
		}
		return w.skip(f.name, n)
	case kindStruct:
		if f.nullable && w.version >= f.nullSince {
			present, err := w.byte(f.name)
			if err != nil || int8(present) < 0 {
				return err
			}
		}
		return w.structure(f.fields)
	}
	return w.skip(f.name, f.kind.size())
}

// length reads the length of a string (width 2), of bytes or of an array (width 4), or the
// compact form of any of them, and refuses null where the version has none.
func (w *walker) length(f *shapeField, width int) (n int, null bool, err error) {
	if w.flexible {
		u, err := w.uvarint(f.name)
		if err != nil {
			return 0, false, err
		}
		n = int(u) - 1
	} else {
		if len(w.in) < width {
			return 0, false, short(f.name, width, len(w.in))
		}
		if width == 2 {
			n = int(int16(uint16(w.in[0])<<8 | uint16(w.in[1])))
		} else {
			n = int(int32(uint32(w.in[0])<<24 | uint32(w.in[1])<<16 | uint32(w.in[2])<<8 | uint32(w.in[3])))
		}
		w.in = w.in[width:]
	}
	if n >= 0 {
		return n, false, nil
	}
	if f.nullable && w.version >= f.nullSince {
		return 0, true, nil
	}
	return 0, false, fmt.Errorf("%s: null in a field that is not nullable", f.name)
}

func (w *walker) tags(fields []shapeField) error {
	n, err := w.uvarint("tags")
	if err != nil {
		return err
	}
	for i := range int(n) {
		tag, err := w.uvarint("tag")
		if err != nil {
			return err
		}
		size, err := w.uvarint("tag size")
		if err != nil {
			return err
		}
		if int64(size) > int64(len(w.in)) {
			return short("tag", int(size), len(w.in))
		}
		f := findTag(fields, tag)
		if f == nil {
			w.cost += tagCost
			if i >= maxTags || w.cost > maxDecoded {
				return fmt.Errorf("too many tagged fields (%d)", n)
			}
			w.in = w.in[size:]
			continue
		}
		if err := w.taggedField(f, int(size)); err != nil {
			return err
		}
	}
	return nil
}

func (w *walker) taggedField(f *shapeField, size int) error {
	if w.version < f.tagSince || w.version > f.until {
		return fmt.Errorf("%s: tag %d is not valid for version %d", f.name, f.tag, w.version)
	}
	rest := w.in[size:]
	w.in = w.in[:size]
	if err := w.field(f); err != nil {
		return err
	}
	if len(w.in) != 0 {
		return fmt.Errorf("%s: tag %d has %d bytes too many", f.name, f.tag, len(w.in))
	}
	w.in = rest
	return nil
}

func findTag(fields []shapeField, tag uint32) *shapeField {
	for i := range fields {
		if f := &fields[i]; f.tagged && uint32(f.tag) == tag {
			return f
		}
	}
	return nil
}

// size is the width of a fixed kind, 0 for the others.
func (k shapeKind) size() int {
	switch k {
	case kindInt8:
		return 1
	case kindInt16:
		return 2
	case kindInt32:
		return 4
	case kindInt64:
		return 8
	case kindUUID:
		return 16
	}
	return 0
}

func (w *walker) skip(name string, n int) error {
	if n > len(w.in) {
		return short(name, n, len(w.in))
	}
	w.in = w.in[n:]
	return nil
}

func (w *walker) byte(name string) (byte, error) {
	if len(w.in) == 0 {
		return 0, short(name, 1, 0)
	}
	b := w.in[0]
	w.in = w.in[1:]
	return b, nil
}

// uvarint reads an unsigned varint of at most five bytes.
func (w *walker) uvarint(name string) (uint32, error) {
	v, n := uvarint(w.in)
	if n <= 0 {
		return 0, fmt.Errorf("%s: bad varint", name)
	}
	w.in = w.in[n:]
	return v, nil
}

// uvarint decodes Kafka's unsigned varint; n is 0 or less when the input is short or too long.
func uvarint(in []byte) (v uint32, n int) {
	for i := range min(len(in), 5) {
		b := in[i]
		v |= uint32(b&0x7f) << (7 * i)
		if b < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}

func short(name string, want, have int) error {
	return fmt.Errorf("%s: want %d bytes, have %d", name, want, have)
}
