package config

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Property is one line of a properties file.
type Property struct {
	Name, Value string
	Line        int // first line of the property, from 1; 0 when it did not come from a file
}

// Properties are read from a file or the command line, in order. A later one wins over an earlier one of the same name.
type Properties []Property

// ParseOverride reads key=value as the command line has it.
func ParseOverride(arg string) (Property, error) {
	name, value, ok := strings.Cut(arg, "=")
	if name = strings.TrimSpace(name); !ok || name == "" {
		return Property{}, fmt.Errorf("--override %s: write it as key=value", arg)
	}
	return Property{Name: name, Value: value}, nil
}

// ParseProperties reads Java's .properties format as Properties.load(InputStream) does: bytes are
// ISO 8859-1, # and ! begin comments, =, : or white space end a name, a backslash escapes or, at the
// end of a line, continues it. file is used in errors.
func ParseProperties(file string, text []byte) (Properties, error) {
	var out Properties
	r := lineReader{rest: text}
	for {
		line, number, ok := r.logical()
		if !ok {
			return out, nil
		}
		name, value, err := splitProperty(line)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, number, err)
		}
		out = append(out, Property{name, value, number})
	}
}

// lineReader gives the logical lines of a properties file.
type lineReader struct {
	rest []byte
	line int // natural lines read
}

// natural is the next line without its end, white space before it removed.
func (r *lineReader) natural() (line []byte, ok bool) {
	if len(r.rest) == 0 {
		return nil, false
	}
	r.line++
	i := 0
	for i < len(r.rest) && r.rest[i] != '\n' && r.rest[i] != '\r' {
		i++
	}
	line, end := r.rest[:i], i
	if end < len(r.rest) {
		end++
		if r.rest[i] == '\r' && end < len(r.rest) && r.rest[end] == '\n' {
			end++
		}
	}
	r.rest = r.rest[end:]
	for len(line) > 0 && isBlank(line[0]) {
		line = line[1:]
	}
	return line, true
}

// logical is the next line that is neither blank nor a comment, its continuations joined, and the
// number of its first natural line.
func (r *lineReader) logical() (line []byte, number int, ok bool) {
	for {
		line, ok = r.natural()
		if !ok {
			return nil, 0, false
		}
		if len(line) > 0 && line[0] != '#' && line[0] != '!' {
			break
		}
	}
	number = r.line
	for continues(line) {
		next, _ := r.natural()
		line = append(line[:len(line)-1:len(line)-1], next...)
	}
	return line, number, true
}

// continues reports an odd number of backslashes at the end.
func continues(line []byte) bool {
	n := 0
	for n < len(line) && line[len(line)-1-n] == '\\' {
		n++
	}
	return n%2 == 1
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\f' }

// splitProperty separates name and value of a logical line and resolves escapes in both.
func splitProperty(line []byte) (name, value string, err error) {
	end := 0
	for end < len(line) && !isBlank(line[end]) && line[end] != '=' && line[end] != ':' {
		if line[end] == '\\' {
			end++
		}
		end++
	}
	end = min(end, len(line))
	start := end
	for start < len(line) && isBlank(line[start]) {
		start++
	}
	if start < len(line) && (line[start] == '=' || line[start] == ':') {
		start++
		for start < len(line) && isBlank(line[start]) {
			start++
		}
	}
	if name, err = unescape(line[:end]); err != nil {
		return "", "", err
	}
	value, err = unescape(line[start:])
	return name, value, err
}

// unescape resolves backslashes and turns ISO 8859-1 into UTF-8.
func unescape(raw []byte) (string, error) {
	var b strings.Builder
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		if c != '\\' {
			b.WriteRune(rune(c))
			continue
		}
		i++
		if i == len(raw) {
			break
		}
		switch raw[i] {
		case 't':
			b.WriteByte('\t')
		case 'n':
			b.WriteByte('\n')
		case 'r':
			b.WriteByte('\r')
		case 'f':
			b.WriteByte('\f')
		case 'u':
			r, used, err := unicodeEscape(raw[i+1:])
			if err != nil {
				return "", err
			}
			b.WriteRune(r)
			i += used
		default:
			b.WriteRune(rune(raw[i]))
		}
	}
	return b.String(), nil
}

// unicodeEscape reads the four digits after \u, and a second escape when the first is the high half of a
// surrogate pair. used counts the bytes that were read.
func unicodeEscape(raw []byte) (r rune, used int, err error) {
	if r, err = fourDigits(raw); err != nil {
		return 0, 0, err
	}
	if utf16.IsSurrogate(r) && len(raw) >= 6 && raw[4] == '\\' && raw[5] == 'u' {
		if low, err := fourDigits(raw[6:]); err == nil {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 10, nil
			}
		}
	}
	return r, 4, nil // WriteRune replaces half of a pair
}

func fourDigits(raw []byte) (rune, error) {
	n := uint64(0)
	var err error = strconv.ErrSyntax
	if len(raw) >= 4 {
		n, err = strconv.ParseUint(string(raw[:4]), 16, 16)
	}
	if err != nil {
		return 0, fmt.Errorf(`\u%s is not \u and four hexadecimal digits`, raw[:min(4, len(raw))])
	}
	return rune(n), nil
}
