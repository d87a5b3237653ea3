package lint

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	module = "github.com/ottla/ottla"
	root   = "../.."
)

// source is one Go file of this module.
type source struct {
	path      string // from the root, with slashes
	pkg       string // directory, "" for the root
	test      bool
	generated bool
	text      string
	set       *token.FileSet
	file      *ast.File
}

// sources parses the module. Other modules (compat-tests) and test data are left out.
func sources(t *testing.T) []*source {
	t.Helper()
	var all []*source
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(filepath.ToSlash(path), root+"/")
		if d.IsDir() {
			if name := d.Name(); rel == "compat-tests" || name == "testdata" || len(name) > 2 && name[0] == '.' {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		s := &source{path: rel, text: string(text), test: strings.HasSuffix(rel, "_test.go"), set: token.NewFileSet()}
		if i := strings.LastIndexByte(rel, '/'); i >= 0 {
			s.pkg = rel[:i]
		}
		if s.file, err = parser.ParseFile(s.set, rel, text, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			return err
		}
		s.generated = ast.IsGenerated(s.file)
		all = append(all, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 50 {
		t.Fatalf("found only %d files", len(all))
	}
	return all
}

// line is the line of a node.
func (s *source) line(n ast.Node) int { return s.set.Position(n.Pos()).Line }

// imports lists the import paths.
func (s *source) imports() (paths []string) {
	for _, i := range s.file.Imports {
		paths = append(paths, strings.Trim(i.Path.Value, `"`))
	}
	return paths
}

// selector is "pkg.Name" of a call's function or any other use, "" if it is something else.
func selector(n ast.Node) string {
	s, ok := n.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	if x, ok := s.X.(*ast.Ident); ok {
		return x.Name + "." + s.Sel.Name
	}
	return ""
}
