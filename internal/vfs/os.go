//go:build unix

package vfs

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// OS is the operating system's file system.
func OS() FS { return osFS{} }

type osFS struct{}

// Modes of what we make: the umask takes from them, as with Kafka.
const (
	fileMode = 0o666
	dirMode  = 0o777
)

func (osFS) Open(name string) (File, error)     { return openOS(name, os.O_RDWR) }
func (osFS) OpenRead(name string) (File, error) { return openOS(name, os.O_RDONLY) }
func (osFS) Create(name string) (File, error)   { return openOS(name, os.O_RDWR|os.O_CREATE) }

func openOS(name string, flag int) (File, error) {
	f, err := os.OpenFile(name, flag, fileMode)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Rename(oldName, newName string) error { return os.Rename(oldName, newName) }
func (osFS) Remove(name string) error             { return os.Remove(name) }
func (osFS) RemoveAll(name string) error          { return os.RemoveAll(name) }
func (osFS) Mkdir(name string) error              { return os.Mkdir(name, dirMode) }
func (osFS) MkdirAll(name string) error           { return os.MkdirAll(name, dirMode) }

func (osFS) List(name string) ([]Info, error) {
	d, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	infos := make([]Info, 0, len(entries))
	for _, e := range entries {
		i, err := os.Stat(filepath.Join(name, e.Name()))
		if os.IsNotExist(err) {
			continue // removed since, or a link to nothing
		}
		if err != nil {
			return nil, err
		}
		infos = append(infos, infoOf(e.Name(), i))
	}
	slices.SortFunc(infos, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return infos, nil
}

func (osFS) Stat(name string) (Info, error) {
	i, err := os.Stat(name)
	if err != nil {
		return Info{}, err
	}
	return infoOf(i.Name(), i), nil
}

func infoOf(name string, i fs.FileInfo) Info {
	return Info{Name: name, Size: i.Size(), ModTime: i.ModTime(), Dir: i.IsDir()}
}

func (osFS) SetModTime(name string, t time.Time) error { return os.Chtimes(name, time.Time{}, t) }

func (osFS) SyncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}

func (osFS) Lock(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	if err := lockFile(f.Fd()); err != nil {
		_ = f.Close() // the lock's error says more
		if err == unix.EAGAIN || err == unix.EACCES {
			err = ErrLocked
		}
		return nil, &fs.PathError{Op: "lock", Path: name, Err: err}
	}
	return f, nil
}

func (osFS) Usage(name string) (total, free int64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(name, &s); err != nil {
		return 0, 0, &fs.PathError{Op: "statfs", Path: name, Err: err}
	}
	return int64(s.Blocks) * int64(s.Bsize), int64(s.Bavail) * int64(s.Bsize), nil
}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	i, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return i.Size(), nil
}

func (f osFile) Allocate(size int64) error { return allocate(f.File, size) }

func (f osFile) Fd() (uintptr, bool) { return f.File.Fd(), true }
