package record

import (
	"io/fs"
	"strings"
	"testing"
)

func walk(t *testing.T, root fs.FS, f func(name string, data []byte)) {
	t.Helper()
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".log") {
			return err
		}
		data, err := fs.ReadFile(root, path)
		if err == nil {
			f(path, data)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
