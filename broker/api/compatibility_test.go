package api

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ottla/ottla/protocol"
)

var update = flag.Bool("update", false, "rewrite docs/COMPATIBILITY.md")

const compatibilityFile = "../../docs/COMPATIBILITY.md"

// docs/COMPATIBILITY.md is the table of what Kafka 4.4 has beside the table of what is built. This
// test fails when it is stale; go test ./broker/api -run Compatibility -update rewrites it.
func TestCompatibilityPageIsCurrent(t *testing.T) {
	want := compatibilityPage(Table(&Deps{}))
	if *update {
		if err := os.WriteFile(compatibilityFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(compatibilityFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Error("docs/COMPATIBILITY.md is stale: go test ./broker/api -run Compatibility -update")
	}
}

func compatibilityPage(rows []Row) string {
	built := make(map[int16]Row, len(rows))
	for _, r := range rows {
		built[r.Key] = r
	}
	var b strings.Builder
	b.WriteString(`# Compatibility

Every API of Apache Kafka 4.4, with the versions Kafka 4.4 advertises. An API that is built serves exactly
those versions (Produce 0 to 2 are advertised by both and closed by both). An API that is missing is not advertised.

This page is written from the API tables by ` + "`go test ./broker/api -run Compatibility -update`" + `, and tested against them.

`)
	for _, l := range []struct {
		scope protocol.Scope
		name  string
	}{{protocol.ScopeBroker, "Broker listeners"}, {protocol.ScopeController, "Controller listeners"}} {
		writeListener(&b, built, l.scope, l.name)
	}
	return b.String()
}

func writeListener(b *strings.Builder, built map[int16]Row, scope protocol.Scope, name string) {
	var lines strings.Builder
	have, all := 0, 0
	for _, a := range protocol.APIs() {
		if a.Listeners&scope == 0 {
			continue
		}
		all++
		state := "missing"
		if r, ok := built[a.Key]; ok && r.Listeners&scope != 0 {
			have++
			state = "built"
			if r.Without != "" {
				state += ", without " + r.Without
			}
		}
		versions := fmt.Sprintf("%d", a.Min)
		if a.Max > a.Min {
			versions = fmt.Sprintf("%d to %d", a.Min, a.Max)
		}
		fmt.Fprintf(&lines, "| %d | %s | %s | %s |\n", a.Key, a.Name, versions, state)
	}
	fmt.Fprintf(b, "## %s: %d of %d\n\n| key | API | versions | state |\n|---|---|---|---|\n%s\n", name, have, all, &lines)
}

// The table is in key order, each API once, on listeners that Kafka has it on.
func TestTableIsWellFormed(t *testing.T) {
	last := int16(-1)
	for _, r := range Table(&Deps{}) {
		a, ok := protocol.APIOf(r.Key)
		switch {
		case !ok || a != r.API:
			t.Errorf("%s is not as in the protocol's table", r.Name)
		case r.Key <= last:
			t.Errorf("%s is out of order", r.Name)
		case r.Handle == nil || r.Listeners == 0 || r.Listeners&^a.Listeners != 0:
			t.Errorf("%s: %+v", r.Name, r)
		}
		last = r.Key
	}
}
