package fetchsession

import "github.com/ottla/ottla/protocol"

// Cache holds the sessions of a broker. When it is full, a new session takes the place of one that was
// not used for EvictAfterMs, or of one that is worth less: a consumer's before a follower's, then
// the one with fewer partitions, if it had its place for EvictAfterMs. A follower need not grant
// a consumer's session that time.
type Cache struct {
	Max          int // max.incremental.fetch.session.cache.slots
	EvictAfterMs int64
	// Random gives candidates for session ids.
	Random   func() uint32
	sessions map[int32]*Session
}

// Len is the number of sessions.
func (c *Cache) Len() int { return len(c.sessions) }

// Close ends a session; one that is not there is no error.
func (c *Cache) Close(id int32) { delete(c.sessions, id) }

// Create makes a session with room for size partitions, to be filled by the caller; nil when the cache has
// no place for it.
func (c *Cache) Create(nowMs int64, follower, usesIDs bool, size int) *Session {
	if len(c.sessions) >= c.Max && !c.evict(nowMs, follower, size) {
		return nil
	}
	s := newSession()
	s.ID, s.UsesIDs, s.privileged = c.newID(), usesIDs, follower
	s.epoch, s.createdMs, s.usedMs = After(Initial), nowMs, nowMs
	if c.sessions == nil {
		c.sessions = make(map[int32]*Session)
	}
	c.sessions[s.ID] = s
	return s
}

func (c *Cache) newID() int32 {
	for {
		id := int32(c.Random() & 0x7fffffff)
		if id != NoSession && c.sessions[id] == nil {
			return id
		}
	}
}

// Use finds the session an incremental request continues and moves it on to the next epoch, which
// the answer must find unchanged (see Current).
func (c *Cache) Use(nowMs int64, id, epoch int32, usesIDs bool) (*Session, protocol.ErrorCode) {
	s := c.sessions[id]
	switch {
	case s == nil:
		return nil, protocol.FetchSessionIDNotFound
	case s.epoch != epoch:
		return nil, protocol.InvalidFetchSessionEpoch
	case s.UsesIDs != usesIDs:
		return nil, protocol.FetchSessionTopicIDError
	}
	s.usedMs = nowMs
	s.epoch = After(epoch)
	return s, protocol.None
}

// Current says that no later request of the session has come since the one with that epoch.
func (s *Session) Current(epoch int32) bool { return s.epoch == After(epoch) }

// evict makes room for a session of that size, if one there is worth less.
func (c *Cache) evict(nowMs int64, follower bool, size int) bool {
	var stale, cheapest *Session
	for _, s := range c.sessions {
		if stale == nil || s.usedMs < stale.usedMs {
			stale = s
		}
		settled := nowMs-s.createdMs > c.EvictAfterMs
		if (settled || follower && !s.privileged) && (cheapest == nil || s.cheaper(cheapest)) {
			cheapest = s
		}
	}
	switch {
	case stale == nil:
		return false
	case nowMs-stale.usedMs > c.EvictAfterMs:
		delete(c.sessions, stale.ID)
		return true
	case cheapest == nil || worthMore(cheapest, follower, size):
		return false
	}
	delete(c.sessions, cheapest.ID)
	return true
}

// cheaper orders sessions by worth; ids make the order total.
func (s *Session) cheaper(o *Session) bool {
	if s.privileged != o.privileged {
		return !s.privileged
	}
	if s.Len() != o.Len() {
		return s.Len() < o.Len()
	}
	return s.ID < o.ID
}

// worthMore says that a session is worth at least as much as a new one: between equals the old one stays.
func worthMore(s *Session, follower bool, size int) bool {
	if s.privileged != follower {
		return s.privileged
	}
	return s.Len() >= size
}
