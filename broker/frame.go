package broker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync/atomic"
	"time"
)

const (
	// lookahead is what a connection holds while it is idle. Small requests fit in it, so that
	// one read fetches them whole.
	lookahead = 512
	// trusted is the largest buffer that is allocated on the word of a frame's length. A larger
	// frame's buffer doubles as its bytes arrive.
	trusted = 2 << 20
	// lengthBytes precede every frame.
	lengthBytes = 4
)

// badFrame is a frame that no Kafka client sends.
type badFrame struct{ reason string }

func (e *badFrame) Error() string { return e.reason }

// errClosed is the peer's close between two frames.
var errClosed = errors.New("closed by the client")

// frameReader cuts a connection's bytes into frames. Bytes that were read ahead are kept in a
// small array; the rest of a larger frame is read from the socket into its own buffer.
type frameReader struct {
	conn net.Conn
	// progress is when the last bytes of an unfinished frame came, in Unix nanoseconds.
	progress *atomic.Int64
	start    int // of what is unread in ahead
	end      int
	ahead    [lookahead]byte
}

// fill reads until at least n (≤ lookahead) bytes are there.
func (r *frameReader) fill(n int) error {
	if r.start > 0 && r.start+n > len(r.ahead) {
		copy(r.ahead[:], r.ahead[r.start:r.end])
		r.end -= r.start
		r.start = 0
	}
	for r.end-r.start < n {
		if r.start == r.end {
			r.start, r.end = 0, 0
		}
		k, err := r.conn.Read(r.ahead[r.end:])
		r.end += k
		if err != nil && r.end-r.start < n {
			if err == io.EOF && r.end > r.start {
				return io.ErrUnexpectedEOF
			}
			if err == io.EOF {
				return errClosed
			}
			return err
		}
	}
	return nil
}

// peek is the n bytes that fill has made sure of.
func (r *frameReader) peek(n int) []byte { return r.ahead[r.start : r.start+n] }

// length reads the next frame's length.
func (r *frameReader) length(limit int) (int, error) {
	if err := r.fill(lengthBytes); err != nil {
		return 0, err
	}
	n := int(int32(binary.BigEndian.Uint32(r.peek(lengthBytes))))
	if n <= 0 || n > limit {
		return 0, &badFrame{reason: describeLength(r.peek(lengthBytes), n, limit)}
	}
	r.start += lengthBytes
	return n, nil
}

// describeLength says what a length that cannot be one probably is.
func describeLength(b []byte, n, limit int) string {
	switch s := string(b); {
	case s == "GET " || s == "POST" || s == "HEAD" || s == "PUT " || s == "OPTI" || s == "PRI ":
		return "an HTTP request on a Kafka listener"
	case b[0] == 0x16 && b[1] == 3:
		return "a TLS handshake on a listener without TLS"
	case n > limit:
		return fmt.Sprintf("frame of %d bytes, more than socket.request.max.bytes=%d", n, limit)
	}
	return fmt.Sprintf("frame of %d bytes", n)
}

// body reads a frame of n bytes into a pooled buffer, which the caller gives back.
func (r *frameReader) body(pool *buffers, n int) (*buffer, error) {
	buf := pool.get(min(n, trusted))
	have := copy(buf.b, r.ahead[r.start:r.end])
	r.start += have
	for {
		if err := r.readFull(buf.b[have:]); err != nil {
			pool.put(buf)
			return nil, err
		}
		have = len(buf.b)
		if have == n {
			return buf, nil
		}
		larger := pool.get(min(n, 2*have))
		copy(larger.b, buf.b)
		pool.put(buf)
		buf = larger
	}
}

func (r *frameReader) readFull(p []byte) error {
	for len(p) > 0 {
		n, err := r.conn.Read(p)
		p = p[n:]
		if len(p) == 0 {
			return nil
		}
		if err == io.EOF {
			return io.ErrUnexpectedEOF
		}
		if err != nil {
			return err
		}
		r.progress.Store(time.Now().UnixNano())
	}
	return nil
}
