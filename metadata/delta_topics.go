package metadata

import (
	"fmt"
	"slices"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

// maxGap is how far a partition's number may be ahead of those that are there, so that a damaged record cannot ask
// for memory. A request makes at most 10,000 partitions.
const maxGap = 1 << 16

// editTopic is the topic being changed, nil if there is none with that id.
func (d *Delta) editTopic(id protocol.UUID) *topicEdit {
	if e, ok := d.topics[id]; ok {
		if e.gone {
			return nil
		}
		return e
	}
	t, ok := d.topicsByID.get(uuidKey(id))
	if !ok {
		return nil
	}
	return d.touch(&topicEdit{before: t, name: t.Name, id: id, parts: t.Partitions})
}

func (d *Delta) touch(e *topicEdit) *topicEdit {
	if d.topics == nil {
		d.topics = map[protocol.UUID]*topicEdit{}
	}
	d.topics[e.id] = e
	d.order = append(d.order, e.id)
	return e
}

func (e *topicEdit) own() {
	if !e.owned {
		e.parts, e.owned = slices.Clone(e.parts), true
	}
}

func (d *Delta) topic(r *msg.TopicRecord) error {
	if d.editTopic(r.TopicID) != nil {
		return fmt.Errorf("topic id %s is taken", r.TopicID)
	}
	if d.topicNamed(r.Name) != nil {
		return fmt.Errorf("topic %q exists", r.Name)
	}
	if _, gone := d.topics[r.TopicID]; gone {
		return fmt.Errorf("topic id %s was just deleted", r.TopicID)
	}
	d.touch(&topicEdit{name: r.Name, id: r.TopicID, owned: true})
	// The name is taken at once; the partitions follow with Apply.
	t := &Topic{Name: r.Name, ID: r.TopicID}
	d.topicsByName.set([]byte(r.Name), t)
	d.topicsByID.set(uuidKey(r.TopicID), t)
	return nil
}

func (d *Delta) topicNamed(name string) *topicEdit {
	if t, ok := d.topicsByName.get([]byte(name)); ok {
		return d.editTopic(t.ID)
	}
	return nil
}

func (d *Delta) partition(r *msg.PartitionRecord) error {
	e := d.editTopic(r.TopicID)
	if e == nil {
		return fmt.Errorf("partition %d of unknown topic id %s", r.PartitionID, r.TopicID)
	}
	if r.PartitionID < 0 || int(r.PartitionID)-len(e.parts) > maxGap {
		return fmt.Errorf("partition number %d of topic %q", r.PartitionID, e.name)
	}
	dirs, err := directories(r.Replicas, r.Directories)
	if err != nil {
		return fmt.Errorf("%s-%d: %w", e.name, r.PartitionID, err)
	}
	e.own()
	for len(e.parts) <= int(r.PartitionID) {
		e.parts = append(e.parts, nil)
	}
	e.parts[r.PartitionID] = &Partition{
		Replicas: r.Replicas, Directories: dirs, ISR: r.ISR,
		ELR: r.EligibleLeaderReplicas, LastKnownELR: r.LastKnownELR,
		Removing: r.RemovingReplicas, Adding: r.AddingReplicas,
		Leader: r.Leader, LeaderEpoch: r.LeaderEpoch, PartitionEpoch: r.PartitionEpoch,
		RecoveryState: r.LeaderRecoveryState,
	}
	return nil
}

// directories are those given, or MigratingDir for each replica where the record is older than directories.
func directories(replicas []int32, dirs []protocol.UUID) ([]protocol.UUID, error) {
	switch {
	case len(dirs) == 0 && len(replicas) > 0:
		return slices.Repeat([]protocol.UUID{protocol.MigratingDir}, len(replicas)), nil
	case len(dirs) != len(replicas):
		return nil, fmt.Errorf("%d directories for %d replicas", len(dirs), len(replicas))
	}
	return dirs, nil
}

func (d *Delta) partitionChange(r *msg.PartitionChangeRecord) error {
	e := d.editTopic(r.TopicID)
	if e == nil {
		return fmt.Errorf("partition %d of unknown topic id %s", r.PartitionID, r.TopicID)
	}
	if r.PartitionID < 0 || int(r.PartitionID) >= len(e.parts) || e.parts[r.PartitionID] == nil {
		return fmt.Errorf("%s has no partition %d", e.name, r.PartitionID)
	}
	p, err := e.parts[r.PartitionID].Merge(r)
	if err != nil {
		return fmt.Errorf("%s-%d: %w", e.name, r.PartitionID, err)
	}
	e.own()
	e.parts[r.PartitionID] = p
	return nil
}

// Merge is the partition after the change: fields that are given replace, the partition epoch rises, and the
// leader epoch too if the record names a leader, even the same one.
func (p *Partition) Merge(r *msg.PartitionChangeRecord) (*Partition, error) {
	q := *p
	q.PartitionEpoch++
	if r.Leader != LeaderUnchanged {
		q.Leader = r.Leader
		q.LeaderEpoch++
	}
	if r.LeaderRecoveryState != RecoveryNoChange {
		q.RecoveryState = r.LeaderRecoveryState
	}
	for _, f := range []struct {
		to   *[]int32
		from []int32
	}{
		{&q.Replicas, r.Replicas}, {&q.ISR, r.ISR}, {&q.Removing, r.RemovingReplicas}, {&q.Adding, r.AddingReplicas},
		{&q.ELR, r.EligibleLeaderReplicas}, {&q.LastKnownELR, r.LastKnownELR},
	} {
		if f.from != nil {
			*f.to = f.from
		}
	}
	switch {
	case r.Directories != nil:
		if len(r.Directories) != len(q.Replicas) {
			return nil, fmt.Errorf("%d directories for %d replicas", len(r.Directories), len(q.Replicas))
		}
		q.Directories = r.Directories
	case r.Replicas != nil:
		q.Directories = make([]protocol.UUID, len(q.Replicas))
		for i, id := range q.Replicas {
			q.Directories[i] = p.Directory(id)
		}
	}
	return &q, nil
}

func (d *Delta) removeTopic(r *msg.RemoveTopicRecord) error {
	e := d.editTopic(r.TopicID)
	if e == nil {
		return fmt.Errorf("unknown topic id %s", r.TopicID)
	}
	e.gone = true
	d.topicsByName.delete([]byte(e.name))
	d.topicsByID.delete(uuidKey(e.id))
	res := Resource{TopicResource, e.name}
	if _, ok := d.configs.get(res.key()); ok {
		d.configs.delete(res.key())
		d.touchConfig(res)
	}
	return nil
}

func (d *Delta) clearELR(r *msg.ClearElrRecord) error {
	if r.TopicName != "" {
		e := d.topicNamed(r.TopicName)
		if e == nil {
			return fmt.Errorf("unknown topic %q", r.TopicName)
		}
		e.clearELR()
		return nil
	}
	for t := range d.before.Topics() {
		if !slices.ContainsFunc(t.Partitions, (*Partition).hasELR) {
			continue
		}
		if e := d.editTopic(t.ID); e != nil {
			e.clearELR()
		}
	}
	for _, id := range d.order {
		if e := d.topics[id]; !e.gone {
			e.clearELR()
		}
	}
	return nil
}

func (p *Partition) hasELR() bool { return p != nil && len(p.ELR)+len(p.LastKnownELR) > 0 }

func (e *topicEdit) clearELR() {
	for n, p := range e.parts {
		if !p.hasELR() {
			continue
		}
		e.own()
		q := *p
		q.ELR, q.LastKnownELR = nil, nil
		q.PartitionEpoch++
		e.parts[n] = &q
	}
}

// commitTopic puts the changed topic into the tables of the next image.
func (d *Delta) commitTopic(e *topicEdit, next *Image) error {
	if e.before != nil {
		next.partitions -= len(e.before.Partitions)
	}
	if e.gone {
		return nil
	}
	next.partitions += len(e.parts)
	if !e.owned {
		return nil
	}
	if n := slices.Index(e.parts, nil); n >= 0 {
		return fmt.Errorf("topic %q has no partition %d of %d", e.name, n, len(e.parts))
	}
	t := &Topic{Name: e.name, ID: e.id, Partitions: e.parts}
	d.topicsByName.set([]byte(e.name), t)
	d.topicsByID.set(uuidKey(e.id), t)
	return nil
}
