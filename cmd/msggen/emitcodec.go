package main

import "sort"

// methods emits setDefaults, isDefault, read and write of one struct.
func (e *emitter) methods(name string, fields []*field) {
	e.defaults(name, fields)
	if e.needsIsDefault(name) {
		e.isDefault(name, fields)
	}
	e.reader(name, fields)
	e.writer(name, fields)
}

// defaults emits setDefaults: Kafka's default for scalars, null for what can be null.
func (e *emitter) defaults(name string, fields []*field) {
	e.p("func (m *%s) setDefaults() {\n*m = %s{}", name, name)
	for _, f := range fields {
		x, d := "m."+goName(f.Name), f.defaultText()
		switch {
		case !f.nullable.empty() || d == "" || d == "0" || d == "false":
			if e.isStruct(f.Type) && f.nullable.empty() {
				e.p("%s.setDefaults()", x)
			}
		case f.Type == "string":
			e.p("%s = %q", x, d)
		default:
			e.p("%s = %s", x, d)
		}
	}
	e.p("}\n")
}

// absent emits what a nullable field is when the bytes do not have it: unless
// its default is null, Kafka reads it as empty, not as null.
func (e *emitter) absent(f *field) {
	x := "m." + goName(f.Name)
	always := f.versions.covers(e.s.valid) && !f.isTagged()
	switch {
	case f.nullable.empty() || f.nullDef() || always:
	case f.isArray() || f.Type == "bytes":
		e.p("%s = %s{}", x, e.goType(f))
	case f.Type == "string":
		e.p("%s = new(string)", x)
	default:
		e.p("%s = New%s()", x, e.elemType(f.Type))
	}
}

// needsIsDefault: only structs that stand in a tag, or inside one that does.
func (e *emitter) needsIsDefault(name string) bool {
	var walk func(fields []*field, in bool) bool
	walk = func(fields []*field, in bool) bool {
		for _, f := range fields {
			st, ok := e.s.structs[f.elem()]
			if !ok {
				continue
			}
			partial := !f.versions.covers(e.s.valid)
			here := !f.isArray() && (in || f.isTagged() || partial)
			if here && e.s.Name+f.Type == name || walk(st.Fields, here) {
				return true
			}
		}
		return false
	}
	return walk(e.s.Fields, false)
}

func (e *emitter) isDefault(name string, fields []*field) {
	e.p("func (m *%s) isDefault() bool {", name)
	for _, f := range fields {
		e.p("if %s {\nreturn false\n}", e.differs(f))
	}
	e.p("return %s\n}\n", e.noTags())
}

func (e *emitter) noTags() string {
	if e.s.flexible.empty() {
		return "true"
	}
	return "len(m.UnknownTags) == 0"
}

// guard opens an if for a version condition; it returns what closes it.
func (e *emitter) guard(cond string) string {
	if cond == "true" {
		return ""
	}
	e.p("if %s {", cond)
	return "}"
}

func (e *emitter) end(brace string) {
	if brace != "" {
		e.p("%s", brace)
	}
}

func (e *emitter) reader(name string, fields []*field) {
	e.p("func (m *%s) read(r *reader, v int16) {\nm.setDefaults()", name)
	e.flexVar()
	for _, f := range fields {
		e.absent(f)
		cond := f.versions.and(untagged(f, e.s)).cond(e.s.valid)
		if cond == "false" {
			continue
		}
		end := e.guard(cond)
		e.readField(f)
		e.end(end)
	}
	if e.s.flexible.empty() {
		e.p("}\n")
		return
	}
	end := e.ifFlex()
	e.p("for n := r.tagCount(); n > 0; n-- {\ntag, after := r.enterTag()\nswitch tag {")
	for _, f := range fields {
		if !f.isTagged() {
			continue
		}
		e.p("case %d:", f.Tag)
		if c := f.tagged.cond(e.s.valid); c != "true" {
			e.p("if !(%s) { r.failTag(tag, v) }", c)
		}
		e.readField(f)
	}
	e.p("default:\nm.UnknownTags = append(m.UnknownTags, Tag{tag, r.rest()})\n}\nr.leaveTag(after)\n}")
	e.end(end)
	e.p("}\n")
}

// untagged is the span in which a field is written in the body.
func untagged(f *field, s *schema) span {
	if !f.isTagged() {
		return span{0, newest}
	}
	if f.tagged.lo <= max(f.versions.lo, s.valid.lo) {
		return never
	}
	return span{0, f.tagged.lo - 1}
}

// flexVar declares flex where it depends on the version.
func (e *emitter) flexVar() {
	if c := e.s.flexible.cond(e.s.valid); c != "true" && c != "false" {
		e.p("flex := %s", c)
	}
}

// flex is a Go expression: the version is a flexible one.
func (e *emitter) flex() string {
	if c := e.s.flexible.cond(e.s.valid); c == "true" || c == "false" {
		return c
	}
	return "flex"
}

// ifFlex opens the block that only flexible versions run.
func (e *emitter) ifFlex() string { return e.guard(e.flex()) }

func (e *emitter) readField(f *field) {
	x := "m." + goName(f.Name)
	null := f.nullable.cond(e.s.valid)
	switch {
	case f.isArray() && e.isStruct(f.elem()):
		e.p("%s = readStructs[%s](r, v, %s, %s, %d)", x, e.elemType(f.elem()), e.flex(), null, e.minSize(f.elem()))
	case f.isArray() && f.elem() == "string":
		e.p("%s = r.strings(%s, %s)", x, e.flex(), null)
	case f.isArray():
		e.p("%s = readArray(r, %s, %s, %d, (*reader).%s)", x, e.flex(), null, e.minSize(f.elem()), scalars[f.elem()].codec)
	case e.isStruct(f.Type) && !f.nullable.empty():
		e.p("%s = readNullable[%s](r, v, %v, %s)", x, e.elemType(f.Type), f.isTagged(), null)
	case e.isStruct(f.Type):
		e.p("%s.read(r, v)", x)
	case f.Type == "string" && !f.nullable.empty():
		e.p("%s = r.nullableString(%s, %s)", x, e.flex(), null)
	case f.Type == "string":
		e.p("%s = r.string(%s)", x, e.flex())
	case f.Type == "bytes":
		e.p("%s = r.bytes(%s, %s)", x, e.flex(), null)
	default:
		e.p("%s = r.%s()", x, scalars[f.Type].codec)
	}
}

func (e *emitter) writer(name string, fields []*field) {
	e.p("func (m *%s) write(w *writer, v int16) {", name)
	e.flexVar()
	for _, f := range fields {
		cond := f.versions.and(untagged(f, e.s)).cond(e.s.valid)
		if cond != "false" {
			end := e.guard(cond)
			e.writeField(f)
			e.end(end)
		}
		present := f.versions.cond(e.s.valid)
		if present != "true" && !f.Ignorable {
			e.p("if !(%s) && (%s) { w.failField(%q, v) }", present, e.differs(f), name+"."+goName(f.Name))
		}
	}
	if e.s.flexible.empty() {
		e.p("}\n")
		return
	}
	e.writeTags(fields)
	e.p("}\n")
}

func (e *emitter) writeTags(fields []*field) {
	var tagged []*field
	for _, f := range fields {
		if f.isTagged() {
			tagged = append(tagged, f)
		}
	}
	sort.Slice(tagged, func(i, j int) bool { return tagged[i].Tag < tagged[j].Tag })
	if len(tagged) == 0 {
		end := e.ifFlex()
		e.p("w.tags(m.UnknownTags)")
		e.end(end)
		return
	}
	end := e.ifFlex()
	e.p("n := len(m.UnknownTags)")
	for i, f := range tagged {
		cond := f.tagged.cond(e.s.valid)
		if cond == "true" {
			e.p("has%d := %s", i, e.differs(f))
		} else {
			e.p("has%d := %s && (%s)", i, cond, e.differs(f))
		}
		e.p("if has%d { n++ }", i)
	}
	e.p("w.uvarint(uint64(n))\nunknown := m.UnknownTags")
	for i, f := range tagged {
		e.p("if has%d {\nunknown = w.tagsBelow(unknown, %d)\nat := w.beginTag(%d)", i, f.Tag, f.Tag)
		e.writeField(f)
		e.p("w.endTag(at)\n}")
	}
	e.p("w.tagsBelow(unknown, maxTag)")
	e.end(end)
}

func (e *emitter) writeField(f *field) {
	x := "m." + goName(f.Name)
	null := f.nullable.cond(e.s.valid)
	switch {
	case f.isArray() && e.isStruct(f.elem()):
		e.p("writeStructs(w, %s, v, %s, %s)", x, e.flex(), null)
	case f.isArray() && f.elem() == "string":
		e.p("w.strings(%s, %s, %s)", x, e.flex(), null)
	case f.isArray():
		e.p("writeArray(w, %s, %s, %s, (*writer).%s)", x, e.flex(), null, scalars[f.elem()].codec)
	case e.isStruct(f.Type) && !f.nullable.empty():
		e.p("writeNullable(w, %s, v, %v, %s)", x, f.isTagged(), null)
	case e.isStruct(f.Type):
		e.p("%s.write(w, v)", x)
	case f.Type == "string" && !f.nullable.empty():
		e.p("w.nullableString(%s, %s, %s)", x, e.flex(), null)
	case f.Type == "string":
		e.p("w.string(%s, %s)", x, e.flex())
	case f.Type == "bytes":
		e.p("w.bytes(%s, %s, %s)", x, e.flex(), null)
	default:
		e.p("w.%s(%s)", scalars[f.Type].codec, x)
	}
}
