package broker

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

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

// Case B04: what is not a Kafka frame closes that connection at once, without an answer, and no other.
func TestBadFramesCloseTheConnection(t *testing.T) {
	s := startTCP(t, Options{Rows: testRows(t, nil)})
	other := dial(t, s.addr)
	metadata := frame(kmsg.NewPtrMetadataRequest(), 1, 1)
	hugeArray := bytes.Clone(metadata)
	copy(hugeArray[len(hugeArray)-4:], []byte{0x7f, 0xff, 0xff, 0xff})
	for name, in := range map[string][]byte{
		"length 0":            {0, 0, 0, 0},
		"length -1":           {0xff, 0xff, 0xff, 0xff},
		"length over maximum": binary.BigEndian.AppendUint32(nil, 104857601),
		"http":                []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"tls client hello":    {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3},
		"key and version":     lengthPrefixed(0, 3, 0, 1),
		"three bytes":         lengthPrefixed(0, 3, 0),
		"array of 2^31-1":     hugeArray,
		"unknown key":         lengthPrefixed(3, 0xe7, 0, 0, 0, 0, 0, 1, 0xff, 0xff),
		"key 4":               lengthPrefixed(0, 4, 0, 0, 0, 0, 0, 1, 0xff, 0xff),
		"controller key":      frame(kmsg.NewPtrVoteRequest(), 0, 1),
		"produce 2":           frame(kmsg.NewPtrProduceRequest(), 2, 1),
		"fetch 0":             frame(kmsg.NewPtrFetchRequest(), 0, 1),
		"metadata 99":         frame(kmsg.NewPtrMetadataRequest(), 99, 1),
		"null topics in v0":   lengthPrefixed(0, 3, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
	} {
		t.Run(name, func(t *testing.T) {
			before := s.logs.Len()
			c := dial(t, s.addr)
			c.send(in)
			c.SetReadDeadline(time.Now().Add(5 * time.Second))
			if got, err := io.ReadAll(c); len(got) > 0 || err != nil && !isReset(err) {
				t.Fatalf("read %x, %v; want the end", got, err)
			}
			if n := s.logs.Len() - before; n != 1 {
				t.Errorf("%d log lines, want one", n)
			}
		})
	}
	other.send(metadata)
	if id, _ := other.recv(); id != 1 {
		t.Fatalf("correlation id %d", id)
	}
}

// isReset: a close with bytes unread in the socket is a reset.
func isReset(err error) bool {
	var e *net.OpError
	return errors.As(err, &e) && !e.Timeout()
}

// Case B04: odd but whole requests are answered.
func TestOddFramesAreAnswered(t *testing.T) {
	s := startTCP(t, Options{Rows: testRows(t, nil)})
	request := func() []byte { return frame(kmsg.NewPtrMetadataRequest(), 1, 7) }
	t.Run("trailing bytes", func(t *testing.T) {
		c := dial(t, s.addr)
		b := append(request(), 1, 2, 3, 4, 5)
		binary.BigEndian.PutUint32(b, uint32(len(b)-4))
		c.send(b)
		if id, _ := c.recv(); id != 7 {
			t.Fatal(id)
		}
	})
	t.Run("byte by byte", func(t *testing.T) {
		c := dial(t, s.addr)
		for _, b := range request() {
			c.send([]byte{b})
		}
		if id, _ := c.recv(); id != 7 {
			t.Fatal(id)
		}
	})
	t.Run("half close", func(t *testing.T) {
		c := dial(t, s.addr)
		c.send(request())
		if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if id, _ := c.recv(); id != 7 {
			t.Fatal(id)
		}
	})
	t.Run("two at once", func(t *testing.T) {
		c := dial(t, s.addr)
		c.send(append(request(), frame(kmsg.NewPtrMetadataRequest(), 1, 8)...))
		for _, want := range []int32{7, 8} {
			if id, _ := c.recv(); id != want {
				t.Fatal(id)
			}
		}
	})
}

// Case B04: a length up to the maximum is waited for, and takes no memory until bytes arrive.
func TestAnnouncedLengthAllocatesNothing(t *testing.T) {
	s := startTCP(t, Options{Rows: testRows(t, nil)})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		c := dial(t, s.addr)
		c.send(binary.BigEndian.AppendUint32(nil, 104857600))
		c.send([]byte{0, 0, 0, 9, 0, 0, 0, 1, 0xff, 0xff}) // Produce 9
		c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
			t.Fatalf("connection did not wait: %v", err)
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 20*(trusted+64<<10) {
		t.Errorf("%d bytes allocated", n)
	}
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// Case B01: ApiVersions of a version that is not known reaches its handler, and is answered without
// tags in the header.
func TestUnknownApiVersionsReachesItsHandler(t *testing.T) {
	var seen protocol.RequestHeader
	s := startTCP(t, Options{Rows: testRows(t, map[int16]api.Handler{
		protocol.ApiVersions: func(_ context.Context, c *api.Call, req kmsg.Request) (api.Reply, error) {
			seen = c.Header
			r := req.ResponseKind().(*kmsg.ApiVersionsResponse)
			r.ErrorCode = 35
			return api.Body(r), nil
		},
	})})
	c := dial(t, s.addr)
	c.send(lengthPrefixed(0, 18, 0, 127, 0, 0, 0, 9, 0xff, 0xff, 0))
	id, body := c.recv()
	if want := []byte{0, 35, 0, 0, 0, 0}; id != 9 || !bytes.Equal(body, want) {
		t.Fatalf("correlation %d, body %x, want %x", id, body, want)
	}
	if seen.Version != 127 || seen.ClientID != nil {
		t.Errorf("header %+v", seen)
	}
}

// Case B03: answers come in request order and a parked request holds back those behind it on the same
// connection only.
func TestRequestsOfAConnectionAreHandledInTurn(t *testing.T) {
	release := make(chan struct{})
	s := startTCP(t, Options{Rows: testRows(t, map[int16]api.Handler{
		protocol.Fetch: func(_ context.Context, _ *api.Call, req kmsg.Request) (api.Reply, error) {
			<-release
			return api.Body(req.ResponseKind()), nil
		},
	})})
	a, b := dial(t, s.addr), dial(t, s.addr)
	a.send(append(frame(kmsg.NewPtrFetchRequest(), 12, 1), frame(kmsg.NewPtrMetadataRequest(), 1, 2)...))
	b.send(frame(kmsg.NewPtrMetadataRequest(), 1, 3))
	if id, _ := b.recv(); id != 3 {
		t.Fatal(id)
	}
	close(release)
	for _, want := range []int32{1, 2} {
		if id, _ := a.recv(); id != want {
			t.Fatalf("correlation id %d, want %d", id, want)
		}
	}
}

// A delayed answer lets later requests be handled, but not answered before it.
func TestDelayedAnswersKeepTheirOrder(t *testing.T) {
	later := make(chan kmsg.Response, 1)
	handled := make(chan int16, 10)
	s := startTCP(t, Options{Rows: testRows(t, map[int16]api.Handler{
		protocol.Produce: func(_ context.Context, _ *api.Call, req kmsg.Request) (api.Reply, error) {
			return api.Later(later), nil
		},
		protocol.Metadata: func(_ context.Context, c *api.Call, req kmsg.Request) (api.Reply, error) {
			handled <- c.Header.Key
			return api.Body(req.ResponseKind()), nil
		},
	})})
	c := dial(t, s.addr)
	produce := kmsg.NewPtrProduceRequest()
	c.send(frame(produce, 9, 1))
	c.send(frame(kmsg.NewPtrMetadataRequest(), 1, 2))
	c.send(frame(kmsg.NewPtrMetadataRequest(), 1, 3))
	<-handled
	<-handled
	c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	if id, _, err := c.tryRecv(); err == nil {
		t.Fatalf("answer %d overtook the delayed one", id)
	}
	c.SetReadDeadline(time.Time{})
	later <- produce.ResponseKind()
	for _, want := range []int32{1, 2, 3} {
		if id, _ := c.recv(); id != want {
			t.Fatalf("correlation id %d, want %d", id, want)
		}
	}
	c.send(frame(kmsg.NewPtrMetadataRequest(), 1, 4)) // the usual way again
	if id, _ := c.recv(); id != 4 {
		t.Fatal(id)
	}
}

// An answer that is delayed for ever holds up neither Close nor, once its time is over, Shutdown; a client
// that closed its side only still gets it.
func TestDelayedAnswersAtTheEnd(t *testing.T) {
	start := func(t *testing.T) (*testServer, chan kmsg.Response, client) {
		later, asked := make(chan kmsg.Response, 1), make(chan struct{})
		s := startTCP(t, Options{Rows: testRows(t, map[int16]api.Handler{
			protocol.Produce: func(context.Context, *api.Call, kmsg.Request) (api.Reply, error) {
				close(asked)
				return api.Later(later), nil
			},
		})})
		c := dial(t, s.addr)
		c.send(frame(kmsg.NewPtrProduceRequest(), 9, 1))
		<-asked
		return s, later, c
	}
	t.Run("close", func(t *testing.T) {
		s, _, _ := start(t)
		s.Close()
	})
	t.Run("shutdown", func(t *testing.T) {
		s, _, _ := start(t)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
	t.Run("shutdown waits", func(t *testing.T) {
		s, later, c := start(t)
		time.AfterFunc(20*time.Millisecond, func() { later <- kmsg.NewPtrProduceRequest().ResponseKind() })
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if id, _ := c.recv(); id != 1 {
			t.Error(id)
		}
	})
	t.Run("half close", func(t *testing.T) {
		_, later, c := start(t)
		if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		later <- kmsg.NewPtrProduceRequest().ResponseKind()
		if id, _ := c.recv(); id != 1 {
			t.Error(id)
		}
	})
}

func TestPanicClosesOneConnection(t *testing.T) {
	s := startTCP(t, Options{Rows: testRows(t, map[int16]api.Handler{
		protocol.Heartbeat: func(context.Context, *api.Call, kmsg.Request) (api.Reply, error) { panic("oh") },
	})})
	a, b := dial(t, s.addr), dial(t, s.addr)
	a.send(frame(kmsg.NewPtrHeartbeatRequest(), 4, 1))
	if _, err := io.ReadAll(a); err != nil && !isReset(err) {
		t.Fatal(err)
	}
	if n := s.logs.FilterMessage("panic in a request handler").Len(); n != 1 {
		t.Errorf("%d log lines", n)
	}
	b.send(frame(kmsg.NewPtrMetadataRequest(), 1, 2))
	b.recv()
}

// A client that does not read its answers holds up nobody else.
func TestSlowClientHoldsNobody(t *testing.T) {
	big := make([]byte, 8<<20)
	s := startTCP(t, Options{Rows: testRows(t, map[int16]api.Handler{
		protocol.SyncGroup: func(_ context.Context, _ *api.Call, req kmsg.Request) (api.Reply, error) {
			r := req.ResponseKind().(*kmsg.SyncGroupResponse)
			r.MemberAssignment = big
			return api.Body(r), nil
		},
	})})
	for range 8 {
		slow := dial(t, s.addr)
		for i := range int32(4) {
			slow.send(frame(kmsg.NewPtrSyncGroupRequest(), 3, i))
		}
	}
	quick := dial(t, s.addr)
	quick.SetDeadline(time.Now().Add(5 * time.Second))
	for i := range int32(50) {
		quick.send(frame(kmsg.NewPtrMetadataRequest(), 1, i))
		if id, _ := quick.recv(); id != i {
			t.Fatal(id)
		}
	}
}

func TestShutdownLetsRequestsFinish(t *testing.T) {
	started := make(chan struct{})
	s := startTCP(t, Options{Rows: testRows(t, map[int16]api.Handler{
		protocol.Fetch: func(ctx context.Context, _ *api.Call, req kmsg.Request) (api.Reply, error) {
			close(started)
			<-ctx.Done()
			return api.Body(req.ResponseKind()), nil
		},
	})})
	idle, busy := dial(t, s.addr), dial(t, s.addr)
	idle.send(frame(kmsg.NewPtrMetadataRequest(), 1, 1))
	idle.recv()
	busy.send(frame(kmsg.NewPtrFetchRequest(), 12, 2))
	<-started
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if id, _ := busy.recv(); id != 2 {
		t.Fatal(id)
	}
	for _, c := range []client{idle, busy} {
		if _, _, err := c.tryRecv(); err == nil {
			t.Error("connection still open")
		}
	}
	if _, err := net.Dial("tcp", s.addr); err == nil {
		t.Error("still listening")
	}
}

func TestIdleConnectionsAreClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := New(Options{IdleTimeout: 10 * time.Minute, Rows: testRows(t, map[int16]api.Handler{
			protocol.Fetch: func(_ context.Context, _ *api.Call, req kmsg.Request) (api.Reply, error) {
				<-release
				return api.Body(req.ResponseKind()), nil
			},
		})})
		s.Serve(protocol.ScopeBroker)
		open := func() client {
			mine, theirs := net.Pipe()
			go s.ServeConn(theirs, Listener{Name: "PLAINTEXT", Scope: protocol.ScopeBroker})
			return client{mine, t}
		}
		idle, busy := open(), open()
		busy.send(frame(kmsg.NewPtrFetchRequest(), 12, 2))
		time.Sleep(9 * time.Minute)
		idle.send(frame(kmsg.NewPtrMetadataRequest(), 1, 1))
		idle.recv()
		time.Sleep(9 * time.Minute) // counts from the last request
		idle.send(frame(kmsg.NewPtrMetadataRequest(), 1, 1))
		idle.recv()
		time.Sleep(12 * time.Minute)
		if _, err := idle.Write([]byte{0}); err == nil {
			t.Error("idle connection is open")
		}
		close(release)
		if id, _ := busy.recv(); id != 2 {
			t.Error(id)
		}
		s.Close()
	})
}

// A request that waits for ever does not outlive its client for longer than the idle time.
func TestRequestOfAClientThatIsGone(t *testing.T) {
	ended, asked := make(chan error, 2), make(chan struct{}, 2)
	s := startTCP(t, Options{IdleTimeout: 40 * time.Millisecond, Rows: testRows(t, map[int16]api.Handler{
		protocol.JoinGroup: func(ctx context.Context, _ *api.Call, req kmsg.Request) (api.Reply, error) {
			asked <- struct{}{}
			<-ctx.Done()
			ended <- context.Cause(ctx)
			return api.Body(req.ResponseKind()), nil
		},
	})})
	stays, goes := dial(t, s.addr), dial(t, s.addr)
	for _, c := range []client{stays, goes} {
		c.send(frame(kmsg.NewPtrJoinGroupRequest(), 9, 1))
		<-asked
	}
	goes.Close()
	if err := <-ended; !errors.Is(err, errGone) {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		t.Fatalf("the client that is there: %v", err)
	case <-time.After(100 * time.Millisecond):
	}
}

func TestConnectionLimits(t *testing.T) {
	s := startTCP(t, Options{Limits: Limits{Connections: -1, PerIP: 2}, Rows: testRows(t, nil)})
	ask := func(c client) error {
		c.SetDeadline(time.Now().Add(2 * time.Second))
		if _, err := c.Write(frame(kmsg.NewPtrMetadataRequest(), 1, 1)); err != nil {
			return err
		}
		_, _, err := c.tryRecv()
		return err
	}
	a, b := dial(t, s.addr), dial(t, s.addr)
	if err := errors.Join(ask(a), ask(b)); err != nil {
		t.Fatal(err)
	}
	if ask(dial(t, s.addr)) == nil {
		t.Fatal("a third connection from one address is served")
	}
	a.Close()
	for range 100 { // the server sees the close a moment later
		if ask(dial(t, s.addr)) == nil {
			return
		}
	}
	t.Fatal("no room after a connection left")
}

// Limits change while the server runs; an address may have its own, and 0 keeps everybody out.
func TestLimitsChange(t *testing.T) {
	l := newLimits(Limits{Connections: -1, PerIP: 0, Overrides: map[netip.Addr]int{netip.MustParseAddr("10.0.0.1"): 1}})
	a, b := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	if !l.enter("L", a) || l.enter("L", a) || l.enter("L", b) {
		t.Error("only 10.0.0.1 has a place, one")
	}
	l.set(Limits{Connections: 1, PerIP: -1})
	if !l.enter("L", b) {
		t.Error("addresses have no limit any more")
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan bool, 1)
	go func() { done <- l.waitForRoom(ctx, "L", 0) }()
	l.set(Limits{Connections: 3, PerIP: -1})
	if !<-done {
		t.Error("no room for a third")
	}
	cancel()
	if l.waitForRoom(ctx, "L", 1) {
		t.Error("the listener is full, and the server stops")
	}
}

func TestFullListenerAcceptsLater(t *testing.T) {
	s := startTCP(t, Options{Limits: Limits{Connections: 1, PerIP: -1}, Rows: testRows(t, nil)})
	a := dial(t, s.addr)
	a.send(frame(kmsg.NewPtrMetadataRequest(), 1, 1))
	a.recv()
	b := dial(t, s.addr) // waits in the backlog
	b.send(frame(kmsg.NewPtrMetadataRequest(), 1, 2))
	b.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
	if _, _, err := b.tryRecv(); !isTimeout(err) {
		t.Fatalf("second connection: %v, want a wait", err)
	}
	a.Close()
	b.SetReadDeadline(time.Now().Add(5 * time.Second))
	if id, _ := b.recv(); id != 2 {
		t.Fatal(id)
	}
}
