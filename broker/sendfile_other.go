//go:build !linux

package broker

import (
	"errors"
	"net"
)

// fileSender copies: this system's sendfile is not used.
type fileSender struct{ conn net.Conn }

func newFileSender(conn net.Conn) fileSender { return fileSender{conn: conn} }

// gone says that the peer has closed its side, which is not looked at here.
func (s *fileSender) gone() bool { return false }

func (s *fileSender) direct() bool { return false }

func (s *fileSender) send(uintptr, int64, int) error { return errors.ErrUnsupported }

func (s *fileSender) writeMore(b []byte) error {
	_, err := s.conn.Write(b)
	return err
}
