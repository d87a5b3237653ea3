package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestTransactionTranscripts plays the transcripts of the transaction rules over
// the wire: each request, and the answer that the transcript has. Commands that
// only a test of the rules can give end the play of a transcript, and what
// depends on markers still being on their way is left out.
func TestTransactionTranscripts(t *testing.T) {
	files, err := filepath.Glob("../../txncoord/txn/testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".txt")
		if name == "list" {
			continue // TestDescribeAndList
		}
		t.Run(name, func(t *testing.T) {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			playOverWire(t, strings.Split(string(b), "\n"))
		})
	}
}

// wirePlay is one transactional id; the transcript's producer ids are those that
// the server gives, in order.
type wirePlay struct {
	x        *txn
	topic    string
	pids     []int64
	prepared bool // until "complete": markers are on their way in the transcript
}

func playOverWire(t *testing.T, lines []string) {
	c := connect(t)
	p := &wirePlay{topic: unique("transcript")}
	createTopic(c, p.topic, 2)
	createTopic(c, p.topic+"u", 2)
	p.x = newTxn(c, unique("transcript"))
	p.x.pid = 1 << 40
	for i := 0; i < len(lines); i++ {
		words := strings.Fields(lines[i])
		if len(words) == 0 || words[0] == "#" {
			continue
		}
		var answers []string
		for ; i+1 < len(lines) && strings.HasPrefix(lines[i+1], " "); i++ {
			answers = append(answers, strings.TrimSpace(lines[i+1]))
		}
		switch words[0] {
		case "fence", "level", "seek", "reload", "expire":
			return
		case "advance":
			continue
		case "complete":
			p.x.settled()
			p.prepared = false
			continue
		}
		if p.prepared {
			continue
		}
		p.request(words, answers)
		if t.Failed() {
			t.Fatalf("line %d: %s", i+1, lines[i])
		}
	}
}

// request sends a command's request and compares.
func (p *wirePlay) request(words, answers []string) {
	t := p.x.c.t
	t.Helper()
	var want string
	for _, a := range answers {
		if rest, ok := strings.CutPrefix(a, "< "); ok {
			want = rest
		} else if strings.HasPrefix(a, "record Prepare") {
			p.prepared = true
		}
	}
	o := map[string]int{}
	for _, w := range words[1:] {
		if k, v, ok := strings.Cut(w, "="); ok && k != "timeout" {
			o[k] = atoi(t, v)
		}
	}
	pid, epoch := p.x.pid, p.x.epoch
	if id, ok := o["id"]; ok {
		pid = 1 << 40
		if id < len(p.pids) {
			pid = p.pids[id]
		}
	}
	if e, ok := o["epoch"]; ok {
		epoch = int16(e)
	}
	version := func(standard int16) int16 {
		if v, ok := o["version"]; ok {
			return int16(v)
		}
		return standard
	}
	var got string
	switch words[0] {
	case "init":
		timeout := time.Minute
		for _, w := range words {
			if v, ok := strings.CutPrefix(w, "timeout="); ok {
				timeout, _ = time.ParseDuration(v)
			}
		}
		if _, ok := o["epoch"]; !ok {
			pid, epoch = -1, -1
		}
		r := p.x.initOnce(version(5), timeout, pid, epoch)
		got = p.given(r.ErrorCode, r.ProducerID, r.ProducerEpoch)
		if version(5) < 4 && r.ErrorCode == 47 {
			got = "90" // the same to an older client
		}
	case "end":
		keep, keepEpoch := p.x.pid, p.x.epoch
		r := p.x.endOnce(version(5), words[1] == "commit", pid, epoch)
		got = fmt.Sprint(r.ErrorCode)
		if version(5) >= 5 && r.ErrorCode == 0 {
			p.x.pid, p.x.epoch = r.ProducerID, r.ProducerEpoch
			got = p.given(0, r.ProducerID, r.ProducerEpoch)
		} else {
			p.x.pid, p.x.epoch = keep, keepEpoch
		}
	case "add", "verify":
		got = p.partitions(words, pid, epoch, version(4))
		if i := strings.Index(want, "missing=["); i >= 0 { // what is missing has a code of its own over the wire
			if missing := strings.Fields(strings.TrimSuffix(want[i+len("missing=["):], "]")); len(missing) > 0 {
				want = "120"
			} else {
				want = want[:i-1]
			}
		}
	case "describe":
		d := describeTxn(p.x.c, p.x.id)
		got = fmt.Sprintf("%d %s timeout=%d started=%v id=%d epoch=%d", d.ErrorCode, d.State, d.TimeoutMillis, d.StartTimestamp >= 0, p.number(d.ProducerID), d.ProducerEpoch)
		want, _, _ = strings.Cut(want, " topics=")
	default:
		t.Fatalf("unknown command %s", words[0])
	}
	eq(t, strings.Join(words, " "), got, want)
}

func (p *wirePlay) given(code int16, pid int64, epoch int16) string {
	if code != 0 {
		return fmt.Sprint(code)
	}
	return fmt.Sprintf("0 id=%d epoch=%d", p.number(pid), epoch)
}

// number is how the transcript counts producer ids.
func (p *wirePlay) number(pid int64) int {
	for i, id := range p.pids {
		if id == pid {
			return i
		}
	}
	p.pids = append(p.pids, pid)
	return len(p.pids) - 1
}

// partitions is AddPartitionsToTxn; t-0 of the transcript is partition 0 of a topic of this run.
func (p *wirePlay) partitions(words []string, pid int64, epoch, version int16) string {
	byTopic := map[string][]int32{}
	for _, s := range strings.Split(words[1], ",") {
		topic, n, _ := strings.Cut(s, "-")
		name := p.topic
		if topic != "t" {
			name += topic
		}
		byTopic[name] = append(byTopic[name], int32(atoi(p.x.c.t, n)))
	}
	code := p.x.addFrom(version, words[0] == "verify", pid, epoch, byTopic)
	return fmt.Sprint(code)
}

func atoi(t *testing.T, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
