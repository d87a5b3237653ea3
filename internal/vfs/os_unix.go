//go:build unix && !linux

package vfs

import (
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks the whole file for this process, as Java does.
func lockFile(fd uintptr) error {
	return unix.FcntlFlock(fd, unix.F_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
}

func allocate(f *os.File, size int64) error { return grow(f, size) }
