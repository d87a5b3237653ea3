package offsets

import (
	"cmp"
	"slices"
	"time"
	"unicode/utf16"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol"
)

// Refuse answers every partition of a request with one error.
func Refuse(req *kmsg.OffsetCommitRequest, code protocol.ErrorCode) *kmsg.OffsetCommitResponse {
	r := kmsg.NewPtrOffsetCommitResponse()
	for _, t := range req.Topics {
		rt := kmsg.OffsetCommitResponseTopic{Topic: t.Topic, TopicID: t.TopicID}
		for _, p := range t.Partitions {
			rt.Partitions = append(rt.Partitions, kmsg.OffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: int16(code)})
		}
		r.Topics = append(r.Topics, rt)
	}
	return r
}

// tooLong counts as Kafka does, in the units of Java's strings.
func tooLong(s *string, limit int) bool {
	return s != nil && len(*s) > limit && len(utf16.Encode([]rune(*s))) > limit
}

// Commit decides an OffsetCommit request of somebody who may commit. Topics that go by name carry their id too if
// it is known, so that a topic deleted and made again does not inherit offsets. Metadata over the limit refuses
// its partition only.
func (s *Store) Commit(now time.Time, metadataMax int, req *kmsg.OffsetCommitRequest) (group.Outcome, *kmsg.OffsetCommitResponse) {
	var o group.Outcome
	r := kmsg.NewPtrOffsetCommitResponse()
	ms := now.UnixMilli()
	expire := int64(group.None)
	if req.Version <= 4 && req.RetentionTimeMillis != group.None {
		expire = ms + req.RetentionTimeMillis
	}
	for i := range req.Topics {
		t := &req.Topics[i]
		rt := kmsg.OffsetCommitResponseTopic{Topic: t.Topic, TopicID: t.TopicID}
		rt.Partitions = make([]kmsg.OffsetCommitResponseTopicPartition, 0, len(t.Partitions))
		for j := range t.Partitions {
			p := &t.Partitions[j]
			code := protocol.None
			if tooLong(p.Metadata, metadataMax) {
				code = protocol.OffsetMetadataTooLarge
			} else {
				c := group.Committed{
					Offset: p.Offset, LeaderEpoch: p.LeaderEpoch, CommitTimestamp: ms, ExpireTimestamp: expire,
					TopicID: t.TopicID,
				}
				if p.Metadata != nil {
					c.Metadata = *p.Metadata
				}
				if req.Version < 6 {
					c.LeaderEpoch = group.None
				}
				o.Records = append(o.Records, group.OffsetRecord(group.OffsetKey{Group: req.Group, Topic: t.Topic, Partition: p.Partition}, c))
			}
			rt.Partitions = append(rt.Partitions, kmsg.OffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: int16(code)})
		}
		r.Topics = append(r.Topics, rt)
	}
	return o, r
}

// Fetch answers for one group; known is false for a group that does not exist (or is dead), which has no offsets
// and is no error. A nil list of topics asks for all that have offsets. With stable, partitions that an open
// transaction has committed are UNSTABLE_OFFSET_COMMIT.
func (s *Store) Fetch(req *kmsg.OffsetFetchRequestGroup, known, stable bool) kmsg.OffsetFetchResponseGroup {
	r := kmsg.NewOffsetFetchResponseGroup()
	r.Group = req.Group
	if req.Topics == nil {
		r.Topics = s.fetchAll(req.Group, known, stable)
		return r
	}
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetFetchResponseGroupTopic()
		rt.Topic, rt.TopicID = t.Topic, t.TopicID
		for _, p := range t.Partitions {
			k := group.OffsetKey{Group: req.Group, Topic: t.Topic, Partition: p}
			rt.Partitions = append(rt.Partitions, s.fetchOne(k, t.TopicID, known, stable))
		}
		r.Topics = append(r.Topics, rt)
	}
	return r
}

func (s *Store) fetchAll(id string, known, stable bool) []kmsg.OffsetFetchResponseGroupTopic {
	if !known {
		return nil
	}
	var ts []kmsg.OffsetFetchResponseGroupTopic
	for _, name := range s.Topics(id) {
		rt := kmsg.NewOffsetFetchResponseGroupTopic()
		rt.Topic = name
		for _, p := range s.Partitions(id, name) {
			k := group.OffsetKey{Group: id, Topic: name, Partition: p}
			e, has := s.get(k)
			if !has && !(stable && s.Unstable(k)) {
				continue
			}
			rt.TopicID = e.TopicID
			rt.Partitions = append(rt.Partitions, s.fetchOne(k, protocol.UUID{}, true, stable))
		}
		if len(rt.Partitions) > 0 {
			ts = append(ts, rt)
		}
	}
	return ts
}

func (s *Store) fetchOne(k group.OffsetKey, id protocol.UUID, known, stable bool) kmsg.OffsetFetchResponseGroupTopicPartition {
	none := ""
	p := kmsg.OffsetFetchResponseGroupTopicPartition{Partition: k.Partition, Offset: -1, LeaderEpoch: -1, Metadata: &none}
	if !known {
		return p
	}
	if stable && s.Unstable(k) {
		p.ErrorCode = int16(protocol.UnstableOffsetCommit)
		return p
	}
	if e, has := s.get(k); has && sameTopic(e.TopicID, id) {
		p.Offset, p.LeaderEpoch, p.Metadata = e.Offset, e.LeaderEpoch, &e.Metadata
	}
	return p
}

// Delete decides an OffsetDelete request for a group whose single offsets may be deleted.
func (s *Store) Delete(req *kmsg.OffsetDeleteRequest, subscribes func(topic string) bool) (group.Outcome, *kmsg.OffsetDeleteResponse) {
	var o group.Outcome
	r := kmsg.NewPtrOffsetDeleteResponse()
	for _, t := range req.Topics {
		rt := kmsg.OffsetDeleteResponseTopic{Topic: t.Topic}
		code := protocol.None
		if subscribes(t.Topic) {
			code = protocol.GroupSubscribedToTopic
		}
		for _, p := range t.Partitions {
			rt.Partitions = append(rt.Partitions, kmsg.OffsetDeleteResponseTopicPartition{Partition: p.Partition, ErrorCode: int16(code)})
			k := group.OffsetKey{Group: req.Group, Topic: t.Topic, Partition: p.Partition}
			if _, has := s.get(k); code == protocol.None && (has || s.Unstable(k)) {
				o.Records = append(o.Records, group.OffsetTombstone(k))
			}
		}
		r.Topics = append(r.Topics, rt)
	}
	return o, r
}

// DeleteAll is the tombstones of everything that the group has committed.
func (s *Store) DeleteAll(id string) []group.Record {
	var rs []group.Record
	for _, t := range s.Topics(id) {
		for _, p := range s.Partitions(id, t) {
			rs = append(rs, group.OffsetTombstone(group.OffsetKey{Group: id, Topic: t, Partition: p}))
		}
	}
	return rs
}

// Topic names a deleted topic.
type Topic struct {
	Name string
	ID   protocol.UUID
}

// TopicsDeleted is the tombstones of all offsets of these topics in all groups. An offset that was committed under
// another id of the name belongs to a topic made anew, and stays.
func (s *Store) TopicsDeleted(ts []Topic) []group.Record {
	var keys []group.OffsetKey
	add := func(id string, t Topic) {
		for _, p := range s.Partitions(id, t.Name) {
			k := group.OffsetKey{Group: id, Topic: t.Name, Partition: p}
			if e, has := s.get(k); !has || sameTopic(e.TopicID, t.ID) {
				keys = append(keys, k)
			}
		}
	}
	for id, of := range s.groups {
		for _, t := range ts {
			if of[t.Name] != nil {
				add(id, t)
			}
		}
	}
	return tombstones(keys)
}

func tombstones(keys []group.OffsetKey) []group.Record {
	slices.SortFunc(keys, func(a, b group.OffsetKey) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Topic, b.Topic), cmp.Compare(a.Partition, b.Partition))
	})
	rs := make([]group.Record, 0, len(keys))
	for _, k := range keys {
		rs = append(rs, group.OffsetTombstone(k))
	}
	return rs
}

// Aging is how a group's offsets grow old.
type Aging interface {
	// Retention is since when: a time in ms, or group.None for the time of each commit; false: not now.
	Retention() (since int64, ok bool)
	// Subscribes excepts topics.
	Subscribes(topic string) bool
}

// Expire is the tombstones of the group's offsets that are older than the retention or than their own expiry, and
// whether nothing is left after them. What an open transaction has committed stays.
func (s *Store) Expire(now time.Time, retention time.Duration, id string, a Aging) (rs []group.Record, empty bool) {
	since, ages := a.Retention()
	var keys []group.OffsetKey
	empty = true
	for _, topic := range s.Topics(id) {
		spared := !ages || a.Subscribes(topic)
		for _, p := range s.Partitions(id, topic) {
			k := group.OffsetKey{Group: id, Topic: topic, Partition: p}
			if e, has := s.get(k); spared || !has || s.Unstable(k) || !expired(e, now.UnixMilli(), since, retention) {
				empty = false
				continue
			}
			keys = append(keys, k)
		}
	}
	return tombstones(keys), empty
}

func expired(e entry, nowMs, since int64, retention time.Duration) bool {
	if e.ExpireTimestamp != group.None {
		return nowMs >= e.ExpireTimestamp
	}
	if since == group.None {
		since = e.CommitTimestamp
	}
	return nowMs-since >= retention.Milliseconds()
}
