//go:build !unix

package vfs

// DiskSpace is unknown on this system.
func DiskSpace(string) (total, usable int64) { return -1, -1 }
