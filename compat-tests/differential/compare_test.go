//go:build compat

package differential

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
)

type pair struct{ key, version int16 }

// counts is what the whole run has compared.
type counts struct {
	mu            sync.Mutex
	answers, kept int
	pairs         map[pair]bool
}

// most is how many fields of one answer are reported.
const most = 30

var tally = counts{pairs: map[pair]bool{}}

// compare reports every field in which the two sides differ.
func compare(t *testing.T, kafka, ottla *side) {
	t.Helper()
	tally.mu.Lock()
	defer tally.mu.Unlock()
	for _, k := range kafka.steps {
		i, ok := ottla.by[k.label]
		if !ok {
			t.Errorf("%s: only Kafka came here", k.label)
			continue
		}
		o := ottla.steps[i]
		if k.api != "" {
			tally.answers++
			tally.pairs[pair{k.key, k.version}] = true
		}
		diff(t, k, o)
	}
	for _, o := range ottla.steps {
		if _, ok := kafka.by[o.label]; !ok {
			t.Errorf("%s: only ottla came here", o.label)
		}
	}
}

func diff(t *testing.T, k, o step) {
	t.Helper()
	messages := os.Getenv("OTTLA_DIFF_MESSAGES") != ""
	theirs := map[string]line{}
	for _, l := range o.lines {
		theirs[l.path] = l
	}
	var found []string
	for _, l := range k.lines {
		m, ok := theirs[l.path]
		delete(theirs, l.path)
		if !ok {
			m.value = "(absent)"
		}
		same := l.value == m.value
		if l.message && !messages && ok {
			same = (l.value == "null") == (m.value == "null")
		}
		if !same && !isKept(k, l.path, l.value, m.value) {
			found = append(found, fmt.Sprintf("%s: kafka %s, ottla %s", l.path, l.value, m.value))
		}
	}
	for _, l := range o.lines {
		if _, left := theirs[l.path]; left && !isKept(k, l.path, "(absent)", l.value) {
			found = append(found, fmt.Sprintf("%s: kafka (absent), ottla %s", l.path, l.value))
		}
	}
	if len(found) > most {
		found = append(found[:most], fmt.Sprintf("and %d more", len(found)-most))
	}
	if len(found) > 0 {
		t.Errorf("%s\n    %s", k.label, strings.Join(found, "\n    "))
	}
}

// batches describes record batches without what the clock decides.
func batches(b []byte) string {
	var out []string
	for len(b) >= 61 {
		n := int(binary.BigEndian.Uint32(b[8:])) + 12
		if n > len(b) {
			out = append(out, "a part of a batch")
			return strings.Join(out, "; ")
		}
		out = append(out, fmt.Sprintf("base %d size %d epoch %d magic %d attributes %#x last %d count %d sequence %d",
			binary.BigEndian.Uint64(b), n, int32(binary.BigEndian.Uint32(b[12:])), b[16], binary.BigEndian.Uint16(b[21:]),
			binary.BigEndian.Uint32(b[23:]), binary.BigEndian.Uint32(b[57:]), int32(binary.BigEndian.Uint32(b[53:]))))
		b = b[n:]
	}
	if len(b) > 0 {
		out = append(out, fmt.Sprintf("%d stray bytes", len(b)))
	}
	if out == nil {
		return "no batch"
	}
	return strings.Join(out, "; ")
}
