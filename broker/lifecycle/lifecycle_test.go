package lifecycle

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// controller answers as the table in KIP-631 says: caught up and not wishing to be
// fenced is unfenced; a wish to shut down is granted when nothing is led any more.
type controller struct {
	mu            sync.Mutex           // what follows is the broker's and the test's
	registerCodes []protocol.ErrorCode // answered in turn before success
	heartbeats    int
	stillLeading  int // heartbeats with a wish to shut down that are not granted yet
	granted       bool
	afterGrant    int
	metadata      int64
	lastHeartbeat time.Time
	gaps          []time.Duration
}

const epoch = 17

func (c *controller) do(_ context.Context, req kmsg.Request) (kmsg.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch req := req.(type) {
	case *kmsg.BrokerRegistrationRequest:
		r := kmsg.NewPtrBrokerRegistrationResponse()
		if len(c.registerCodes) > 0 {
			r.ErrorCode = int16(c.registerCodes[0])
			c.registerCodes = c.registerCodes[1:]
			return r, nil
		}
		r.BrokerEpoch = epoch
		return r, nil
	case *kmsg.BrokerHeartbeatRequest:
		c.heartbeats++
		if !c.lastHeartbeat.IsZero() {
			c.gaps = append(c.gaps, time.Since(c.lastHeartbeat))
		}
		c.lastHeartbeat = time.Now()
		r := kmsg.NewPtrBrokerHeartbeatResponse()
		r.IsCaughtUp = req.CurrentMetadataOffset >= epoch
		r.IsFenced = !r.IsCaughtUp || req.WantFence
		if c.granted {
			c.afterGrant++
		}
		if req.WantShutdown {
			if c.stillLeading--; c.stillLeading < 0 {
				r.ShouldShutdown, r.IsFenced, c.granted = true, true, true
			}
		}
		return r, nil
	}
	return nil, errors.New("unexpected request")
}

func (c *controller) offset() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.metadata
}

// locked looks at or changes the controller while the broker may be asking it.
func (c *controller) locked(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
}

func newBroker(c *controller) *Broker {
	return New(Options{NodeID: 1, ClusterID: "c", PreviousEpoch: -1, Do: c.do, MetadataOffset: c.offset,
		HeartbeatInterval: 2 * time.Second, SessionTimeout: 9 * time.Second})
}

func TestLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &controller{stillLeading: 3, metadata: epoch - 1}
		b := newBroker(c)
		got, err := b.Register(t.Context())
		if err != nil || got != epoch || b.Epoch() != epoch {
			t.Fatalf("epoch %d, %v", got, err)
		}
		b.Start()
		defer b.Close()
		time.Sleep(35 * time.Millisecond)
		c.locked(func() {
			if b.State() != Registered || c.heartbeats != 4 {
				t.Errorf("state %d after %d heartbeats; want a heartbeat each 10 ms until caught up", b.State(), c.heartbeats)
			}
			c.metadata = epoch
		})
		if err := b.AwaitUnfenced(t.Context()); err != nil || b.State() != Running {
			t.Fatalf("state %d, %v", b.State(), err)
		}
		c.locked(func() { c.gaps = nil })
		time.Sleep(9 * time.Second)
		c.locked(func() {
			for _, g := range c.gaps {
				if g != 2*time.Second {
					t.Errorf("a heartbeat after %v, want each 2 s", g)
				}
			}
		})
		start := time.Now()
		if err := b.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != 150*time.Millisecond {
			t.Errorf("shut down after %v, want three pauses of 50 ms", d)
		}
		time.Sleep(10 * time.Second)
		c.locked(func() {
			if c.afterGrant != 0 {
				t.Errorf("%d heartbeats after the controller let go: they would unfence the broker", c.afterGrant)
			}
		})
	})
}

func TestRegister(t *testing.T) {
	for name, x := range map[string]struct {
		codes []protocol.ErrorCode
		want  error
		after time.Duration
	}{
		"no controller yet":   {[]protocol.ErrorCode{protocol.NotController, protocol.NotController}, nil, 200 * time.Millisecond},
		"earlier session":     {[]protocol.ErrorCode{protocol.DuplicateBrokerRegistration}, nil, 2 * time.Second},
		"wrong cluster":       {[]protocol.ErrorCode{protocol.InconsistentClusterID}, protocol.InconsistentClusterID, 0},
		"bad registration":    {[]protocol.ErrorCode{protocol.InvalidRegistration}, protocol.InvalidRegistration, 0},
		"features do not fit": {[]protocol.ErrorCode{protocol.UnsupportedVersion}, protocol.UnsupportedVersion, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroker(&controller{registerCodes: x.codes})
				start := time.Now()
				_, err := b.Register(t.Context())
				if protocol.CodeOf(err) != protocol.CodeOf(x.want) || time.Since(start) != x.after {
					t.Errorf("%v after %v, want %v after %v", err, time.Since(start), x.want, x.after)
				}
			})
		})
	}
}
