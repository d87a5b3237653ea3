package vfs

import (
	"io"
	"io/fs"
	"sync/atomic"
	"syscall"
	"time"
)

// memFile is an open file of a Mem. It outlives the file's name.
type memFile struct {
	fs       *Mem
	node     *node
	name     string
	readOnly bool
	closed   atomic.Bool
}

func (f *memFile) Name() string        { return f.name }
func (f *memFile) Fd() (uintptr, bool) { return 0, false }
func (f *memFile) Size() (int64, error) {
	f.node.mu.RLock()
	defer f.node.mu.RUnlock()
	return f.node.data.size, nil
}
func (f *memFile) fail(op Op, err error) error { return pathError(string(op), f.name, err) }

func (f *memFile) begin(op Op, write bool) error {
	switch {
	case f.closed.Load():
		return f.fail(op, fs.ErrClosed)
	case write && f.readOnly:
		return f.fail(op, syscall.EBADF)
	}
	if err := f.fs.hook.call(op, f.name); err != nil {
		return f.fail(op, err)
	}
	return nil
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, f.fail(OpRead, fs.ErrInvalid)
	}
	if err := f.begin(OpRead, false); err != nil {
		return 0, err
	}
	f.node.mu.RLock()
	n := f.node.data.readAt(p, off)
	f.node.mu.RUnlock()
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// WriteAt writes all of p, or half of it when it fails: as a full disk does.
func (f *memFile) WriteAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, f.fail(OpWrite, fs.ErrInvalid)
	}
	err := f.begin(OpWrite, true)
	if err != nil && (f.closed.Load() || f.readOnly) {
		return 0, err
	}
	if err != nil {
		p = p[:len(p)/2]
	}
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	if more := off + int64(len(p)) - f.node.data.size; more > 0 {
		if full := f.fs.space.take(more); full != nil && err == nil {
			return 0, f.fail(OpWrite, full)
		}
	}
	f.node.data.writeAt(p, off)
	f.node.modTime = time.Now()
	return len(p), err
}

func (f *memFile) Truncate(size int64) error {
	if size < 0 {
		return f.fail(OpTruncate, fs.ErrInvalid)
	}
	if err := f.begin(OpTruncate, true); err != nil {
		return err
	}
	f.node.mu.Lock()
	defer f.node.mu.Unlock()
	if err := f.fs.space.take(size - f.node.data.size); err != nil {
		return f.fail(OpTruncate, err)
	}
	f.node.data.truncate(size)
	f.node.modTime = time.Now()
	return nil
}

func (f *memFile) Allocate(size int64) error {
	if now, err := f.Size(); err != nil || now >= size {
		return err
	}
	return f.Truncate(size)
}

func (f *memFile) Sync() error {
	if err := f.begin(OpSync, false); err != nil {
		return err
	}
	if f.fs.crashable {
		f.node.mu.Lock()
		f.node.synced = f.node.data.share()
		f.node.mu.Unlock()
	}
	return nil
}

func (f *memFile) Close() error {
	if f.closed.Swap(true) {
		return f.fail("close", fs.ErrClosed)
	}
	return nil
}
