package catalog

import (
	"slices"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

// election says which leader a partition change looks for.
type election int8

const (
	electOnline    election = iota // the current one if it may stay, else the first that may lead
	electPreferred                 // the first replica, if it may lead
	electUnclean                   // as electOnline, else any replica that is alive
)

// change works out the next state of one partition and the record that leads there. Fields are targets, set
// to what is until the caller sets another; build is called once.
type change struct {
	p         *metadata.Partition
	topic     protocol.UUID
	number    int32
	level     int16 // of metadata.version
	minISR    int   // min.insync.replicas of the topic, at most the replication factor
	elrOn     bool
	election  election
	mayLead   func(broker int32) bool          // alive, with the replica's directory online
	dirOf     func(broker int32) protocol.UUID // for a replica that is new
	dirs      map[int32]protocol.UUID          // directories to set
	isr       []int32
	replicas  []int32
	removing  []int32
	adding    []int32
	elr       []int32
	recovery  int8
	restarted int32 // broker that came back after an unclean shutdown, -1 none
}

// changeOf begins a change of one partition.
func (c *Catalog) changeOf(t *metadata.Topic, number int32) *change {
	p := t.Partitions[number]
	ch := &change{
		p: p, topic: t.ID, number: number,
		level: c.settle().MetadataVersion(), elrOn: c.elr(), minISR: c.minISR(t),
		dirOf: c.defaultDir, isr: p.ISR, replicas: p.Replicas, removing: p.Removing, adding: p.Adding, elr: p.ELR,
		recovery: p.RecoveryState, restarted: -1,
	}
	ch.mayLead = func(id int32) bool { return c.mayLead(p, id, c.active(id)) }
	return ch
}

// minISR is the topic's min.insync.replicas as far as its replication factor allows.
func (c *Catalog) minISR(t *metadata.Topic) int {
	return min(int(c.topicConfig(t.Name).Int("min.insync.replicas")), len(t.Partitions[0].Replicas))
}

func (c *Catalog) active(id int32) bool { return c.settle().Broker(id).Active() }

// mayLead says whether a broker, alive or not, has the directory of its replica online.
func (c *Catalog) mayLead(p *metadata.Partition, id int32, alive bool) bool {
	b := c.settle().Broker(id)
	return alive && b != nil && b.HasDir(p.Directory(id))
}

// defaultDir is where a new replica goes: the broker's only directory, or the broker's own choice.
func (c *Catalog) defaultDir(id int32) protocol.UUID {
	i := c.settle()
	if i.MetadataVersion() < metadata.DirectoriesLevel {
		return protocol.MigratingDir
	}
	b := i.Broker(id)
	switch {
	case b == nil:
		return protocol.UnassignedDir
	case len(b.LogDirs) == 0:
		return protocol.MigratingDir
	case len(b.LogDirs) == 1:
		return b.LogDirs[0]
	}
	return protocol.UnassignedDir
}

// build returns the record, nil if nothing changes. The steps are Kafka's, in Kafka's order.
func (c *change) build() *msg.PartitionChangeRecord {
	r := msg.NewPartitionChangeRecord()
	r.TopicID, r.PartitionID = c.topic, c.number
	c.finishReassignment()
	c.keepEligible()
	c.elect(r)
	if r.Leader == metadata.LeaderUnchanged && !containsAll(c.replicas, c.p.Replicas) {
		r.Leader = c.p.Leader // replicas that leave must see a new leader epoch
	}
	c.recordELR(r)
	if r.ISR == nil && (len(c.isr) > 0 || c.elrOn) && !slices.Equal(c.isr, c.p.ISR) {
		r.ISR = list(c.isr)
	}
	if c.level < metadata.ISRShrinkKeepsEpochLevel && r.Leader == metadata.LeaderUnchanged && r.ISR != nil && !containsAll(r.ISR, c.p.ISR) {
		r.Leader = c.p.Leader
	}
	c.recordLastLeader(r)
	c.recordAssignment(r)
	if c.recovery != c.p.RecoveryState {
		r.LeaderRecoveryState = c.recovery
	}
	if unchanged(r) {
		return nil
	}
	return r
}

// finishReassignment takes the removed replicas out once all that are added are in sync.
func (c *change) finishReassignment() {
	if len(c.removing)+len(c.adding) == 0 {
		return
	}
	isr, replicas := without(c.isr, c.removing...), without(c.replicas, c.removing...)
	switch {
	case len(c.removing) > 0 && (len(isr) == 0 || len(replicas) == 0):
	case !containsAll(isr, c.adding):
	case len(c.adding) < len(c.removing) && !containsAll(isr, replicas):
	default:
		c.isr, c.replicas, c.removing, c.adding = isr, replicas, nil, nil
	}
}

// keepEligible moves replicas that leave an ISR below min.insync.replicas among the eligible ones.
func (c *change) keepEligible() {
	if !c.elrOn {
		return
	}
	if len(c.isr) >= c.minISR {
		c.elr = nil
		return
	}
	eligible := slices.Clone(c.elr)
	for _, id := range c.p.ISR {
		if !slices.Contains(eligible, id) {
			eligible = append(eligible, id)
		}
	}
	slices.Sort(eligible)
	c.elr = without(without(eligible, c.isr...), c.restarted)
}

func (c *change) elect(r *msg.PartitionChangeRecord) {
	leader, unclean := c.leader()
	if leader == c.p.Leader {
		return
	}
	if slices.Contains(c.elr, leader) {
		c.isr, c.elr = []int32{leader}, without(c.elr, leader)
	}
	r.Leader = leader
	if !unclean {
		return
	}
	r.ISR = []int32{leader}
	if c.p.RecoveryState != metadata.Recovering {
		r.LeaderRecoveryState = metadata.Recovering
	}
}

// leader is who leads next, and whether it may lack records.
func (c *change) leader() (id int32, unclean bool) {
	order := c.replicas
	if c.election == electPreferred {
		if c.valid(order[0]) {
			return order[0], false
		}
		order = order[1:]
	}
	if c.valid(c.p.Leader) {
		return c.p.Leader, false
	}
	if i := slices.IndexFunc(order, c.valid); i >= 0 {
		return order[i], false
	}
	if c.elrOn && len(c.elr)+len(c.isr) == 0 && len(c.p.LastKnownELR) == 1 {
		// Kafka elects it even when it is no replica any more.
		if last := c.p.LastKnownELR[0]; c.mayLead(last) && slices.Contains(c.replicas, last) {
			return last, true
		}
	}
	if c.election == electUnclean {
		if i := slices.IndexFunc(order, c.mayLead); i >= 0 {
			return order[i], true
		}
	}
	return metadata.NoLeader, false
}

// valid says that the replica has every committed record and is alive.
func (c *change) valid(id int32) bool {
	return (slices.Contains(c.isr, id) || len(c.isr) == 0 && slices.Contains(c.elr, id)) && c.mayLead(id)
}

// recordELR runs before the ISR goes into the record: there it means an unclean election.
func (c *change) recordELR(r *msg.PartitionChangeRecord) {
	if r.ISR != nil || !c.elrOn {
		c.elr = nil
	}
	if !slices.Equal(c.elr, c.p.ELR) {
		r.EligibleLeaderReplicas = list(c.elr)
	}
}

// recordLastLeader remembers who led when nobody does any more, and forgets it when somebody does.
func (c *change) recordLastLeader(r *msg.PartitionChangeRecord) {
	switch {
	case !c.elrOn:
	case r.Leader == metadata.NoLeader && len(c.p.LastKnownELR) == 0:
		r.LastKnownELR = []int32{c.p.Leader}
	case r.Leader >= 0 && len(c.p.LastKnownELR) > 0:
		r.LastKnownELR = []int32{}
	}
}

func (c *change) recordAssignment(r *msg.PartitionChangeRecord) {
	if len(c.replicas) > 0 {
		if c.level >= metadata.DirectoriesLevel {
			dirs := make([]protocol.UUID, len(c.replicas))
			for i, id := range c.replicas {
				dirs[i] = c.directory(id)
			}
			if !slices.Equal(dirs, c.p.Directories) {
				r.Directories = dirs
			}
		}
		if !slices.Equal(c.replicas, c.p.Replicas) {
			r.Replicas = list(c.replicas)
		}
	}
	if !slices.Equal(c.removing, c.p.Removing) {
		r.RemovingReplicas = list(c.removing)
	}
	if !slices.Equal(c.adding, c.p.Adding) {
		r.AddingReplicas = list(c.adding)
	}
}

func (c *change) directory(id int32) protocol.UUID {
	if d, ok := c.dirs[id]; ok {
		return d
	}
	if slices.Contains(c.p.Replicas, id) {
		return c.p.Directory(id)
	}
	return c.dirOf(id)
}

func unchanged(r *msg.PartitionChangeRecord) bool {
	return r.ISR == nil && r.EligibleLeaderReplicas == nil && r.LastKnownELR == nil && r.Leader == metadata.LeaderUnchanged &&
		r.Replicas == nil && r.RemovingReplicas == nil && r.AddingReplicas == nil &&
		r.LeaderRecoveryState == metadata.RecoveryNoChange && r.Directories == nil
}

// list is a copy that is empty where l is nil: in a record nil means unchanged.
func list(l []int32) []int32 { return append([]int32{}, l...) }

func without(l []int32, ids ...int32) []int32 {
	out := make([]int32, 0, len(l))
	for _, x := range l {
		if !slices.Contains(ids, x) {
			out = append(out, x)
		}
	}
	return out
}

func containsAll(l, all []int32) bool {
	for _, x := range all {
		if !slices.Contains(l, x) {
			return false
		}
	}
	return true
}
