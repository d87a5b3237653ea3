//go:build compat

package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// scenario is a list of command lines that both implementations run in order, each on names of its own unless the
// scenario is shared. In commands and files {b} is the bootstrap address, {p} the prefix of names, {dir} a directory
// with the files. A command is "tool arguments"; single quotes keep words together. "~" before the tool: the order of
// lines is that of a hash table; "<file" at the end: stdin.
type scenario struct {
	name     string
	shared   bool // both run on the same names; the commands change nothing
	files    map[string]string
	commands []string
}

// run runs the scenario on both and compares what each command printed and returned.
func (s scenario) run(t *testing.T) {
	t.Helper()
	stamp := strconv.FormatInt(time.Now().UnixNano()%1e9, 36)
	theirs := s.play(t, kafka.run, "k"+stamp)
	prefix := "o" + stamp
	if s.shared {
		prefix = "k" + stamp
	}
	for i, mine := range s.play(t, ours, prefix) {
		compare(t, s.commands[i], theirs[i], mine)
	}
}

// settle is how long Apache Kafka's broker may take to apply what its controller has answered already.
const settle = 250 * time.Millisecond

// play runs the commands and returns their results with the names and paths masked.
func (s scenario) play(t *testing.T, run runner, prefix string) []result {
	t.Helper()
	dir := t.TempDir()
	fill := strings.NewReplacer("{b}", bootstrap, "{p}", prefix, "{dir}", dir)
	hide := strings.NewReplacer(prefix, strings.Repeat("P", len(prefix)), dir, "{dir}")
	for name, text := range s.files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(fill.Replace(text)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	var results []result
	for _, c := range s.commands {
		words := split(fill.Replace(strings.TrimPrefix(c, "~")))
		var stdin string
		if last := words[len(words)-1]; strings.HasPrefix(last, "<") {
			b, err := os.ReadFile(filepath.Join(dir, last[1:]))
			if err != nil {
				t.Fatal(err)
			}
			stdin, words = string(b), words[:len(words)-1]
		}
		r := run(t, words[0], stdin, words[1:])
		if slices.ContainsFunc(words, func(w string) bool { return w == "--create" || w == "--alter" || w == "--delete" }) {
			time.Sleep(settle)
		}
		r.stdout, r.stderr = hide.Replace(r.stdout), hide.Replace(r.stderr)
		results = append(results, r)
	}
	return results
}

// split splits at spaces outside of single quotes.
func split(s string) []string {
	var words []string
	var word strings.Builder
	quoted, some := false, false
	for _, r := range s {
		switch {
		case r == '\'':
			quoted, some = !quoted, true
		case r == ' ' && !quoted:
			if some {
				words = append(words, word.String())
			}
			word.Reset()
			some = false
		default:
			word.WriteRune(r)
			some = true
		}
	}
	if some {
		words = append(words, word.String())
	}
	return words
}

func compare(t *testing.T, command string, theirs, mine result) {
	t.Helper()
	unordered := strings.HasPrefix(command, "~")
	a, b := lines(theirs.stdout, unordered), lines(mine.stdout, unordered)
	x, y := lines(theirs.stderr, unordered), lines(mine.stderr, unordered)
	if theirs.code == mine.code && slices.Equal(a, b) && slices.Equal(x, y) {
		return
	}
	t.Errorf("%s\nKafka exits with %d, prints\n%s\n--- and on stderr\n%s\nours exits with %d, prints\n%s\n--- and on stderr\n%s",
		command, theirs.code, strings.Join(a, "\n"), strings.Join(x, "\n"), mine.code, strings.Join(b, "\n"), strings.Join(y, "\n"))
}

// masks hide what differs from run to run, and what only a JVM prints: frames of stacks, the causes that are reflection,
// and what Kafka's client library logs on top of what its tools print. The words of a usage table are our own.
var masks = []struct {
	find *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`(?m)^Option (\(\* = required\))? +Description *\n(?s:.*)\z`), "USAGE\n"},
	{regexp.MustCompile(`(?m)^usage: .*\n(?: +.*\n)*`), "USAGE\n"},
	{regexp.MustCompile(`(?m)^\tat .*\n`), ""},
	{regexp.MustCompile(`(?m)^\t\.\.\. [0-9]+ more\n`), ""},
	{regexp.MustCompile(`(?m)^Caused by: (joptsimple\.internal\.Reflection|java\.lang\.NumberFormat)Exception.*\n`), ""},
	{regexp.MustCompile(`(?m)^\[[0-9-]+ [0-9:,]+\] (WARN|ERROR) \[[A-Za-z]+ clientId=.*\(org\.apache\.kafka\.clients\..*\)\n`), ""},
	{regexp.MustCompile(`(?m)^The consumer rebalance protocol \(KIP-848\).*\n`), ""},
	{regexp.MustCompile(`\[20[0-9-]+ [0-9:,]+\]`), "[TIME]"},
	{regexp.MustCompile(`TopicId: [A-Za-z0-9_-]{22}`), "TopicId: ID"},
	{regexp.MustCompile(`CreateTime:[0-9]+`), "CreateTime:TIME"},
	{regexp.MustCompile(`(?m)^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]+, .*$`), "MEASURED"},
	{regexp.MustCompile(`, [0-9.]+ records/sec .*ms 99.9th\.`), " MEASURED"},
	{regexp.MustCompile(`directory\.id=[A-Za-z0-9_-]{22}`), "directory.id=ID"},
	{regexp.MustCompile(`[0-9]+ ms ago +`), "AGO "},
	{regexp.MustCompile(`(Epoch|HighWatermark): +[0-9]+`), "$1: N"},
	{regexp.MustCompile(`(?m)^(NodeId|[0-9]+ +)\t.*\t`), "QUORUM"},
}

// complaint is what is wrong with a command line with subcommands, which Kafka's tools wrap.
var complaint = regexp.MustCompile(`(?ms)^[a-z-]+: +error:.*\z`)

// lines are the lines of a text with the masks on; sorted and without empty ones if their order means nothing.
func lines(text string, unordered bool) []string {
	for _, m := range masks {
		text = m.find.ReplaceAllString(text, m.with)
	}
	text = complaint.ReplaceAllStringFunc(text, func(s string) string { // Kafka's are justified
		return strings.ReplaceAll(strings.Join(strings.Fields(s), " "), "-- ", "--")
	})
	text = strings.TrimSuffix(text, "\n")
	if text == "" {
		return nil
	}
	all := strings.Split(text, "\n")
	if unordered {
		all = slices.DeleteFunc(all, func(l string) bool { return l == "" })
		slices.Sort(all)
	}
	return all
}
