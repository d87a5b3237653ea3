package groupcoord

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/rsm"
)

// shard is one partition of __consumer_offsets.
type shard struct {
	partition int32
	rsm       *rsm.Shard[*machine, group.Record]
	waiters   waiters
	logger    *zap.Logger
}

func (s *Service) newShard(partition int32) *shard {
	sh := &shard{partition: partition, logger: s.o.Logger}
	name := fmt.Sprintf("%s-%d", protocol.ConsumerOffsetsTopic, partition)
	log := &shardLog{s: s, partition: partition}
	logger := s.o.Logger.With(zap.String("shard", name))
	sh.rsm = rsm.NewShard(rsm.Options[*machine, group.Record]{
		Name:     name,
		New:      func() *machine { return newMachine(s.o, logger, sh.outcome) },
		Load:     log.load,
		Log:      log,
		Loaded:   func(m *machine, now time.Time) rsm.Outcome[group.Record] { return sh.outcome(m.loaded(now)) },
		Unloaded: func(_ *machine, reason error) { sh.waiters.fail(reason) },
		Size:     group.Record.Size, MaxBatchBytes: log.maxBatchBytes,
		Timers: s.timers, CommitTimeout: s.o.Config().CommitTimeout,
		ReloadBackoff: reloadBackoff, LoadSlots: s.slots, Logger: s.o.Logger,
	})
	return sh
}

func sortedShards(m map[int32]*shard) []*shard {
	return slices.SortedFunc(maps.Values(m), func(a, b *shard) int { return cmp.Compare(a.partition, b.partition) })
}

// outcome turns what the rules decided into what the state machine carries out.
func (sh *shard) outcome(o group.Outcome) rsm.Outcome[group.Record] {
	for _, n := range o.Notes {
		sh.logger.Info(n.Text, zap.String("group", n.Group))
	}
	out := rsm.Outcome[group.Record]{Records: o.Records, Divisible: o.Divisible, Alone: o.Alone}
	if len(o.Timers) > 0 {
		out.Timers = make([]rsm.Timer, len(o.Timers))
		for i, t := range o.Timers {
			out.Timers[i] = rsm.Timer{Key: timerKey(t), At: t.At, Lenient: t.Kind == group.MemberTimer, IfAbsent: t.IfAbsent}
		}
	}
	if len(o.Replies) > 0 {
		out.Then = func(err error) { sh.waiters.answer(o.Replies, err) }
	}
	if o.Refused != nil {
		out.Refused = func(err error) rsm.Outcome[group.Record] { return sh.outcome(o.Refused(time.Now(), codeOf(err))) }
	}
	return out
}

func timerKey(t group.Timer) rsm.TimerKey {
	return rsm.TimerKey{Kind: uint8(t.Kind), A: t.Group, B: t.Member}
}

// answer is what a parked request is woken with.
type answer struct {
	response kmsg.Response
	err      error
}

// waiters are the parked requests of a shard. A token that is not there has gone away meanwhile.
type waiters struct {
	mu sync.Mutex
	by map[group.Token]chan answer
}

func (w *waiters) add(t group.Token) <-chan answer {
	ch := make(chan answer, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by = map[group.Token]chan answer{}
	}
	w.by[t] = ch
	return ch
}

func (w *waiters) remove(t group.Token) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.by, t)
}

func (w *waiters) answer(rs []group.Reply, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range rs {
		if ch := w.by[r.Token]; ch != nil {
			delete(w.by, r.Token)
			if err != nil {
				ch <- answer{err: err}
			} else {
				ch <- answer{response: r.Response}
			}
		}
	}
}

// fail answers all of them.
func (w *waiters) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ch := range w.by {
		ch <- answer{err: err}
	}
	clear(w.by)
}
