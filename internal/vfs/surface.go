package vfs

// OS is the operating system's file system.
func OS() FS { panic("surface") }

// Mem is a file system in memory.
type Mem struct{ FS }

// NewMem makes an empty one.
func NewMem() *Mem { panic("surface") }
