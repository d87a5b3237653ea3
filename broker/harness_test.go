package broker

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/ottla/ottla/broker/api"
	"github.com/ottla/ottla/protocol"
)

// testRows answers Metadata, ApiVersions and Heartbeat at once and the rest as the test says.
func testRows(t testing.TB, more map[int16]api.Handler) []api.Row {
	t.Helper()
	empty := func(_ context.Context, _ *api.Call, req kmsg.Request) (api.Reply, error) {
		return api.Body(req.ResponseKind()), nil
	}
	var rows []api.Row
	for _, a := range protocol.APIs() {
		h := empty
		if own, ok := more[a.Key]; ok {
			h = own
		}
		rows = append(rows, api.Row{API: a, Listeners: protocol.ScopeBroker & a.Listeners, Handle: h})
	}
	return rows
}

type testServer struct {
	*Server
	logs *observer.ObservedLogs
	addr string
}

// startTCP serves on a loopback port until the test ends.
func startTCP(t testing.TB, o Options) *testServer {
	t.Helper()
	core, logs := observer.New(zapcore.InfoLevel)
	o.Logger = zap.New(core)
	if o.Listeners == nil {
		o.Listeners = []Listener{{Name: "PLAINTEXT", Scope: protocol.ScopeBroker, Host: "127.0.0.1"}}
	}
	if o.Limits.Connections == 0 && o.Limits.PerIP == 0 {
		o.Limits = Limits{Connections: -1, PerIP: -1}
	}
	s := New(o)
	if err := s.Listen(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.Serve(protocol.ScopeBroker)
	t.Cleanup(s.Close)
	return &testServer{s, logs, s.listeners[0].socket.Addr().String()}
}

// client speaks frames.
type client struct {
	net.Conn
	t testing.TB
}

func dial(t testing.TB, addr string) client {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return client{c, t}
}

func frame(req kmsg.Request, version int16, correlation int32) []byte {
	req.SetVersion(version)
	return kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")).AppendRequest(nil, req, correlation)
}

func (c client) send(b []byte) {
	c.t.Helper()
	if _, err := c.Write(b); err != nil {
		c.t.Fatal(err)
	}
}

// recv reads one response frame and gives its correlation id.
func (c client) recv() (int32, []byte) {
	c.t.Helper()
	correlation, body, err := c.tryRecv()
	if err != nil {
		c.t.Fatal(err)
	}
	return correlation, body
}

func (c client) tryRecv() (int32, []byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(c, head[:]); err != nil {
		return 0, nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(c, b); err != nil {
		return 0, nil, err
	}
	return int32(binary.BigEndian.Uint32(b)), b[4:], nil
}

func lengthPrefixed(b ...byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

// isReset: a close with bytes unread in the socket is a reset.
func isReset(err error) bool {
	var e *net.OpError
	return errors.As(err, &e) && !e.Timeout()
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}
