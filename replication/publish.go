package replication

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/storage"
)

// Name is for log lines.
func (m *Manager) Name() string { return "replication" }

// Publish makes the partitions of this broker what the image says: logs opened and deleted, leaders
// and followers, configurations. The first call loads the log directories. A partition whose disk
// fails goes offline and does not stop the others; an error means that nothing can be served.
func (m *Manager) Publish(delta *metadata.Delta, image *metadata.Image) error {
	if !m.published {
		if err := m.o.Storage.Load(m.ctx, m.keep(image)); err != nil {
			return fmt.Errorf("load the log directories: %w", err)
		}
		m.o.Storage.Start()
		m.published = true
		m.missing = m.offlineDir()
		defer func() { m.missing = nil }()
	}
	m.image.Store(image)
	now := time.Now().UnixMilli()
	var changes []metadata.TopicChange
	for c := range delta.Topics() {
		if c.After == nil {
			m.removeTopic(c.Before)
			continue
		}
		changes = append(changes, c)
	}
	m.updateConfigs(delta, image)
	m.notify(m.applyTopics(changes, image, now))
	return nil
}

// keep decides what happens to a log directory's partition when the first image is known: only a
// replica that the image places here, of the very same topic, is kept.
func (m *Manager) keep(image *metadata.Image) func(protocol.TopicPartition, protocol.UUID) storage.Decision {
	var mu sync.Mutex // storage asks from several goroutines
	configs := map[string]storage.LogConfig{}
	config := func(topic string) storage.LogConfig {
		mu.Lock()
		defer mu.Unlock()
		c, ok := configs[topic]
		if !ok {
			c = m.topicConfig(image, topic)
			configs[topic] = c
		}
		return c
	}
	return func(tp protocol.TopicPartition, id protocol.UUID) storage.Decision {
		t := image.Topic(tp.Topic)
		p := t.Partition(tp.Partition)
		if p == nil || t.ID != id || !slices.Contains(p.Replicas, m.o.NodeID) {
			return storage.Decision{}
		}
		return storage.Decision{Keep: true, Config: config(tp.Topic)}
	}
}

func (m *Manager) topicConfig(image *metadata.Image, topic string) storage.LogConfig {
	return m.o.LogConfig(image.Config(metadata.Resource{Type: metadata.TopicResource, Name: topic}))
}

// removeTopic takes the replicas of a deleted topic away.
func (m *Manager) removeTopic(t *metadata.Topic) {
	m.mu.Lock()
	h := m.byID[t.ID]
	delete(m.byID, t.ID)
	if h != nil && m.byName[h.name] == h {
		delete(m.byName, h.name)
	}
	m.mu.Unlock()
	if h == nil {
		return
	}
	var lost []Leadership
	for _, p := range h.partitions {
		if p != nil {
			lost = append(lost, m.remove(p, protocol.UnknownTopicOrPartition)...)
		}
	}
	m.notify(lost)
}

// remove ends the service of a replica and deletes its log. It is the loss of the leadership, if
// there was any.
func (m *Manager) remove(p *Partition, answer error) []Leadership {
	p.roleMu.RLock()
	change := Leadership{TopicPartition: p.tp, Epoch: p.role.epoch}
	led := p.role.leading
	p.roleMu.RUnlock()
	p.stop(answer)
	if err := m.o.Storage.Delete(p.tp); err != nil {
		m.offline(p.tp, err)
	}
	if !led {
		return nil
	}
	return []Leadership{change}
}

func (m *Manager) notify(changes []Leadership) {
	if m.o.OnLeadership == nil {
		return
	}
	for _, c := range changes {
		m.o.OnLeadership(c)
	}
}

// updateConfigs gives hosted topics their new configuration. A change of the broker's defaults
// concerns all of them.
func (m *Manager) updateConfigs(delta *metadata.Delta, image *metadata.Image) {
	if !delta.ConfigsChanged() {
		return
	}
	own := metadata.BrokerConfig(m.o.NodeID)
	topics := map[string]bool{}
	all := false
	for _, r := range delta.Configs() {
		switch {
		case r == own || r == metadata.AllBrokers:
			all = true
		case r.Type == metadata.TopicResource:
			topics[r.Name] = true
		}
	}
	m.mu.RLock()
	var list []*hosted
	for name, h := range m.byName {
		if all || topics[name] {
			list = append(list, h)
		}
	}
	m.mu.RUnlock()
	for _, h := range list {
		m.updateConfig(h, rulesOf(m.topicConfig(image, h.name)))
	}
}

func (m *Manager) updateConfig(h *hosted, rules *topicRules) {
	for _, p := range h.partitions {
		if p == nil {
			continue
		}
		p.rules.Store(rules)
		for _, log := range []*storage.Log{p.Log(), m.o.Storage.Future(p.tp)} {
			if log != nil {
				log.UpdateConfig(rules.config)
			}
		}
		p.refresh() // fewer in-sync replicas may be enough now
	}
}

// step is what becomes of one partition.
type step struct {
	topic     *metadata.Topic
	number    int32
	assigned  *metadata.Partition // nil: the replica leaves this broker
	partition *Partition          // nil: it comes
	rules     *topicRules

	change  Leadership
	changed bool
}

// applyTopics brings the changed partitions of existing topics into place, in parallel, and then
// makes them visible.
func (m *Manager) applyTopics(changes []metadata.TopicChange, image *metadata.Image, now int64) []Leadership {
	var steps []*step
	for _, c := range changes {
		steps = append(steps, m.steps(c, image)...)
	}
	each(steps, func(s *step) { m.place(s, now) })
	m.show(steps)
	var out []Leadership
	for _, s := range steps {
		if s.assigned == nil && s.partition != nil {
			out = append(out, m.remove(s.partition, protocol.NotLeaderOrFollower)...)
		} else if s.changed {
			out = append(out, s.change)
		}
	}
	return out
}

// steps lists what a topic's change means here.
func (m *Manager) steps(c metadata.TopicChange, image *metadata.Image) []*step {
	m.mu.RLock()
	h := m.byID[c.After.ID]
	m.mu.RUnlock()
	var steps []*step
	var rules *topicRules
	for n, p := range c.Partitions() {
		s := &step{topic: c.After, number: n, partition: h.partition(n)}
		if p.After != nil && slices.Contains(p.After.Replicas, m.o.NodeID) {
			s.assigned = p.After
		}
		if s.assigned == nil && s.partition == nil {
			continue
		}
		if rules == nil {
			if rules = h.rules(); rules == nil {
				rules = rulesOf(m.topicConfig(image, c.After.Name))
			}
		}
		s.rules = rules
		steps = append(steps, s)
	}
	return steps
}

// place opens the log of a replica that is new here, and assigns its role.
func (m *Manager) place(s *step, now int64) {
	if s.assigned == nil {
		return
	}
	if s.partition == nil {
		s.partition = m.newPartition(s)
	}
	var err error
	s.change, s.changed, err = s.partition.assign(s.assigned, now)
	if err != nil {
		s.partition.stop(offline(err))
		m.offline(s.partition.tp, err)
	}
}

func (m *Manager) newPartition(s *step) *Partition {
	p := &Partition{m: m, tp: protocol.TopicPartition{Topic: s.topic.Name, Partition: s.number}, topicID: s.topic.ID}
	p.role.epoch = AnyEpoch
	p.rules.Store(s.rules)
	want := s.assigned.Directory(m.o.NodeID)
	if want.IsReserved() {
		want = protocol.UUID{}
	}
	log, err := m.openLog(p, s.rules, want)
	p.open(log, err)
	if err != nil {
		m.offline(p.tp, err)
	} else if m.o.OnPlaced != nil && log.DirID() != s.assigned.Directory(m.o.NodeID) {
		m.o.OnPlaced(p, log.DirID())
	}
	return p
}

// openLog finds or makes the log. While the first image is taken, a replica that is not found and
// whose directory nobody knows may lie on a disk that failed: a new, empty log must not take its place.
func (m *Manager) openLog(p *Partition, rules *topicRules, dir protocol.UUID) (*storage.Log, error) {
	if m.missing != nil && dir.IsZero() && m.o.Storage.Get(p.tp) == nil {
		return nil, m.missing
	}
	return m.o.Storage.Create(p.tp, p.topicID, rules.config, dir)
}

// offlineDir is why a log directory is offline, nil if all are there.
func (m *Manager) offlineDir() error {
	for _, d := range m.o.Storage.Dirs() {
		if d.Err != nil {
			return fmt.Errorf("log directory %s is offline: %w", d.Path, d.Err)
		}
	}
	return nil
}

// show makes lookups find the partitions of the steps, and not find those that leave.
func (m *Manager) show(steps []*step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := 0; i < len(steps); {
		t := steps[i].topic
		h := &hosted{name: t.Name, id: t.ID, partitions: make([]*Partition, len(t.Partitions))}
		if old := m.byID[t.ID]; old != nil {
			copy(h.partitions, old.partitions)
		}
		for ; i < len(steps) && steps[i].topic == t; i++ {
			h.partitions[steps[i].number] = steps[i].partition
			if steps[i].assigned == nil {
				h.partitions[steps[i].number] = nil
			}
		}
		m.byID[t.ID], m.byName[t.Name] = h, h
	}
}
