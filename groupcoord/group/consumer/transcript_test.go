package consumer

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol"
)

var rewrite = flag.Bool("rewrite", false, "write the transcripts anew; then read the difference")

// A transcript is commands, one a line, each followed by what it led to, indented.
//
//	topic NAME COUNT            a topic with so many partitions; a known one grows
//	beat NAME k=v...            topics= regex= instance= epoch= has=none (what a client has it says by itself)
//	leave NAME EPOCH
//	commit NAME EPOCH TOPIC P   whether the member may commit
//	advance DURATION
//	reload                      the coordinator moves
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			old, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(old))
			if *rewrite {
				if err := os.WriteFile(f, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(old) {
				t.Errorf("differs; got:\n%s", got)
			}
		})
	}
}

func play(t *testing.T, script string) string {
	b, clients, out := newBench(t), map[string]*client{}, &strings.Builder{}
	for _, line := range strings.Split(strings.TrimRight(script, "\n"), "\n") {
		if strings.HasPrefix(line, " ") {
			continue // an old answer
		}
		fmt.Fprintln(out, line)
		if w := strings.Fields(line); len(w) > 0 && w[0] != "#" {
			from := len(b.log)
			fmt.Fprint(out, command(b, clients, w))
			for _, r := range b.log[from:] {
				fmt.Fprintln(out, " ", shown(r))
			}
			if g := b.groups.Get("g"); g != nil {
				fmt.Fprintf(out, "  = %s, epoch %d, assigned %d\n", g.State(), g.Epoch, g.AssignmentEpoch)
			}
		}
	}
	return out.String()
}

func command(b *bench, clients map[string]*client, w []string) string {
	number := func(s string) int32 {
		n, err := strconv.Atoi(s)
		if err != nil {
			b.t.Fatal(err)
		}
		return int32(n)
	}
	switch w[0] {
	case "topic":
		b.topics.add(w[1], number(w[2]))
	case "beat":
		c := clients[w[1]]
		if c == nil {
			c = b.client(w[1])
			clients[w[1]] = c
		}
		return c.command(w[2:], number)
	case "leave":
		return fmt.Sprintf("  < %v\n", clients[w[1]].leave(number(w[2])))
	case "commit":
		code, each := b.groups.Get("g").CheckCommit(9, w[1], number(w[2]), false)
		if each != nil && code == protocol.None {
			code = each(b.topics.topics[w[3]].ID, number(w[4]))
		}
		return fmt.Sprintf("  < %v\n", code)
	case "advance":
		d, err := time.ParseDuration(w[1])
		if err != nil {
			b.t.Fatal(err)
		}
		b.advance(d)
	case "reload":
		b.reload()
	default:
		b.t.Fatalf("unknown command %s", w[0])
	}
	return ""
}

func (c *client) command(args []string, number func(string) int32) string {
	for _, a := range args {
		k, v, _ := strings.Cut(a, "=")
		switch k {
		case "topics":
			c.topics, c.full = strings.Split(v, ","), true
		case "regex":
			c.regex, c.full = kmsg.StringPtr(v), true
		case "instance":
			c.instance = &v
		case "epoch":
			c.epoch = number(v)
		case "has":
			c.has = nil
		}
	}
	code := c.beat()
	if code != protocol.None {
		return fmt.Sprintf("  < %v\n", code)
	}
	var has []string
	for _, t := range c.has.Topics() {
		name := "?"
		if x, ok := c.b.topics.ByID(t); ok {
			name = x.Name
		}
		has = append(has, fmt.Sprint(name, c.has[t]))
	}
	return fmt.Sprintf("  < epoch %d, has %s\n", c.epoch, strings.Join(has, " "))
}

// shown is a record by its kind and member.
func shown(r group.Record) string {
	kind := map[byte]string{3: "epoch", 5: "member", 6: "assignment", 7: "target", 8: "current", 16: "pattern"}[r.Key[1]]
	name := ""
	if rest := r.Key[4+len("g"):]; len(rest) > 2 {
		name = " " + string(rest[2:])
	}
	if r.Value == nil {
		return "- " + kind + name
	}
	return "+ " + kind + name
}
