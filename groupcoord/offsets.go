package groupcoord

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/groupcoord/group/classic"
	"github.com/ottla/ottla/groupcoord/group/offsets"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/rsm"
)

// commitUnknownGroup is the version of OffsetCommit from which an unknown group is told from an old generation.
const commitUnknownGroup = 9

// OffsetCommit commits offsets of partitions that exist: topics have been checked, and both name and id filled in as
// far as they are known. Results are in the order of the request.
func (s *Service) OffsetCommit(ctx context.Context, req *kmsg.OffsetCommitRequest) *kmsg.OffsetCommitResponse {
	r, err := do(ctx, s, req.Group, func(m *machine, now time.Time) (*kmsg.OffsetCommitResponse, group.Outcome) {
		var o group.Outcome
		code := m.checkCommit(req)
		if code != protocol.None {
			return offsets.Refuse(req, code), o
		}
		o, r := m.offsets.Commit(now, m.config().MetadataMax, req)
		if g := m.groups.Get(req.Group); g != nil {
			g.Heard(&o, req.MemberID, now)
		}
		return r, o
	})
	if err != nil {
		return offsets.Refuse(req, codeOf(err))
	}
	return r
}

func (m *machine) checkCommit(req *kmsg.OffsetCommitRequest) protocol.ErrorCode {
	if g := m.others.Get(req.Group); g != nil {
		return g.CheckCommit(req.MemberID, req.Generation)
	}
	g := m.groups.Get(req.Group)
	switch {
	case g != nil:
		return g.CheckCommit(req.MemberID, req.InstanceID, req.Generation, false)
	case req.Generation < 0:
		return protocol.None // applying the offsets makes a simple group
	case req.Version >= commitUnknownGroup:
		return protocol.GroupIDNotFound
	default:
		return protocol.IllegalGeneration
	}
}

// OffsetFetch gives the committed offsets of one group. Null topics ask for all. With stable set, offsets under an
// open transaction are UNSTABLE_OFFSET_COMMIT.
func (s *Service) OffsetFetch(ctx context.Context, req *kmsg.OffsetFetchRequestGroup, stable bool) kmsg.OffsetFetchResponseGroup {
	r, err := do(ctx, s, req.Group, func(m *machine, _ time.Time) (kmsg.OffsetFetchResponseGroup, group.Outcome) {
		g := m.groups.Get(req.Group) // member id and epoch are checked for the new kinds of groups only
		return m.offsets.Fetch(req, g != nil && g.State != classic.Dead, stable), group.Outcome{}
	})
	if err == nil {
		return r
	}
	code := codeOf(err)
	if stable && code == protocol.CoordinatorNotAvailable {
		code = protocol.NotCoordinator // a client that needs stable offsets looks the coordinator up again
	}
	return kmsg.OffsetFetchResponseGroup{Group: req.Group, ErrorCode: int16(code)}
}

// OffsetDelete deletes single offsets of topics that exist.
func (s *Service) OffsetDelete(ctx context.Context, req *kmsg.OffsetDeleteRequest) *kmsg.OffsetDeleteResponse {
	if err := checkGroupID(req.Group); err != nil {
		return refuseDelete(protocol.CodeOf(err))
	}
	r, err := do(ctx, s, req.Group, func(m *machine, _ time.Time) (*kmsg.OffsetDeleteResponse, group.Outcome) {
		g := m.holder(req.Group)
		if g == nil {
			return refuseDelete(protocol.GroupIDNotFound), group.Outcome{}
		}
		if code := g.CheckDeleteOffsets(); code != protocol.None {
			return refuseDelete(code), group.Outcome{}
		}
		o, r := m.offsets.Delete(req, g.Subscribes)
		return r, o
	})
	if err != nil {
		return refuseDelete(codeOf(err))
	}
	return r
}

// holder is a group as far as it has a say in the deletion of its offsets.
type holder interface {
	CheckDeleteOffsets() protocol.ErrorCode
	Subscribes(topic string) bool
}

// holder finds the group of whatever kind, or nil.
func (m *machine) holder(id string) holder {
	if g := m.others.Get(id); g != nil {
		return g
	}
	if g := m.groups.Get(id); g != nil {
		return g
	}
	return nil
}

func refuseDelete(code protocol.ErrorCode) *kmsg.OffsetDeleteResponse {
	r := kmsg.NewPtrOffsetDeleteResponse()
	r.ErrorCode = int16(code)
	return r
}

// TopicsDeleted drops the offsets of deleted topics, in the background.
func (s *Service) TopicsDeleted(topics []offsets.Topic) {
	shards, err := s.allShards()
	if err != nil || len(topics) == 0 {
		return
	}
	for _, sh := range shards {
		sh.rsm.Submit(func(m *machine, _ time.Time) rsm.Outcome[group.Record] {
			o := sh.outcome(group.Outcome{Records: m.offsets.TopicsDeleted(topics), Divisible: true})
			o.Then = func(err error) {
				if err != nil {
					m.logger.Warn("offsets of deleted topics were not removed", zap.Error(err))
				}
			}
			return o
		}, func(error) {}) // a shard that is not here is somebody else's; one that loads finds the topics gone later, by age
	}
}
