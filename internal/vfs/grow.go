//go:build unix

package vfs

import "os"

// grow lengthens a file where space cannot be reserved.
func grow(f *os.File, size int64) error {
	i, err := f.Stat()
	if err != nil || i.Size() >= size {
		return err
	}
	return f.Truncate(size)
}
