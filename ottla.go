// Package ottla is an Apache Kafka broker and controller in one process, to be
// started by a program or a test:
//
//	static, _, err := config.Load(properties)
//	srv, err := ottla.Start(ctx, ottla.Options{Config: static})
//	defer srv.Close()
//	... srv.Addr("PLAINTEXT") ...
//
// It is the composition root: every subsystem is made here, told of the others
// by function values, started in order and stopped in the opposite one. It never
// ends the process and never panics on a failing disk: Err tells.
package ottla

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/ottla/ottla/config"
)

// Options of a Server. Config is required.
type Options struct {
	Config *config.Static
	// Memory keeps everything in memory: nothing is read from or written to a disk.
	Memory bool
	// Logger is told what an operator would want to read; nil logs nothing.
	Logger *zap.Logger
	// LogLevel, when given, is Logger's level: it is what broker logger configs change.
	LogLevel *zap.AtomicLevel
}

// Server is a running node. All methods are safe for concurrent use.
type Server struct {
	n    *node
	errs chan error

	stopOnce sync.Once
	stopErr  error
}

// Start returns when the node serves clients: it has its log directories, leads
// the metadata quorum, is registered and unfenced, and accepts connections. ctx
// bounds the start only.
func Start(ctx context.Context, o Options) (*Server, error) {
	if o.Config == nil {
		return nil, errors.New("ottla: Options.Config is required")
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if r := o.Config.Roles; !r.Broker || !r.Controller {
		return nil, errors.New("process.roles must be broker,controller: nodes with one role only are not built yet")
	}
	s := &Server{errs: make(chan error, 1)}
	n, err := newNode(o, s.fault)
	if err != nil {
		return nil, err
	}
	s.n = n
	if err := n.start(ctx); err != nil {
		stop, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		return nil, errors.Join(err, n.stop(stop))
	}
	return s, nil
}

// Addr is the host:port that a listener is bound to, "" if there is none of that name.
func (s *Server) Addr(listener string) string { return s.n.addr(listener) }

// ClusterID is the cluster's id, 22 letters of base64url.
func (s *Server) ClusterID() string { return s.n.clusterID }

// Err delivers at most one error: what the server cannot go on from. It should be closed then.
func (s *Server) Err() <-chan error { return s.errs }

func (s *Server) fault(err error) {
	select {
	case s.errs <- err:
	default: // the first one is the cause
	}
}

// Shutdown stops the node as an operator wants it: leadership is given up,
// requests in progress are answered, logs are flushed, and the clean-shutdown
// marker is written. When ctx ends first, what is left is dropped as Close does.
func (s *Server) Shutdown(ctx context.Context) error {
	s.stopOnce.Do(func() {
		s.n.leave(ctx)
		s.stopErr = s.n.stop(ctx)
	})
	return s.stopErr
}

// Close stops at once. Logs are closed as far as that takes no waiting; what was
// acknowledged is there at the next start, after a recovery.
func (s *Server) Close() error {
	s.stopOnce.Do(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		s.stopErr = s.n.stop(ctx)
	})
	return s.stopErr
}
