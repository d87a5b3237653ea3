package storage

import (
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/ottla/ottla/internal/vfs"
)

// openFilesMin is the least number of files a cache keeps open.
const openFilesMin = 16

// fileCache bounds how many segment and index files are open at a time. Each of them
// is opened when it is needed and closed when others need the place, the least
// recently used ones first (as a clock sees it). Closing loses nothing: what was
// written is in the page cache, and a later sync through another descriptor covers it.
type fileCache struct {
	fs  vfs.FS
	max int

	mu   sync.Mutex // taken after a cachedFile's mu, never before
	ring []*cachedFile
	hand int
}

func newFileCache(fs vfs.FS, limit int) *fileCache {
	return &fileCache{fs: fs, max: max(limit, openFilesMin)}
}

// cachedFile is a file that may be open. Its owner knows the path.
type cachedFile struct {
	mu   sync.Mutex
	ref  *FileRef
	slot int // in the ring, while ref is set
	used atomic.Bool
}

// FileRef is an open segment file, counted: it stays open, though renamed or
// removed meanwhile, until the last Release.
type FileRef struct {
	file vfs.File
	refs atomic.Int32
}

// ReadAt reads like io.ReaderAt.
func (r *FileRef) ReadAt(p []byte, off int64) (int, error) { return r.file.ReadAt(p, off) }

// Fd is the descriptor for sendfile; false in memory mode. Valid until Release.
func (r *FileRef) Fd() (fd uintptr, ok bool) { return r.file.Fd() }

// Release gives the file back.
func (r *FileRef) Release() {
	if n := r.refs.Add(-1); n < 0 {
		panic("storage: FileRef released more often than acquired")
	} else if n == 0 {
		// Nothing is lost when this fails: data was written with its error checked, and
		// durability is sync's matter.
		_ = r.file.Close()
	}
}

// Release gives the slice's file back.
func (s FileSlice) Release() { s.File.Release() }

// ReadFull copies the slice into p, which must be Length long.
func (s FileSlice) ReadFull(p []byte) error {
	return readFull(s.File, p[:s.Length], s.Offset)
}

// Release gives all slices back.
func (r *Read) Release() {
	for _, s := range r.Slices {
		s.Release()
	}
	r.Slices = nil
}

// readFull reads len(p) bytes or fails; an early end is io.ErrUnexpectedEOF.
func readFull(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == io.EOF || err == nil {
		return fmt.Errorf("read of %d bytes at %d: %d there: %w", len(p), off, n, io.ErrUnexpectedEOF)
	}
	return err
}

// acquire opens the file at path, or finds it open. create makes it if it is missing.
// path is asked under the file's lock, and may refuse.
func (c *fileCache) acquire(f *cachedFile, path func() (string, error), create bool) (*FileRef, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ref != nil {
		f.ref.refs.Add(1)
		f.used.Store(true)
		return f.ref, nil
	}
	name, err := path()
	if err != nil {
		return nil, err
	}
	file, err := c.open(name, create)
	if err != nil {
		return nil, err
	}
	r := &FileRef{file: file}
	r.refs.Store(2) // the caller's and the cache's
	f.ref = r
	f.used.Store(true)
	c.insert(f)
	return r, nil
}

func (c *fileCache) open(path string, create bool) (vfs.File, error) {
	if create {
		return c.fs.Create(path)
	}
	return c.fs.Open(path)
}

// insert puts a newly opened file into the ring and closes one that was not used for
// a round, if there are too many. f.mu is held.
func (c *fileCache) insert(f *cachedFile) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f.slot = len(c.ring)
	c.ring = append(c.ring, f)
	if len(c.ring) <= c.max {
		return
	}
	for range 2 * len(c.ring) {
		c.hand = (c.hand + 1) % len(c.ring)
		v := c.ring[c.hand]
		if v == f || v.used.Swap(false) || !v.mu.TryLock() {
			continue
		}
		c.drop(v)
		v.mu.Unlock()
		return
	}
}

// drop takes a file out of the ring and gives back the cache's share of it. Both locks
// are held.
func (c *fileCache) drop(f *cachedFile) {
	last := c.ring[len(c.ring)-1]
	c.ring[f.slot] = last
	last.slot = f.slot
	c.ring[len(c.ring)-1] = nil
	c.ring = c.ring[:len(c.ring)-1]
	f.ref.Release()
	f.ref = nil
}

// forget closes the file as far as the cache is concerned: before it is renamed,
// removed or replaced.
func (c *fileCache) forget(f *cachedFile) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ref == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop(f)
}

// openCount is how many files the cache holds open.
func (c *fileCache) openCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.ring)
}
