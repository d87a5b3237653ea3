package metadata

import (
	"iter"
	"slices"
	"strings"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

// Image is all metadata as of one offset. It is immutable and safe for concurrent use; images share what they
// have in common. Nothing that an accessor returns may be written to. A zero Image holds nothing; use New.
type Image struct {
	Offset    int64 // of the last record in it, -1 when there is none
	Epoch     int32 // of that record's batch
	Timestamp int64 // ms, of that record's batch

	features     map[string]int16
	kraftVersion int16
	voters       []msg.VotersRecordVoter

	topicsByName table[*Topic]
	topicsByID   table[*Topic]
	partitions   int
	brokers      table[*Broker]
	controllers  table[*Controller]
	configs      table[*resourceConfig]
	producerID   int64
	quotas       table[*Quota]
	scram        table[*msg.UserScramCredentialRecord]
	acls         table[*msg.AccessControlEntryRecord]
	tokens       table[*msg.DelegationTokenRecord]
}

// resourceConfig is one resource with its settings, which are replaced whole.
type resourceConfig struct {
	resource Resource
	values   map[string]string
}

// Quota is what is set for one entity.
type Quota struct {
	Entity []QuotaEntity // sorted by type
	Values map[string]float64
}

// QuotaEntity is one part of an entity: type user, client-id or ip; a nil name is the default one.
type QuotaEntity struct {
	Type string
	Name *string
}

// New returns the image of an empty log.
func New() *Image {
	return &Image{Offset: -1, Epoch: -1}
}

// Topic returns the topic, nil if there is none of that name.
func (i *Image) Topic(name string) *Topic {
	t, _ := i.topicsByName.get([]byte(name))
	return t
}

// TopicByID returns the topic, nil if there is none with that id.
func (i *Image) TopicByID(id protocol.UUID) *Topic {
	t, _ := i.topicsByID.get(uuidKey(id))
	return t
}

// Topics yields the topics sorted by name.
func (i *Image) Topics() iter.Seq[*Topic] { return i.topicsByName.all() }

// TopicsFrom yields the topics whose name is not before from, sorted by name.
func (i *Image) TopicsFrom(from string) iter.Seq[*Topic] {
	return func(yield func(*Topic) bool) {
		if i.topicsByName.tree == nil {
			return
		}
		it := i.topicsByName.tree.Root().Iterator()
		it.SeekLowerBound([]byte(from))
		for _, t, ok := it.Next(); ok; _, t, ok = it.Next() {
			if !yield(t) {
				return
			}
		}
	}
}

// TopicCount and PartitionCount are the sizes of the cluster.
func (i *Image) TopicCount() int     { return i.topicsByName.len() }
func (i *Image) PartitionCount() int { return i.partitions }

// Broker returns the registration, nil if there is none.
func (i *Image) Broker(id int32) *Broker {
	b, _ := i.brokers.get(idKey(id))
	return b
}

// Brokers yields the registered brokers, fenced ones included, by id.
func (i *Image) Brokers() iter.Seq[*Broker] { return i.brokers.all() }

// Controller returns the registration, nil if there is none.
func (i *Image) Controller(id int32) *Controller {
	c, _ := i.controllers.get(idKey(id))
	return c
}

// Controllers yields the registered controllers by id.
func (i *Image) Controllers() iter.Seq[*Controller] { return i.controllers.all() }

// Config returns the settings of a resource, nil if there are none.
func (i *Image) Config(r Resource) map[string]string {
	if c, ok := i.configs.get(r.key()); ok {
		return c.values
	}
	return nil
}

// Configs yields every resource that has settings, by type and name.
func (i *Image) Configs() iter.Seq2[Resource, map[string]string] {
	return func(yield func(Resource, map[string]string) bool) {
		for c := range i.configs.all() {
			if !yield(c.resource, c.values) {
				return
			}
		}
	}
}

// ConfigsOf yields the names of the resources of one type that have settings, sorted.
func (i *Image) ConfigsOf(t ResourceType) iter.Seq[string] {
	return func(yield func(string) bool) {
		for c := range i.configs.under([]byte{byte(t)}) {
			if !yield(c.resource.Name) {
				return
			}
		}
	}
}

// Feature is the finalised level, 0 for a feature that is not. kraft.version is among them.
func (i *Image) Feature(name string) int16 {
	if name == KRaftVersion {
		return i.kraftVersion
	}
	return i.features[name]
}

// MetadataVersion is the level of metadata.version, MinimumLevel before it was written.
func (i *Image) MetadataVersion() int16 {
	if l, ok := i.features[MetadataVersion]; ok {
		return l
	}
	return MinimumLevel
}

// HasMetadataVersion reports whether the level was ever written: false in an empty log only.
func (i *Image) HasMetadataVersion() bool { _, ok := i.features[MetadataVersion]; return ok }

// Features lists the finalised features by name, kraft.version included.
func (i *Image) Features() []Level {
	list := make([]Level, 0, len(i.features)+1)
	for name, level := range i.features {
		list = append(list, Level{name, level})
	}
	if i.kraftVersion > 0 {
		list = append(list, Level{KRaftVersion, i.kraftVersion})
	}
	slices.SortFunc(list, func(a, b Level) int { return strings.Compare(a.Feature, b.Feature) })
	return list
}

// Voters is the voter set of the newest KRaftVoters control record, nil without one.
func (i *Image) Voters() []msg.VotersRecordVoter { return i.voters }

// NextProducerID is the first id of the block that is handed out next.
func (i *Image) NextProducerID() int64 { return i.producerID }

// Quotas yields what is set for each entity.
func (i *Image) Quotas() iter.Seq[*Quota] { return i.quotas.all() }

// SCRAM returns a user's credential; mechanism 1 is SHA-256, 2 is SHA-512.
func (i *Image) SCRAM(mechanism int8, user string) *msg.UserScramCredentialRecord {
	c, _ := i.scram.get(typedKey(mechanism, user))
	return c
}

// SCRAMs yields all credentials, by mechanism and user.
func (i *Image) SCRAMs() iter.Seq[*msg.UserScramCredentialRecord] { return i.scram.all() }

// ACLs yields all access control entries.
func (i *Image) ACLs() iter.Seq[*msg.AccessControlEntryRecord] { return i.acls.all() }

// ACL returns one entry, nil if there is none with that id.
func (i *Image) ACL(id protocol.UUID) *msg.AccessControlEntryRecord {
	a, _ := i.acls.get(uuidKey(id))
	return a
}

// Tokens yields all delegation tokens, by id.
func (i *Image) Tokens() iter.Seq[*msg.DelegationTokenRecord] { return i.tokens.all() }

// Token returns one token, nil if there is none with that id.
func (i *Image) Token(id string) *msg.DelegationTokenRecord {
	t, _ := i.tokens.get([]byte(id))
	return t
}
