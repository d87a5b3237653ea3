package consumer

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/ottla/ottla/groupcoord/group/assign"
	"github.com/ottla/ottla/protocol"
)

// TestWalk lets members join, leave, die, lose answers, change their minds, and the coordinator move, at random. After
// every step no partition has two owners, neither in the coordinator's mind nor at the clients, and epochs only grow;
// left alone, every member converges to its target.
func TestWalk(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) { walk(t, seed, 250) })
	}
}

type walker struct {
	*bench
	r       *rand.Rand
	clients map[string]*client
	dead    map[string]time.Time // of the session at the latest
	epoch   int32
	made    int
}

func walk(t *testing.T, seed uint64, steps int) {
	w := &walker{bench: newBench(t), r: rand.New(rand.NewPCG(seed, 1)), clients: map[string]*client{}, dead: map[string]time.Time{}}
	w.topics.add("a", 5)
	w.topics.add("b", 3)
	w.topics.add("ab", 2)
	if seed%3 == 0 {
		w.config.Assignors = []string{"range", "uniform"}
	}
	if seed%2 == 0 {
		w.config.AssignmentInterval = 0
	}
	for range steps {
		w.step()
		w.check()
		if t.Failed() {
			t.FailNow()
		}
	}
	w.converge()
}

func (w *walker) any() *client {
	ids := slices.Sorted(maps.Keys(w.clients))
	if len(ids) == 0 {
		return nil
	}
	return w.clients[ids[w.r.IntN(len(ids))]]
}

func (w *walker) subscribe(c *client) {
	c.full, c.regex = true, nil
	switch w.r.IntN(4) {
	case 0:
		c.topics = []string{"a"}
	case 1:
		c.topics, c.regex = nil, new("a.*")
	default:
		c.topics = []string{"a", "b"}
	}
}

func (w *walker) step() {
	c := w.any()
	switch n := w.r.IntN(40); {
	case c == nil || n < 3 && len(w.clients) < 12:
		w.made++
		x := w.client(fmt.Sprintf("m%d", w.made))
		w.subscribe(x)
		w.clients[x.id] = x
		w.beat(x)
	case n < 5:
		w.leaveNow(c)
	case n == 5: // dies; what it had is nobody's until its session ends
		delete(w.clients, c.id)
	case n == 6:
		w.subscribe(c)
	case n == 7:
		w.reload()
	case n == 8:
		t := w.topics.topics["a"]
		w.topics.add("a", min(t.Partitions+1, 9))
	case n == 9 && len(w.topics.topics) < 5:
		w.topics.add(fmt.Sprintf("a%d", len(w.topics.topics)), 2)
	case n < 14:
		w.tick(time.Duration(w.r.IntN(3000)) * time.Millisecond)
	case n == 14: // an answer is lost
		before := *c
		w.beat(c)
		if x := w.clients[c.id]; x != nil && x.epoch != 0 {
			x.epoch, x.has, x.full = before.epoch, before.has, true
		}
	default:
		w.beat(c)
	}
}

func (w *walker) leaveNow(c *client) {
	eq(w.t, "leave", c.leave(-1), protocol.None)
	delete(w.clients, c.id)
}

// tick lets time pass; clients send heartbeats often enough to live.
func (w *walker) tick(d time.Duration) {
	w.advance(d)
	for _, id := range slices.Sorted(maps.Keys(w.clients)) {
		w.beat(w.clients[id])
	}
}

func (w *walker) beat(c *client) {
	switch code := c.beat(); code {
	case protocol.None:
	case protocol.FencedMemberEpoch, protocol.UnknownMemberID, protocol.GroupIDNotFound:
		c.epoch, c.has = 0, nil
	default:
		w.t.Fatalf("%s: %v", c.id, code)
	}
}

func (w *walker) check() {
	g := w.groups.Get("g")
	if g == nil {
		return
	}
	if g.Epoch < w.epoch {
		w.t.Errorf("the epoch went from %d back to %d", w.epoch, g.Epoch)
	}
	w.epoch = g.Epoch
	owner := map[owned]string{}
	for _, m := range g.sorted() {
		if m.Epoch > g.AssignmentEpoch || g.AssignmentEpoch > g.Epoch {
			w.t.Errorf("epochs: member %d, assignment %d, group %d", m.Epoch, g.AssignmentEpoch, g.Epoch)
		}
		for _, c := range []Claim{m.Assigned, m.Revoking} {
			for t, of := range c {
				for p := range of {
					o := owned{t, p}
					if owner[o] != "" {
						w.t.Errorf("partition %v belongs to %s and %s", o, owner[o], m.ID)
					}
					owner[o] = m.ID
				}
			}
		}
	}
	if !maps.Equal(owner, g.owners) {
		w.t.Errorf("owners are %v, kept as %v", owner, g.owners)
	}
	w.checkClients()
}

// checkClients looks at what the living work on, which is what counts.
func (w *walker) checkClients() {
	at := map[owned]string{}
	for id, c := range w.clients {
		for t, ps := range c.has {
			for _, p := range ps {
				if other := at[owned{t, p}]; other != "" {
					w.t.Errorf("clients %s and %s both work on %v", other, id, owned{t, p})
				}
				at[owned{t, p}] = id
			}
		}
	}
}

func (w *walker) converge() {
	for range 100 {
		w.tick(time.Second)
	}
	g := w.groups.Get("g")
	if g == nil || len(w.clients) == 0 {
		return
	}
	eq(w.t, "state", g.State(), "Stable")
	eq(w.t, "members", g.Size(), len(w.clients))
	all := assign.Partitions{}
	for id, c := range w.clients {
		if !c.has.Equal(g.target[id]) {
			w.t.Errorf("%s has %v, is to have %v", id, c.has, g.target[id])
		}
		for t, ps := range c.has {
			all[t] = append(all[t], ps...)
		}
	}
	for name, t := range w.topics.topics {
		want := 0
		if g.Subscribes(name) {
			want = int(t.Partitions)
		}
		eq(w.t, "partitions of "+name, len(all[t.ID]), want)
	}
}
