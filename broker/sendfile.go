package broker

import (
	"encoding/binary"
	"net"

	"github.com/ottla/ottla/broker/api"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/storage"
)

const (
	// copyLimit is the size up to which a response's file slices are read into memory, so that it
	// leaves in one write: that costs less than a call for each slice.
	copyLimit = 16 << 10
	// copyChunk is the buffer for copying slices that cannot be sent from the file.
	copyChunk = 64 << 10
)

// writeFrames writes a body with file slices.
func (o *outgoing) writeFrames(h protocol.RequestHeader, f *api.Frames) error {
	var head [lengthBytes + api.Headroom]byte
	b := protocol.AppendResponseHeader(head[:lengthBytes], h)
	binary.BigEndian.PutUint32(b, uint32(len(b)-lengthBytes+f.Size()))
	first := f.Prepend(b)
	files := 0
	for i := range f.Files {
		files += f.Files[i].Slice.Length
	}
	if files == 0 {
		_, err := o.conn.Write(f.Bytes[first:])
		return err
	}
	if files <= copyLimit {
		return o.writeCopied(f, first, files)
	}
	at := first
	for i := range f.Files {
		p := &f.Files[i]
		if p.At > at {
			if err := o.files.writeMore(f.Bytes[at:p.At]); err != nil {
				return err
			}
			at = p.At
		}
		if err := o.sendSlice(p.Slice); err != nil {
			return err
		}
	}
	if at == len(f.Bytes) {
		return nil
	}
	_, err := o.conn.Write(f.Bytes[at:])
	return err
}

// writeCopied writes a small response in one call.
func (o *outgoing) writeCopied(f *api.Frames, first, files int) error {
	buf := o.buffers.get(len(f.Bytes) - first + files)
	defer o.buffers.put(buf)
	n, at := 0, first
	for i := range f.Files {
		p := &f.Files[i]
		n += copy(buf.b[n:], f.Bytes[at:p.At])
		at = p.At
		if err := p.Slice.ReadFull(buf.b[n : n+p.Slice.Length]); err != nil {
			return err
		}
		n += p.Slice.Length
	}
	n += copy(buf.b[n:], f.Bytes[at:])
	_, err := o.conn.Write(buf.b[:n])
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
