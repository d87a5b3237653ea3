package consumer

import (
	"slices"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/groupcoord/group/assign"
	"github.com/ottla/ottla/protocol/msg"
)

// Owns says whether a record id is one of consumer groups.
func Owns(id int16) bool { return id >= 3 && id <= 8 || id == 16 }

// Apply takes over a record whose id Owns knows, and returns the id of the group that it is about.
func (gs *Groups) Apply(r group.Record) (id string, err error) {
	kind, err := msg.KeyID(r.Key)
	if err != nil {
		return "", err
	}
	switch kind {
	case 3:
		return gs.applyEpoch(r)
	case 5:
		return gs.applyMember(r)
	case 6:
		return gs.applyAssignment(r)
	case 7:
		return gs.applyTarget(r)
	case 8:
		return gs.applyCurrent(r)
	case 16:
		return gs.applyRegex(r)
	}
	return "", nil // legacyMetadata, and one that was never used
}

// read takes a record apart; value stays as it is when the record is a tombstone.
func read(r group.Record, key msg.Record, value msg.Message) error {
	if err := msg.DecodeKey(r.Key, key); err != nil {
		return err
	}
	if r.Value == nil {
		return nil
	}
	_, err := msg.DecodeValue(r.Value, value)
	return err
}

// ensure returns a group, made if need be.
func (gs *Groups) ensure(id string) *Group {
	g := gs.byID[id]
	if g == nil {
		g = newGroup(id)
		gs.byID[id] = g
	}
	return g
}

func (gs *Groups) applyEpoch(r group.Record) (string, error) {
	var k msg.ConsumerGroupMetadataKey
	var v msg.ConsumerGroupMetadataValue
	if err := read(r, &k, &v); err != nil {
		return "", err
	}
	if r.Value == nil {
		delete(gs.byID, k.GroupID)
		return k.GroupID, nil
	}
	g := gs.ensure(k.GroupID)
	g.Epoch, g.Hash = v.Epoch, v.MetadataHash
	return g.ID, nil
}

func (gs *Groups) applyMember(r group.Record) (string, error) {
	var k msg.ConsumerGroupMemberMetadataKey
	v := msg.NewConsumerGroupMemberMetadataValue()
	if err := read(r, &k, v); err != nil {
		return "", err
	}
	if r.Value == nil {
		if g := gs.byID[k.GroupID]; g != nil {
			g.dropMember(k.MemberID)
		}
		return k.GroupID, nil
	}
	g := gs.ensure(k.GroupID)
	m := Member{ID: k.MemberID, Epoch: epochJoin, Assigned: Claim{}, Revoking: Claim{}}
	if old := g.members[k.MemberID]; old != nil {
		m = *old
		if old.Instance != "" && g.static[old.Instance] == old.ID {
			delete(g.static, old.Instance)
		}
	}
	m.Instance, m.Rack, m.ClientID, m.Host = deref(v.InstanceID), deref(v.RackID), v.ClientID, v.ClientHost
	m.Topics, m.Regex = slices.Clone(v.SubscribedTopicNames), deref(v.SubscribedTopicRegex)
	slices.Sort(m.Topics)
	m.RebalanceMs, m.Assignor, m.Classic = v.RebalanceTimeoutMs, deref(v.ServerAssignor), nil
	if c := v.ClassicMemberMetadata; c != nil && len(c.SupportedProtocols) > 0 {
		m.Classic = &Classic{SessionMs: c.SessionTimeoutMs}
		for _, p := range c.SupportedProtocols {
			m.Classic.Protocols = append(m.Classic.Protocols, Protocol{p.Name, slices.Clone(p.Metadata)})
		}
	}
	g.members[m.ID] = &m
	if m.Instance != "" {
		g.static[m.Instance] = m.ID
	}
	return g.ID, nil
}

func (g *Group) dropMember(id string) {
	m := g.members[id]
	if m == nil {
		return
	}
	g.release(m)
	delete(g.members, id)
	if m.Instance != "" && g.static[m.Instance] == id {
		delete(g.static, m.Instance)
	}
}

func (gs *Groups) applyAssignment(r group.Record) (string, error) {
	var k msg.ConsumerGroupTargetAssignmentMetadataKey
	var v msg.ConsumerGroupTargetAssignmentMetadataValue
	if err := read(r, &k, &v); err != nil {
		return "", err
	}
	if r.Value == nil {
		if g := gs.byID[k.GroupID]; g != nil {
			g.AssignmentEpoch, g.AssignedAt = -1, 0
		}
		return k.GroupID, nil
	}
	g := gs.ensure(k.GroupID)
	g.AssignmentEpoch, g.AssignedAt = v.AssignmentEpoch, v.AssignmentTimestamp
	return g.ID, nil
}

func (gs *Groups) applyTarget(r group.Record) (string, error) {
	var k msg.ConsumerGroupTargetAssignmentMemberKey
	var v msg.ConsumerGroupTargetAssignmentMemberValue
	if err := read(r, &k, &v); err != nil {
		return "", err
	}
	if r.Value == nil {
		if g := gs.byID[k.GroupID]; g != nil {
			delete(g.target, k.MemberID)
		}
		return k.GroupID, nil
	}
	g := gs.ensure(k.GroupID)
	g.target[k.MemberID] = partitionsOf(v.TopicPartitions)
	return g.ID, nil
}

func (gs *Groups) applyCurrent(r group.Record) (string, error) {
	var k msg.ConsumerGroupCurrentMemberAssignmentKey
	var v msg.ConsumerGroupCurrentMemberAssignmentValue
	if err := read(r, &k, &v); err != nil {
		return "", err
	}
	if r.Value == nil {
		if g := gs.byID[k.GroupID]; g != nil && g.members[k.MemberID] != nil {
			m := *g.members[k.MemberID]
			g.release(&m)
			m.Epoch, m.Previous, m.State, m.Assigned, m.Revoking = epochLeave, epochLeave, Stable, Claim{}, Claim{}
			g.members[m.ID] = &m
		}
		return k.GroupID, nil
	}
	g := gs.ensure(k.GroupID)
	m := Member{ID: k.MemberID}
	if old := g.members[k.MemberID]; old != nil {
		g.release(old)
		m = *old
	}
	m.Epoch, m.Previous = v.MemberEpoch, v.PreviousMemberEpoch
	switch m.State = MemberState(v.State); m.State {
	case Stable, Unrevoked, Unreleased:
	default:
		m.State = Unknown
	}
	m.Assigned, m.Revoking = claimOf(v.AssignedPartitions, v.MemberEpoch), claimOf(v.PartitionsPendingRevocation, v.MemberEpoch)
	g.members[m.ID] = &m
	for _, c := range [...]Claim{m.Assigned, m.Revoking} {
		for t, of := range c {
			for p := range of {
				g.owners[owned{t, p}] = m.ID
			}
		}
	}
	return g.ID, nil
}

// release gives up what a member claims, unless somebody else has it meanwhile (which compaction can make of a log).
func (g *Group) release(m *Member) {
	for _, c := range [...]Claim{m.Assigned, m.Revoking} {
		for t, of := range c {
			for p := range of {
				if o := (owned{t, p}); g.owners[o] == m.ID {
					delete(g.owners, o)
				}
			}
		}
	}
}

func (gs *Groups) applyRegex(r group.Record) (string, error) {
	var k msg.ConsumerGroupRegularExpressionKey
	var v msg.ConsumerGroupRegularExpressionValue
	if err := read(r, &k, &v); err != nil {
		return "", err
	}
	if r.Value == nil {
		if g := gs.byID[k.GroupID]; g != nil {
			delete(g.regexes, k.RegularExpression)
		}
		return k.GroupID, nil
	}
	g := gs.ensure(k.GroupID)
	topics := slices.Clone(v.Topics)
	slices.Sort(topics)
	g.regexes[k.RegularExpression] = &Regex{Topics: topics, Version: v.Version, Timestamp: v.Timestamp}
	return g.ID, nil
}

// targetOf is what a member is to have.
func (g *Group) targetOf(id string) assign.Partitions { return g.target[id] }
