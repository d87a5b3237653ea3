package consumer

import (
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/groupcoord/group/assign"
	"github.com/ottla/ottla/protocol"
)

// Config is what the rules need of the settings of the broker and of one group, as they are now.
type Config struct {
	Session            time.Duration // consumer.session.timeout.ms
	Heartbeat          time.Duration // consumer.heartbeat.interval.ms
	AssignmentInterval time.Duration // consumer.assignment.interval.ms
	MaxSize            int           // group.consumer.max.size
	ClassicMaxSize     int           // group.max.size, for a group that becomes classic
	Assignors          []string      // group.consumer.assignors, the first being the default
	Upgrade, Downgrade bool          // group.consumer.migration.policy
}

// Call is the circumstances of one request.
type Call struct {
	Now      time.Time
	Config   Config
	ClientID string
	Host     string // "/1.2.3.4"
	// Unique is a fresh id (KIP-848's 16 bytes in text) for a member, should one be needed.
	Unique string
	Topics Topics
}

const idFromClient = 1 // version from which members make their ids themselves (KIP-1082)

// blank says whether a text is given and empty, or nothing but spaces.
func blank(s *string) bool { return s != nil && strings.TrimSpace(*s) == "" }

func invalid(message string) *protocol.Fault {
	return &protocol.Fault{Code: protocol.InvalidRequest, Message: message}
}

// Check refuses a heartbeat that could be part of no group.
func Check(c Config, req *kmsg.ConsumerGroupHeartbeatRequest) error {
	switch {
	case blank(&req.Group):
		return invalid("GroupId can't be empty.")
	case blank(req.InstanceID):
		return invalid("InstanceId can't be empty.")
	case blank(req.RackID):
		return invalid("RackId can't be empty.")
	case blank(&req.MemberID) && (req.Version >= idFromClient || req.MemberEpoch != epochJoin):
		return invalid("MemberId can't be empty.")
	}
	if err := checkEpoch(req); err != nil {
		return err
	}
	if a := req.ServerAssignor; a != nil && !slices.Contains(c.Assignors, *a) {
		return &protocol.Fault{Code: protocol.UnsupportedAssignor, Message: "ServerAssignor " + *a +
			" is not supported. Supported assignors: " + strings.Join(c.Assignors, ", ") + "."}
	}
	return nil
}

func checkEpoch(req *kmsg.ConsumerGroupHeartbeatRequest) error {
	switch {
	case req.MemberEpoch == epochLeaveStatic && req.InstanceID == nil:
		return invalid("InstanceId can't be null.")
	case req.MemberEpoch < epochLeaveStatic:
		return invalid("MemberEpoch is invalid.")
	case req.MemberEpoch != epochJoin:
		return nil
	case req.RebalanceTimeoutMillis == -1:
		return invalid("RebalanceTimeoutMs must be provided in first request.")
	case req.Topics == nil || len(req.Topics) > 0:
		return invalid("TopicPartitions must be empty when (re-)joining.")
	case len(req.SubscribedTopicNames) == 0 && deref(req.SubscribedTopicRegex) == "":
		return invalid("Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.")
	}
	return nil
}

// unknownGroup is GROUP_ID_NOT_FOUND.
func unknownGroup(id string) error {
	return &protocol.Fault{Code: protocol.GroupIDNotFound, Message: "Group " + id + " not found."}
}

// New is a group that is not there yet: the records of its first member make it.
func New(id string) *Group { return newGroup(id) }

// Heartbeat decides a heartbeat that Check has passed. g is the group, or what will be the group when records that
// come before these are applied; nil if there is none. The answer is nil when there is an error.
func (gs *Groups) Heartbeat(c Call, g *Group, req *kmsg.ConsumerGroupHeartbeatRequest) (group.Outcome, *kmsg.ConsumerGroupHeartbeatResponse, error) {
	if g == nil && req.MemberEpoch != epochJoin {
		return group.Outcome{}, nil, unknownGroup(req.Group)
	}
	if g == nil {
		g = newGroup(req.Group)
	}
	if req.MemberEpoch < 0 {
		return g.leave(c, req)
	}
	h := change{Call: c, g: g, owned: ownedOf(req.Topics)}
	id := req.MemberID
	if id == "" {
		id = c.Unique
	}
	if err := h.find(id, deref(req.InstanceID), req.MemberEpoch, false); err != nil {
		return group.Outcome{}, nil, err
	}
	h.updated = h.before
	h.update(req)
	if err := h.run(); err != nil {
		return group.Outcome{}, nil, err
	}
	h.o.Arm(group.MemberTimer, g.ID, id, c.Now.Add(c.Config.Session))
	return h.o, h.answer(req), nil
}

func (h *change) answer(req *kmsg.ConsumerGroupHeartbeatRequest) *kmsg.ConsumerGroupHeartbeatResponse {
	r := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	m := &h.updated
	r.MemberID, r.MemberEpoch, r.HeartbeatIntervalMillis = &m.ID, m.Epoch, int32(h.Config.Heartbeat.Milliseconds())
	full := req.MemberEpoch == epochJoin || req.RebalanceTimeoutMillis != -1 && req.Topics != nil &&
		(req.SubscribedTopicNames != nil || req.SubscribedTopicRegex != nil)
	assigned := m.Assigned.Partitions()
	if full || !assigned.Equal(h.before.Assigned.Partitions()) {
		a := &kmsg.ConsumerGroupHeartbeatResponseAssignment{}
		for _, t := range assigned.Topics() {
			a.Topics = append(a.Topics, kmsg.ConsumerGroupHeartbeatResponseAssignmentTopic{TopicID: t, Partitions: assigned[t]})
		}
		r.Assignment = a
	}
	return r
}

// update takes over what the member says of itself; what is null has not changed.
func (h *change) update(req *kmsg.ConsumerGroupHeartbeatRequest) {
	m := &h.updated
	m.ClientID, m.Host, m.Classic = h.ClientID, h.Host, nil
	take := func(to *string, from *string) {
		if from != nil {
			*to = *from
		}
	}
	take(&m.Instance, req.InstanceID)
	take(&m.Rack, req.RackID)
	take(&m.Regex, req.SubscribedTopicRegex)
	take(&m.Assignor, req.ServerAssignor)
	if req.RebalanceTimeoutMillis != -1 {
		m.RebalanceMs = req.RebalanceTimeoutMillis
	}
	if req.SubscribedTopicNames != nil {
		m.Topics = names(req.SubscribedTopicNames)
	}
}

// names is a subscription as it is kept.
func names(from []string) []string {
	to := make([]string, len(from))
	for i, s := range from {
		to[i] = strings.Clone(s)
	}
	slices.Sort(to)
	return slices.Compact(to)
}

// ownedOf is what a member says it has; nil when it does not say.
func ownedOf(ts []kmsg.ConsumerGroupHeartbeatRequestTopic) assign.Partitions {
	if ts == nil {
		return nil
	}
	ps := assign.Partitions{}
	for i := range ts {
		ps[ts[i].TopicID] = append(ps[ts[i].TopicID], ts[i].Partitions...)
	}
	for _, of := range ps {
		slices.Sort(of)
	}
	return ps
}
