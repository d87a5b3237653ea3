package broker

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/broker/api"
	"github.com/ottla/ottla/protocol"
)

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
