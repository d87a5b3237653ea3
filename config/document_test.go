package config

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/CONFIGURATION.md")

const document = "../docs/CONFIGURATION.md"

// TestDocument keeps docs/CONFIGURATION.md what the registry says: go test ./config -run Document -update
func TestDocument(t *testing.T) {
	want := documentText()
	if *update {
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(document)
	if err != nil || string(have) != want {
		t.Errorf("%s is not what the registry says (%v); go test ./config -run Document -update writes it", document, err)
	}
}

func documentText() string {
	var b strings.Builder
	b.WriteString(`# Settings

Written by ` + "`go test ./config -run Document -update`" + ` from the registry in ` + "`config/keys_*.go`" + `.

` + "`ottla server FILE`" + ` reads Apache Kafka 4.4's settings under Kafka's names; ` + "`--override key=value`" + ` goes before the file.
A property that is no setting is named in a warning. **Support** says what becomes of one that is:

- *yes*: as Kafka does it.
- *no effect*: accepted and described, but it tunes something that does not exist here. A value other than the default is named in a warning.
- *not yet*: accepted, checked and described; what it governs is not built. A value other than the default is named in a warning.
- *refused*: a value other than the default stops the start with the reason. Settings of TLS, SASL and tokens are named in a
  warning instead: a listener that needs them is not opened, and stops the start only where no other one serves clients, controllers or brokers.
  An authorizer stops the start unless ` + "`super.users`" + ` allows ` + "`User:ANONYMOUS`" + `, which is every client here, everything anyway.

**Changes**: *start* only in the file; *broker* also while running, for one broker; *cluster* also for all brokers.
Without a file the server is one node in both roles with clients at localhost:9092, data in ./ottla-data, one replica of the internal
topics, and the controller's listener on a free port of the loopback address.
`)
	for _, s := range []struct {
		scope Scope
		title string
	}{{ScopeBroker, "Brokers and controllers"}, {ScopeTopic, "Topics"}, {ScopeGroup, "Groups"}, {ScopeClientMetrics, "Client metrics subscriptions"}} {
		fmt.Fprintf(&b, "\n## %s\n\n", s.title)
		if s.scope == ScopeBroker {
			b.WriteString("| setting | default | values | changes | support | |\n|---|---|---|---|---|---|\n")
		} else {
			b.WriteString("| setting | default | values | support | |\n|---|---|---|---|---|\n")
		}
		for _, k := range Keys(s.scope) {
			writeRow(&b, k, s.scope == ScopeBroker)
		}
	}
	return b.String()
}

func writeRow(b *strings.Builder, k *Key, broker bool) {
	def := k.Default
	switch {
	case k.Null:
		def = "none"
	case def == "":
		def = "empty"
	}
	fmt.Fprintf(b, "| %s | %s | %s | ", k.Name, strings.ReplaceAll(def, ",", ", "), k.allowed())
	if broker {
		fmt.Fprintf(b, "%s | ", [...]string{"start", "broker", "cluster"}[k.Mode])
	}
	support := [...]string{"yes", "no effect", "not yet", "refused"}[k.Support]
	if k.Why != "" {
		support += ": " + k.Why
	}
	fmt.Fprintf(b, "%s | %s |\n", support, k.Doc)
}
