package replica

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// t0 is where the tests' time begins, far from a timestamp of 0.
const t0 = 1_000_000

// in is a leader (node 1) of epoch 5 that began at log end 100, with followers 2 and 3.
func in(isr ...int32) *Leader {
	var l Leader
	l.Become(1, Assignment{Replicas: []int32{1, 2, 3}, ISR: isr, LeaderEpoch: 5, PartitionEpoch: 10}, 100, t0+1000)
	return &l
}

func conditions(now int64) *Conditions {
	return &Conditions{Now: t0 + now, LagMax: 30000, MinISR: 1, Eligible: func(*Follower) bool { return true }}
}

func fetch(id int32, offset, leaderEnd, now int64) Fetch {
	return Fetch{ID: id, Offset: offset, BrokerEpoch: Unknown, Now: t0 + now, LeaderEnd: leaderEnd}
}

func TestHighWatermark(t *testing.T) {
	f := func(name string, l *Leader, logEnd, current int64, change func(*Conditions), want int64, moved bool) {
		t.Helper()
		c := conditions(2000)
		if change != nil {
			change(c)
		}
		if got, m := l.HighWatermark(logEnd, current, c); got != want || m != moved {
			t.Errorf("%s: %d, %v; want %d, %v", name, got, m, want, moved)
		}
	}
	alone := in(1)
	f("followers out of sync do not count", alone, 150, 100, func(c *Conditions) { c.Now = t0 + 99999 }, 150, true)
	f("never back", alone, 150, 160, nil, 160, false)
	f("nothing new", alone, 150, 150, nil, 150, false)

	all := in(1, 2, 3)
	f("followers that have not fetched hold it", all, 150, 100, nil, 100, false)
	all.Fetched(fetch(2, 150, 150, 2000))
	all.Fetched(fetch(3, 120, 150, 2000))
	f("the slowest of the ISR", all, 150, 100, nil, 120, true)
	f("min ISR", all, 150, 100, func(c *Conditions) { c.MinISR = 4 }, 100, false)

	two := in(1, 2)
	two.Fetched(fetch(2, 150, 150, 2000))
	two.Fetched(fetch(3, 120, 150, 2000))
	f("outside the ISR and far behind", two, 150, 100, func(c *Conditions) { c.Now = t0 + 99999 }, 150, true)
	two.Fetched(fetch(3, 149, 149, 2000)) // caught up a moment ago
	f("about to join the ISR", two, 150, 100, nil, 149, true)
	f("about to join but not eligible", two, 150, 100, func(c *Conditions) { c.Eligible = func(*Follower) bool { return false } }, 150, true)

	expanding := in(1, 2)
	expanding.Fetched(fetch(2, 150, 150, 2000))
	expanding.Fetched(fetch(3, 130, 150, 2000))
	expanding.Propose([]int32{1, 2, 3})
	f("a pending addition counts", expanding, 150, 100, func(c *Conditions) { c.Now = t0 + 99999 }, 130, true)
	expanding.Refused()
	f("a refused one does not", expanding, 150, 130, func(c *Conditions) { c.Now = t0 + 99999 }, 150, true)

	shrinking := in(1, 2)
	shrinking.Fetched(fetch(2, 110, 150, 2000))
	shrinking.Propose([]int32{1})
	f("a pending removal still counts", shrinking, 150, 100, nil, 110, true)
	shrinking.Committed([]int32{1}, 11)
	f("a confirmed one does not", shrinking, 150, 110, func(c *Conditions) { c.Now = t0 + 99999 }, 150, true)
}

// A replica has caught up when it has what the leader had at its fetch before: at the time of that one.
func TestLastCaughtUp(t *testing.T) {
	l := in(1, 2) // in sync at 1000
	f := func(offset, leaderEnd, now, want int64) {
		t.Helper()
		l.Fetched(fetch(2, offset, leaderEnd, now))
		if got, _ := l.Follower(2); got.LastCaughtUp != t0+want || got.LogEnd != offset {
			t.Errorf("%+v, want caught up at %d", got, want)
		}
	}
	f(90, 120, 2000, 1000)  // behind
	f(119, 130, 3000, 1000) // still behind 120
	f(130, 140, 4000, 3000) // has what there was at 3000
	f(139, 150, 5000, 3000)
	f(150, 150, 6000, 6000) // has everything
	f(150, 170, 7000, 6000)
}

func TestFetchesOfAnOlderBrokerEpoch(t *testing.T) {
	l := in(1, 2)
	r := fetch(2, 110, 110, 2000)
	r.BrokerEpoch = 7
	if !l.Fetched(r) {
		t.Error("the first fetch is refused")
	}
	r.BrokerEpoch = 6
	if l.Fetched(r) {
		t.Error("a fetch from before the broker registered again is taken")
	}
	if l.Fetched(fetch(9, 110, 110, 2000)) {
		t.Error("a fetch of no replica is taken")
	}
}

func TestExpandAndShrink(t *testing.T) {
	f := func(name string, got, want []int32) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	l := in(1, 2)
	c := conditions(2000)
	f("before its first fetch", l.Expand(3, 100, c), nil)
	l.Fetched(fetch(3, 99, 100, 2000))
	f("below the epoch's start", l.Expand(3, 90, c), nil)
	l.Fetched(fetch(3, 100, 120, 2000))
	f("below the high watermark", l.Expand(3, 110, c), nil)
	f("caught up", l.Expand(3, 100, c), []int32{1, 2, 3})
	f("a member", l.Expand(2, 0, c), nil)
	c.Eligible = func(*Follower) bool { return false }
	f("fenced", l.Expand(3, 100, c), nil)
	c.Eligible = conditions(0).Eligible
	l.Propose([]int32{1, 2, 3})
	f("one change at a time", l.Expand(3, 100, c), nil)
	f("one change at a time", l.Shrink(500, c), nil)
	if l.Committed([]int32{1, 2, 3}, 9) {
		t.Error("an older partition epoch is taken")
	}
	if !l.Committed([]int32{1, 2, 3}, 11) || !slices.Equal(l.ISR(), []int32{1, 2, 3}) || l.Pending() != nil {
		t.Errorf("ISR %v, pending %v", l.ISR(), l.Pending())
	}
	l.Fetched(fetch(2, 500, 500, 2000))
	l.Fetched(fetch(3, 400, 500, 2000)) // never caught up since the epoch began, except at its start
	f("in time", l.Shrink(500, conditions(31000)), nil)
	f("too slow", l.Shrink(500, conditions(90000)), []int32{1, 2})
	f("at the end it may be silent", l.Shrink(400, conditions(1<<40)), []int32{1, 3})
}

func TestEpochsForgetAndKeep(t *testing.T) {
	l := in(1, 2)
	l.Fetched(fetch(2, 140, 150, 2000))
	a := Assignment{Replicas: []int32{1, 2, 3}, ISR: []int32{1, 2}, LeaderEpoch: 5, PartitionEpoch: 12}
	if l.Become(1, a, 150, 3000) || l.EpochStart != 100 {
		t.Error("the same epoch begins again")
	}
	if got, _ := l.Follower(2); got.LogEnd != 140 {
		t.Errorf("the same epoch forgot %+v", got)
	}
	a.PartitionEpoch, a.ISR = 11, []int32{1}
	l.Become(1, a, 150, 3000)
	if !slices.Equal(l.ISR(), []int32{1, 2}) {
		t.Error("an older state was taken")
	}
	a.LeaderEpoch, a.PartitionEpoch = 6, 13
	if !l.Become(1, a, 150, 3000) || l.EpochStart != 150 {
		t.Error("a new epoch does not begin")
	}
	if got, _ := l.Follower(2); got.LogEnd != 140 || got.LastCaughtUp != 0 {
		t.Errorf("elected again, out of sync: %+v", got)
	}
	l.Resign()
	a.LeaderEpoch = 8
	if !l.Become(1, a, 160, 4000) {
		t.Error("a new epoch does not begin")
	}
	if got, _ := l.Follower(2); got.LogEnd != Unknown {
		t.Errorf("a new leader knows %+v", got)
	}
}

// Whatever followers do, the high watermark never moves back, never passes the leader's end, and never
// passes a committed member of the ISR that has fetched in this epoch.
func TestHighWatermarkInvariants(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		l := in(1, 2, 3)
		end, high, now, epoch := int64(100), int64(50), int64(1000), int32(10)
		for range 200 {
			now += rng.Int64N(5000)
			c := conditions(now)
			switch rng.IntN(6) {
			case 0:
				end += rng.Int64N(20)
			case 1, 2:
				id := 2 + rng.Int32N(2)
				f, _ := l.Follower(id)
				l.Fetched(fetch(id, min(end, max(f.LogEnd, 90)+rng.Int64N(15)), end, now))
				if isr := l.Expand(id, high, c); isr != nil {
					l.Propose(isr)
				}
			case 3:
				if isr := l.Shrink(end, c); isr != nil {
					l.Propose(isr)
				}
			case 4:
				if p := l.Pending(); p != nil {
					epoch++
					l.Committed(p, epoch)
				}
			case 5:
				l.Refused()
			}
			got, moved := l.HighWatermark(end, high, c)
			if got < high || got > end || moved != (got > high) {
				t.Fatalf("seed %d: high watermark %d to %d, end %d", seed, high, got, end)
			}
			for _, id := range append(slices.Clone(l.ISR()), l.Pending()...) {
				if f, ok := l.Follower(id); ok && moved && got > f.LogEnd {
					t.Fatalf("seed %d: high watermark %d passes replica %d at %d", seed, got, id, f.LogEnd)
				}
			}
			if !slices.Contains(l.ISR(), 1) {
				t.Fatalf("seed %d: the leader left the ISR", seed)
			}
			high = got
		}
	}
}
