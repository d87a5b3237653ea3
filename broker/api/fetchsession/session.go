// Package fetchsession keeps incremental fetch sessions (KIP-227): what a client fetches and what it was
// last told, so that it need only send, and is only sent, what changed. Pure rules: time is passed in,
// the caller serialises.
package fetchsession

import (
	"math"

	"github.com/ottla/ottla/protocol"
)

// Special epochs of a request.
const (
	Initial int32 = 0  // a full request that would like a session
	Final   int32 = -1 // a full request that wants none, and closes the one it names
)

// NoSession is the id of no session.
const NoSession int32 = 0

// Key is what identifies a partition within a session: by topic id since Fetch 13, by name before.
type Key struct {
	TopicID   protocol.UUID
	Topic     string // "" when TopicID is set
	Partition int32
}

// Want is what a client asks of one partition.
type Want struct {
	Offset         int64
	MaxBytes       int32
	LeaderEpoch    int32 // -1: unknown to the client
	LastEpoch      int32 // epoch of the client's last record; -1: unknown
	LogStartOffset int64 // of a follower
}

// Partition is one partition of a session.
type Partition struct {
	Key  Key
	Want Want
	// Name is the topic's name, once it was known.
	Name string

	// What the client was last told; -1 makes the next answer tell it again.
	highWatermark  int64
	logStartOffset int64

	next, prev *Partition
}

// Told is an answer for one partition, as far as it decides whether to send it.
type Told struct {
	HighWatermark  int64
	LogStartOffset int64
	Bytes          int  // of records
	Error          bool // an error code is set
	Redirect       bool // a preferred replica or a diverging epoch is set
}

// Session is one client's set of partitions, in the order in which they are served. Those that got
// records go to the end, so that none starves when an answer is full.
type Session struct {
	ID         int32
	UsesIDs    bool
	privileged bool  // of a follower
	epoch      int32 // that the next request must have
	createdMs  int64
	usedMs     int64
	parts      map[Key]*Partition
	ring       Partition // its next is the first, its prev the last
}

func newSession() *Session {
	s := &Session{parts: make(map[Key]*Partition)}
	s.ring.next, s.ring.prev = &s.ring, &s.ring
	return s
}

// Len is the number of partitions.
func (s *Session) Len() int { return len(s.parts) }

// All calls f for every partition in order.
func (s *Session) All(f func(*Partition)) {
	for p := s.ring.next; p != &s.ring; p = p.next {
		f(p)
	}
}

// Set adds a partition or changes what is wanted of it. Name may be "" if it is not known.
func (s *Session) Set(k Key, w Want, name string) {
	p := s.parts[k]
	if p == nil {
		p = &Partition{Key: k, highWatermark: -1, logStartOffset: -1}
		s.parts[k] = p
		s.pushBack(p)
	}
	p.Want = w
	if name != "" {
		p.Name = name
	}
}

// Add adds a partition that the client has been answered for.
func (s *Session) Add(k Key, w Want, name string, t Told) {
	s.Set(k, w, name)
	p := s.parts[k]
	p.highWatermark, p.logStartOffset = t.HighWatermark, t.LogStartOffset
	if t.Error {
		p.highWatermark = -1
	}
}

// Forget removes a partition; one that is not there is no error.
func (s *Session) Forget(k Key) {
	if p := s.parts[k]; p != nil {
		delete(s.parts, k)
		p.unlink()
	}
}

// Tell records an answer and says whether it must be sent: whatever has records, an error or a
// redirection, or differs from what the client knows. It is false for a partition that was
// forgotten meanwhile.
func (s *Session) Tell(p *Partition, t Told) bool {
	if s.parts[p.Key] != p {
		return false
	}
	must := t.Bytes > 0 || t.Error || t.Redirect ||
		p.highWatermark != t.HighWatermark || p.logStartOffset != t.LogStartOffset
	p.highWatermark, p.logStartOffset = t.HighWatermark, t.LogStartOffset
	if t.Error {
		p.highWatermark = -1 // so that the client is told when the error is gone
	}
	if t.Bytes > 0 {
		p.unlink()
		s.pushBack(p)
	}
	return must
}

func (s *Session) pushBack(p *Partition) {
	p.prev, p.next = s.ring.prev, &s.ring
	p.prev.next, s.ring.prev = p, p
}

func (p *Partition) unlink() {
	p.prev.next, p.next.prev = p.next, p.prev
	p.prev, p.next = nil, nil
}

// After is the epoch that follows: 1 to the largest int32, round and round.
func After(epoch int32) int32 {
	switch {
	case epoch < 0:
		return Final
	case epoch == math.MaxInt32:
		return 1
	}
	return epoch + 1
}
