//go:build unix

package vfs

import "golang.org/x/sys/unix"

// DiskSpace is the size and the free space in bytes of the file system that dir is on, -1 if unknown.
func DiskSpace(dir string) (total, usable int64) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return -1, -1
	}
	return int64(s.Blocks) * int64(s.Bsize), int64(s.Bavail) * int64(s.Bsize)
}
