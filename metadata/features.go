package metadata

// Features that a cluster finalises.
const (
	MetadataVersion    = "metadata.version"
	KRaftVersion       = "kraft.version" // in control records only
	TransactionVersion = "transaction.version"
	GroupVersion       = "group.version"
	ELRVersion         = "eligible.leader.replicas.version"
	ShareVersion       = "share.version"
	StreamsVersion     = "streams.version"
)

// Levels of metadata.version at which something in the log or in a rule changes.
const (
	MinimumLevel                int16 = 7  // 3.3-IV3, the lowest that 4.x reads
	MigrationLevel              int16 = 8  // 3.4-IV0
	ISRShrinkKeepsEpochLevel    int16 = 12 // 3.6-IV0: below it an ISR shrink bumps the leader epoch
	TransactionsLevel           int16 = 13 // 3.6-IV1: metadata transactions
	DelegationTokensLevel       int16 = 14 // 3.6-IV2
	ControllerRegistrationLevel int16 = 15 // 3.7-IV0
	DirectoriesLevel            int16 = 17 // 3.7-IV2: log directories of replicas
	ELRLevel                    int16 = 23 // 4.0-IV1: eligible leader replicas can be written
	CordonedDirsLevel           int16 = 30 // 4.3-IV0
	CIDRLevel                   int16 = 32 // 4.4-IV1: networks as ACL hosts
	ControllerUnregisterLevel   int16 = 33 // 4.4-IV2
	LatestLevel                 int16 = 33 // 4.4-IV2, what a fresh 4.4 cluster runs at
)

// SupportedMetadataVersion is the range of metadata.version that this code reads and writes.
func SupportedMetadataVersion() VersionRange {
	return VersionRange{Feature: MetadataVersion, Min: MinimumLevel, Max: LatestLevel}
}

// SupportedKRaftVersion is the range of kraft.version: with 1 the voter set is in the log.
func SupportedKRaftVersion() VersionRange {
	return VersionRange{Feature: KRaftVersion, Min: 0, Max: 1}
}

// kafkaFeatures are the highest levels of the optional features in Kafka 4.4.
var kafkaFeatures = [...]Level{{ELRVersion, 1}, {GroupVersion, 1}, {ShareVersion, 2}, {StreamsVersion, 1}, {TransactionVersion, 2}}

// KafkaSupports reports whether a cluster of Kafka 4.4 can be finalised at that level of an optional feature.
func KafkaSupports(feature string, level int16) bool {
	for _, f := range kafkaFeatures {
		if f.Feature == feature {
			return 0 <= level && level <= f.Level
		}
	}
	return false
}
