package storage

import (
	"path/filepath"
	"sync/atomic"

	"github.com/ottla/ottla/internal/vfs"
)

// place is where one log's files are: a partition's directory, which moves when the
// partition is deleted or set aside.
type place struct {
	fs    vfs.FS
	files *fileCache
	path  atomic.Pointer[string]
}

func newPlace(fs vfs.FS, files *fileCache, dir string) *place {
	p := &place{fs: fs, files: files}
	p.path.Store(&dir)
	return p
}

func (p *place) dir() string { return *p.path.Load() }

func (p *place) file(name string) string { return filepath.Join(p.dir(), name) }
