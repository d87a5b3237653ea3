package classic

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// client is a member as a client library drives one: join, sync, heartbeat, and again when it is told to.
type client struct {
	w          *walk
	name, id   string
	instance   *string
	version    int16
	session    time.Duration
	protocols  []string
	generation int32
	chosen     string
	waits      bool // for an answer
	stable     bool // has its assignment
	dead       bool // says nothing any more
	lead       []string
	heard      time.Time
}

// walk is a group with clients that come, go, die and come again.
type walk struct {
	*driver
	rng     *rand.Rand
	clients []*client
	made    int
}

func (w *walk) add() {
	w.made++
	c := &client{w: w, name: fmt.Sprintf("c%d", w.made), version: int16(w.rng.IntN(10)), session: time.Duration(5+w.rng.IntN(10)) * time.Second}
	if w.rng.IntN(3) == 0 {
		c.version = 5 + int16(w.rng.IntN(5))
		i := fmt.Sprintf("i%d", w.rng.IntN(6))
		c.instance = &i
		for _, x := range w.clients { // the process before it is gone
			if x.instance != nil && *x.instance == i {
				x.dead = true
			}
		}
	}
	c.protocols = []string{"p", "q"}
	if w.rng.IntN(2) == 0 {
		c.protocols = []string{"q", "r", "p"}
	}
	w.answers[c.name] = c.answered
	w.clients = append(w.clients, c)
}

// act does the client's next step, if it is its turn.
func (c *client) act() {
	switch {
	case c.dead || c.waits:
	case c.generation < 0:
		c.join()
	case !c.stable:
		c.sync()
	case !c.heard.After(c.w.now.Add(-c.session / 3)):
		c.heartbeat()
	}
}

func (c *client) join() {
	req := kmsg.NewPtrJoinGroupRequest()
	req.SetVersion(c.version)
	req.Group, req.MemberID, req.InstanceID, req.ProtocolType = "g", c.id, c.instance, "test"
	req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = int32(c.session.Milliseconds()), 10000
	for _, p := range c.protocols {
		req.Protocols = append(req.Protocols, kmsg.JoinGroupRequestProtocol{Name: p, Metadata: []byte(c.name)})
	}
	c.waits = true
	c.w.carryOut(c.w.groups.Join(c.w.call(c.name), req))
}

func (c *client) sync() {
	req := kmsg.NewPtrSyncGroupRequest()
	req.Group, req.MemberID, req.InstanceID, req.Generation = "g", c.id, c.instance, c.generation
	for _, id := range c.lead {
		req.GroupAssignment = append(req.GroupAssignment, kmsg.SyncGroupRequestGroupAssignment{
			MemberID: id, MemberAssignment: assignment(c.generation, id),
		})
	}
	c.waits = true
	c.w.carryOut(c.w.groups.Sync(c.w.call(c.name), req))
}

func assignment(generation int32, id string) []byte { return fmt.Appendf(nil, "%d %s", generation, id) }

func (c *client) heartbeat() {
	req := kmsg.NewPtrHeartbeatRequest()
	req.Group, req.MemberID, req.InstanceID, req.Generation = "g", c.id, c.instance, c.generation
	o, code := c.w.groups.Heartbeat(c.w.now, req)
	c.heard = c.w.now
	c.w.carryOut(o)
	c.failed(code)
}

func (c *client) leave() {
	req := kmsg.NewPtrLeaveGroupRequest()
	req.Group, req.Members = "g", []kmsg.LeaveGroupRequestMember{{MemberID: c.id, InstanceID: c.instance}}
	c.dead = true
	o, _ := c.w.groups.Leave(c.w.now, c.w.config, req)
	c.w.carryOut(o)
}

// failed does what clients do about an error.
func (c *client) failed(code protocol.ErrorCode) {
	switch code {
	case protocol.None:
		return
	case protocol.UnknownMemberID:
		c.id = ""
	case protocol.FencedInstanceID:
		c.dead = true
	}
	c.generation, c.stable, c.lead = -1, false, nil
}

func (c *client) answered(r kmsg.Response, failed int16) {
	c.waits = false
	if failed != 0 {
		c.failed(protocol.ErrorCode(failed))
		return
	}
	switch r := r.(type) {
	case *kmsg.JoinGroupResponse:
		c.failed(protocol.ErrorCode(r.ErrorCode))
		if r.ErrorCode == int16(protocol.MemberIDRequired) {
			c.id = r.MemberID
		}
		if r.ErrorCode == 0 {
			c.joined(r)
		}
	case *kmsg.SyncGroupResponse:
		c.failed(protocol.ErrorCode(r.ErrorCode))
		if r.ErrorCode != 0 {
			return
		}
		want := assignment(c.generation, c.id)
		if c.instance != nil && bytes.HasPrefix(r.MemberAssignment, fmt.Appendf(nil, "%d ", c.generation)) {
			want = r.MemberAssignment // it may be the one of the process before
		}
		if len(r.MemberAssignment) > 0 && !bytes.Equal(r.MemberAssignment, want) {
			c.w.t.Fatalf("%s in generation %d has the assignment %q", c.id, c.generation, r.MemberAssignment)
		}
		c.stable, c.heard = true, c.w.now
	}
}

func (c *client) joined(r *kmsg.JoinGroupResponse) {
	if c.id == r.MemberID && r.Generation < c.generation {
		c.w.t.Fatalf("%s: generation %d after %d", c.id, r.Generation, c.generation)
	}
	c.id, c.generation, c.chosen, c.stable, c.lead = r.MemberID, r.Generation, *r.Protocol, false, nil
	if r.LeaderID == r.MemberID && !r.SkipAssignment {
		for _, m := range r.Members {
			c.lead = append(c.lead, m.MemberID)
		}
	}
	c.heard = c.w.now
}

// step is one random event.
func (w *walk) step() {
	alive := w.alive()
	pick := func() *client { return alive[w.rng.IntN(len(alive))] }
	switch n := w.rng.IntN(100); {
	case n < 8 && len(alive) < 40 || len(alive) == 0:
		w.add()
	case n < 10:
		pick().dead = true
	case n < 13:
		if c := pick(); c.id != "" && !c.waits {
			c.leave()
		}
	case n < 15: // its connection breaks: the answer will not reach it
		if c := pick(); c.waits {
			c.waits = false
			w.lose(c.name)
		}
	case n < 16: // what it subscribes to changes
		if c := pick(); !c.waits {
			c.protocols = append([]string{fmt.Sprintf("x%d", w.rng.IntN(3))}, "p", "q")
			c.generation, c.stable = -1, false
		}
	case n < 17:
		w.takeOver()
	case n < 19:
		w.refuse = protocol.NotEnoughReplicas
	case n < 30:
		w.refuse = protocol.None
	case n < 50:
		w.advance(time.Duration(w.rng.IntN(3000)) * time.Millisecond)
	default:
		pick().act()
	}
}

// takeOver is another coordinator that reads the log. What is logged must come out as it was.
func (w *walk) takeOver() {
	before := w.groups.Get("g")
	w.reload()
	for _, c := range w.clients {
		if c.waits {
			c.waits = false
			c.failed(protocol.NotCoordinator)
		}
	}
	after := w.groups.Get("g")
	if before == nil || before.State != Stable {
		return
	}
	if after.Generation != before.Generation || after.Leader != before.Leader || len(after.members) != len(before.members) {
		w.t.Fatalf("the log has %s, the coordinator had %s", after.show(), before.show())
	}
	for id, m := range before.members {
		if x := after.members[id]; x == nil || !bytes.Equal(x.Assignment, m.Assignment) || x.Session != m.Session {
			w.t.Fatalf("member %s is not in the log as it was", id)
		}
	}
}

func (w *walk) alive() []*client {
	var out []*client
	for _, c := range w.clients {
		if !c.dead {
			out = append(out, c)
		}
	}
	return out
}

// settle lets everybody act in peace and checks that one generation with all who live comes of it.
func (w *walk) settle() {
	w.refuse = protocol.None
	done := func() bool {
		g := w.groups.Get("g")
		alive := w.alive()
		if g == nil || g.State != Stable || len(g.members) != len(alive) {
			return g == nil && len(alive) == 0 || g != nil && g.State == Empty && len(alive) == 0
		}
		for _, c := range alive {
			if !c.stable || c.generation != g.Generation || g.members[c.id] == nil {
				return false
			}
		}
		return true
	}
	for range 1000 {
		for _, c := range w.alive() {
			c.act()
		}
		if done() {
			return
		}
		w.advance(500 * time.Millisecond)
	}
	w.t.Fatalf("not settled after 500 s: %s", w.groups.Get("g").show())
}

func TestRandomWalk(t *testing.T) {
	seeds := 60
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		w := &walk{driver: newDriver(t), rng: rand.New(rand.NewPCG(uint64(seed), 1))}
		w.quiet = true
		w.config.InitialDelay = time.Duration(seed%3) * time.Second
		for range 4 {
			for range 500 {
				w.step()
			}
			w.advance(20 * time.Second)
			w.settle()
		}
	}
}

// lose makes an answer go nowhere.
func (d *driver) lose(who string) {
	for t, x := range d.asked {
		if x == who {
			d.asked[t] = ""
		}
	}
}

// TestManyMembers joins a thousand members to one group.
func TestManyMembers(t *testing.T) {
	w := &walk{driver: newDriver(t), rng: rand.New(rand.NewPCG(1, 1))}
	w.quiet = true
	for range 1000 {
		w.add()
	}
	started := time.Now()
	w.settle()
	if d := time.Since(started); d > 20*time.Second {
		t.Errorf("settled after %v", d)
	}
	if g := w.groups.Get("g"); g.Generation > 3 {
		t.Errorf("%d generations", g.Generation)
	}
}
