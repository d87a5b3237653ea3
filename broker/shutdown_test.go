package broker

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/broker/api"
	"github.com/ottla/ottla/protocol"
)

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
