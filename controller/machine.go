package controller

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/controller/catalog"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/rsm"
)

// Bounds of one write, and what a record takes beside its value.
const (
	maxBatchBytes  = 8<<20 - 1024
	recordOverhead = 32
)

// entry is one record of the metadata log, with the bytes that go there.
type entry struct {
	record metadata.Record
	value  []byte
}

// Kinds of timers.
const (
	sessionTimer uint8 = iota // A is the broker's id
	balanceTimer              // preferred leaders
	uncleanTimer              // leaders for partitions without one, where that may lose records
)

// Elections that the controller makes by itself: how many at a time, and how often.
const (
	maxElections    = 1000
	uncleanInterval = 5 * time.Minute
	retryInterval   = 5 * time.Minute // after a task that failed
)

// machine is the controller as a replicated state machine.
type machine struct {
	s     *Service
	epoch int32
	c     *catalog.Catalog
	open  bool // the log ends within a transaction
}

func (s *Service) newMachine() *machine {
	m := &machine{s: s}
	s.mu.Lock()
	s.machine = m
	s.mu.Unlock()
	return m
}

// load makes the catalog. Nothing is replayed: the loader has the image of everything below the epoch's first offset.
func (s *Service) load(ctx context.Context, epoch int32, _ func(int64, entry) error) (int64, error) {
	s.mu.Lock()
	next, m := s.begins[epoch], s.machine
	delete(s.begins, epoch)
	s.mu.Unlock()
	image, open, err := s.o.Loader.Settle(ctx, next-1)
	if err != nil {
		return 0, err
	}
	s.epoch.Store(epoch)
	m.epoch, m.open = epoch, open
	m.c = catalog.New(s.catalog, image, epoch, next, time.Now())
	return next, nil
}

// Apply is called with what this controller decided.
func (m *machine) Apply(offset int64, e entry) error { return m.c.Apply(offset, e.record) }

// activate is the first thing a new controller does.
func (m *machine) activate(now time.Time) rsm.Outcome[entry] {
	m.s.mu.Lock()
	m.s.signal() // Do may go on
	m.s.mu.Unlock()
	bootstrap := m.s.o.Bootstrap
	if len(bootstrap) == 0 {
		bootstrap = m.s.o.Loader.Bootstrap()
	}
	out := m.outcome(m.c.Activation(bootstrap, m.open))
	for _, id := range m.c.Sessions() {
		out.Timers = append(out.Timers, m.session(id))
	}
	if interval, on := m.s.balance(); on {
		out.Timers = append(out.Timers, rsm.Timer{Key: rsm.TimerKey{Kind: balanceTimer}, At: now.Add(interval)})
	}
	out.Timers = append(out.Timers, rsm.Timer{Key: rsm.TimerKey{Kind: uncleanTimer}, At: now.Add(uncleanInterval)})
	epoch, next, records := m.epoch, m.c.NextOffset(), len(out.Records)
	out.Then = func(err error) {
		if err != nil {
			m.s.o.Logger.Warn("This controller could not become active", zap.Int32("epoch", epoch), zap.Error(err))
			return
		}
		m.s.o.Logger.Info("This controller is active", zap.Int32("epoch", epoch), zap.Int64("offset", next), zap.Int("records", records))
		m.s.activated(epoch)
	}
	return out
}

// balance is how often preferred leaders are looked for, and whether at all.
func (s *Service) balance() (time.Duration, bool) {
	v := config.Layers{Static: s.o.Static}.Broker()
	return time.Duration(v.Long("leader.imbalance.check.interval.seconds")) * time.Second, v.Bool("auto.leader.rebalance.enable")
}

// decide answers a request; a nil response is a request without a rule.
func (m *machine) decide(req kmsg.Request, now time.Time) (kmsg.Response, rsm.Outcome[entry]) {
	m.c.Adopt(m.s.o.Loader.Current())
	resp, res, err, known := m.c.Decide(req, now)
	if !known {
		return nil, rsm.Outcome[entry]{}
	}
	if err != nil {
		m.s.o.Logger.Debug("Refused", zap.String("api", kmsg.NameForKey(req.Key())), zap.Error(err))
		return catalog.Refuse(req, err), rsm.Outcome[entry]{}
	}
	m.note(req, res)
	out := m.outcome(res)
	if r, ok := req.(*kmsg.BrokerHeartbeatRequest); ok {
		out.Timers = append(out.Timers, m.session(r.BrokerID))
	}
	return resp, out
}

// outcome encodes what was decided, in the versions that the cluster's metadata.version has.
func (m *machine) outcome(res catalog.Result) rsm.Outcome[entry] {
	if len(res.Records) == 0 {
		return rsm.Outcome[entry]{}
	}
	image, err := m.c.Image()
	if err != nil {
		return rsm.Outcome[entry]{Err: err}
	}
	level := image.MetadataVersion()
	if !image.HasMetadataVersion() {
		level = metadata.LatestLevel
	}
	entries := make([]entry, len(res.Records))
	var buf []byte
	for i, r := range res.Records {
		at := len(buf)
		if buf, err = metadata.EncodeRecord(buf, r, metadata.VersionFor(r, level)); err != nil {
			return rsm.Outcome[entry]{Err: fmt.Errorf("decided what cannot be written: %w", err)}
		}
		entries[i] = entry{record: r, value: buf[at:len(buf):len(buf)]}
	}
	return rsm.Outcome[entry]{Records: entries, Divisible: res.Divisible}
}

// session is the timer of a broker's session.
func (m *machine) session(id int32) rsm.Timer {
	end, _ := m.c.SessionEnd(id)
	return rsm.Timer{Key: rsm.TimerKey{Kind: sessionTimer, A: strconv.Itoa(int(id))}, At: end, Lenient: true}
}

// Expire decides what follows from a timer.
func (m *machine) Expire(now time.Time, key rsm.TimerKey) rsm.Outcome[entry] {
	switch key.Kind {
	case sessionTimer:
		return m.expireSession(now, key)
	case balanceTimer:
		res, more := m.c.Balance(maxElections)
		interval, _ := m.s.balance()
		return m.again(now, key, res, more, interval)
	case uncleanTimer:
		res, more := m.c.ElectUnclean(maxElections)
		return m.again(now, key, res, more, uncleanInterval)
	}
	return rsm.Outcome[entry]{}
}

func (m *machine) expireSession(now time.Time, key rsm.TimerKey) rsm.Outcome[entry] {
	id, err := strconv.ParseInt(key.A, 10, 32)
	if err != nil {
		return rsm.Outcome[entry]{Err: err}
	}
	if end, ok := m.c.SessionEnd(int32(id)); ok && !now.After(end) {
		at := end.Add(time.Millisecond)
		return rsm.Outcome[entry]{Timers: []rsm.Timer{{Key: key, At: at, Lenient: true}}}
	}
	res := m.c.ExpireSession(int32(id), now)
	if len(res.Records) > 0 {
		m.s.o.Logger.Warn("A broker is fenced: it has not sent a heartbeat in time", zap.Int64("broker", id),
			zap.Duration("session timeout", m.s.catalog.SessionTimeout), zap.Int("records", len(res.Records)))
	}
	return m.outcome(res)
}

// again repeats a task: at once when some of its work is left.
func (m *machine) again(now time.Time, key rsm.TimerKey, res catalog.Result, more bool, interval time.Duration) rsm.Outcome[entry] {
	out := m.outcome(res)
	at := now.Add(interval)
	switch {
	case out.Err != nil:
		m.s.o.Logger.Error("Electing leaders failed", zap.Error(out.Err))
		out, at = rsm.Outcome[entry]{}, now.Add(retryInterval)
	case more:
		at = now
	}
	out.Timers = append(out.Timers, rsm.Timer{Key: key, At: at})
	return out
}

// journal is the metadata log as the shard writes to it.
type journal struct{ s *Service }

func (j journal) Writable(epoch int32) error { return j.s.quorum.Writable(epoch) }

func (j journal) Append(epoch int32, base int64, entries []entry) (int64, error) {
	values := make([][]byte, len(entries))
	for i := range entries {
		values[i] = entries[i].value
	}
	return j.s.quorum.Propose(epoch, base, values)
}

// OnCommit is called by the life that was loaded last: the shard has one at a time.
func (j journal) OnCommit(end int64, done func(error)) {
	j.s.quorum.OnCommit(j.s.epoch.Load(), end, done)
}

var _ rsm.Log[entry] = journal{}
