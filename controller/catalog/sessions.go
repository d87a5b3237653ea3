package catalog

import (
	"math"
	"time"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol/msg"
)

// session is what this controller knows of a broker beside its registration. It is not in the log: a new controller
// starts with fresh ones.
type session struct {
	epoch          int64     // broker epoch that contact is about
	contact        time.Time // last heartbeat, zero before the first
	registered     int64     // offset of the registration record
	metadataOffset int64     // last reported, -1 before the first heartbeat
	shutdownOffset int64     // end of the write that began its controlled shutdown, -1 when it is in none
}

// newSession is a session of a registration in the image; its record lies at or behind the broker epoch.
func newSession(epoch int64) *session {
	return &session{epoch: epoch, registered: epoch, metadataOffset: -1, shutdownOffset: -1}
}

// track keeps sessions in step with the registrations.
func (c *Catalog) track(offset int64, r metadata.Record) {
	switch r := r.(type) {
	case *msg.RegisterBrokerRecord:
		s := c.sessions[r.BrokerID]
		if s == nil || s.epoch != r.BrokerEpoch {
			s = newSession(r.BrokerEpoch)
			c.sessions[r.BrokerID] = s
		}
		s.registered = offset
	case *msg.UnregisterBrokerRecord:
		delete(c.sessions, r.BrokerID)
	case *msg.BrokerRegistrationChangeRecord:
		if s := c.sessions[r.BrokerID]; s != nil && r.Fenced > 0 {
			s.shutdownOffset = -1
		}
	}
}

// alive reports a session that has not run out.
func (c *Catalog) alive(s *session, now time.Time) bool {
	return s != nil && !s.contact.IsZero() && !now.After(s.contact.Add(c.o.SessionTimeout))
}

// SessionEnd is when the broker is fenced if it does not send a heartbeat before; ok is false without a session.
func (c *Catalog) SessionEnd(id int32) (end time.Time, ok bool) {
	s := c.sessions[id]
	if s == nil || s.contact.IsZero() {
		return time.Time{}, false
	}
	return s.contact.Add(c.o.SessionTimeout), true
}

// Sessions lists the brokers that have one.
func (c *Catalog) Sessions() []int32 {
	var ids []int32
	for b := range c.settle().Brokers() {
		if _, ok := c.SessionEnd(b.ID); ok {
			ids = append(ids, b.ID)
		}
	}
	return ids
}

// ExpireSession fences a broker whose session has run out.
func (c *Catalog) ExpireSession(id int32, now time.Time) Result {
	s := c.sessions[id]
	b := c.settle().Broker(id)
	if s == nil || b == nil || s.contact.IsZero() || c.alive(s, now) {
		return Result{}
	}
	s.contact = time.Time{}
	if b.Fenced {
		return Result{}
	}
	return Result{Records: c.fence(b), Divisible: true}
}

// lowestActiveOffset is the least metadata offset that an active broker has reported.
func (c *Catalog) lowestActiveOffset() int64 {
	lowest := int64(math.MaxInt64)
	for b := range c.settle().Brokers() {
		if s := c.sessions[b.ID]; b.Active() && s.shutdownOffset < 0 {
			lowest = min(lowest, s.metadataOffset)
		}
	}
	return lowest
}
