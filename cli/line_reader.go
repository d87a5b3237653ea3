package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
)

// lineReader turns lines into records, as Kafka's LineMessageReader does: [headers delimiter][key separator]value.
type lineReader struct {
	topic            string
	parseKey         bool
	parseHeaders     bool
	ignoreErrors     bool // a missing separator is no error: there is no key, no headers
	keySeparator     string
	headersDelimiter string         // between the headers and the rest
	headersSeparator *regexp.Regexp // between one header and the next
	headerSeparator  string         // between a header's key and its value
	nullMarker       *string        // a field that is this text is null
	lineNumber       int
	in               *bufio.Reader
}

func kafkaException(format string, a ...any) error {
	return &javaError{class: "org.apache.kafka.common.KafkaException", msg: fmt.Sprintf(format, a...)}
}

// newLineReader reads from in with the properties of --reader-property.
func newLineReader(topic string, props clientConfig, in io.Reader) (*lineReader, error) {
	props = clientConfig{"key.separator": "\t", "headers.delimiter": "\t", "headers.separator": ",",
		"headers.key.separator": ":"}.with(props)
	yes := func(key string) bool { return strings.EqualFold(strings.TrimSpace(props[key]), "true") }
	r := &lineReader{
		topic: topic, parseKey: yes("parse.key"), parseHeaders: yes("parse.headers"), ignoreErrors: yes("ignore.error"),
		keySeparator: props["key.separator"], headersDelimiter: props["headers.delimiter"],
		headerSeparator: props["headers.key.separator"], in: bufio.NewReaderSize(in, 64<<10),
	}
	if m, ok := props["null.marker"]; ok {
		r.nullMarker = &m
	}
	if err := checkSeparators(props); err != nil {
		return nil, err
	}
	var err error
	if r.headersSeparator, err = regexp.Compile(props["headers.separator"]); err != nil {
		return nil, &javaError{class: "java.util.regex.PatternSyntaxException", msg: err.Error()}
	}
	return r, nil
}

// checkSeparators refuses separators that cannot be told apart.
func checkSeparators(props clientConfig) error {
	pairs := [][2]string{
		{"headers.delimiter", "headers.separator"},
		{"headers.delimiter", "headers.key.separator"},
		{"headers.separator", "headers.key.separator"},
		{"null.marker", "key.separator"},
		{"null.marker", "headers.separator"},
		{"null.marker", "headers.delimiter"},
		{"null.marker", "headers.key.separator"},
	}
	for _, p := range pairs {
		if a, ok := props[p[0]]; ok && a == props[p[1]] {
			return kafkaException("%s and %s may not be equal", p[0], p[1])
		}
	}
	return nil
}

// next reads the next record; io.EOF at the end.
func (r *lineReader) next() (*kgo.Record, error) {
	r.lineNumber++
	line, err := readLine(r.in)
	if err != nil {
		return nil, err
	}
	rest := line
	headers, found, err := r.cut(r.parseHeaders, line, &rest, r.headersDelimiter, "headers delimiter")
	if err != nil {
		return nil, err
	}
	rec := &kgo.Record{Topic: r.topic}
	if found && !r.isNull(headers) {
		if rec.Headers, err = r.splitHeaders(headers); err != nil {
			return nil, err
		}
	}
	key, found, err := r.cut(r.parseKey, line, &rest, r.keySeparator, "key separator")
	if err != nil {
		return nil, err
	}
	if found && !r.isNull(key) {
		rec.Key = []byte(key)
	}
	if !r.isNull(rest) {
		rec.Value = []byte(rest)
	}
	return rec, nil
}

// cut takes what is before the separator off rest, if that part is wanted.
func (r *lineReader) cut(wanted bool, line string, rest *string, separator, name string) (string, bool, error) {
	if !wanted {
		return "", false, nil
	}
	before, after, ok := strings.Cut(*rest, separator)
	switch {
	case ok:
		*rest = after
		return before, true, nil
	case r.ignoreErrors:
		return "", false, nil
	}
	return "", false, kafkaException("No %s found on line number %d: '%s'", name, r.lineNumber, line)
}

func (r *lineReader) isNull(field string) bool { return r.nullMarker != nil && field == *r.nullMarker }

func (r *lineReader) splitHeaders(text string) ([]kgo.RecordHeader, error) {
	parts := r.headersSeparator.Split(text, -1)
	for len(parts) > 1 && parts[len(parts)-1] == "" { // Java drops empty parts at the end
		parts = parts[:len(parts)-1]
	}
	var headers []kgo.RecordHeader
	for _, part := range parts {
		key, value, ok := strings.Cut(part, r.headerSeparator)
		switch {
		case !ok && r.ignoreErrors:
			headers = append(headers, kgo.RecordHeader{Key: part})
			continue
		case !ok:
			return nil, kafkaException("No header key separator found in pair '%s' on line number %d", part, r.lineNumber)
		case r.isNull(key):
			return nil, kafkaException("Header keys should not be equal to the null marker '%s' as they can't be null", *r.nullMarker)
		}
		h := kgo.RecordHeader{Key: key}
		if !r.isNull(value) {
			h.Value = []byte(value)
		}
		headers = append(headers, h)
	}
	return headers, nil
}

// readLine reads up to LF, CR or CR LF, or the end. The end right away is io.EOF.
func readLine(in *bufio.Reader) (string, error) {
	var line []byte
	for {
		if in.Buffered() == 0 {
			if _, err := in.Peek(1); err != nil {
				if errors.Is(err, io.EOF) && len(line) > 0 {
					return string(line), nil
				}
				return "", err
			}
		}
		chunk, _ := in.Peek(in.Buffered())
		end := slices.IndexFunc(chunk, func(b byte) bool { return b == '\n' || b == '\r' })
		if end < 0 {
			line = append(line, chunk...)
			_, _ = in.Discard(len(chunk)) // all of it is buffered
			continue
		}
		line = append(line, chunk[:end]...)
		cr := chunk[end] == '\r'
		_, _ = in.Discard(end + 1)
		if cr {
			skipLF(in)
		}
		return string(line), nil
	}
}

// skipLF drops the LF of a CR LF. It does not wait for input that a terminal has not sent yet: a lone CR at the end of
// what is buffered ends its line, and an LF that comes later would be an empty line.
func skipLF(in *bufio.Reader) {
	if b, err := in.Peek(1); err == nil && b[0] == '\n' {
		_, _ = in.Discard(1)
	}
}
