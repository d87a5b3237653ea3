package vfs

import (
	"sync/atomic"
	"syscall"
)

// chunkSize bounds what one append may have to copy.
const chunkSize = 64 << 10

// content is a file's bytes. Chunk i holds bytes from i×chunkSize on; what a chunk
// is short of, up to the size, is zeros. Chunks marked shared belong to a second
// content as well and are copied before they are written.
type content struct {
	size   int64
	chunks []chunk
}

type chunk struct {
	data   []byte // at most chunkSize
	shared bool
}

// readAt fills p from off; returns how many bytes there were.
func (c *content) readAt(p []byte, off int64) int {
	if off >= c.size {
		return 0
	}
	p = p[:min(int64(len(p)), c.size-off)]
	for done := 0; done < len(p); {
		at := off + int64(done)
		i, from := int(at/chunkSize), int(at%chunkSize)
		part := p[done:min(len(p), done+chunkSize-from)]
		n := 0
		if i < len(c.chunks) && from < len(c.chunks[i].data) {
			n = copy(part, c.chunks[i].data[from:])
		}
		clear(part[n:])
		done += len(part)
	}
	return len(p)
}

func (c *content) writeAt(p []byte, off int64) {
	for done := 0; done < len(p); {
		at := off + int64(done)
		i, from := int(at/chunkSize), int(at%chunkSize)
		part := p[done:min(len(p), done+chunkSize-from)]
		copy(c.writable(i, from+len(part))[from:], part)
		done += len(part)
	}
	c.size = max(c.size, off+int64(len(p)))
}

// writable makes chunk i at least n bytes long and this content's own.
func (c *content) writable(i, n int) []byte {
	for len(c.chunks) <= i {
		c.chunks = append(c.chunks, chunk{})
	}
	ch := &c.chunks[i]
	switch {
	case ch.shared:
		ch.data = append(make([]byte, 0, max(n, len(ch.data))), ch.data...)
		ch.shared = false
	case cap(ch.data) < n:
		grown := make([]byte, len(ch.data), min(chunkSize, max(n, 2*cap(ch.data))))
		copy(grown, ch.data)
		ch.data = grown
	}
	if old := len(ch.data); old < n {
		ch.data = ch.data[:n]
		clear(ch.data[old:])
	}
	return ch.data
}

func (c *content) truncate(size int64) {
	if size < c.size {
		keep := int((size + chunkSize - 1) / chunkSize)
		if keep < len(c.chunks) {
			clear(c.chunks[keep:])
			c.chunks = c.chunks[:keep]
		}
		if from := int(size % chunkSize); from > 0 && keep <= len(c.chunks) {
			if ch := &c.chunks[keep-1]; len(ch.data) > from {
				ch.data = ch.data[:from:from]
			}
		}
	}
	c.size = size
}

// share makes a second content of the same bytes.
func (c *content) share() content {
	for i := range c.chunks {
		c.chunks[i].shared = true
	}
	return content{size: c.size, chunks: append([]chunk(nil), c.chunks...)}
}

// space counts bytes against a capacity.
type space struct {
	capacity, used atomic.Int64
}

func (s *space) take(n int64) error {
	used := s.used.Add(n)
	if limit := s.capacity.Load(); n > 0 && limit > 0 && used > limit {
		s.used.Add(-n)
		return syscall.ENOSPC
	}
	return nil
}

// free gives back the bytes of a file that lost its name.
func (s *space) free(n *node) {
	n.mu.RLock()
	s.used.Add(-n.data.size)
	n.mu.RUnlock()
}
