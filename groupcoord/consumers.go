package groupcoord

import (
	"context"
	"crypto/rand"
	"errors"
	"iter"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/groupcoord/group/classic"
	"github.com/ottla/ottla/groupcoord/group/consumer"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
)

// ConsumerGroupHeartbeat joins, keeps and leaves members of consumer groups (KIP-848). It answers at once.
func (s *Service) ConsumerGroupHeartbeat(ctx context.Context, c Client, req *kmsg.ConsumerGroupHeartbeatRequest) *kmsg.ConsumerGroupHeartbeatResponse {
	err := consumer.Check(s.o.Config().Consumer, req)
	if err == nil {
		unique := newMemberID()
		var r *kmsg.ConsumerGroupHeartbeatResponse
		r, err = do(ctx, s, req.Group, func(m *machine, now time.Time) (*kmsg.ConsumerGroupHeartbeatResponse, group.Outcome) {
			r, o, err := m.consumerHeartbeat(m.consumerCall(now, req.Group, c, unique), req)
			if err != nil {
				return refuseHeartbeat(err), group.Outcome{}
			}
			return r, o
		})
		if err == nil {
			return r
		}
	}
	return refuseHeartbeat(err)
}

func refuseHeartbeat(err error) *kmsg.ConsumerGroupHeartbeatResponse {
	r := kmsg.NewPtrConsumerGroupHeartbeatResponse()
	r.ErrorCode = int16(codeOf(err))
	if f := (*protocol.Fault)(nil); errors.As(err, &f) {
		r.ErrorMessage = &f.Message
	}
	return r
}

// newMemberID is a random id in the form that Kafka gives members: 16 bytes in base64.
func newMemberID() string {
	var id protocol.UUID
	rand.Read(id[:]) // never fails
	return id.String()
}

// consumerHeartbeat decides a heartbeat. An empty classic group makes way, and one with members is converted.
func (m *machine) consumerHeartbeat(c consumer.Call, req *kmsg.ConsumerGroupHeartbeatRequest) (*kmsg.ConsumerGroupHeartbeatResponse, group.Outcome, error) {
	g := m.consumers.Get(req.Group)
	var before group.Outcome
	var upgraded *classic.Group
	if g == nil {
		if m.others.Get(req.Group) != nil {
			return nil, before, notOfKind(req.Group)
		}
		if old := m.groups.Get(req.Group); old != nil {
			switch {
			case req.MemberEpoch != 0:
				return nil, before, notOfKind(req.Group)
			case old.State == classic.Empty:
				g, before.Records = consumer.New(req.Group), []group.Record{group.MetadataTombstone(req.Group)}
			default:
				if g, before = consumer.Upgrade(c, old); g == nil {
					return nil, before, notOfKind(req.Group)
				}
			}
			upgraded = old
		}
	}
	o, r, err := m.consumers.Heartbeat(c, g, req)
	if err != nil {
		return nil, o, err
	}
	if upgraded != nil {
		m.groups.HandOver(&before, upgraded)
	}
	before.Records = append(before.Records, o.Records...)
	before.Timers = append(before.Timers, o.Timers...)
	before.Notes = append(before.Notes, o.Notes...)
	return r, before, nil
}

func notOfKind(id string) error {
	return &protocol.Fault{Code: protocol.GroupIDNotFound, Message: "Group " + id + " is not a consumer group."}
}

// joinConsumers is a JoinGroup for a consumer group.
func (m *machine) joinConsumers(c classic.Call, g *consumer.Group, req *kmsg.JoinGroupRequest) group.Outcome {
	if g.Size() == 0 {
		o := m.groups.Join(c, req)
		o.Records = append(g.Tombstones(), o.Records...)
		return o
	}
	o, r := g.Join(m.consumerCall(c.Now, g.ID, Client{ID: c.ClientID, Host: c.Host}, c.Unique), req)
	o.Reply(c.Token, r)
	return o
}

// ConsumerGroupDescribe describes one consumer group: GROUP_ID_NOT_FOUND if it is none.
func (s *Service) ConsumerGroupDescribe(ctx context.Context, id string) kmsg.ConsumerGroupDescribeResponseGroup {
	r, err := do(ctx, s, id, func(m *machine, _ time.Time) (kmsg.ConsumerGroupDescribeResponseGroup, group.Outcome) {
		if g := m.consumers.Get(id); g != nil {
			return g.Describe(m.consumerConfig(id), m.topics()), group.Outcome{}
		}
		err := notOfKind(id)
		if m.others.Get(id) == nil && m.groups.Get(id) == nil {
			err = &protocol.Fault{Code: protocol.GroupIDNotFound, Message: "Group " + id + " not found."}
		}
		return refuseDescribe(id, err), group.Outcome{}
	})
	if err != nil {
		return refuseDescribe(id, err)
	}
	return r
}

func refuseDescribe(id string, err error) kmsg.ConsumerGroupDescribeResponseGroup {
	r := kmsg.NewConsumerGroupDescribeResponseGroup()
	r.Group, r.ErrorCode = id, int16(codeOf(err))
	if f := (*protocol.Fault)(nil); errors.As(err, &f) {
		r.ErrorMessage = &f.Message
	}
	return r
}

// applyConsumer takes over a record of a consumer group, which takes the place of the group that its offsets, read
// before, have made.
func (m *machine) applyConsumer(r group.Record) error {
	id, err := m.consumers.Apply(r)
	if err == nil && r.Value != nil && m.groups.Get(id) != nil && m.consumers.Get(id) != nil {
		m.groups.Apply(id, nil)
	}
	return err
}

// consumerConfig is what a consumer group goes by.
func (m *machine) consumerConfig(id string) consumer.Config {
	overrides := m.Metadata().Config(metadata.Resource{Type: metadata.GroupResource, Name: id})
	if len(overrides) == 0 {
		return m.config().Consumer
	}
	return m.ConsumerConfig(overrides)
}

func (m *machine) consumerCall(now time.Time, id string, c Client, unique string) consumer.Call {
	return consumer.Call{Now: now, Config: m.consumerConfig(id), ClientID: c.ID, Host: c.Host, Unique: unique, Topics: m.topics()}
}

func (m *machine) topics() consumer.Topics { return imageTopics{m.Metadata()} }

// imageTopics shows the metadata as the rules of consumer groups look at it.
type imageTopics struct{ image *metadata.Image }

func topicOf(t *metadata.Topic) (consumer.Topic, bool) {
	if t == nil {
		return consumer.Topic{}, false
	}
	return consumer.Topic{Name: t.Name, ID: t.ID, Partitions: int32(len(t.Partitions))}, true
}

func (i imageTopics) ByName(name string) (consumer.Topic, bool) { return topicOf(i.image.Topic(name)) }
func (i imageTopics) ByID(id protocol.UUID) (consumer.Topic, bool) {
	return topicOf(i.image.TopicByID(id))
}
func (i imageTopics) Version() int64 { return i.image.Offset }

func (i imageTopics) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for t := range i.image.Topics() {
			if !yield(t.Name) {
				return
			}
		}
	}
}

func (i imageTopics) Racks(t consumer.Topic, partition int32) []string {
	of := i.image.TopicByID(t.ID)
	if of == nil {
		return nil
	}
	p := of.Partition(partition)
	if p == nil {
		return nil
	}
	var racks []string
	for _, id := range p.Replicas {
		if b := i.image.Broker(id); b != nil && b.Rack != nil {
			racks = append(racks, *b.Rack)
		}
	}
	return racks
}
