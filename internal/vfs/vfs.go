// Package vfs is the file system as ottla's log needs it: few operations, each
// one a point where a test can crash the machine or fail the disk.
//
// OS is the operating system's; NewMem is a memory one that serves `--memory`
// and the crash tests. Paths are slash separated and as given by the caller.
// Errors are *fs.PathError or wrap one, so that errors.Is with fs.ErrNotExist,
// fs.ErrExist, syscall.EIO and syscall.ENOSPC works on both.
package vfs

import (
	"errors"
	"io"
	"time"
)

// ErrLocked is wrapped by Lock's error when somebody else holds the lock.
var ErrLocked = errors.New("locked by another process or server")

// FS creates, finds and moves files. Safe for concurrent use.
type FS interface {
	// Open opens an existing file for reading and writing.
	Open(name string) (File, error)
	// OpenRead opens an existing file for reading only.
	OpenRead(name string) (File, error)
	// Create opens a file for reading and writing and makes it if it is not
	// there. It does not truncate.
	Create(name string) (File, error)
	// Rename moves a file or directory over whatever file has the new name.
	// Durable only after SyncDir of the parents.
	Rename(oldName, newName string) error
	// Remove deletes a file or an empty directory.
	Remove(name string) error
	// RemoveAll deletes a tree; a missing one is no error.
	RemoveAll(name string) error
	// Mkdir makes one directory; fs.ErrExist if it is there.
	Mkdir(name string) error
	// MkdirAll makes a directory and its parents, as far as missing.
	MkdirAll(name string) error
	// List returns the entries of a directory, sorted by name.
	List(name string) ([]Info, error)
	// Stat describes a file or directory.
	Stat(name string) (Info, error)
	// SetModTime sets a file's modification time.
	SetModTime(name string, t time.Time) error
	// SyncDir makes creations, renames and removals inside a directory durable.
	SyncDir(name string) error
	// Lock takes the exclusive lock that Java's FileChannel.tryLock takes, creating
	// the file if needed, without waiting: ErrLocked if another holds it.
	Lock(name string) (io.Closer, error)
	// Usage returns the size of the volume that holds name and how many bytes an
	// unprivileged process may still write to it.
	Usage(name string) (total, free int64, err error)
}

// File is an open file. ReadAt and WriteAt may be called concurrently.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	// Name is the path the file was opened by.
	Name() string
	// Size is the length in bytes.
	Size() (int64, error)
	// Truncate sets the length; a longer one reads as zeros and takes no space.
	Truncate(size int64) error
	// Allocate reserves space up to size and makes the file at least that long.
	Allocate(size int64) error
	// Sync makes the contents and the length durable, not the name.
	Sync() error
	// Fd is the descriptor for sendfile; false if there is none.
	Fd() (fd uintptr, ok bool)
}

// Info describes a directory entry.
type Info struct {
	Name    string // last element
	Size    int64
	ModTime time.Time
	Dir     bool
}
