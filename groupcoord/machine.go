package groupcoord

import (
	"time"

	"go.uber.org/zap"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/groupcoord/group/classic"
	"github.com/ottla/ottla/groupcoord/group/consumer"
	"github.com/ottla/ottla/groupcoord/group/offsets"
	"github.com/ottla/ottla/groupcoord/group/other"
	"github.com/ottla/ottla/rsm"
)

// machine is the state of one shard: its groups and their offsets. It only puts the rules together.
type machine struct {
	Options
	logger    *zap.Logger
	groups    *classic.Groups
	consumers *consumer.Groups
	offsets   *offsets.Store
	// others are the groups of kinds that are not built. One that is in there is none of groups, which may have
	// an empty group of its name as soon as it has offsets. The same goes for consumers while the log is read.
	others  *other.Groups
	unknown map[int16]bool // record ids that were warned of
	// deliver turns an outcome into the state machine's, with the replies going to this shard's parked requests.
	deliver func(group.Outcome) rsm.Outcome[group.Record]
}

func newMachine(o Options, logger *zap.Logger, deliver func(group.Outcome) rsm.Outcome[group.Record]) *machine {
	return &machine{
		Options: o, logger: logger, deliver: deliver, groups: classic.NewGroups(), consumers: consumer.NewGroups(),
		offsets: offsets.NewStore(), others: other.NewGroups(),
	}
}

func (m *machine) config() Config { return m.Config() }

// Apply takes over one record of the log.
func (m *machine) Apply(offset int64, r group.Record) error {
	if r.Marker != group.NotMarker {
		m.offsets.Complete(r.ProducerID, r.Marker == group.CommitMarker)
		return nil
	}
	p, err := group.Parse(r)
	if err != nil {
		return err
	}
	switch {
	case p.Offset != nil:
		if p.Committed != nil && m.consumers.Get(p.Offset.Group) == nil { // offsets make a group, if nobody joined it before
			m.groups.Ensure(p.Offset.Group, time.UnixMilli(p.Committed.CommitTimestamp))
		}
		m.offsets.Apply(offset, r.ProducerID, *p.Offset, p.Committed)
	case p.Group != nil:
		m.groups.Apply(*p.Group, p.Metadata)
	case consumer.Owns(p.Unknown):
		return m.applyConsumer(r)
	case !m.others.Apply(r):
		m.skip(p.Unknown)
	}
	return nil
}

// skip leaves a record alone that another version wrote: its group is not served, and it stays in the log.
func (m *machine) skip(id int16) {
	if m.unknown[id] {
		return
	}
	if m.unknown == nil {
		m.unknown = map[int16]bool{}
	}
	m.unknown[id] = true
	m.logger.Warn("the offsets topic has records of a kind that is not supported; they are kept and ignored",
		zap.Int16("record", id))
}

// nameOthers says once which groups are kept only.
func (m *machine) nameOthers() {
	const most = 20
	var names []string
	all := m.others.All()
	for _, g := range all[:min(most, len(all))] {
		names = append(names, g.ID+" ("+string(g.Kind)+")")
	}
	if len(all) > 0 {
		m.logger.Warn("Groups of kinds that are not built yet are kept as they are; their offsets are served",
			zap.Int("groups", len(all)), zap.Strings("among them", names))
	}
}

func (m *machine) loaded(now time.Time) group.Outcome {
	m.nameOthers()
	c := m.config()
	o := m.groups.Loaded(now, c.Classic)
	o.Timers = append(o.Timers, m.consumers.Loaded(now, m.consumerConfig).Timers...)
	o.Arm(group.CleanupTimer, "", "", now.Add(c.RetentionCheckInterval))
	return o
}

// Expire carries on after a timer fell due.
func (m *machine) Expire(now time.Time, key rsm.TimerKey) rsm.Outcome[group.Record] {
	return m.deliver(m.expire(now, group.Timer{Kind: group.TimerKind(key.Kind), Group: key.A, Member: key.B}))
}

func (m *machine) expire(now time.Time, t group.Timer) group.Outcome {
	switch {
	case t.Kind == group.CleanupTimer:
		return m.cleanup(now)
	case t.Kind == group.DowngradeTimer:
		return m.groups.Downgraded(now, m.config().Classic, t.Group)
	case m.consumers.Get(t.Group) != nil:
		return m.consumers.Expire(m.consumerCall(now, t.Group, Client{}, ""), t)
	}
	return m.groups.Expire(now, m.config().Classic, t)
}

// cleanup expires offsets, and groups that are empty and have none left.
func (m *machine) cleanup(now time.Time) group.Outcome {
	c := m.config()
	o := group.Outcome{Divisible: true}
	for g := range m.groups.All {
		if m.others.Get(g.ID) != nil || m.consumers.Get(g.ID) != nil {
			continue // below, or by rules that are not built
		}
		records, empty := m.offsets.Expire(now, c.OffsetsRetention, g.ID, g)
		o.Records = append(o.Records, records...)
		if empty && g.Deserted() {
			o.Records = append(o.Records, group.MetadataTombstone(g.ID))
		}
	}
	for g := range m.consumers.All {
		records, empty := m.offsets.Expire(now, c.OffsetsRetention, g.ID, g)
		o.Records = append(o.Records, records...)
		if empty && g.Size() == 0 {
			o.Records = append(o.Records, g.Tombstones()...)
		}
	}
	o.Arm(group.CleanupTimer, "", "", now.Add(c.RetentionCheckInterval))
	return o
}
