package fetchsession

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ottla/ottla/protocol"
)

func key(n int32) Key { return Key{Topic: "t", Partition: n} }

func newCache(slots int) *Cache {
	r := rand.New(rand.NewPCG(1, 2))
	return &Cache{Max: slots, EvictAfterMs: 120_000, Random: r.Uint32}
}

func fill(s *Session, n int) {
	for i := range n {
		s.Set(key(int32(i)), Want{}, "t")
	}
}

func order(s *Session) []int32 {
	var out []int32
	s.All(func(p *Partition) { out = append(out, p.Key.Partition) })
	return out
}

func TestEpochs(t *testing.T) {
	c := newCache(10)
	s := c.Create(0, false, true, 1)
	fill(s, 1)
	steps := []struct {
		id, epoch int32
		ids       bool
		want      protocol.ErrorCode
	}{
		{s.ID + 1, 1, true, protocol.FetchSessionIDNotFound},
		{s.ID, 2, true, protocol.InvalidFetchSessionEpoch},
		{s.ID, 1, false, protocol.FetchSessionTopicIDError},
		{s.ID, 1, true, protocol.None},
		{s.ID, 1, true, protocol.InvalidFetchSessionEpoch},
		{s.ID, 2, true, protocol.None},
	}
	for i, st := range steps {
		if _, code := c.Use(0, st.id, st.epoch, st.ids); code != st.want {
			t.Errorf("step %d: %v, want %v", i, code, st.want)
		}
	}
	if !s.Current(2) || s.Current(1) {
		t.Error("the session is at the answer of epoch 2")
	}
	c.Close(s.ID)
	if _, code := c.Use(0, s.ID, 3, true); code != protocol.FetchSessionIDNotFound {
		t.Error(code)
	}
	if After(math.MaxInt32) != 1 || After(Initial) != 1 || After(Final) != Final {
		t.Error("epochs wrap to 1")
	}
}

func TestOnlyChangesAreSent(t *testing.T) {
	s := newCache(1).Create(0, false, false, 1)
	fill(s, 1)
	var p *Partition
	s.All(func(q *Partition) { p = q })
	steps := []struct {
		told Told
		want bool
	}{
		{Told{HighWatermark: 0, LogStartOffset: 0}, true}, // never told
		{Told{HighWatermark: 0, LogStartOffset: 0}, false},
		{Told{HighWatermark: 5, LogStartOffset: 0}, true},
		{Told{HighWatermark: 5, LogStartOffset: 0, Bytes: 10}, true},
		{Told{HighWatermark: 5, LogStartOffset: 3}, true},
		{Told{HighWatermark: 5, LogStartOffset: 3, Redirect: true}, true},
		{Told{HighWatermark: 5, LogStartOffset: 3}, false},
		{Told{HighWatermark: -1, LogStartOffset: -1, Error: true}, true},
		{Told{HighWatermark: -1, LogStartOffset: -1, Error: true}, true},
		{Told{HighWatermark: 5, LogStartOffset: 3}, true},
		{Told{HighWatermark: 5, LogStartOffset: 3}, false},
	}
	for i, st := range steps {
		if got := s.Tell(p, st.told); got != st.want {
			t.Errorf("step %d: %v", i, got)
		}
	}
	s.Forget(p.Key)
	if s.Tell(p, Told{Bytes: 1}) {
		t.Error("a forgotten partition is sent")
	}
}

func TestServedPartitionsGoToTheEnd(t *testing.T) {
	s := newCache(1).Create(0, false, false, 4)
	fill(s, 4)
	find := func(n int32) (out *Partition) {
		s.All(func(p *Partition) {
			if p.Key.Partition == n {
				out = p
			}
		})
		return out
	}
	s.Tell(find(1), Told{Bytes: 1})
	s.Tell(find(0), Told{Bytes: 1})
	s.Tell(find(2), Told{HighWatermark: 4})
	if got := order(s); !slices.Equal(got, []int32{2, 3, 1, 0}) {
		t.Error(got)
	}
	s.Set(key(3), Want{Offset: 9}, "")
	s.Forget(key(2))
	s.Forget(key(2))
	s.Set(key(2), Want{}, "")
	if got := order(s); !slices.Equal(got, []int32{3, 1, 0, 2}) {
		t.Error(got)
	}
	if p := find(3); p.Want.Offset != 9 || p.Name != "t" {
		t.Errorf("%+v", p)
	}
}

func TestEviction(t *testing.T) {
	const wait = 120_000
	newFull := func() (*Cache, *Session, *Session) {
		c := newCache(2)
		small, large := c.Create(0, false, true, 1), c.Create(0, false, true, 5)
		fill(small, 1)
		fill(large, 5)
		return c, small, large
	}
	has := func(c *Cache, s *Session) bool { return c.sessions[s.ID] == s }

	c, small, large := newFull()
	if c.Create(wait, false, true, 9) != nil {
		t.Error("young sessions keep their place against a consumer")
	}
	if c.Create(wait, true, true, 1) == nil || has(c, small) || !has(c, large) {
		t.Error("a follower takes the smallest consumer's place at once")
	}

	c, small, large = newFull()
	c.Use(wait+1, small.ID, 1, true)
	c.Use(wait+1, large.ID, 1, true)
	if c.Create(wait+1, false, true, 1) != nil {
		t.Error("between equals the old one stays")
	}
	if c.Create(wait+1, false, true, 2) == nil || has(c, small) {
		t.Error("a larger session takes the place of a settled smaller one")
	}

	c, small, large = newFull()
	c.Use(10, small.ID, 1, true)
	if c.Create(wait+1, false, true, 0) == nil || has(c, large) || !has(c, small) {
		t.Error("the stale session goes first, whatever its size")
	}

	c = newCache(1)
	follower := c.Create(0, true, true, 1)
	fill(follower, 1)
	c.Use(wait+1, follower.ID, 1, true)
	if c.Create(wait+1, false, true, 100) != nil {
		t.Error("a consumer does not displace a follower")
	}
	if newCache(0).Create(0, true, true, 1) != nil {
		t.Error("a cache of no slots has no sessions")
	}
}
