package broker

import (
	"encoding/binary"
	"net"

	"github.com/ottla/ottla/broker/api"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/storage"
)

const (
	// copyLimit is the length up to which a file slice is read into memory, so that it leaves in one
	// write with what is around it: that costs less than a call of its own.
	copyLimit = 16 << 10
	// copyChunk is the buffer for what is copied.
	copyChunk = 64 << 10
)

// writeFrames writes a body with file slices.
func (o *outgoing) writeFrames(h protocol.RequestHeader, f *api.Frames) error {
	var head [lengthBytes + api.Headroom]byte
	b := protocol.AppendResponseHeader(head[:lengthBytes], h)
	size := f.Size()
	binary.BigEndian.PutUint32(b, uint32(len(b)-lengthBytes+size))
	at := f.Prepend(b)
	if len(f.Files) == 0 {
		_, err := o.conn.Write(f.Bytes[at:])
		return err
	}
	w := gather{o: o, buf: o.buffers.get(min(len(b)+size, copyChunk))}
	defer o.buffers.put(w.buf)
	for i := range f.Files {
		p := &f.Files[i]
		if err := w.bytes(f.Bytes[at:p.At]); err != nil {
			return err
		}
		at = p.At
		if err := w.file(p.Slice); err != nil {
			return err
		}
	}
	if err := w.bytes(f.Bytes[at:]); err != nil {
		return err
	}
	return w.flush(false)
}

// gather collects small pieces, so that they leave together, between the large slices.
type gather struct {
	o   *outgoing
	buf *buffer
	n   int // bytes collected
}

func (w *gather) bytes(b []byte) error {
	for len(b) > 0 {
		if w.n == len(w.buf.b) {
			if err := w.flush(true); err != nil {
				return err
			}
		}
		k := copy(w.buf.b[w.n:], b)
		w.n, b = w.n+k, b[k:]
	}
	return nil
}

func (w *gather) file(s storage.FileSlice) error {
	if s.Length > copyLimit || s.Length > len(w.buf.b) {
		if err := w.flush(true); err != nil {
			return err
		}
		return w.o.sendSlice(s)
	}
	if w.n+s.Length > len(w.buf.b) {
		if err := w.flush(true); err != nil {
			return err
		}
	}
	if err := s.ReadFull(w.buf.b[w.n : w.n+s.Length]); err != nil {
		return err
	}
	w.n += s.Length
	return nil
}

// flush writes what was collected; more says that something follows at once.
func (w *gather) flush(more bool) error {
	b := w.buf.b[:w.n]
	w.n = 0
	switch {
	case len(b) == 0:
		return nil
	case more:
		return w.o.files.writeMore(b)
	}
	_, err := w.o.conn.Write(b)
	return err
}

func (o *outgoing) sendSlice(s storage.FileSlice) error {
	if fd, ok := s.File.Fd(); ok && o.files.direct() {
		return o.files.send(fd, s.Offset, s.Length)
	}
	return o.copySlice(s)
}

// copySlice sends a slice through memory: on a connection that is not a plain socket, of a file
// in memory, and where the system has no sendfile.
func (o *outgoing) copySlice(s storage.FileSlice) error {
	buf := o.buffers.get(min(copyChunk, s.Length))
	defer o.buffers.put(buf)
	for s.Length > 0 {
		n := min(len(buf.b), s.Length)
		part := storage.FileSlice{File: s.File, Offset: s.Offset, Length: n}
		if err := part.ReadFull(buf.b[:n]); err != nil {
			return err
		}
		if _, err := o.conn.Write(buf.b[:n]); err != nil {
			return err
		}
		s.Offset += int64(n)
		s.Length -= n
	}
	return nil
}

// plainSocket is the raw side of an unencrypted TCP connection, nil for any other connection.
func plainSocket(conn net.Conn) *net.TCPConn {
	tcp, _ := conn.(*net.TCPConn)
	return tcp
}
