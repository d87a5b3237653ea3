package lint

import (
	"go/ast"
	"testing"
)

// TestExportedThingsAreDocumented: packages, types and functions. Methods may go without, because many only satisfy an
// interface; the tools above layer 5 may, because nobody imports them.
func TestExportedThingsAreDocumented(t *testing.T) {
	packages := map[string]bool{}
	documented := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || s.generated {
			continue
		}
		packages[s.pkg] = true
		if s.file.Doc != nil {
			documented[s.pkg] = true
		}
		if p, _ := placeOf(s.pkg); p.layer == 6 {
			continue
		}
		for _, d := range s.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.IsExported() && d.Doc == nil {
					t.Errorf("%s:%d: %s has no doc comment", s.path, s.line(d), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok && ts.Name.IsExported() && d.Doc == nil && ts.Doc == nil && ts.Comment == nil {
						t.Errorf("%s:%d: type %s has no doc comment", s.path, s.line(ts), ts.Name.Name)
					}
				}
			}
		}
	}
	for pkg := range packages {
		if !documented[pkg] {
			t.Errorf("package %q has no package comment", pkg)
		}
	}
}
