package broker

import (
	"math/bits"
	"sync"
)

// Buffers are pooled by power of two from 4 KiB to 8 MiB; larger ones are left to the collector.
const (
	minBufferBits = 12
	maxBufferBits = 23
)

// buffers is a set of pools. A buffer's capacity is exactly that of its class.
type buffers struct {
	classes [maxBufferBits - minBufferBits + 1]sync.Pool
}

// buffer is a pooled byte slice; the pointer travels with it so that pooling does not allocate.
type buffer struct {
	b []byte
}

// get is a buffer of length n; its content is whatever was there before.
func (p *buffers) get(n int) *buffer {
	class := classOf(n)
	if class >= len(p.classes) {
		return &buffer{b: make([]byte, n)}
	}
	if b, ok := p.classes[class].Get().(*buffer); ok {
		b.b = b.b[:n]
		return b
	}
	return &buffer{b: make([]byte, n, 1<<(class+minBufferBits))}
}

// put gives a buffer back; it may have been grown or replaced since.
func (p *buffers) put(b *buffer) {
	if b == nil || cap(b.b) < 1<<minBufferBits {
		return
	}
	class := bits.Len(uint(cap(b.b))) - 1 - minBufferBits // rounded down: a get never outgrows it
	if class < len(p.classes) {
		p.classes[class].Put(b)
	}
}

// classOf is the smallest class that holds n bytes.
func classOf(n int) int {
	if n <= 1<<minBufferBits {
		return 0
	}
	return bits.Len(uint(n-1)) - minBufferBits
}
