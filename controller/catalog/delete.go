package catalog

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

// DeleteTopics 1 to 6, by name or (v6, KIP-516) by id.
func (c *Catalog) DeleteTopics(r *kmsg.DeleteTopicsRequest) (*kmsg.DeleteTopicsResponse, Result, error) {
	if !c.static().Bool("delete.topic.enable") {
		if r.Version < 3 {
			return nil, Result{}, fault(protocol.InvalidRequest, "Topics cannot be deleted here")
		}
		return nil, Result{}, fault(protocol.TopicDeletionDisabled, "Topic deletion is disabled (delete.topic.enable)")
	}
	d := deletion{c: c, resp: r.ResponseKind().(*kmsg.DeleteTopicsResponse)}
	for i := range r.TopicNames {
		d.named(&r.TopicNames[i])
	}
	for i := range r.Topics {
		d.topic(&r.Topics[i])
	}
	records := d.decide()
	if err := tooMany(records); err != nil {
		return nil, Result{}, err
	}
	return d.resp, Result{Records: records}, nil
}

// deletion collects what one request names, so that what is named twice is refused once.
type deletion struct {
	c     *Catalog
	resp  *kmsg.DeleteTopicsResponse
	names []string
	ids   []protocol.UUID
}

func (d *deletion) named(name *string) { d.names = append(d.names, *name) }

func (d *deletion) topic(t *kmsg.DeleteTopicsRequestTopic) {
	id := protocol.UUID(t.TopicID)
	switch {
	case t.Topic == nil && id.IsZero():
		d.answer(nil, id, fault(protocol.InvalidRequest, "Neither a topic name nor a topic id was given"))
	case t.Topic == nil:
		d.ids = append(d.ids, id)
	case id.IsZero():
		d.named(t.Topic)
	default:
		d.answer(t.Topic, id, fault(protocol.InvalidRequest, "A topic name and a topic id were given for one topic"))
	}
}

func (d *deletion) answer(name *string, id protocol.UUID, err error) {
	out := kmsg.NewDeleteTopicsResponseTopic()
	out.Topic, out.TopicID = name, id
	out.ErrorCode, out.ErrorMessage = int16(protocol.CodeOf(err)), protocol.MessageOf(err)
	d.resp.Topics = append(d.resp.Topics, out)
}

func (d *deletion) decide() []metadata.Record {
	image := d.c.settle()
	var topics []*metadata.Topic
	byID := map[protocol.UUID]bool{}
	twice := duplicates(d.ids, protocol.UUID.String)
	for _, id := range d.ids {
		switch t := image.TopicByID(id); {
		case slices.Contains(twice, id.String()):
		case t == nil:
			d.answer(nil, id, fault(protocol.UnknownTopicID, "There is no topic with this id"))
		default:
			topics, byID[id] = append(topics, t), true
		}
	}
	for _, id := range twice {
		u, _ := protocol.ParseUUID(id)
		byID[u] = true
		d.answer(nil, u, fault(protocol.InvalidRequest, "The topic id stands in the request more than once"))
	}
	twice = duplicates(d.names, func(s string) string { return s })
	for i, name := range d.names {
		switch t := image.Topic(name); {
		case slices.Contains(twice, name):
		case t == nil:
			d.answer(&d.names[i], protocol.UUID{}, fault(protocol.UnknownTopicOrPartition, "There is no topic of this name"))
		case byID[t.ID]:
			topics = slices.DeleteFunc(topics, func(o *metadata.Topic) bool { return o == t })
			d.answer(&d.names[i], t.ID, fault(protocol.InvalidRequest, "The topic stands in the request by its name and by its id"))
		default:
			topics = append(topics, t)
		}
	}
	for i := range twice {
		d.answer(&twice[i], protocol.UUID{}, fault(protocol.InvalidRequest, "The topic name stands in the request more than once"))
	}
	var records []metadata.Record
	for _, t := range topics {
		d.answer(&t.Name, t.ID, nil)
		records = append(records, &msg.RemoveTopicRecord{TopicID: t.ID})
	}
	return records
}
