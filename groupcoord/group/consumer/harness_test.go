package consumer

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/groupcoord/group/assign"
	"github.com/ottla/ottla/protocol"
)

// cluster is metadata for tests.
type cluster struct {
	topics  map[string]Topic
	version int64
}

func (c *cluster) add(name string, partitions int32) {
	c.version++
	id := protocol.UUID{15: byte(len(c.topics) + 1)}
	copy(id[:], name)
	if old, ok := c.topics[name]; ok {
		id = old.ID
	}
	c.topics[name] = Topic{name, id, partitions}
}

func (c *cluster) ByName(name string) (Topic, bool) { t, ok := c.topics[name]; return t, ok }
func (c *cluster) ByID(id protocol.UUID) (Topic, bool) {
	for _, t := range c.topics {
		if t.ID == id {
			return t, true
		}
	}
	return Topic{}, false
}
func (c *cluster) Names() iter.Seq[string] {
	return slices.Values(slices.Sorted(maps.Keys(c.topics)))
}
func (c *cluster) Racks(Topic, int32) []string { return nil }
func (c *cluster) Version() int64              { return c.version }

// bench carries decisions out as the coordinator does: records are applied, and kept for a reload; timers fall due.
type bench struct {
	t      testing.TB
	groups *Groups
	topics *cluster
	config Config
	now    time.Time
	log    []group.Record
	timers map[group.Timer]time.Time // by key
}

func newBench(t testing.TB) *bench {
	return &bench{
		t: t, groups: NewGroups(), topics: &cluster{topics: map[string]Topic{}}, now: time.UnixMilli(1_000_000),
		timers: map[group.Timer]time.Time{},
		config: Config{
			Session: 45 * time.Second, Heartbeat: 5 * time.Second, AssignmentInterval: time.Second, MaxSize: 1 << 30,
			ClassicMaxSize: 1 << 30, Assignors: []string{"uniform", "range"}, Upgrade: true, Downgrade: true,
		},
	}
}

func (b *bench) call() Call {
	return Call{Now: b.now, Config: b.config, ClientID: "c", Host: "/127.0.0.1", Unique: "made", Topics: b.topics}
}

func (b *bench) carryOut(o group.Outcome) {
	for _, r := range o.Records {
		b.log = append(b.log, r)
		if _, err := b.groups.Apply(r); err != nil {
			b.t.Fatal(err)
		}
	}
	for _, t := range o.Timers {
		k := group.Timer{Kind: t.Kind, Group: t.Group, Member: t.Member}
		if t.At.IsZero() {
			delete(b.timers, k)
		} else if _, armed := b.timers[k]; !armed || !t.IfAbsent {
			b.timers[k] = t.At
		}
	}
}

// advance lets time pass, and timers fall due in their order.
func (b *bench) advance(d time.Duration) {
	end := b.now.Add(d)
	for {
		var next *group.Timer
		for k, at := range b.timers {
			if !at.After(end) && (next == nil || at.Before(b.timers[*next]) || at.Equal(b.timers[*next]) && k.Member < next.Member) {
				next = &k
			}
		}
		if next == nil {
			break
		}
		b.now = b.timers[*next]
		delete(b.timers, *next)
		b.carryOut(b.groups.Expire(b.call(), *next))
	}
	b.now = end
}

// reload forgets all but the log.
func (b *bench) reload() {
	b.groups, b.timers = NewGroups(), map[group.Timer]time.Time{}
	for _, r := range b.log {
		if _, err := b.groups.Apply(r); err != nil {
			b.t.Fatal(err)
		}
	}
	b.carryOut(b.groups.Loaded(b.now, func(string) Config { return b.config }))
}

// client is a consumer that does what it is told.
type client struct {
	b        *bench
	id       string
	instance *string
	topics   []string
	regex    *string
	epoch    int32
	has      assign.Partitions // what it works on
	full     bool              // tell everything next time
}

func (b *bench) client(id string, topics ...string) *client {
	return &client{b: b, id: id, topics: topics, full: true}
}

// beat sends a heartbeat and takes the answer in. What is taken away is given up when the answer comes.
func (c *client) beat() protocol.ErrorCode {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.InstanceID, req.MemberEpoch = 1, "g", c.id, c.instance, c.epoch
	req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	if c.epoch == 0 {
		c.full, c.has = true, nil
	}
	for _, t := range c.has.Topics() {
		req.Topics = append(req.Topics, kmsg.ConsumerGroupHeartbeatRequestTopic{TopicID: t, Partitions: c.has[t]})
	}
	if c.full {
		req.RebalanceTimeoutMillis, req.SubscribedTopicNames, req.SubscribedTopicRegex = 30000, c.topics, c.regex
		if req.SubscribedTopicNames == nil {
			req.SubscribedTopicNames = []string{}
		}
		if req.SubscribedTopicRegex == nil {
			req.SubscribedTopicRegex = new(string)
		}
	}
	r, code := c.b.heartbeat(req)
	if code == protocol.None {
		c.epoch, c.full = r.MemberEpoch, false
		if r.Assignment != nil {
			c.has = assign.Partitions{}
			for _, t := range r.Assignment.Topics {
				c.has[t.TopicID] = slices.Clone(t.Partitions)
			}
		}
	}
	return code
}

func (b *bench) heartbeat(req *kmsg.ConsumerGroupHeartbeatRequest) (*kmsg.ConsumerGroupHeartbeatResponse, protocol.ErrorCode) {
	if err := Check(b.config, req); err != nil {
		return nil, protocol.CodeOf(err)
	}
	o, r, err := b.groups.Heartbeat(b.call(), b.groups.Get("g"), req)
	if err != nil {
		return nil, protocol.CodeOf(err)
	}
	b.carryOut(o)
	return r, protocol.None
}

func (c *client) leave(epoch int32) protocol.ErrorCode {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.InstanceID, req.MemberEpoch = 1, "g", c.id, c.instance, epoch
	_, code := c.b.heartbeat(req)
	return code
}

func eq[T comparable](t testing.TB, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func (m *Member) String() string {
	return fmt.Sprintf("%s epoch %d state %d has %v gives up %v", m.ID, m.Epoch, m.State, m.Assigned, m.Revoking)
}
