package api

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/broker/api/fetchsession"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/replication"
	"github.com/ottla/ottla/storage"
)

// fetching is one Fetch on its way. Values are used again.
type fetching struct {
	h     *handlers
	req   *kmsg.FetchRequest
	hints leaderHints
	bound storage.Bound

	session *fetchsession.Session // that an incremental request continues
	create  bool                  // a full request that would like a session
	failed  bool                  // a partition exists but cannot be read here

	wants     []wanted
	parts     []fetched
	interests []replication.Interest
	waiter    *replication.Waiter
	timer     *time.Timer
}

// wanted is one partition of it.
type wanted struct {
	name      string // "" if the id is not known
	id        protocol.UUID
	partition int32
	want      fetchsession.Want
	known     *fetchsession.Partition // in a session

	topic *metadata.Topic
	part  *replication.Partition
	code  protocol.ErrorCode // why there is no part
	out   fetched
	send  bool
}

// maxKeptWants bounds what a pooled value keeps.
const maxKeptWants = 1024

type fetchPool struct{ pool sync.Pool }

func (p *fetchPool) get() *fetching {
	if f, ok := p.pool.Get().(*fetching); ok {
		return f
	}
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &fetching{waiter: replication.NewWaiter(), timer: timer}
}

func (p *fetchPool) put(f *fetching) {
	if cap(f.wants) > maxKeptWants {
		return
	}
	clear(f.wants)
	clear(f.parts)
	clear(f.interests)
	*f = fetching{wants: f.wants[:0], parts: f.parts[:0], interests: f.interests[:0], waiter: f.waiter, timer: f.timer}
	p.pool.Put(f)
}

func (f *fetching) begin(h *handlers, c *Call, r *kmsg.FetchRequest, bound storage.Bound) {
	f.h, f.req, f.bound = h, r, bound
	f.hints = leaderHints{view: view{h.Metadata(), c.Conn.Listener}}
}

// fetchSessions are the sessions of all connections.
type fetchSessions struct {
	mu    sync.Mutex
	cache fetchsession.Cache
}

// sessionIdleMs is how long an unused session keeps its place when others want it, and how long a new
// one is safe.
const sessionIdleMs = 120_000

func newFetchSessions() *fetchSessions {
	return &fetchSessions{cache: fetchsession.Cache{EvictAfterMs: sessionIdleMs, Random: rand.Uint32}}
}

// openSession finds out what is wanted: everything the request names, or what its session knows
// changed by it.
func (f *fetching) openSession() protocol.ErrorCode {
	r, s := f.req, f.h.sessions
	full := r.SessionEpoch == fetchsession.Initial || r.SessionEpoch == fetchsession.Final
	if r.Version < 7 || full && r.SessionID == fetchsession.NoSession {
		f.create = r.Version >= 7 && r.SessionEpoch == fetchsession.Initial
		f.addRequested()
		return protocol.None
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if full {
		s.cache.Close(r.SessionID)
		f.create = r.SessionEpoch == fetchsession.Initial
		f.addRequested()
		return protocol.None
	}
	session, code := s.cache.Use(time.Now().UnixMilli(), r.SessionID, r.SessionEpoch, r.Version >= 13)
	if code != protocol.None {
		return code
	}
	f.update(session)
	if session.Len() == 0 {
		s.cache.Close(session.ID)
		return protocol.None
	}
	f.session = session
	session.All(func(p *fetchsession.Partition) {
		if p.Name == "" {
			p.Name = f.nameOf(p.Key.TopicID)
		}
		f.wants = append(f.wants, wanted{name: p.Name, id: p.Key.TopicID, partition: p.Key.Partition, want: p.Want, known: p})
	})
	return protocol.None
}

// addRequested wants what the request names.
func (f *fetching) addRequested() {
	for i := range f.req.Topics {
		t := &f.req.Topics[i]
		name := f.topicName(t.Topic, t.TopicID)
		for j := range t.Partitions {
			f.wants = append(f.wants, wanted{name: name, id: t.TopicID, partition: t.Partitions[j].Partition, want: wantOf(&t.Partitions[j])})
		}
	}
}

// update changes the session by what the request adds, changes and forgets.
func (f *fetching) update(s *fetchsession.Session) {
	for i := range f.req.Topics {
		t := &f.req.Topics[i]
		name := f.topicName(t.Topic, t.TopicID)
		for j := range t.Partitions {
			s.Set(f.key(name, t.TopicID, t.Partitions[j].Partition), wantOf(&t.Partitions[j]), name)
		}
	}
	for i := range f.req.ForgottenTopics {
		t := &f.req.ForgottenTopics[i]
		for _, n := range t.Partitions {
			s.Forget(f.key(t.Topic, t.TopicID, n))
		}
	}
}

func (f *fetching) key(name string, id protocol.UUID, partition int32) fetchsession.Key {
	if f.req.Version >= 13 {
		return fetchsession.Key{TopicID: id, Partition: partition}
	}
	return fetchsession.Key{Topic: name, Partition: partition}
}

// topicName is a name that outlives the request's frame.
func (f *fetching) topicName(name string, id protocol.UUID) string {
	if f.req.Version >= 13 {
		return f.nameOf(id)
	}
	if t := f.hints.image.Topic(name); t != nil {
		return t.Name
	}
	return string([]byte(name))
}

func (f *fetching) nameOf(id protocol.UUID) string {
	if t := f.hints.image.TopicByID(id); t != nil {
		return t.Name
	}
	return ""
}

// wantOf takes every negative epoch for none.
func wantOf(p *kmsg.FetchRequestTopicPartition) fetchsession.Want {
	return fetchsession.Want{Offset: p.FetchOffset, MaxBytes: p.PartitionMaxBytes, LeaderEpoch: max(replication.AnyEpoch, p.CurrentLeaderEpoch),
		LastEpoch: max(replication.AnyEpoch, p.LastFetchedEpoch), LogStartOffset: p.LogStartOffset}
}

// closeRound chooses what is sent, and makes the session that a full request asked for. It gives the
// session's id.
func (f *fetching) closeRound() (protocol.ErrorCode, int32) {
	s := f.h.sessions
	if f.session == nil {
		for i := range f.wants {
			f.wants[i].send = true
		}
		if !f.create {
			return protocol.None, fetchsession.NoSession
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.cache.Max = int(f.h.Config().Broker().Int("max.incremental.fetch.session.cache.slots"))
		session := s.cache.Create(time.Now().UnixMilli(), false, f.req.Version >= 13, len(f.wants))
		if session == nil {
			return protocol.None, fetchsession.NoSession
		}
		for i := range f.wants {
			w := &f.wants[i]
			session.Add(f.key(w.name, w.id, w.partition), w.want, w.name, w.told())
		}
		return protocol.None, session.ID
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !f.session.Current(f.req.SessionEpoch) {
		return protocol.InvalidFetchSessionEpoch, fetchsession.NoSession
	}
	for i := range f.wants {
		w := &f.wants[i]
		w.send = f.session.Tell(w.known, w.told())
	}
	return protocol.None, f.session.ID
}

func (w *wanted) told() fetchsession.Told {
	return fetchsession.Told{HighWatermark: w.out.highWatermark, LogStartOffset: w.out.logStartOffset, Bytes: w.out.size,
		Error: w.out.code != protocol.None, Redirect: w.out.preferred >= 0 || w.out.diverging != nil}
}

func (f *fetching) interest(p *replication.Partition, seen int64) {
	f.interests = append(f.interests, replication.Interest{Partition: p, Bound: f.bound, Seen: seen})
}

// park waits for about missing more bytes, or for a change of leader; false when the deadline or the
// server's end came first.
func (f *fetching) park(ctx context.Context, deadline time.Time, missing int) bool {
	f.h.Partitions.Watch(f.waiter, f.interests, missing)
	defer f.h.Partitions.Unwatch(f.waiter)
	f.timer.Reset(time.Until(deadline))
	defer f.timer.Stop()
	select {
	case <-f.waiter.Ready():
		return true
	case <-f.timer.C:
	case <-ctx.Done():
	}
	return false
}

// release gives back what was read.
func (f *fetching) release() {
	for i := range f.wants {
		o := &f.wants[i].out
		for _, s := range o.slices {
			s.Release()
		}
		o.slices, o.size = nil, 0
	}
}
