package broker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/broker/api"
	"github.com/ottla/ottla/protocol"
)

// conn is one client's connection, served by one goroutine.
type conn struct {
	server *Server
	net    net.Conn
	info   api.Conn
	frames frameReader
	out    outgoing
	client *string // last client id, shared by the requests that carry it again
	call   api.Call

	// since is when the connection began to wait for a request, or last got bytes of one, in Unix
	// nanoseconds; negative: when it began to handle one. Read by the sweep.
	since atomic.Int64
	// cancel ends the handler's context; the server calls it for a client that is gone.
	cancel context.CancelCauseFunc

	// Produce and Fetch requests are used again: one request is handled at a time and nothing of
	// it outlives its handler.
	produce *kmsg.ProduceRequest
	fetch   *kmsg.FetchRequest
}

// serve handles requests until the connection or the server ends.
func (c *conn) serve(ctx context.Context) {
	defer c.out.finish()
	for {
		c.since.Store(time.Now().UnixNano())
		err := c.next(ctx)
		if err == nil && c.server.stopping.Load() {
			return
		}
		if err != nil {
			c.logClose(err)
			if !errors.Is(err, errClosed) && !c.server.stopping.Load() {
				c.out.abandon() // a client that only closed its side still gets its answers
			}
			return
		}
	}
}

// next reads and handles one request.
func (c *conn) next(ctx context.Context) error {
	n, err := c.frames.length(c.server.options.MaxRequestBytes)
	if err != nil {
		return err
	}
	if err := c.bound(n); err != nil {
		return err
	}
	if err := c.server.permits.acquire(ctx, n); err != nil {
		return err
	}
	defer c.server.permits.release(n)
	frame, err := c.frames.body(&c.server.buffers, n)
	if err != nil {
		return err
	}
	c.since.Store(-time.Now().UnixNano())
	defer c.server.buffers.put(frame)
	return c.handle(ctx, frame.b)
}

// bound refuses a frame by its first bytes, before anything is allocated for it.
func (c *conn) bound(n int) error {
	if n < protocol.HeaderStart {
		return &badFrame{reason: fmt.Sprintf("frame of %d bytes", n)}
	}
	if err := c.frames.fill(protocol.HeaderStart); err != nil {
		if errors.Is(err, errClosed) {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	key, version := protocol.PeekKey(c.frames.peek(protocol.HeaderStart))
	row := c.server.row(c.info.Scope, key)
	if row == nil {
		return &badFrame{reason: fmt.Sprintf("api key %d version %d is not served on listener %s", key, version, c.info.Listener)}
	}
	if row.MaxFrame > 0 && n > row.MaxFrame {
		return &badFrame{reason: fmt.Sprintf("%s request of %d bytes, more than %d", row.Name, n, row.MaxFrame)}
	}
	return nil
}

// handle decodes a frame, calls its handler and answers. A panic closes this connection only.
func (c *conn) handle(ctx context.Context, frame []byte) (err error) {
	header, req, err := c.decode(frame)
	if err != nil {
		return err
	}
	defer c.recycle(header.Key)
	c.client = header.ClientID
	c.call = api.Call{Header: header, Conn: &c.info, Received: time.Now()}
	row := c.server.row(c.info.Scope, header.Key)
	defer func() {
		if p := recover(); p != nil {
			c.server.log.Error("panic in a request handler", zap.String("api", row.Name), zap.Int16("version", header.Version),
				zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
			err = fmt.Errorf("%s version %d: internal error", row.Name, header.Version)
		}
	}()
	reply, err := row.Handle(ctx, &c.call, req)
	if err != nil {
		return fmt.Errorf("%s version %d: %w", row.Name, header.Version, err)
	}
	return c.out.send(header, reply)
}

func (c *conn) decode(frame []byte) (protocol.RequestHeader, kmsg.Request, error) {
	header, body, err := protocol.ReadHeader(frame, c.client)
	if err != nil {
		if header.Key == protocol.ApiVersions && protocol.CodeOf(err) == protocol.UnsupportedVersion {
			return header, kmsg.NewPtrApiVersionsRequest(), nil // answered: the client retries lower
		}
		return header, nil, err
	}
	switch header.Key {
	case protocol.Produce:
		if c.produce == nil {
			c.produce = kmsg.NewPtrProduceRequest()
		}
		return header, c.produce, protocol.DecodeBodyAliased(header, body, c.produce)
	case protocol.Fetch:
		if c.fetch == nil {
			c.fetch = kmsg.NewPtrFetchRequest()
		}
		return header, c.fetch, protocol.DecodeBodyAliased(header, body, c.fetch)
	}
	req := kmsg.RequestForKey(header.Key)
	return header, req, protocol.DecodeBody(header, body, req)
}

// maxKeptTopics bounds what a request that is used again keeps of its last use.
const maxKeptTopics = 64

// recycle lets go of the frame that a Produce or Fetch request aliased.
func (c *conn) recycle(key int16) {
	switch key {
	case protocol.Produce:
		c.produce.Topics = keep(c.produce.Topics)
	case protocol.Fetch:
		c.fetch.Topics = keep(c.fetch.Topics)
		c.fetch.ForgottenTopics = keep(c.fetch.ForgottenTopics)
	}
}

func keep[T any](s []T) []T {
	if cap(s) > maxKeptTopics {
		return nil
	}
	clear(s)
	return s[:0]
}

// logClose writes the one line about why the server closed a connection; a close by the client or
// by the server's stop is not worth one.
func (c *conn) logClose(err error) {
	switch {
	case errors.Is(err, errClosed), c.server.stopping.Load():
		return
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed), isNetError(err):
		c.server.log.Debug("connection lost", zap.String("listener", c.info.Listener), zap.Stringer("client", c.info.Remote), zap.Error(err))
	default:
		c.server.log.Warn("closing connection", zap.String("listener", c.info.Listener), zap.Stringer("client", c.info.Remote), zap.Error(err))
	}
}

func isNetError(err error) bool {
	var e *net.OpError
	return errors.As(err, &e)
}
