package cli

import (
	"cmp"
	"slices"
	"strings"
)

const (
	usageWidth     = 80
	usageSeparator = 2
	usageIndent    = "  "
)

// usageError is a command line that is understood but makes no sense: the message and the tool's usage go to
// stderr and the exit code is 1.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

// usage is the table of options that Kafka's tools print under a message: two columns in 80 characters.
func (p *parsed) usage() string {
	opts := slices.Clone(p.opts)
	slices.SortFunc(opts, func(a, b option) int { return cmp.Compare(a.name, b.name) })
	rows := [][2]string{{"Option", "Description"}, {"------", "-----------"}}
	if slices.ContainsFunc(opts, func(o option) bool { return o.required }) {
		rows = [][2]string{{"Option (* = required)", "Description"}, {"---------------------", "-----------"}}
	}
	for _, o := range opts {
		rows = append(rows, [2]string{o.synopsis(), o.describe()})
	}
	return twoColumns(rows)
}

// synopsis is the left column: the option and what it takes.
func (o option) synopsis() string {
	s := "--" + o.name
	if o.required {
		s = "* " + s
	}
	if o.arg == noArg {
		return s
	}
	value := cmp.Or(o.kind, "String")
	if o.hint != "" {
		value += ": " + o.hint
	}
	if o.arg == optionalArg {
		return s + " [" + value + "]"
	}
	return s + " <" + value + ">"
}

// describe is the right column: the words about the option and its default.
func (o option) describe() string {
	if o.def == "" {
		return o.doc
	}
	return o.doc + " (default: " + o.def + ")"
}

func twoColumns(rows [][2]string) string {
	var left, right int
	for _, r := range rows {
		left, right = max(left, len(r[0])), max(right, len(r[1]))
	}
	left = min(left, (usageWidth-usageSeparator)/2)
	right = min(right, usageWidth-left-usageSeparator)
	var b strings.Builder
	for _, r := range rows {
		l, d := wrap(r[0], left), wrap(r[1], right)
		for i := range max(len(l), len(d)) {
			line := pad(at(l, i), left) + strings.Repeat(" ", usageSeparator) + pad(at(d, i), right)
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// pad fills s with spaces on the right.
func pad(s string, width int) string {
	return s + strings.Repeat(" ", max(0, width-len(s)))
}

// wrap breaks text into lines of at most width characters where words allow it; lines after the first are indented.
func wrap(text string, width int) []string {
	var lines []string
	for paragraph := range strings.SplitSeq(text, "\n") {
		line := ""
		for word := range strings.SplitAfterSeq(paragraph, " ") {
			if len(line)+len(strings.TrimRight(word, " ")) > width && line != "" {
				lines = append(lines, strings.TrimRight(line, " "))
				line = usageIndent
			}
			line += word
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}
