package lint

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
	"testing"
)

const (
	fileLinesMax     = 800
	functionLinesMax = 70
)

func TestFilesAreShort(t *testing.T) {
	for _, s := range sources(t) {
		if n := strings.Count(s.text, "\n"); n > fileLinesMax && !s.generated {
			t.Errorf("%s has %d lines, at most %d: split it by noun", s.path, n, fileLinesMax)
		}
	}
}

// TestFunctionsFitAScreen counts from func to the closing brace. Tables in tests may be longer.
func TestFunctionsFitAScreen(t *testing.T) {
	found := map[string]int{}
	for _, s := range sources(t) {
		if s.test || s.generated {
			continue
		}
		for _, d := range s.file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			if n := s.set.Position(f.End()).Line - s.line(f) + 1; n > functionLinesMax {
				found[s.path+" "+receiver(f)+f.Name.Name] = n
			}
		}
	}
	ratchet(t, fmt.Sprintf("lines, at most %d", functionLinesMax), found, longFunctions)
}

func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	e := f.Recv.List[0].Type
	for {
		switch x := e.(type) {
		case *ast.StarExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.IndexListExpr:
			e = x.X
		case *ast.Ident:
			return x.Name + "."
		default:
			return ""
		}
	}
}

// ratchet compares what is found with what is known. Known offenders may only shrink, and leave the list when they
// do not offend any more.
func ratchet(t *testing.T, what string, found, known map[string]int) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(found)) {
		switch n, allowed := found[key], known[key]; {
		case n > allowed && allowed == 0:
			t.Errorf("%s: %d %s", key, n, what)
		case n > allowed:
			t.Errorf("%s: %d %s; it was %d and may only shrink", key, n, what, allowed)
		case n < allowed:
			t.Errorf("%s: %d %s now: lower the %d in internal/lint/ratchet_test.go", key, n, what, allowed)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if found[key] == 0 {
			t.Errorf("%s does not offend any more: take it out of internal/lint/ratchet_test.go", key)
		}
	}
}
