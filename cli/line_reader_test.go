package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/twmb/franz-go/pkg/kgo"
)

func TestLineReader(t *testing.T) {
	tests := []struct {
		name, in string
		props    clientConfig
		want     []string // key|value|headers of each record, then maybe an error
	}{
		{"lines", "a\nb\r\nc\rd", nil, []string{"nil|a|", "nil|b|", "nil|c|", "nil|d|"}},
		{"empty lines are empty values", "\n\nx\n", nil, []string{"nil||", "nil||", "nil|x|"}},
		{"keys", "k\tv\n\tv2\nk3\t\n", clientConfig{"parse.key": "true"}, []string{"k|v|", "|v2|", "k3||"}},
		{"separator of several characters", "k::v::w", clientConfig{"parse.key": "TRUE ", "key.separator": "::"}, []string{"k|v::w|"}},
		{"a line without a key", "k:v\nx", clientConfig{"parse.key": "true", "key.separator": ":"},
			[]string{"k|v|", "No key separator found on line number 2: 'x'"}},
		{"ignored errors", "x\n", clientConfig{"parse.key": "true", "parse.headers": "true", "ignore.error": "true"}, []string{"nil|x|"}},
		{"headers", "h1:v1,h2:v2\tk\tv\n", clientConfig{"parse.key": "true", "parse.headers": "true"}, []string{"k|v|h1=v1 h2=v2 "}},
		{"headers without a key", "h1:a:b,\tv\n", clientConfig{"parse.headers": "true"}, []string{"nil|v|h1=a:b "}},
		{"no headers", "x\n", clientConfig{"parse.headers": "true"}, []string{"No headers delimiter found on line number 1: 'x'"}},
		{"a header without a separator", "h1\tv\n", clientConfig{"parse.headers": "true"},
			[]string{"No header key separator found in pair 'h1' on line number 1"}},
		{"an ignored header error", "h1,h2:x\tv\n", clientConfig{"parse.headers": "true", "ignore.error": "true"}, []string{"nil|v|h1=nil h2=x "}},
		{"null marker", "N\tN\tN\nh:N\tk\tv\n", clientConfig{"parse.key": "true", "parse.headers": "true", "null.marker": "N"},
			[]string{"nil|nil|", "k|v|h=nil "}},
		{"null header key", "N:x\tk\n", clientConfig{"parse.headers": "true", "null.marker": "N"},
			[]string{"Header keys should not be equal to the null marker 'N' as they can't be null"}},
		{"header separator is an expression", "a:1;; b:2\tv\n", clientConfig{"parse.headers": "true", "headers.separator": ";+ *"}, []string{"nil|v|a=1 b=2 "}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := newLineReader("t", tt.props, strings.NewReader(tt.in))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range tt.want {
				rec, err := r.next()
				if got := shown(rec, err); got != want {
					t.Fatalf("got %q, want %q", got, want)
				}
				if err != nil {
					return
				}
			}
			if _, err := r.next(); !errors.Is(err, io.EOF) {
				t.Errorf("after the last line: %v", err)
			}
		})
	}
}

func shown(r *kgo.Record, err error) string {
	if err != nil {
		return err.Error()
	}
	text := func(b []byte) string {
		if b == nil {
			return "nil"
		}
		return string(b)
	}
	s := text(r.Key) + "|" + text(r.Value) + "|"
	for _, h := range r.Headers {
		s += h.Key + "=" + text(h.Value) + " "
	}
	return s
}

func TestLineReaderRefusesEqualSeparators(t *testing.T) {
	for _, props := range []clientConfig{
		{"headers.delimiter": ","}, {"headers.delimiter": ":"}, {"headers.separator": ":"}, {"null.marker": "\t"},
		{"null.marker": ","}, {"null.marker": ":"}, {"null.marker": "|", "headers.delimiter": "|"},
	} {
		if _, err := newLineReader("t", props, strings.NewReader("")); err == nil || !strings.HasSuffix(err.Error(), "may not be equal") {
			t.Errorf("%v: %v", props, err)
		}
	}
}

// A line may be longer than the buffer and may come in pieces.
func TestReadLineLong(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	in := bufio.NewReaderSize(iotest.OneByteReader(strings.NewReader(long+"\r\nend")), 16)
	for i, want := range []string{long, "end"} {
		if got, err := readLine(in); got != want || err != nil {
			t.Errorf("line %d has %d bytes and error %v, want %d", i, len(got), err, len(want))
		}
	}
	if _, err := readLine(in); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

func FuzzReadLine(f *testing.F) {
	f.Add("a\r\nb\rc\n\n", 3)
	f.Fuzz(func(t *testing.T, text string, size int) {
		in := bufio.NewReaderSize(strings.NewReader(text), size&0xff)
		var got []string
		for {
			line, err := readLine(in)
			if err != nil {
				break
			}
			got = append(got, line)
		}
		// The naive way: line ends made the same, the last line only if it has text.
		want := strings.Split(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), "\n")
		if want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		if fmt.Sprint(got) != fmt.Sprint(want) || len(got) != len(want) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	})
}
