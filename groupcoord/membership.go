package groupcoord

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/groupcoord/group/classic"
	"github.com/ottla/ottla/protocol"
)

// JoinGroup waits until the group's next generation is there, or says why there is none for this member.
func (s *Service) JoinGroup(ctx context.Context, c Client, req *kmsg.JoinGroupRequest) *kmsg.JoinGroupResponse {
	var a answer
	err := checkGroupID(req.Group)
	if err == nil {
		unique := uuid.NewString()
		a, err = parked(ctx, s, req.Group, func(m *machine, now time.Time, t group.Token) group.Outcome {
			return m.join(classic.Call{
				Now: now, Config: m.config().Classic, ClientID: c.ID, Host: c.Host, Unique: unique, Token: t,
			}, req)
		})
	}
	if err != nil {
		r := kmsg.NewPtrJoinGroupResponse()
		r.ErrorCode, r.MemberID, r.Generation = int16(codeOf(err)), req.MemberID, -1
		return r
	}
	return a.response.(*kmsg.JoinGroupResponse)
}

// join lets a member in. A consumer group takes members of both protocols. One of another kind, and an empty one,
// becomes a classic group.
func (m *machine) join(c classic.Call, req *kmsg.JoinGroupRequest) group.Outcome {
	if g := m.consumers.Get(req.Group); g != nil {
		return m.joinConsumers(c, g, req)
	}
	g := m.others.Get(req.Group)
	if g == nil {
		return m.groups.Join(c, req)
	}
	if !g.Yields() {
		var o group.Outcome
		r := kmsg.NewPtrJoinGroupResponse()
		r.ErrorCode, r.Generation = int16(protocol.InconsistentGroupProtocol), -1
		o.Reply(c.Token, r)
		return o
	}
	o := m.groups.Join(c, req)
	o.Records = append(g.Tombstones(), o.Records...)
	return o
}

// SyncGroup waits until the leader's assignments are committed.
func (s *Service) SyncGroup(ctx context.Context, req *kmsg.SyncGroupRequest) *kmsg.SyncGroupResponse {
	var a answer
	err := checkGroupID(req.Group)
	if err == nil {
		a, err = parked(ctx, s, req.Group, func(m *machine, now time.Time, t group.Token) group.Outcome {
			if g := m.consumers.Get(req.Group); g != nil {
				o, r := g.Sync(m.consumerCall(now, g.ID, Client{}, ""), req)
				o.Reply(t, r)
				return o
			}
			return m.groups.Sync(classic.Call{Now: now, Config: m.config().Classic, Token: t}, req)
		})
	}
	if err != nil {
		r := kmsg.NewPtrSyncGroupResponse()
		r.MemberAssignment = []byte{}
		r.ErrorCode = int16(codeOf(err))
		if protocol.ErrorCode(r.ErrorCode) == protocol.CoordinatorLoadInProgress {
			r.ErrorCode = int16(protocol.RebalanceInProgress) // the assignment is lost: join again
		}
		return r
	}
	return a.response.(*kmsg.SyncGroupResponse)
}

// Heartbeat answers at once. While the coordinator loads there is nothing to tell a member.
func (s *Service) Heartbeat(ctx context.Context, req *kmsg.HeartbeatRequest) *kmsg.HeartbeatResponse {
	r := kmsg.NewPtrHeartbeatResponse()
	code, err := protocol.None, checkGroupID(req.Group)
	if err == nil {
		code, err = do(ctx, s, req.Group, func(m *machine, now time.Time) (protocol.ErrorCode, group.Outcome) {
			if g := m.consumers.Get(req.Group); g != nil {
				o, code := g.ClassicHeartbeat(m.consumerCall(now, g.ID, Client{}, ""), req)
				return code, o
			}
			o, code := m.groups.Heartbeat(now, req)
			return code, o
		})
	}
	if err != nil {
		code = codeOf(err)
		if code == protocol.CoordinatorLoadInProgress {
			code = protocol.None
		}
	}
	r.ErrorCode = int16(code)
	return r
}

// LeaveGroup removes members, each with its own result. Versions below 3 name one member at the top.
func (s *Service) LeaveGroup(ctx context.Context, req *kmsg.LeaveGroupRequest) *kmsg.LeaveGroupResponse {
	one := req.Version < 3
	if one {
		req.Members = []kmsg.LeaveGroupRequestMember{{MemberID: req.MemberID}}
	}
	var r *kmsg.LeaveGroupResponse
	err := checkGroupID(req.Group)
	if err == nil {
		r, err = do(ctx, s, req.Group, func(m *machine, now time.Time) (*kmsg.LeaveGroupResponse, group.Outcome) {
			if g := m.consumers.Get(req.Group); g != nil {
				o, r := g.ClassicLeave(m.consumerCall(now, g.ID, Client{}, ""), req)
				return r, o
			}
			o, r := m.groups.Leave(now, m.config().Classic, req)
			return r, o
		})
	}
	if err != nil {
		r = kmsg.NewPtrLeaveGroupResponse()
		r.ErrorCode = int16(codeOf(err))
	}
	if one && r.ErrorCode == 0 && len(r.Members) > 0 {
		r.ErrorCode = r.Members[0].ErrorCode
	}
	return r
}

// checkGroupID refuses the empty id, which can commit and be deleted but not have members.
func checkGroupID(id string) error {
	if id == "" {
		return protocol.InvalidGroupID
	}
	return nil
}
