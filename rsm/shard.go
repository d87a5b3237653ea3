package rsm

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Shard is one replicated state machine on this node. All methods are safe for concurrent use.
//
// Invariants. There is at most one life (loaded machine) at a time, and at most one goroutine in its turn. mu is
// never held while the machine, the log or a callback of the driver is called.
type Shard[M Machine[R], R any] struct {
	o Options[M, R]

	mu      sync.Mutex
	state   State
	epoch   int32          // of the current or last load; -1 before the first
	life    *life[M, R]    // while Active
	loading *loading       // while Loading
	last    *life[M, R]    // the life before, until its Unloaded was called: a new life waits for it
	retry   *time.Timer    // reload of a failed shard
	backoff time.Duration  // of the next reload
	loads   sync.WaitGroup // running load goroutines
}

// loading is one replay of the log.
type loading struct {
	epoch  int32
	cancel context.CancelFunc
}

// NewShard makes an inactive shard.
func NewShard[M Machine[R], R any](o Options[M, R]) *Shard[M, R] {
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	return &Shard[M, R]{o: o, epoch: -1, backoff: o.ReloadBackoff}
}

// State is where the shard is now, and under which epoch (-1: never loaded).
func (s *Shard[M, R]) State() (State, int32) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, s.epoch
}

// Load builds the machine from the log and then serves operations under the epoch. While the shard is loading or
// active, an epoch that is not newer is ignored. Returns at once.
func (s *Shard[M, R]) Load(epoch int32) {
	s.mu.Lock()
	switch {
	case s.state == Closed, (s.state == Loading || s.state == Active) && epoch <= s.epoch:
		s.mu.Unlock()
		return
	}
	end := s.endLocked(Loading, ErrNotActive)
	s.backoff = s.o.ReloadBackoff
	s.startLocked(epoch)
	s.mu.Unlock()
	end()
}

// startLocked begins a load; the state is set and mu held.
func (s *Shard[M, R]) startLocked(epoch int32) {
	ctx, cancel := context.WithCancel(context.Background())
	l := &loading{epoch: epoch, cancel: cancel}
	s.state, s.epoch, s.loading = Loading, epoch, l
	before := s.last
	s.loads.Add(1)
	go func() {
		defer s.loads.Done()
		defer cancel()
		if before != nil {
			<-before.gone
		}
		s.load(ctx, l)
	}()
}

// load replays the log and makes the life, unless the load was overtaken meanwhile.
func (s *Shard[M, R]) load(ctx context.Context, l *loading) {
	if s.o.LoadSlots != nil {
		select {
		case s.o.LoadSlots <- struct{}{}:
			defer func() { <-s.o.LoadSlots }()
		case <-ctx.Done():
			return
		}
	}
	started := time.Now()
	m := s.o.New()
	next, err := s.o.Load(ctx, l.epoch, m.Apply)

	s.mu.Lock()
	if s.loading != l {
		s.mu.Unlock()
		return
	}
	s.loading = nil
	if err != nil {
		s.state = Failed
		s.retryLocked()
		s.mu.Unlock()
		s.reportFailure(l.epoch, fmt.Errorf("load: %w", err))
		return
	}
	s.backoff = s.o.ReloadBackoff
	v := newLife(s, l.epoch, m, next)
	s.life, s.last, s.state = v, v, Active
	v.running = true
	s.mu.Unlock()
	s.o.Logger.Debug("shard loaded", zap.String("shard", s.o.Name), zap.Int32("epoch", l.epoch),
		zap.Int64("endOffset", next), zap.Duration("took", time.Since(started)))
	s.o.Log.OnCommit(next, func(err error) { v.commit(next, err) })
	v.run()
}

// Unload drops the machine; queued and waiting operations are answered ErrNotActive. An epoch older than the
// shard's is ignored. Returns at once.
func (s *Shard[M, R]) Unload(epoch int32) {
	s.mu.Lock()
	if s.state == Closed || epoch < s.epoch {
		s.mu.Unlock()
		return
	}
	end := s.endLocked(Inactive, ErrNotActive)
	s.epoch = epoch
	s.mu.Unlock()
	end()
}

// Close answers everything with ErrClosed, for good, and waits for a running load or turn to end. It must not be
// called from within a turn.
func (s *Shard[M, R]) Close() {
	s.mu.Lock()
	end := s.endLocked(Closed, ErrClosed)
	last := s.last
	s.mu.Unlock()
	end()
	s.loads.Wait()
	if last != nil {
		<-last.gone
	}
}

// endLocked ends whatever runs and enters the state; the function returned must be called without the lock.
func (s *Shard[M, R]) endLocked(to State, reason error) func() {
	s.state = to
	if s.retry != nil {
		s.retry.Stop()
		s.retry = nil
	}
	if s.loading != nil {
		s.loading.cancel()
		s.loading = nil
	}
	v := s.life
	s.life = nil
	if v == nil {
		return func() {}
	}
	return v.endLocked(reason)
}

// fail ends a life that met an error: applied state that is not in the log, or records it cannot read.
func (s *Shard[M, R]) fail(v *life[M, R], err error) {
	s.mu.Lock()
	if s.life != v {
		s.mu.Unlock()
		return
	}
	end := s.endLocked(Failed, ErrNotActive)
	s.retryLocked()
	s.mu.Unlock()
	end()
	s.reportFailure(v.epoch, err)
}

func (s *Shard[M, R]) reportFailure(epoch int32, err error) {
	s.o.Logger.Error("shard failed", zap.String("shard", s.o.Name), zap.Int32("epoch", epoch), zap.Error(err))
	if s.o.Failed != nil {
		s.o.Failed(epoch, err)
	}
}

// retryLocked plans the reload of a failed shard.
func (s *Shard[M, R]) retryLocked() {
	if s.o.ReloadBackoff <= 0 {
		return
	}
	pause := s.backoff
	s.backoff = min(2*s.backoff, 64*s.o.ReloadBackoff)
	epoch := s.epoch
	s.retry = time.AfterFunc(pause, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.state == Failed && s.epoch == epoch {
			s.startLocked(epoch)
		}
	})
}

// stateErrorLocked says why no operation can be decided now.
func (s *Shard[M, R]) stateErrorLocked() error {
	switch s.state {
	case Loading:
		return ErrLoading
	case Closed:
		return ErrClosed
	default:
		return ErrNotActive
	}
}
