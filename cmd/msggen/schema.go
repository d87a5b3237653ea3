package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// schema is one JSON file: a message, its fields and the structs they share.
type schema struct {
	APIKey           int16    `json:"apiKey"`
	Type             string   `json:"type"`
	Name             string   `json:"name"`
	ValidVersions    string   `json:"validVersions"`
	FlexibleVersions string   `json:"flexibleVersions"`
	Fields           []*field `json:"fields"`
	CommonStructs    []*field `json:"commonStructs"`

	valid    span
	flexible span
	structs  map[string]*field
}

type field struct {
	Name             string          `json:"name"`
	Type             string          `json:"type"`
	Versions         string          `json:"versions"`
	NullableVersions string          `json:"nullableVersions"`
	TaggedVersions   string          `json:"taggedVersions"`
	Tag              int             `json:"tag"`
	Default          json.RawMessage `json:"default"`
	Ignorable        bool            `json:"ignorable"`
	Fields           []*field        `json:"fields"`

	versions, nullable, tagged span
}

// span is a range of versions, both ends included; lo > hi is no version.
type span struct{ lo, hi int }

const newest = 32767

var never = span{0, -1}

func parseSpan(s string) (span, error) {
	switch s = strings.TrimSpace(s); s {
	case "", "none":
		return never, nil
	}
	lo, hi, ranged := strings.Cut(s, "-")
	if plus := strings.TrimSuffix(s, "+"); plus != s {
		n, err := strconv.Atoi(plus)
		return span{n, newest}, err
	}
	a, err := strconv.Atoi(lo)
	if err != nil {
		return never, err
	}
	if !ranged {
		return span{a, a}, nil
	}
	b, err := strconv.Atoi(hi)
	return span{a, b}, err
}

func (s span) empty() bool        { return s.lo > s.hi }
func (s span) covers(o span) bool { return o.empty() || s.lo <= o.lo && s.hi >= o.hi }

func (s span) and(o span) span {
	r := span{max(s.lo, o.lo), min(s.hi, o.hi)}
	if r.empty() {
		return never
	}
	return r
}

// cond is a Go expression that holds for v in s, given that v is in valid:
// "true", "false" or comparisons.
func (s span) cond(valid span) string {
	s = s.and(valid)
	switch {
	case s.empty():
		return "false"
	case s.covers(valid):
		return "true"
	case s.lo <= valid.lo:
		return fmt.Sprintf("v <= %d", s.hi)
	case s.hi >= valid.hi:
		return fmt.Sprintf("v >= %d", s.lo)
	case s.lo == s.hi:
		return fmt.Sprintf("v == %d", s.lo)
	}
	return fmt.Sprintf("v >= %d && v <= %d", s.lo, s.hi)
}

func parseSchema(raw []byte) (*schema, error) {
	s := &schema{structs: map[string]*field{}}
	if err := json.Unmarshal(stripComments(raw), s); err != nil {
		return nil, err
	}
	var err error
	if s.valid, err = parseSpan(s.ValidVersions); err != nil {
		return nil, err
	}
	if s.flexible, err = parseSpan(s.FlexibleVersions); err != nil {
		return nil, err
	}
	for _, c := range s.CommonStructs {
		s.structs[c.Name] = c
	}
	for _, list := range [][]*field{s.Fields, s.CommonStructs} {
		if err := s.prepare(list); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *schema) prepare(fields []*field) error {
	for _, f := range fields {
		if f.Versions == "" {
			f.Versions = f.TaggedVersions
		}
		var errs [3]error
		f.versions, errs[0] = parseSpan(f.Versions)
		f.nullable, errs[1] = parseSpan(f.NullableVersions)
		f.tagged, errs[2] = parseSpan(f.TaggedVersions)
		for _, err := range errs {
			if err != nil {
				return fmt.Errorf("field %s: %w", f.Name, err)
			}
		}
		if len(f.Fields) > 0 && f.Type != "" {
			s.structs[strings.TrimPrefix(f.Type, "[]")] = f
		}
		if err := s.prepare(f.Fields); err != nil {
			return err
		}
	}
	return nil
}

func (s *schema) hasID() bool {
	switch s.Type {
	case "metadata", "coordinator-key", "coordinator-value":
		return true
	}
	return false
}

// stripComments drops whole-line // comments, which JSON does not have.
func stripComments(raw []byte) []byte {
	var out bytes.Buffer
	for _, line := range bytes.Split(raw, []byte("\n")) {
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("//")) {
			out.Write(line)
			out.WriteByte('\n')
		}
	}
	return out.Bytes()
}

// defaultText is the field's default as the schema's grammar means it: an
// unquoted null has no effect, a quoted one does.
func (f *field) defaultText() string {
	d := strings.TrimSpace(string(f.Default))
	if d == "" || d == "null" {
		return ""
	}
	return strings.Trim(d, `"`)
}

func (f *field) isArray() bool  { return strings.HasPrefix(f.Type, "[]") }
func (f *field) elem() string   { return strings.TrimPrefix(f.Type, "[]") }
func (f *field) nullDef() bool  { return f.defaultText() == "null" }
func (f *field) isTagged() bool { return !f.tagged.empty() }

// goName spells a schema's field name the Go way.
func goName(name string) string {
	name = strings.ToUpper(name[:1]) + name[1:]
	for _, w := range [][2]string{{"Id", "ID"}, {"Isr", "ISR"}, {"Elr", "ELR"}, {"Crc", "CRC"}} {
		name = replaceWord(name, w[0], w[1])
	}
	return name
}

// replaceWord replaces old by repl where no lower case letter follows (an s may).
func replaceWord(name, old, repl string) string {
	for i := 0; i+len(old) <= len(name); i++ {
		rest := name[i+len(old):]
		if name[i:i+len(old)] != old || rest != "" && rest != "s" && rest[0] >= 'a' && rest[0] <= 'z' {
			continue
		}
		name = name[:i] + repl + rest
	}
	return name
}
