package api

import (
	"sync"

	"github.com/ottla/ottla/storage"
)

// Headroom is what the connection may put in front of a body: length, correlation id, tags.
const Headroom = 4 + 4 + 1

// Frames is a response body that carries records still in their files: encoded bytes, in which
// at certain places the content of a file slice belongs. The connection sends the slices from
// the page cache where it can. Whoever holds a Frames calls Release exactly once.
type Frames struct {
	// Bytes begin with Headroom bytes that are not part of the body.
	Bytes []byte
	// Files are in the order of their places.
	Files []FilePart
}

// FilePart is a slice and the place in Frames.Bytes before which it goes.
type FilePart struct {
	At    int
	Slice storage.FileSlice
}

var framesPool = sync.Pool{New: func() any { return new(Frames) }}

// maxPooledFrames bounds the buffer that a pooled Frames keeps.
const maxPooledFrames = 64 << 10

// NewFrames is an empty body, possibly used before.
func NewFrames() *Frames {
	f := framesPool.Get().(*Frames)
	f.Bytes = append(f.Bytes[:0], make([]byte, Headroom)...)
	return f
}

// Reply answers with the frames; the connection releases them.
func (f *Frames) Reply() Reply { return Reply{frames: f} }

// Size is the body's number of bytes on the wire.
func (f *Frames) Size() int {
	n := len(f.Bytes) - Headroom
	for i := range f.Files {
		n += f.Files[i].Slice.Length
	}
	return n
}

// Prepend puts at most Headroom bytes directly before the body and returns the index in Bytes
// at which they begin.
func (f *Frames) Prepend(head []byte) int {
	at := Headroom - len(head)
	copy(f.Bytes[at:], head)
	return at
}

// AppendFile puts a slice at the current end.
func (f *Frames) AppendFile(s storage.FileSlice) {
	f.Files = append(f.Files, FilePart{At: len(f.Bytes), Slice: s})
}

// Release gives files and memory back.
func (f *Frames) Release() {
	for i := range f.Files {
		f.Files[i].Slice.Release()
	}
	clear(f.Files)
	f.Files = f.Files[:0]
	if cap(f.Bytes) <= maxPooledFrames {
		framesPool.Put(f)
	}
}
