package consumer

import (
	"encoding/binary"
	"errors"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/groupcoord/group/assign"
	"github.com/ottla/ottla/protocol"
)

// newestMetadata is the newest version of what classic consumers say of themselves; later ones begin as it does.
const newestMetadata = 3

func metadataVersion(b []byte) int16 {
	if len(b) < 2 {
		return 0
	}
	return min(int16(binary.BigEndian.Uint16(b)), newestMetadata)
}

// parseSubscription reads what a classic consumer says under a protocol.
func parseSubscription(b []byte) (*kmsg.ConsumerMemberMetadata, error) {
	if len(b) < 2 || int16(binary.BigEndian.Uint16(b)) < 0 {
		return nil, errors.New("no version of a subscription")
	}
	b = slices.Clone(b)
	binary.BigEndian.PutUint16(b, uint16(metadataVersion(b)))
	s := kmsg.NewConsumerMemberMetadata()
	if err := s.ReadFrom(b); err != nil {
		return nil, err
	}
	return &s, nil
}

// idsOf turns partitions by topic name into those by id, leaving out topics that do not exist.
func idsOf(topics Topics, name string, ps []int32, into assign.Partitions) {
	if t, ok := topics.ByName(name); ok && len(ps) > 0 {
		ps = slices.Concat(into[t.ID], ps)
		slices.Sort(ps)
		into[t.ID] = slices.Compact(ps)
	}
}

func classicError(member string, code protocol.ErrorCode) *kmsg.JoinGroupResponse {
	r := kmsg.NewPtrJoinGroupResponse()
	r.ErrorCode, r.MemberID, r.Generation = int16(code), member, -1
	return r
}

// joinNeedsKnownID is the version of JoinGroup from which a dynamic member comes back with the id that it was given.
const joinNeedsKnownID = 4

// Join lets a member on the classic protocol into the group, or carries it on. It never waits.
func (g *Group) Join(c Call, req *kmsg.JoinGroupRequest) (group.Outcome, *kmsg.JoinGroupResponse) {
	var o group.Outcome
	id, instance := req.MemberID, deref(req.InstanceID)
	unknown := id == ""
	if unknown {
		id = c.Unique
	}
	sub, code := g.checkJoin(c, req, id)
	if code != protocol.None {
		return o, classicError(req.MemberID, code)
	}
	if unknown && instance == "" && req.Version >= joinNeedsKnownID {
		return o, classicError(id, protocol.MemberIDRequired)
	}
	h := change{Call: c, g: g, owned: assign.Partitions{}}
	for _, p := range sub.OwnedPartitions {
		idsOf(c.Topics, p.Topic, p.Partitions, h.owned)
	}
	epoch := int32(epochJoin)
	if instance != "" && !unknown {
		epoch = epochLeave // it must be there
	}
	if err := h.find(id, instance, epoch, true); err != nil {
		return o, classicError(req.MemberID, protocol.CodeOf(err))
	}
	h.updated = h.before
	h.describeClassic(req, sub)
	if err := h.run(); err != nil {
		return o, classicError(req.MemberID, protocol.CodeOf(err))
	}
	m := &h.updated
	r := kmsg.NewPtrJoinGroupResponse()
	r.MemberID, r.Generation = m.ID, m.Epoch
	kind := classicType
	r.ProtocolType, r.Protocol = &kind, &m.Classic.Protocols[0].Name
	if gone := g.members[h.replaced]; gone != nil && gone.Classic == nil && g.canDowngrade(c.Config, []*Member{gone}, m) {
		downgraded := *g
		downgraded.Epoch = h.epoch
		downgraded.downgrade(c, &h.o, []*Member{gone}, m)
		return h.o, r
	}
	h.o.Cancel(group.JoinTimer, g.ID, m.ID)
	h.o.Arm(group.MemberTimer, g.ID, m.ID, c.Now.Add(millis(m.Classic.SessionMs)))
	h.o.Arm(group.SyncTimer, g.ID, m.ID, c.Now.Add(millis(m.RebalanceMs)))
	return h.o, r
}

// checkJoin refuses who does not fit: GROUP_MAX_SIZE_REACHED, INCONSISTENT_GROUP_PROTOCOL.
func (g *Group) checkJoin(c Call, req *kmsg.JoinGroupRequest, id string) (*kmsg.ConsumerMemberMetadata, protocol.ErrorCode) {
	switch {
	case !c.Config.Upgrade && !c.Config.Downgrade:
		return nil, protocol.InconsistentGroupProtocol
	case g.members[id] == nil && len(g.members) >= c.Config.MaxSize && (req.InstanceID == nil || g.static[*req.InstanceID] == ""):
		return nil, protocol.GroupMaxSizeReached
	case req.ProtocolType != classicType || len(req.Protocols) == 0:
		return nil, protocol.InconsistentGroupProtocol
	}
	fits := func(p kmsg.JoinGroupRequestProtocol) bool {
		for _, m := range g.members {
			if m.Classic != nil && m.offer(p.Name) == nil {
				return false
			}
		}
		return true
	}
	if !slices.ContainsFunc(req.Protocols, fits) {
		return nil, protocol.InconsistentGroupProtocol
	}
	sub, err := parseSubscription(req.Protocols[0].Metadata)
	if err != nil {
		return nil, protocol.InconsistentGroupProtocol
	}
	return sub, protocol.None
}

// describeClassic takes over what a member on the classic protocol says of itself.
func (h *change) describeClassic(req *kmsg.JoinGroupRequest, sub *kmsg.ConsumerMemberMetadata) {
	m := &h.updated
	m.ClientID, m.Host = h.ClientID, h.Host
	if req.InstanceID != nil {
		m.Instance = *req.InstanceID
	}
	if sub.Rack != nil && *sub.Rack != "" {
		m.Rack = *sub.Rack
	}
	m.Topics, m.Regex = names(sub.Topics), ""
	m.RebalanceMs = req.RebalanceTimeoutMillis
	if req.Version < 1 || m.RebalanceMs == -1 {
		m.RebalanceMs = req.SessionTimeoutMillis
	}
	m.Classic = &Classic{SessionMs: req.SessionTimeoutMillis}
	for _, p := range req.Protocols {
		m.Classic.Protocols = append(m.Classic.Protocols, Protocol{p.Name, slices.Clone(p.Metadata)})
	}
}

// classicMember finds a member that speaks the classic protocol.
func (g *Group) classicMember(id string, instance *string) (*Member, protocol.ErrorCode) {
	m := g.members[id]
	if instance != nil {
		m = g.members[g.static[*instance]]
	}
	switch {
	case m == nil:
		return nil, protocol.UnknownMemberID
	case m.ID != id:
		return nil, protocol.FencedInstanceID
	case m.Classic == nil:
		return nil, protocol.UnknownMemberID
	}
	return m, protocol.None
}

// Sync gives a member on the classic protocol its assignment.
func (g *Group) Sync(c Call, req *kmsg.SyncGroupRequest) (group.Outcome, *kmsg.SyncGroupResponse) {
	var o group.Outcome
	r := kmsg.NewPtrSyncGroupResponse()
	r.MemberAssignment = []byte{}
	m, code := g.classicMember(req.MemberID, req.InstanceID)
	switch {
	case code != protocol.None:
	case req.Generation != m.Epoch:
		code = protocol.IllegalGeneration
	case req.ProtocolType != nil && *req.ProtocolType != classicType, req.Protocol != nil && *req.Protocol != m.Classic.Protocols[0].Name:
		code = protocol.InconsistentGroupProtocol
	case g.Epoch > m.Epoch && m.State != Unrevoked:
		code = protocol.RebalanceInProgress
		awaitJoin(&o, g, m, c)
	}
	if code != protocol.None {
		r.ErrorCode = int16(code)
		return o, r
	}
	o.Cancel(group.SyncTimer, g.ID, m.ID)
	o.Arm(group.MemberTimer, g.ID, m.ID, c.Now.Add(millis(m.Classic.SessionMs)))
	r.ProtocolType, r.Protocol, r.MemberAssignment = req.ProtocolType, req.Protocol, m.classicAssignment(c.Topics)
	return o, r
}

// ClassicHeartbeat hears from a member on the classic protocol, and tells it when it has to join again: when the
// group has gone on, when it has to give something up, and when what it waits for is free.
func (g *Group) ClassicHeartbeat(c Call, req *kmsg.HeartbeatRequest) (group.Outcome, protocol.ErrorCode) {
	var o group.Outcome
	m, code := g.classicMember(req.MemberID, req.InstanceID)
	if code != protocol.None {
		return o, code
	}
	if req.Generation != m.Epoch {
		return o, protocol.IllegalGeneration
	}
	o.Arm(group.MemberTimer, g.ID, m.ID, c.Now.Add(millis(m.Classic.SessionMs)))
	if m.Epoch < g.Epoch || m.State == Unrevoked || m.State == Unreleased && !g.waits(m) {
		awaitJoin(&o, g, m, c)
		return o, protocol.RebalanceInProgress
	}
	return o, protocol.None
}

// awaitJoin gives the member its rebalance time-out to join again, counted from when it was first told.
func awaitJoin(o *group.Outcome, g *Group, m *Member, c Call) {
	o.Timers = append(o.Timers, group.Timer{
		Kind: group.JoinTimer, Group: g.ID, Member: m.ID, At: c.Now.Add(millis(m.RebalanceMs)), IfAbsent: true,
	})
}

// waits says whether somebody else still has what the member is to have.
func (g *Group) waits(m *Member) bool {
	for t, ps := range g.targetOf(m.ID) {
		for _, p := range ps {
			if o := g.owners[owned{t, p}]; o != "" && o != m.ID {
				return true
			}
		}
	}
	return false
}

// ClassicLeave removes members that speak the classic protocol, each with its own result.
func (g *Group) ClassicLeave(c Call, req *kmsg.LeaveGroupRequest) (group.Outcome, *kmsg.LeaveGroupResponse) {
	var o group.Outcome
	var gone []*Member
	r := kmsg.NewPtrLeaveGroupResponse()
	for _, who := range req.Members {
		id := who.MemberID
		if id == "" && who.InstanceID != nil {
			id = g.static[*who.InstanceID]
		}
		m, code := g.classicMember(id, who.InstanceID)
		if code == protocol.None && slices.Contains(gone, m) {
			code = protocol.UnknownMemberID
		}
		if code == protocol.None {
			gone = append(gone, m)
			o.Note(g.ID, "Member %s left", m.ID)
		}
		r.Members = append(r.Members, kmsg.LeaveGroupResponseMember{MemberID: id, InstanceID: who.InstanceID, ErrorCode: int16(code)})
	}
	if len(gone) > 0 {
		g.remove(c, &o, gone)
	}
	return o, r
}
