package broker

import (
	"io"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// fileSender sends bytes and file slices over a plain socket without copying them through this
// process. The file's own position is not used, so that connections share one descriptor.
type fileSender struct {
	conn net.Conn
	raw  syscall.RawConn // nil on a connection that is not a plain socket

	// What step works on; kept here so that a send allocates nothing.
	step   func(fd uintptr) bool
	src    int
	offset int64
	left   int
	data   []byte
	err    error
}

// maxSendfile bounds one call; the kernel takes a little less than 2 GiB.
const maxSendfile = 1 << 30

func newFileSender(conn net.Conn) fileSender {
	s := fileSender{conn: conn}
	if tcp := plainSocket(conn); tcp != nil {
		if raw, err := tcp.SyscallConn(); err == nil {
			s.raw = raw
		}
	}
	return s
}

// gone says that the peer has closed its side and that nothing it sent is unread.
func (s *fileSender) gone() bool {
	if s.raw == nil {
		return false
	}
	n, closed := 0, false
	err := s.raw.Control(func(fd uintptr) {
		var b [1]byte
		var err error
		n, _, err = unix.Recvfrom(int(fd), b[:], unix.MSG_PEEK|unix.MSG_DONTWAIT)
		closed = err == nil && n == 0 || err == unix.ECONNRESET || err == unix.EPIPE
	})
	return err == nil && closed
}

func (s *fileSender) direct() bool { return s.raw != nil }

// send sends length bytes of the file src from offset on.
func (s *fileSender) send(src uintptr, offset int64, length int) error {
	s.src, s.offset, s.left, s.data, s.err = int(src), offset, length, nil, nil
	if s.step == nil {
		s.step = s.progress
	}
	for s.left > 0 {
		if err := s.raw.Write(s.step); err != nil {
			return err
		}
		if s.err != nil {
			return s.err
		}
	}
	return nil
}

// writeMore writes bytes that the content of a file follows, so the system need not hurry to
// send them alone.
func (s *fileSender) writeMore(b []byte) error {
	if s.raw == nil {
		_, err := s.conn.Write(b)
		return err
	}
	s.data, s.err = b, nil
	if s.step == nil {
		s.step = s.progress
	}
	for len(s.data) > 0 {
		if err := s.raw.Write(s.step); err != nil {
			return err
		}
		if s.err != nil {
			return s.err
		}
	}
	return nil
}

// progress does one system call; false asks to be called again when the socket has room.
func (s *fileSender) progress(fd uintptr) bool {
	for {
		var n int
		var err error
		call := "sendfile"
		if len(s.data) > 0 {
			call = "sendmsg"
			n, err = unix.SendmsgN(int(fd), s.data, nil, nil, unix.MSG_MORE|unix.MSG_NOSIGNAL)
			s.data = s.data[max(n, 0):]
		} else {
			n, err = unix.Sendfile(int(fd), s.src, &s.offset, min(s.left, maxSendfile))
			s.left -= max(n, 0)
		}
		switch {
		case err == unix.EINTR:
			continue
		case err == unix.EAGAIN:
			return false
		case err != nil:
			s.err = os.NewSyscallError(call, err)
		case n == 0 && call == "sendfile":
			s.err = io.ErrUnexpectedEOF // the file is shorter than its slice says
		}
		return true
	}
}
