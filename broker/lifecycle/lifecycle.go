// Package lifecycle is a broker's life as the controller sees it: it registers,
// sends heartbeats, becomes unfenced, and shuts down under the controller's
// control, all in Kafka's own requests (BrokerRegistration, BrokerHeartbeat).
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
)

// State of a broker, in this order; none is entered twice.
type State int8

const (
	Starting State = iota
	Registered
	Running
	ControlledShutdown
	Stopped
)

// Options of a Broker. Everything is required but Rack, OfflineDirs and Logger.
type Options struct {
	NodeID      int32
	ClusterID   string
	Incarnation protocol.UUID // fresh for each process
	Listeners   []metadata.Endpoint
	Features    []metadata.VersionRange
	Rack        string
	LogDirs     []protocol.UUID // sorted
	// PreviousEpoch is the broker epoch that a clean shutdown left behind, -1 without one.
	PreviousEpoch int64
	// Do sends a request to the active controller.
	Do func(ctx context.Context, req kmsg.Request) (kmsg.Response, error)
	// MetadataOffset is the last offset that this broker has published.
	MetadataOffset func() int64
	// OfflineDirs are the log directories that have failed.
	OfflineDirs func() []protocol.UUID

	HeartbeatInterval time.Duration // broker.heartbeat.interval.ms
	SessionTimeout    time.Duration // broker.session.timeout.ms
	Logger            *zap.Logger
}

// Pauses between attempts, as Kafka has them.
const (
	noLeaderPause   = 100 * time.Millisecond // no controller answers
	shutdownPause   = 50 * time.Millisecond  // after the first answer to a wish to shut down
	startingPause   = 10 * time.Millisecond  // until the controller has seen us catch up
	registerTimeout = 60 * time.Second       // initial.broker.registration.timeout.ms
)

// Broker is this node's registration. All methods are safe for concurrent use.
type Broker struct {
	o    Options
	stop context.CancelFunc
	done chan struct{} // the heartbeat loop has ended
	kick chan struct{} // heartbeat now, capacity 1

	mu       sync.Mutex
	state    State         // mu
	epoch    int64         // mu
	unfenced chan struct{} // closed at the first answer that says unfenced
	released chan struct{} // closed when the controller lets us shut down
}

// New makes a broker that is not registered yet.
func New(o Options) *Broker {
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	return &Broker{o: o, epoch: -1, done: make(chan struct{}), kick: make(chan struct{}, 1),
		unfenced: make(chan struct{}), released: make(chan struct{})}
}

// Epoch is the broker epoch, -1 before Register.
func (b *Broker) Epoch() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.epoch
}

// State is where the broker is in its life.
func (b *Broker) State() State {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.state
}

func (b *Broker) enter(s State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = max(b.state, s)
}

// Register makes the broker known to the controller and returns its epoch: the
// offset of the registration in the metadata log. It goes on while no controller
// answers and while an earlier process's session is alive; any other refusal ends it.
func (b *Broker) Register(ctx context.Context) (int64, error) {
	ctx, cancel := context.WithTimeout(ctx, registerTimeout)
	defer cancel()
	for {
		epoch, pause, err := b.registerOnce(ctx)
		if err == nil {
			b.mu.Lock()
			b.epoch, b.state = epoch, Registered
			b.mu.Unlock()
			return epoch, nil
		}
		if pause == 0 {
			return -1, err
		}
		select {
		case <-ctx.Done():
			return -1, fmt.Errorf("broker %d could not register within %v: %w", b.o.NodeID, registerTimeout, err)
		case <-time.After(pause):
		}
	}
}

func (b *Broker) registerOnce(ctx context.Context) (epoch int64, pause time.Duration, err error) {
	resp, err := b.o.Do(ctx, b.registration())
	if err != nil {
		return -1, noLeaderPause, err
	}
	r := resp.(*kmsg.BrokerRegistrationResponse)
	switch code := protocol.ErrorCode(r.ErrorCode); code {
	case protocol.None:
		return r.BrokerEpoch, 0, nil
	case protocol.NotController, protocol.RequestTimedOut, protocol.NetworkException:
		return -1, noLeaderPause, code
	case protocol.DuplicateBrokerRegistration:
		b.o.Logger.Info("Another process's session for this node id is still alive; waiting for it to end",
			zap.Int32("node", b.o.NodeID), zap.Duration("at most", b.o.SessionTimeout))
		return -1, b.o.HeartbeatInterval, code
	default:
		return -1, 0, fmt.Errorf("the controller refuses broker %d: %w", b.o.NodeID, code)
	}
}

func (b *Broker) registration() *kmsg.BrokerRegistrationRequest {
	req := kmsg.NewPtrBrokerRegistrationRequest()
	req.SetVersion(4)
	req.BrokerID, req.ClusterID, req.IncarnationID = b.o.NodeID, b.o.ClusterID, b.o.Incarnation
	req.PreviousBrokerEpoch = b.o.PreviousEpoch
	if b.o.Rack != "" {
		req.Rack = &b.o.Rack
	}
	for _, e := range b.o.Listeners {
		l := kmsg.NewBrokerRegistrationRequestListener()
		l.Name, l.Host, l.Port, l.SecurityProtocol = e.Name, e.Host, e.Port, int16(e.Protocol)
		req.Listeners = append(req.Listeners, l)
	}
	for _, f := range b.o.Features {
		x := kmsg.NewBrokerRegistrationRequestFeature()
		x.Name, x.MinSupportedVersion, x.MaxSupportedVersion = f.Feature, f.Min, f.Max
		req.Features = append(req.Features, x)
	}
	for _, d := range b.o.LogDirs {
		req.LogDirs = append(req.LogDirs, d)
	}
	return req
}

// Start begins the heartbeats. The broker stays fenced until it has published the
// metadata up to its own registration; AwaitUnfenced tells.
func (b *Broker) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	b.stop = cancel
	go b.beat(ctx)
}

// Kick sends the next heartbeat now: a directory failed, or metadata has caught up.
func (b *Broker) Kick() {
	select {
	case b.kick <- struct{}{}:
	default:
	}
}

// AwaitUnfenced returns when the controller has unfenced this broker.
func (b *Broker) AwaitUnfenced(ctx context.Context) error {
	select {
	case <-b.unfenced:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("broker %d was not unfenced: %w", b.o.NodeID, ctx.Err())
	}
}

// Shutdown asks the controller to move leadership away and waits until it lets
// the broker go, or ctx ends. Heartbeats go on meanwhile; Close ends them.
func (b *Broker) Shutdown(ctx context.Context) error {
	b.enter(ControlledShutdown)
	b.Kick()
	select {
	case <-b.released:
		return nil
	case <-b.done:
		return errors.New("the heartbeats have ended before the controlled shutdown")
	case <-ctx.Done():
		return fmt.Errorf("controlled shutdown: %w", ctx.Err())
	}
}

// Close ends the heartbeats without asking anybody.
func (b *Broker) Close() {
	b.enter(Stopped)
	if b.stop != nil {
		b.stop()
		<-b.done
	}
}

func (b *Broker) beat(ctx context.Context) {
	defer close(b.done)
	for {
		pause := b.beatOnce(ctx)
		if pause < 0 {
			return
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-b.kick:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// beatOnce sends one heartbeat and says how long to wait for the next; negative
// when there is to be none.
func (b *Broker) beatOnce(ctx context.Context) time.Duration {
	state := b.State()
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.SetVersion(1)
	req.BrokerID, req.BrokerEpoch, req.CurrentMetadataOffset = b.o.NodeID, b.Epoch(), b.o.MetadataOffset()
	req.WantShutdown = state == ControlledShutdown
	if b.o.OfflineDirs != nil {
		for _, d := range b.o.OfflineDirs() {
			req.OfflineLogDirs = append(req.OfflineLogDirs, d)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, b.o.HeartbeatInterval)
	defer cancel()
	resp, err := b.o.Do(ctx, req)
	if err != nil {
		return noLeaderPause
	}
	r := resp.(*kmsg.BrokerHeartbeatResponse)
	switch code := protocol.ErrorCode(r.ErrorCode); code {
	case protocol.None:
	case protocol.NotController:
		return noLeaderPause
	default:
		b.o.Logger.Warn("The controller refused a heartbeat", zap.Stringer("error", code), zap.Int64("broker epoch", b.Epoch()))
		return b.o.HeartbeatInterval
	}
	return b.answered(state, r)
}

func (b *Broker) answered(state State, r *kmsg.BrokerHeartbeatResponse) time.Duration {
	switch {
	case state == ControlledShutdown && r.ShouldShutdown:
		close(b.released)
		return -1 // another heartbeat would unfence the broker again
	case state == ControlledShutdown:
		return shutdownPause
	case state == Registered && !r.IsFenced:
		b.enter(Running)
		close(b.unfenced)
	case state == Registered:
		return startingPause
	}
	return b.o.HeartbeatInterval
}
