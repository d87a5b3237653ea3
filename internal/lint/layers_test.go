package lint

import (
	"slices"
	"strings"
	"testing"
)

// place is where a package stands. Imports point to lower layers only, and to what beside lists of the same layer.
type place struct {
	pattern string // package, or with /... everything below it too
	layer   int
	pure    bool // rules: no goroutine, lock, file, socket, clock or randomness; imports only what is pure or of layer 0
	beside  []string
}

// places is the table of docs/ARCHITECTURE.md. The first match counts.
var places = []place{
	{pattern: "cmd/...", layer: 6, beside: []string{"cli/..."}},
	{pattern: "cli/...", layer: 6, beside: []string{"cli/..."}},
	{pattern: "ottlatest", layer: 5, beside: []string{""}},
	{pattern: "", layer: 5},
	{pattern: "broker/api/fetchsession", layer: 1, pure: true},
	{pattern: "broker/api", layer: 4},
	{pattern: "broker/lifecycle", layer: 4},
	{pattern: "broker/internal/testnode", layer: 5},
	{pattern: "broker", layer: 4, beside: []string{"broker/api"}},
	{pattern: "groupcoord/coordtest", layer: 3, beside: []string{"groupcoord"}},
	{pattern: "controller/catalog", layer: 1, pure: true, beside: []string{"metadata"}},
	{pattern: "controller", layer: 3},
	{pattern: "groupcoord/group/...", layer: 1, pure: true, beside: []string{"groupcoord/group/..."}},
	{pattern: "groupcoord", layer: 3},
	{pattern: "txncoord/txn/...", layer: 1, pure: true, beside: []string{"txncoord/txn/..."}},
	{pattern: "txncoord", layer: 3},
	{pattern: "replication/replica", layer: 1, pure: true},
	{pattern: "replication", layer: 3},
	{pattern: "quorum", layer: 3},
	{pattern: "rsm", layer: 2},
	{pattern: "rsm/topiclog", layer: 2},
	{pattern: "metadata/loader", layer: 1, beside: []string{"metadata"}},
	{pattern: "metadata", layer: 1, pure: true},
	{pattern: "storage", layer: 1},
	{pattern: "internal/peer", layer: 1},
	{pattern: "protocol", layer: 0},
	{pattern: "protocol/...", layer: 0, beside: []string{"protocol"}},
	{pattern: "config", layer: 0, beside: []string{"protocol"}},
	{pattern: "internal/vfs", layer: 0},
	{pattern: "internal/invariant", layer: 0},
	{pattern: "internal/testutil", layer: 0, beside: []string{"protocol/..."}},
	{pattern: "internal/lint", layer: 0},
}

func matches(pattern, pkg string) bool {
	if below, ok := strings.CutSuffix(pattern, "/..."); ok {
		return pkg == below || strings.HasPrefix(pkg, below+"/")
	}
	return pkg == pattern
}

func placeOf(pkg string) (place, bool) {
	i := slices.IndexFunc(places, func(p place) bool { return matches(p.pattern, pkg) })
	if i < 0 {
		return place{}, false
	}
	return places[i], true
}

// own is the package of this module that an import path names.
func own(path string) (pkg string, ok bool) {
	if path == module {
		return "", true
	}
	return strings.CutPrefix(path, module+"/")
}

func TestImportsPointDown(t *testing.T) {
	for _, s := range sources(t) {
		from, ok := placeOf(s.pkg)
		if !ok {
			t.Errorf("%s: package %q has no place in the layers: see places here and docs/ARCHITECTURE.md", s.path, s.pkg)
			continue
		}
		if s.test {
			continue
		}
		for _, path := range s.imports() {
			pkg, ok := own(path)
			if !ok {
				continue
			}
			to, ok := placeOf(pkg)
			beside := slices.ContainsFunc(from.beside, func(p string) bool { return matches(p, pkg) })
			switch {
			case !ok:
				t.Errorf("%s imports %q, which has no place in the layers", s.path, pkg)
			case beside:
			case to.layer >= from.layer:
				t.Errorf("%s (layer %d) imports %q (layer %d): imports point down only", s.path, from.layer, pkg, to.layer)
			case from.pure && pkg == "internal/vfs":
				t.Errorf("%s is pure and imports %q", s.path, pkg)
			case from.pure && to.layer > 0 && !to.pure:
				t.Errorf("%s is pure and imports %q, which is not", s.path, pkg)
			}
		}
	}
}

// carriers says which packages may use which library; what is not listed may be used by none. A new one needs a line
// in docs/adr/0001-dependencies.md too.
var carriers = map[string][]string{
	"github.com/twmb/franz-go/pkg/kmsg":             {"..."},
	"github.com/twmb/franz-go/pkg/kerr":             {"cli/...", "cmd/..."},
	"github.com/twmb/franz-go/pkg/kgo":              {"cli/...", "cmd/..."},
	"github.com/twmb/franz-go/pkg/kadm":             {"cli/...", "cmd/..."},
	"github.com/twmb/franz-go/pkg/kversion":         {"cli/...", "cmd/..."},
	"github.com/hashicorp/raft":                     {"quorum"},
	"github.com/hashicorp/go-hclog":                 {"quorum"},
	"github.com/hashicorp/go-immutable-radix/v2":    {"metadata", "controller/catalog"},
	"github.com/klauspost/compress":                 {"protocol/record"},
	"github.com/pierrec/lz4/v4":                     {"protocol/record"},
	"github.com/spf13/pflag":                        {"cli/...", "cmd/..."},
	"github.com/google/uuid":                        {"groupcoord"},
	"github.com/zeebo/xxh3":                         {"groupcoord/group/consumer"},
	"github.com/prometheus/client_golang":           {"", "broker", "cmd/..."},
	"go.uber.org/zap":                               {"...", "!pure"},
	"golang.org/x/sys":                              {"internal/vfs", "broker", "storage"},
	"github.com/prometheus/common/expfmt":           {"broker"},
	"google.golang.org/protobuf/encoding/protowire": {"broker/api"},
}

func TestLibrariesStayWhereTheyBelong(t *testing.T) {
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		for _, path := range s.imports() {
			if first, _, _ := strings.Cut(path, "/"); !strings.Contains(first, ".") {
				continue // standard library
			}
			if _, ok := own(path); ok {
				continue
			}
			if !mayUse(s.pkg, path) {
				t.Errorf("%s imports %s: see carriers here and docs/adr/0001-dependencies.md", s.path, path)
			}
		}
	}
}

func mayUse(pkg, path string) bool {
	for library, users := range carriers {
		if path != library && !strings.HasPrefix(path, library+"/") {
			continue
		}
		p, _ := placeOf(pkg)
		if slices.Contains(users, "!pure") && p.pure {
			return false
		}
		return slices.ContainsFunc(users, func(u string) bool { return u == "..." || matches(u, pkg) })
	}
	return false
}
