package broker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/ottla/ottla/broker/api"
	"github.com/ottla/ottla/protocol"
)

// errGone is the cause when a client left a request behind that takes very long.
var errGone = errors.New("the client is gone")

// errStopping is the cause with which handlers' contexts end.
var errStopping = errors.New("server is stopping")

// Server owns the listeners and their connections. Listen, then Serve, then Shutdown or Close.
type Server struct {
	options   Options
	log       *zap.Logger
	tables    [2][]*api.Row // by scope and key; nil where nothing is built
	buffers   buffers
	permits   *permits
	limits    *limits
	listeners []*listener
	stopping  atomic.Bool
	lastID    atomic.Uint64

	ctx    context.Context // of all handlers
	cancel context.CancelCauseFunc

	mu    sync.Mutex
	conns map[*conn]struct{}
	work  sync.WaitGroup // accept loops, connections, idle sweep
}

// New makes a server that does not listen yet.
func New(o Options) *Server {
	o.setDefaults()
	s := &Server{
		options: o,
		log:     o.Logger,
		permits: newPermits(o.QueuedRequestBytesMax),
		limits:  newLimits(o.Limits),
		conns:   make(map[*conn]struct{}),
	}
	s.ctx, s.cancel = context.WithCancelCause(context.Background())
	s.tables[0] = tableFor(o.Rows, protocol.ScopeBroker)
	s.tables[1] = tableFor(o.Rows, protocol.ScopeController)
	return s
}

func tableFor(rows []api.Row, scope protocol.Scope) []*api.Row {
	var t []*api.Row
	for i := range rows {
		if rows[i].Listeners&scope == 0 {
			continue
		}
		for int(rows[i].Key) >= len(t) {
			t = append(t, nil)
		}
		t[rows[i].Key] = &rows[i]
	}
	return t
}

// row is the API's row for a kind of listener; nil if it is not served there.
func (s *Server) row(scope protocol.Scope, key int16) *api.Row {
	t := s.tables[0]
	if scope == protocol.ScopeController {
		t = s.tables[1]
	}
	if key < 0 || int(key) >= len(t) {
		return nil
	}
	return t[key]
}

// Listen binds every listener, all or none. Clients that connect wait until Serve.
func (s *Server) Listen(ctx context.Context) error {
	for _, l := range s.options.Listeners {
		var config net.ListenConfig
		socket, err := config.Listen(ctx, "tcp", net.JoinHostPort(l.Host, strconv.Itoa(l.Port)))
		if err != nil {
			s.closeListeners()
			return fmt.Errorf("listener %s: %w", l.Name, err)
		}
		s.listeners = append(s.listeners, &listener{Listener: l, server: s, socket: socket})
	}
	return nil
}

// Port is the port a listener is bound to; 0 if there is no such listener.
func (s *Server) Port(name string) int {
	for _, l := range s.listeners {
		if l.Name == name {
			return l.socket.Addr().(*net.TCPAddr).Port
		}
	}
	return 0
}

// SetLimits changes how many connections there may be.
func (s *Server) SetLimits(l Limits) { s.limits.set(l) }

// Serve begins to accept on the listeners of that kind. It does not block.
func (s *Server) Serve(scope protocol.Scope) {
	for _, l := range s.listeners {
		if l.Scope == scope {
			s.work.Go(l.accept)
		}
	}
	if s.options.IdleTimeout > 0 && scope == protocol.ScopeBroker {
		s.work.Go(s.sweepIdle)
	}
}

// ServeConn serves one connection that was accepted elsewhere, until it ends.
func (s *Server) ServeConn(nc net.Conn, l Listener) {
	c := &conn{server: s, net: nc}
	c.info = api.Conn{
		ID: s.lastID.Add(1), Listener: l.Name, Scope: l.Scope, Principal: api.Anonymous,
		Local: addrPort(nc.LocalAddr()), Remote: addrPort(nc.RemoteAddr()),
		SoftwareName: "unknown", SoftwareVersion: "unknown",
	}
	c.frames = frameReader{conn: nc, progress: &c.since}
	c.out.init(nc, &s.buffers)
	defer nc.Close()
	ctx, cancel := context.WithCancelCause(s.ctx)
	defer cancel(nil)
	c.cancel = cancel
	if !s.register(c) {
		return
	}
	defer s.unregister(c)
	c.serve(ctx)
}

// register refuses connections once the server stops, so that Shutdown sees all there are.
func (s *Server) register(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping.Load() {
		return false
	}
	c.since.Store(time.Now().UnixNano())
	s.conns[c] = struct{}{}
	return true
}

func (s *Server) unregister(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}

// sweepIdle closes connections that have waited for a request for too long. One ticker for all
// of them: an idle connection costs no timer.
func (s *Server) sweepIdle() {
	limit := s.options.IdleTimeout
	tick := time.NewTicker(max(limit/8, time.Millisecond))
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case now := <-tick.C:
			s.closeIdle(now.Add(-limit).UnixNano())
		}
	}
}

func (s *Server) closeIdle(before int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		switch since := c.since.Load(); {
		case since > 0 && since <= before:
			s.log.Debug("closing idle connection", zap.Stringer("client", c.info.Remote))
			c.out.abandon()
		case since < 0 && -since <= before && c.out.files.gone():
			// Handled for very long, for a client that closed its side: nobody waits any more.
			c.cancel(errGone)
			c.out.abandon()
		}
	}
}

// Shutdown stops accepting, ends every handler's context so that requests that wait answer with
// what they have, lets requests in progress finish, and closes all connections. When ctx ends
// first, it closes what is left and gives ctx's error.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stop()
	done := make(chan struct{})
	go func() { s.work.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		s.closeConns()
		<-done
		return ctx.Err()
	}
}

// Close is Shutdown without waiting for requests in progress, which find their connection closed.
func (s *Server) Close() {
	s.stop()
	s.closeConns()
	s.work.Wait()
}

func (s *Server) stop() {
	s.mu.Lock()
	s.stopping.Store(true)
	s.mu.Unlock()
	s.closeListeners()
	s.cancel(errStopping)
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		// Ends a read that waits for a request; a request in progress finishes and then sees stopping.
		if err := c.net.SetReadDeadline(time.Unix(1, 0)); err != nil {
			c.out.abandon()
		}
	}
}

func (s *Server) closeListeners() {
	for _, l := range s.listeners {
		if err := l.socket.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
			s.log.Warn("closing a listener", zap.String("listener", l.Name), zap.Error(err))
		}
	}
}

func (s *Server) closeConns() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.out.abandon()
	}
}
