package storage

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/ottla/ottla/internal/vfs"
)

// writeAtomic replaces a small file so that after a crash either the old or the new
// text is there: written next to it, synced, renamed, directory synced.
func writeAtomic(fs vfs.FS, name string, text []byte) error {
	tmp := name + tmpSuffix
	if err := writeFile(fs, tmp, text, true); err != nil {
		return err
	}
	if err := fs.Rename(tmp, name); err != nil {
		return err
	}
	return fs.SyncDir(filepath.Dir(name))
}

// writeFile makes a file hold just text.
func writeFile(fs vfs.FS, name string, text []byte, sync bool) (err error) {
	f, err := fs.Create(name)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	if err := f.Truncate(0); err != nil {
		return err
	}
	if _, err := f.WriteAt(text, 0); err != nil {
		return err
	}
	if sync {
		return f.Sync()
	}
	return nil
}

// readFile reads a whole file of at most limit bytes.
func readFile(fs vfs.FS, name string, limit int64) (text []byte, err error) {
	f, err := fs.OpenRead(name)
	if err != nil {
		return nil, err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	if size > limit {
		return nil, fmt.Errorf("%s: %d bytes, at most %d expected", name, size, limit)
	}
	text = make([]byte, size)
	if n, err := f.ReadAt(text, 0); n < len(text) {
		if err == io.EOF {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return text, nil
}

// syncFile makes a file that was written before durable.
func syncFile(fs vfs.FS, name string) (err error) {
	f, err := fs.Open(name)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	return f.Sync()
}
