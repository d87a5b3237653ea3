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
		code, each := m.checkCommit(req)
		if code != protocol.None {
			return offsets.Refuse(req, code), o
		}
		o, r := m.offsets.Commit(now, m.config().MetadataMax, permitted(req, each))
		r = withRefused(req, r, each)
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

// eachPartition is what is said of single partitions of a request; nil lets all pass.
type eachPartition func(topic protocol.UUID, partition int32) protocol.ErrorCode

func (m *machine) checkCommit(req *kmsg.OffsetCommitRequest) (protocol.ErrorCode, eachPartition) {
	if g := m.consumers.Get(req.Group); g != nil {
		return g.CheckCommit(req.Version, req.MemberID, req.Generation, false)
	}
	if g := m.others.Get(req.Group); g != nil {
		return g.CheckCommit(req.MemberID, req.Generation), nil
	}
	g := m.groups.Get(req.Group)
	switch {
	case g != nil:
		return g.CheckCommit(req.MemberID, req.InstanceID, req.Generation, false), nil
	case req.Generation < 0:
		return protocol.None, nil // applying the offsets makes a simple group
	case req.Version >= commitUnknownGroup:
		return protocol.GroupIDNotFound, nil
	default:
		return protocol.IllegalGeneration, nil
	}
}

// permitted is the request without the partitions that are refused.
func permitted(req *kmsg.OffsetCommitRequest, each eachPartition) *kmsg.OffsetCommitRequest {
	if each == nil {
		return req
	}
	some := *req
	some.Topics = make([]kmsg.OffsetCommitRequestTopic, len(req.Topics))
	for i, t := range req.Topics {
		some.Topics[i] = kmsg.OffsetCommitRequestTopic{Topic: t.Topic, TopicID: t.TopicID}
		for _, p := range t.Partitions {
			if each(t.TopicID, p.Partition) == protocol.None {
				some.Topics[i].Partitions = append(some.Topics[i].Partitions, p)
			}
		}
	}
	return &some
}

// withRefused puts the refused partitions back in their places among the results of the others.
func withRefused(req *kmsg.OffsetCommitRequest, r *kmsg.OffsetCommitResponse, each eachPartition) *kmsg.OffsetCommitResponse {
	if each == nil {
		return r
	}
	for i, t := range req.Topics {
		done := r.Topics[i].Partitions
		all := make([]kmsg.OffsetCommitResponseTopicPartition, 0, len(t.Partitions))
		for _, p := range t.Partitions {
			if code := each(t.TopicID, p.Partition); code != protocol.None {
				all = append(all, kmsg.OffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: int16(code)})
				continue
			}
			all, done = append(all, done[0]), done[1:]
		}
		r.Topics[i].Partitions = all
	}
	return r
}

// OffsetFetch gives the committed offsets of one group. Null topics ask for all. With stable set, offsets under an
// open transaction are UNSTABLE_OFFSET_COMMIT.
func (s *Service) OffsetFetch(ctx context.Context, req *kmsg.OffsetFetchRequestGroup, stable bool) kmsg.OffsetFetchResponseGroup {
	r, err := do(ctx, s, req.Group, func(m *machine, _ time.Time) (kmsg.OffsetFetchResponseGroup, group.Outcome) {
		if g := m.consumers.Get(req.Group); g != nil { // classic groups do not look at member id and epoch
			if code := g.CheckFetch(req.MemberID, req.MemberEpoch); code != protocol.None {
				return kmsg.OffsetFetchResponseGroup{Group: req.Group, ErrorCode: int16(code)}, group.Outcome{}
			}
			return m.offsets.Fetch(req, true, stable), group.Outcome{}
		}
		g := m.groups.Get(req.Group)
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
	if g := m.consumers.Get(id); g != nil {
		return g
	}
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
