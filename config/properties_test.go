package config

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// golden reads testdata, which was answered by Apache Kafka 4.4 or, for properties, by java.util.Properties.
func golden(t *testing.T, file string, into any) {
	t.Helper()
	b, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatal(file, err)
	}
}

// latin1 turns a text into the bytes of ISO 8859-1.
func latin1(s string) []byte {
	var b []byte
	for _, r := range s {
		b = append(b, byte(r))
	}
	return b
}

func TestPropertiesAsJava(t *testing.T) {
	var cases []struct {
		Text string
		Want map[string]string // nil: refused
	}
	golden(t, "properties.json", &cases)
	for _, c := range cases {
		p, err := ParseProperties("f", latin1(c.Text))
		if (err != nil) != (c.Want == nil) {
			t.Errorf("%q: error %v, want %v", c.Text, err, c.Want)
			continue
		}
		got := map[string]string{}
		for _, x := range p {
			got[x.Name] = x.Value
		}
		if len(got) != len(c.Want) {
			t.Errorf("%q: %q, want %q", c.Text, got, c.Want)
		}
		for k, v := range c.Want {
			if have, ok := got[k]; !ok || have != v {
				t.Errorf("%q: %q is %q, want %q", c.Text, k, have, v)
			}
		}
	}
}

func TestPropertiesLines(t *testing.T) {
	p, err := ParseProperties("f", []byte("# one\na=1\\\n 2\n\nb=3\r\nc=4\rd=5"))
	if err != nil {
		t.Fatal(err)
	}
	want := Properties{{"a", "12", 2}, {"b", "3", 5}, {"c", "4", 6}, {"d", "5", 7}}
	if len(p) != len(want) {
		t.Fatalf("%v", p)
	}
	for i := range want {
		if p[i] != want[i] {
			t.Errorf("%d: %v, want %v", i, p[i], want[i])
		}
	}
	_, err = ParseProperties("server.properties", []byte("a=1\nb=\\uzz"))
	if err == nil || !strings.HasPrefix(err.Error(), "server.properties:2: ") {
		t.Errorf("the error should name file and line: %v", err)
	}
}

func FuzzParseProperties(f *testing.F) {
	for _, s := range []string{"a=b\\\n  c", "\\u0041\\ud83d\\ude00=\\", "!x\\\r\n:=", "a\\"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		before := string(text)
		p, err := ParseProperties("f", text)
		if string(text) != before {
			t.Fatal("the input was written to")
		}
		if err == nil && len(p) > strings.Count(before, "\n")+strings.Count(before, "\r")+1 {
			t.Fatalf("%d properties in %q", len(p), text)
		}
	})
}

func TestOverride(t *testing.T) {
	for arg, want := range map[string]Property{"a=b": {Name: "a", Value: "b"}, "a=": {Name: "a"}, "a=b=c": {Name: "a", Value: "b=c"}} {
		if got, err := ParseOverride(arg); err != nil || got != want {
			t.Errorf("%s: %v, %v", arg, got, err)
		}
	}
	for _, arg := range []string{"", "a", "=b"} {
		if got, err := ParseOverride(arg); err == nil {
			t.Errorf("%q: %v, want an error", arg, got)
		}
	}
}
