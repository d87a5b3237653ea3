package api

import (
	"sync"

	"github.com/ottla/ottla/storage"
)

// Frames is a response body that carries records still in their files: encoded bytes, in which
// at certain places the content of a file slice belongs. The connection sends the slices from
// the page cache where it can. Whoever holds a Frames calls Release exactly once.
type Frames struct {
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

// NewFrames is an empty, possibly used, value.
func NewFrames() *Frames { return framesPool.Get().(*Frames) }

// Reply answers with the frames; the connection releases them.
func (f *Frames) Reply() Reply { return Reply{frames: f} }

// Size is the number of bytes on the wire.
func (f *Frames) Size() int {
	n := len(f.Bytes)
	for i := range f.Files {
		n += f.Files[i].Slice.Length
	}
	return n
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
	f.Bytes = f.Bytes[:0]
	if cap(f.Bytes) <= maxPooledFrames {
		framesPool.Put(f)
	}
}
