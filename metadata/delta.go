package metadata

import (
	"fmt"
	"iter"
	"maps"
	"slices"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

// Delta is an image with records replayed on top of it. It is for one goroutine until Apply; afterwards nothing
// may be replayed and what changed may be asked from anywhere.
type Delta struct {
	before *Image
	next   Image // its tables are set by Apply

	topicsByName edit[*Topic]
	topicsByID   edit[*Topic]
	brokers      edit[*Broker]
	controllers  edit[*Controller]
	configs      edit[*resourceConfig]
	quotas       edit[*Quota]
	scram        edit[*msg.UserScramCredentialRecord]
	acls         edit[*msg.AccessControlEntryRecord]
	tokens       edit[*msg.DelegationTokenRecord]

	topics    map[protocol.UUID]*topicEdit // changed, made or deleted
	order     []protocol.UUID              // of topics, as they were first touched
	brokerIDs map[int32]struct{}
	resources map[Resource]struct{}
	kinds     kinds
}

// kinds is a set of the parts of an image, other than topics, brokers and configs, that records touched.
type kinds uint8

const (
	featureKind kinds = 1 << iota
	controllerKind
	producerIDKind
	quotaKind
	scramKind
	aclKind
	tokenKind
)

// topicEdit is a topic while it changes. parts is a copy that this delta owns, nil until a partition changes.
type topicEdit struct {
	before *Topic
	name   string
	id     protocol.UUID
	parts  []*Partition
	owned  bool
	gone   bool
}

// NewDelta starts from an image.
func NewDelta(image *Image) *Delta {
	return &Delta{
		before: image, next: *image,
		topicsByName: edit[*Topic]{base: image.topicsByName},
		topicsByID:   edit[*Topic]{base: image.topicsByID},
		brokers:      edit[*Broker]{base: image.brokers},
		controllers:  edit[*Controller]{base: image.controllers},
		configs:      edit[*resourceConfig]{base: image.configs},
		quotas:       edit[*Quota]{base: image.quotas},
		scram:        edit[*msg.UserScramCredentialRecord]{base: image.scram},
		acls:         edit[*msg.AccessControlEntryRecord]{base: image.acls},
		tokens:       edit[*msg.DelegationTokenRecord]{base: image.tokens},
	}
}

// Before is the image the delta started from.
func (d *Delta) Before() *Image { return d.before }

// Replay applies one record. An error means that the log holds something that cannot follow from what came
// before it; the image must not be used any further. Transaction markers are the reader's business and refused.
func (d *Delta) Replay(r Record) error {
	if err := d.replay(r); err != nil {
		return fmt.Errorf("replay %s: %w", r.(msg.Message).Schema(), err)
	}
	return nil
}

func (d *Delta) replay(r Record) error {
	switch r := r.(type) {
	case *msg.TopicRecord:
		return d.topic(r)
	case *msg.PartitionRecord:
		return d.partition(r)
	case *msg.PartitionChangeRecord:
		return d.partitionChange(r)
	case *msg.RemoveTopicRecord:
		return d.removeTopic(r)
	case *msg.ClearElrRecord:
		return d.clearELR(r)
	case *msg.ConfigRecord:
		d.config(Resource{ResourceType(r.ResourceType), r.ResourceName}, r.Name, r.Value)
	case *msg.RegisterBrokerRecord:
		d.setBroker(brokerFrom(r))
	case *msg.UnregisterBrokerRecord:
		return d.unregisterBroker(r)
	case *msg.FenceBrokerRecord:
		return d.changeBroker(r.ID, r.Epoch, func(b *Broker) { b.Fenced = true })
	case *msg.UnfenceBrokerRecord:
		return d.changeBroker(r.ID, r.Epoch, func(b *Broker) { b.Fenced = false })
	case *msg.BrokerRegistrationChangeRecord:
		return d.brokerRegistrationChange(r)
	case *msg.RegisterControllerRecord:
		d.kinds |= controllerKind
		d.controllers.set(idKey(r.ControllerID), controllerFrom(r))
	case *msg.UnregisterControllerRecord:
		d.kinds |= controllerKind
		d.controllers.delete(idKey(r.ControllerID))
	case *msg.FeatureLevelRecord:
		d.feature(r.Name, r.FeatureLevel)
	case *msg.ProducerIdsRecord:
		d.kinds |= producerIDKind
		d.next.producerID = r.NextProducerID
	case *msg.NoOpRecord, *msg.ZkMigrationStateRecord:
	default:
		return d.replaySecurity(r)
	}
	return nil
}

func (d *Delta) config(res Resource, name string, value *string) {
	values := map[string]string{}
	if old, ok := d.configs.get(res.key()); ok {
		values = maps.Clone(old.values)
	}
	if value == nil {
		delete(values, name)
	} else {
		values[name] = *value
	}
	d.touchConfig(res)
	if len(values) == 0 {
		d.configs.delete(res.key())
		return
	}
	d.configs.set(res.key(), &resourceConfig{res, values})
}

func (d *Delta) touchConfig(res Resource) {
	if d.resources == nil {
		d.resources = map[Resource]struct{}{}
	}
	d.resources[res] = struct{}{}
}

func (d *Delta) feature(name string, level int16) {
	d.kinds |= featureKind
	d.next.features = maps.Clone(d.next.features)
	if d.next.features == nil {
		d.next.features = map[string]int16{}
	}
	if level == 0 {
		delete(d.next.features, name)
		return
	}
	d.next.features[name] = level
}

// ReplayKRaftVersion and ReplayVoters take the control records that carry kraft.version and the voter set.
func (d *Delta) ReplayKRaftVersion(r *msg.KRaftVersionRecord) {
	d.kinds |= featureKind
	d.next.kraftVersion = r.KRaftVersion
}

func (d *Delta) ReplayVoters(r *msg.VotersRecord) { d.next.voters = r.Voters }

// Apply ends the delta: the image with everything replayed, up to and including the record at offset. The error
// says which topic has a gap in its partition numbers.
func (d *Delta) Apply(offset int64, epoch int32, timestamp int64) (*Image, error) {
	next := d.next
	next.Offset, next.Epoch, next.Timestamp = offset, epoch, timestamp
	for _, id := range d.order {
		if err := d.commitTopic(d.topics[id], &next); err != nil {
			return nil, err
		}
	}
	next.topicsByName = d.topicsByName.commit()
	next.topicsByID = d.topicsByID.commit()
	next.brokers = d.brokers.commit()
	next.controllers = d.controllers.commit()
	next.configs = d.configs.commit()
	next.quotas = d.quotas.commit()
	next.scram = d.scram.commit()
	next.acls = d.acls.commit()
	next.tokens = d.tokens.commit()
	return &next, nil
}

// Topics yields the topics that were made, changed or deleted, in the order they were first touched. A topic that
// was deleted and made again under the same name appears twice, with two ids.
func (d *Delta) Topics() iter.Seq[TopicChange] {
	return func(yield func(TopicChange) bool) {
		for _, id := range d.order {
			e := d.topics[id]
			c := TopicChange{Before: e.before}
			if !e.gone {
				c.After, _ = d.topicsByID.get(uuidKey(id))
			}
			if c.Before == nil && c.After == nil {
				continue // made and deleted within the delta
			}
			if !yield(c) {
				return
			}
		}
	}
}

// TopicsChanged, BrokersChanged and so on say whether anything of that kind was replayed.
func (d *Delta) TopicsChanged() bool      { return len(d.order) > 0 }
func (d *Delta) BrokersChanged() bool     { return len(d.brokerIDs) > 0 }
func (d *Delta) ConfigsChanged() bool     { return len(d.resources) > 0 }
func (d *Delta) FeaturesChanged() bool    { return d.kinds&featureKind != 0 }
func (d *Delta) ControllersChanged() bool { return d.kinds&controllerKind != 0 }
func (d *Delta) ProducerIDsChanged() bool { return d.kinds&producerIDKind != 0 }
func (d *Delta) QuotasChanged() bool      { return d.kinds&quotaKind != 0 }
func (d *Delta) SCRAMChanged() bool       { return d.kinds&scramKind != 0 }
func (d *Delta) ACLsChanged() bool        { return d.kinds&aclKind != 0 }
func (d *Delta) TokensChanged() bool      { return d.kinds&tokenKind != 0 }

// Brokers lists the ids of the brokers whose registration changed, sorted.
func (d *Delta) Brokers() []int32 {
	return slices.Sorted(maps.Keys(d.brokerIDs))
}

// Configs lists the resources whose settings were written, a deleted topic's among them, by type and name.
func (d *Delta) Configs() []Resource {
	return slices.SortedFunc(maps.Keys(d.resources), func(a, b Resource) int {
		return slices.Compare(a.key(), b.key())
	})
}
