package metadata

import (
	"iter"
	"maps"
	"slices"

	"github.com/ottla/ottla/protocol/msg"
)

// Records yields the records that build the image from nothing, in the order Kafka writes them to a snapshot:
// features with metadata.version first, brokers, controllers, each topic with its partitions, configs, quotas,
// producer ids, ACLs, SCRAM credentials, delegation tokens.
func (i *Image) Records() iter.Seq[Record] {
	return func(yield func(Record) bool) {
		for _, part := range []func(func(Record) bool) bool{
			i.featureRecords, i.nodeRecords, i.topicRecords, i.configRecords, i.quotaRecords, i.producerIDRecords,
			each(i.acls.all()), each(i.scram.all()), each(i.tokens.all()),
		} {
			if !part(yield) {
				return
			}
		}
	}
}

// each yields records that the image keeps as they are.
func each[R Record](seq iter.Seq[R]) func(func(Record) bool) bool {
	return func(yield func(Record) bool) bool {
		for r := range seq {
			if !yield(r) {
				return false
			}
		}
		return true
	}
}

func (i *Image) featureRecords(yield func(Record) bool) bool {
	if level, ok := i.features[MetadataVersion]; ok {
		if !yield(&msg.FeatureLevelRecord{Name: MetadataVersion, FeatureLevel: level}) {
			return false
		}
	}
	for _, f := range slices.Sorted(maps.Keys(i.features)) {
		if f != MetadataVersion && !yield(&msg.FeatureLevelRecord{Name: f, FeatureLevel: i.features[f]}) {
			return false
		}
	}
	return true
}

func (i *Image) nodeRecords(yield func(Record) bool) bool {
	level := i.MetadataVersion()
	for b := range i.Brokers() {
		if !yield(b.record(level)) {
			return false
		}
	}
	for c := range i.Controllers() {
		if !yield(c.record()) {
			return false
		}
	}
	return true
}

func (b *Broker) record(level int16) *msg.RegisterBrokerRecord {
	r := msg.NewRegisterBrokerRecord()
	r.BrokerID, r.BrokerEpoch, r.IncarnationID, r.Rack = b.ID, b.Epoch, b.Incarnation, b.Rack
	r.Fenced, r.InControlledShutdown = b.Fenced, b.InControlledShutdown
	r.IsMigratingZkBroker = b.Migrating && level >= MigrationLevel
	if level >= DirectoriesLevel {
		r.LogDirs = b.LogDirs
	}
	if level >= CordonedDirsLevel {
		r.CordonedLogDirs = b.CordonedDirs
	}
	for _, e := range b.Listeners {
		r.EndPoints = append(r.EndPoints, msg.RegisterBrokerRecordBrokerEndpoint{
			Name: e.Name, Host: e.Host, Port: e.Port, SecurityProtocol: int16(e.Protocol),
		})
	}
	for _, f := range b.Features {
		r.Features = append(r.Features, msg.RegisterBrokerRecordBrokerFeature{
			Name: f.Feature, MinSupportedVersion: f.Min, MaxSupportedVersion: f.Max,
		})
	}
	return r
}

func (c *Controller) record() *msg.RegisterControllerRecord {
	r := msg.NewRegisterControllerRecord()
	r.ControllerID, r.IncarnationID, r.ZkMigrationReady = c.ID, c.Incarnation, c.MigrationReady
	for _, e := range c.Listeners {
		r.EndPoints = append(r.EndPoints, msg.RegisterControllerRecordControllerEndpoint{
			Name: e.Name, Host: e.Host, Port: e.Port, SecurityProtocol: int16(e.Protocol),
		})
	}
	for _, f := range c.Features {
		r.Features = append(r.Features, msg.RegisterControllerRecordControllerFeature{
			Name: f.Feature, MinSupportedVersion: f.Min, MaxSupportedVersion: f.Max,
		})
	}
	return r
}

func (i *Image) topicRecords(yield func(Record) bool) bool {
	level := i.MetadataVersion()
	for t := range i.Topics() {
		if !yield(&msg.TopicRecord{Name: t.Name, TopicID: t.ID}) {
			return false
		}
		for n, p := range t.Partitions {
			if !yield(p.Record(t.ID, int32(n), level)) {
				return false
			}
		}
	}
	return true
}

// Record is the partition as a PartitionRecord, without what the level of metadata.version cannot carry.
func (p *Partition) Record(topic [16]byte, number int32, level int16) *msg.PartitionRecord {
	r := msg.NewPartitionRecord()
	r.PartitionID, r.TopicID = number, topic
	r.Replicas, r.ISR, r.RemovingReplicas, r.AddingReplicas = p.Replicas, p.ISR, p.Removing, p.Adding
	r.Leader, r.LeaderEpoch, r.PartitionEpoch = p.Leader, p.LeaderEpoch, p.PartitionEpoch
	r.LeaderRecoveryState = p.RecoveryState
	if level >= DirectoriesLevel {
		r.Directories = p.Directories
	}
	if level >= ELRLevel {
		r.EligibleLeaderReplicas, r.LastKnownELR = nilIfEmpty(p.ELR), nilIfEmpty(p.LastKnownELR)
	}
	return r
}

func nilIfEmpty(list []int32) []int32 {
	if len(list) == 0 {
		return nil
	}
	return list
}

func (i *Image) configRecords(yield func(Record) bool) bool {
	for res, values := range i.Configs() {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			value := values[name]
			r := &msg.ConfigRecord{ResourceType: int8(res.Type), ResourceName: res.Name, Name: name, Value: &value}
			if !yield(r) {
				return false
			}
		}
	}
	return true
}

func (i *Image) quotaRecords(yield func(Record) bool) bool {
	for q := range i.Quotas() {
		entity := make([]msg.ClientQuotaRecordEntityData, len(q.Entity))
		for n, e := range q.Entity {
			entity[n] = msg.ClientQuotaRecordEntityData{EntityType: e.Type, EntityName: e.Name}
		}
		for _, key := range slices.Sorted(maps.Keys(q.Values)) {
			if !yield(&msg.ClientQuotaRecord{Entity: entity, Key: key, Value: q.Values[key]}) {
				return false
			}
		}
	}
	return true
}

func (i *Image) producerIDRecords(yield func(Record) bool) bool {
	if i.producerID == 0 {
		return true
	}
	return yield(&msg.ProducerIdsRecord{BrokerID: -1, BrokerEpoch: -1, NextProducerID: i.producerID})
}
