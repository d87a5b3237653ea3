package lint

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// Packages that pure ones must not import: locks, files, sockets, processes, randomness that no seed controls.
var impure = []string{"sync", "sync/atomic", "net", "net/http", "os", "os/exec", "os/signal", "io/ioutil", "syscall", "crypto/rand", "log", "log/slog", "runtime", "unsafe"}

// What pure code must not use of packages that it may import.
var impureUses = []string{
	"time.Now", "time.Since", "time.Until", "time.Sleep", "time.After", "time.AfterFunc", "time.Tick", "time.NewTimer", "time.NewTicker",
	"protocol.NewUUID", "context.WithTimeout", "context.WithDeadline", "context.Background", "fmt.Print", "fmt.Println", "fmt.Printf",
}

// The global functions of math/rand and math/rand/v2 have no seed; generators made with New do.
var seeded = []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "NewSource", "Rand", "Source", "PCG", "ChaCha8", "Zipf"}

func TestPurePackagesArePure(t *testing.T) {
	for _, s := range sources(t) {
		if p, _ := placeOf(s.pkg); !p.pure || s.test {
			continue
		}
		random := ""
		for _, i := range s.imports() {
			if slices.Contains(impure, i) {
				t.Errorf("%s is pure and imports %s", s.path, i)
			}
			if i == "math/rand" || i == "math/rand/v2" {
				random = "rand"
			}
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			if what := impurity(n, random); what != "" {
				t.Errorf("%s:%d is pure and uses %s", s.path, s.line(n), what)
			}
			return true
		})
	}
}

func impurity(n ast.Node, random string) string {
	switch n := n.(type) {
	case *ast.GoStmt:
		return "a goroutine"
	case *ast.ChanType:
		return "a channel"
	case *ast.SelectStmt:
		return "select"
	case *ast.SendStmt:
		return "a channel"
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			return "a channel"
		}
	case *ast.SelectorExpr:
		name := selector(n)
		if slices.Contains(impureUses, name) {
			return name
		}
		if p, f, ok := strings.Cut(name, "."); ok && p == random && !slices.Contains(seeded, f) {
			return name + ", which no seed controls"
		}
	}
	return ""
}

// TestEverywhere holds for all packages.
func TestEverywhere(t *testing.T) {
	for _, s := range sources(t) {
		if slices.Contains([]string{"util", "utils", "common", "helper", "helpers", "misc", "base"}, path.Base(s.pkg)) {
			t.Errorf("%s: a package is named for what it holds", s.path)
		}
		if s.test || s.generated {
			continue
		}
		program := strings.HasPrefix(s.pkg, "cmd/")
		ast.Inspect(s.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "init" && n.Recv == nil {
					t.Errorf("%s:%d: no init functions: tables are values, registries are arguments", s.path, s.line(n))
				}
			case *ast.SelectorExpr:
				switch name := selector(n); {
				case program:
				case name == "os.Exit" || strings.HasPrefix(name, "log.Fatal") || strings.HasPrefix(name, "log.Panic"):
					t.Errorf("%s:%d: %s ends somebody else's process; return the error", s.path, s.line(n), name)
				case slices.Contains([]string{"fmt.Print", "fmt.Println", "fmt.Printf", "os.Stdout", "os.Stderr"}, name):
					t.Errorf("%s:%d: %s: output goes to a writer or logger that the caller gives", s.path, s.line(n), name)
				}
			}
			return true
		})
		for _, group := range s.file.Comments {
			for _, word := range []string{"TODO", "FIXME", "XXX", "HACK", "for now", "placeholder"} {
				if strings.Contains(group.Text(), word) {
					t.Errorf("%s:%d: %q in a comment: do it, or write down that it is so", s.path, s.set.Position(group.Pos()).Line, word)
				}
			}
		}
	}
}

// TestPanicsAreForBugs: input, disk and network never end in a panic. One that says that our own code broke its
// promise begins with BUG; the others are counted down in panics.
func TestPanicsAreForBugs(t *testing.T) {
	found := map[string]int{}
	for _, s := range sources(t) {
		if s.test || s.generated || s.pkg == "internal/invariant" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 1 {
				return true
			}
			if name, ok := call.Fun.(*ast.Ident); ok && name.Name == "panic" && !saysBug(call.Args[0]) {
				found[s.path]++
			}
			return true
		})
	}
	ratchet(t, "panics that do not begin with BUG", found, panics)
}

// saysBug looks for the word at the start of the first string in an expression.
func saysBug(e ast.Expr) (bug bool) {
	seen := false
	ast.Inspect(e, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING && !seen {
			seen = true
			bug = strings.HasPrefix(strings.Trim(l.Value, "\"`"), "BUG")
		}
		return !seen
	})
	return bug
}
