package broker

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/broker/api"
	"github.com/ottla/ottla/protocol"
)

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
