package broker

import (
	"errors"
	"net"
	"net/netip"
	"time"

	"go.uber.org/zap"
)

// listener is a bound socket.
type listener struct {
	Listener
	server *Server
	socket net.Listener
}

// acceptPause is how long a listener waits after an error such as "too many open files".
const acceptPause = 100 * time.Millisecond

func (l *listener) accept() {
	s := l.server
	for {
		if !s.limits.waitForRoom(s.ctx, l.Name, l.MaxConnections) {
			return
		}
		nc, err := l.socket.Accept()
		if err != nil {
			if s.stopping.Load() || errors.Is(err, net.ErrClosed) {
				return
			}
			s.log.Warn("accepting a connection", zap.String("listener", l.Name), zap.Error(err))
			time.Sleep(acceptPause)
			continue
		}
		ip := addrPort(nc.RemoteAddr()).Addr().Unmap()
		if !s.limits.enter(l.Name, ip) {
			s.log.Info("too many connections from one address", zap.String("listener", l.Name), zap.Stringer("address", ip))
			nc.Close()
			continue
		}
		l.setBuffers(nc)
		s.work.Go(func() {
			defer s.limits.leave(l.Name, ip)
			s.ServeConn(nc, l.Listener)
		})
	}
}

// setBuffers applies the configured socket buffers. TCP_NODELAY is on by default in Go.
func (l *listener) setBuffers(nc net.Conn) {
	tcp, ok := nc.(*net.TCPConn)
	if !ok {
		return
	}
	o := &l.server.options
	if o.SendBufferBytes > 0 {
		if err := tcp.SetWriteBuffer(o.SendBufferBytes); err != nil {
			l.server.log.Warn("socket.send.buffer.bytes", zap.Error(err))
		}
	}
	if o.ReceiveBufferBytes > 0 {
		if err := tcp.SetReadBuffer(o.ReceiveBufferBytes); err != nil {
			l.server.log.Warn("socket.receive.buffer.bytes", zap.Error(err))
		}
	}
}

// addrPort is the zero AddrPort for a connection that has no IP address.
func addrPort(a net.Addr) netip.AddrPort {
	if tcp, ok := a.(*net.TCPAddr); ok {
		return tcp.AddrPort()
	}
	return netip.AddrPort{}
}
