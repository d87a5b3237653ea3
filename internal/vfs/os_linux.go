package vfs

import (
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks the whole file for this open file alone. Open file description
// locks conflict with the process-wide ones that Java takes, and unlike those they
// also keep out a second server in the same process and do not vanish when somebody
// else in the process closes the file.
func lockFile(fd uintptr) error {
	return unix.FcntlFlock(fd, unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
}

func allocate(f *os.File, size int64) error {
	if size <= 0 {
		return nil
	}
	for {
		err := unix.Fallocate(int(f.Fd()), 0, 0, size)
		switch err {
		case nil:
			return nil
		case unix.EINTR:
			continue
		case unix.EOPNOTSUPP: // this file system cannot reserve
			return grow(f, size)
		}
		return &fs.PathError{Op: "fallocate", Path: f.Name(), Err: err}
	}
}
