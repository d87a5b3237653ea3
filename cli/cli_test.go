package cli

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

// outcome runs a tool and returns its exit code, stdout and stderr.
func outcome(tool string, args ...string) (int, string, string) {
	var out, errs bytes.Buffer
	code := Run(tool, args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

func TestNames(t *testing.T) {
	names := Names()
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("the table of tools is not sorted by name: %v", names)
	}
	for _, spelling := range []string{"topics", "kafka-topics", "kafka-topics.sh", "topics.sh"} {
		if !Has(spelling) {
			t.Errorf("%q is not known", spelling)
		}
	}
	if Has("topic") || Has("") {
		t.Error("a tool is known that is none")
	}
	code, out, errs := outcome("topic")
	if code != 1 || out != "" || !strings.Contains(errs, `There is no tool called "topic"`) || !strings.Contains(errs, "console-consumer") {
		t.Errorf("an unknown tool gives %d, %q, %q", code, out, errs)
	}
}

// Every tool says what it can do without a cluster, and its version.
func TestEveryToolExplainsItself(t *testing.T) {
	for _, name := range Names() {
		code, out, errs := outcome(name, "--help")
		text := out + errs
		if !strings.Contains(text, "--help") {
			t.Errorf("%s --help exits with %d and says %q", name, code, text)
		}
		for line := range strings.Lines(text) {
			if len(strings.TrimRight(line, " \n")) > 100 {
				t.Errorf("%s --help has a line of %d characters: %q", name, len(line), line)
			}
		}
	}
	if code, out, errs := outcome("topics", "--version"); code != 0 || out != "4.4.0\n" || errs != "" {
		t.Errorf("topics --version gives %d, %q, %q", code, out, errs)
	}
}
