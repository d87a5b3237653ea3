package protocol

// Scope is the set of listener kinds that serve an API.
type Scope uint8

const (
	// ScopeBroker is a listener that clients and other brokers use.
	ScopeBroker Scope = 1 << iota
	// ScopeController is a listener of controller.listener.names.
	ScopeController
)

// API is one row of the table of everything that Apache Kafka 4.4 serves.
type API struct {
	Key  int16
	Name string // as kafka-broker-api-versions prints it
	// Min and Max are the version window that Kafka 4.4 advertises.
	Min, Max int16
	// Listeners are the kinds of listener on which Kafka 4.4 serves it.
	Listeners Scope
	// MaxFrame bounds the request's frame in bytes; 0 means that only socket.request.max.bytes does.
	MaxFrame int
}

// oldestProduce is the lowest Produce version that is served. Versions 0 to 2 are advertised
// only because librdkafka probes them before it compresses (KIP-896).
const oldestProduce = 3

// smallFrame bounds requests that carry names and numbers only. It leaves room for hundreds
// of thousands of partitions in one request, far beyond what a client sends.
const smallFrame = 16 << 20

// Serves says whether a request of this version is answered; other versions close the connection.
func (a API) Serves(version int16) bool {
	if a.Key == Produce && version < oldestProduce {
		return false
	}
	return a.Min <= version && version <= a.Max
}

// The API keys.
const (
	Produce                               int16 = 0
	Fetch                                 int16 = 1
	ListOffsets                           int16 = 2
	Metadata                              int16 = 3
	OffsetCommit                          int16 = 8
	OffsetFetch                           int16 = 9
	FindCoordinator                       int16 = 10
	JoinGroup                             int16 = 11
	Heartbeat                             int16 = 12
	LeaveGroup                            int16 = 13
	SyncGroup                             int16 = 14
	DescribeGroups                        int16 = 15
	ListGroups                            int16 = 16
	SaslHandshake                         int16 = 17
	ApiVersions                           int16 = 18
	CreateTopics                          int16 = 19
	DeleteTopics                          int16 = 20
	DeleteRecords                         int16 = 21
	InitProducerId                        int16 = 22
	OffsetForLeaderEpoch                  int16 = 23
	AddPartitionsToTxn                    int16 = 24
	AddOffsetsToTxn                       int16 = 25
	EndTxn                                int16 = 26
	WriteTxnMarkers                       int16 = 27
	TxnOffsetCommit                       int16 = 28
	DescribeAcls                          int16 = 29
	CreateAcls                            int16 = 30
	DeleteAcls                            int16 = 31
	DescribeConfigs                       int16 = 32
	AlterConfigs                          int16 = 33
	AlterReplicaLogDirs                   int16 = 34
	DescribeLogDirs                       int16 = 35
	SaslAuthenticate                      int16 = 36
	CreatePartitions                      int16 = 37
	CreateDelegationToken                 int16 = 38
	RenewDelegationToken                  int16 = 39
	ExpireDelegationToken                 int16 = 40
	DescribeDelegationToken               int16 = 41
	DeleteGroups                          int16 = 42
	ElectLeaders                          int16 = 43
	IncrementalAlterConfigs               int16 = 44
	AlterPartitionReassignments           int16 = 45
	ListPartitionReassignments            int16 = 46
	OffsetDelete                          int16 = 47
	DescribeClientQuotas                  int16 = 48
	AlterClientQuotas                     int16 = 49
	DescribeUserScramCredentials          int16 = 50
	AlterUserScramCredentials             int16 = 51
	Vote                                  int16 = 52
	BeginQuorumEpoch                      int16 = 53
	EndQuorumEpoch                        int16 = 54
	DescribeQuorum                        int16 = 55
	AlterPartition                        int16 = 56
	UpdateFeatures                        int16 = 57
	Envelope                              int16 = 58
	FetchSnapshot                         int16 = 59
	DescribeCluster                       int16 = 60
	DescribeProducers                     int16 = 61
	BrokerRegistration                    int16 = 62
	BrokerHeartbeat                       int16 = 63
	UnregisterBroker                      int16 = 64
	DescribeTransactions                  int16 = 65
	ListTransactions                      int16 = 66
	AllocateProducerIds                   int16 = 67
	ConsumerGroupHeartbeat                int16 = 68
	ConsumerGroupDescribe                 int16 = 69
	ControllerRegistration                int16 = 70
	GetTelemetrySubscriptions             int16 = 71
	PushTelemetry                         int16 = 72
	AssignReplicasToDirs                  int16 = 73
	ListConfigResources                   int16 = 74
	DescribeTopicPartitions               int16 = 75
	ShareGroupHeartbeat                   int16 = 76
	ShareGroupDescribe                    int16 = 77
	ShareFetch                            int16 = 78
	ShareAcknowledge                      int16 = 79
	AddRaftVoter                          int16 = 80
	RemoveRaftVoter                       int16 = 81
	UpdateRaftVoter                       int16 = 82
	InitializeShareGroupState             int16 = 83
	ReadShareGroupState                   int16 = 84
	WriteShareGroupState                  int16 = 85
	DeleteShareGroupState                 int16 = 86
	ReadShareGroupStateSummary            int16 = 87
	StreamsGroupHeartbeat                 int16 = 88
	StreamsGroupDescribe                  int16 = 89
	DescribeShareGroupOffsets             int16 = 90
	AlterShareGroupOffsets                int16 = 91
	DeleteShareGroupOffsets               int16 = 92
	StreamsGroupTopologyDescriptionUpdate int16 = 93
	UnregisterController                  int16 = 94
)

const (
	onBroker     = ScopeBroker
	onController = ScopeController
	onBoth       = ScopeBroker | ScopeController
)

// apis is the table, in key order. Keys 4 to 7 were removed in Kafka 4.0.
var apis = [...]API{
	{Produce, "Produce", 0, 13, onBroker, 0},
	{Fetch, "Fetch", 4, 18, onBoth, smallFrame},
	{ListOffsets, "ListOffsets", 1, 11, onBroker, smallFrame},
	{Metadata, "Metadata", 0, 13, onBroker, smallFrame},
	{OffsetCommit, "OffsetCommit", 2, 10, onBroker, 0},
	{OffsetFetch, "OffsetFetch", 1, 10, onBroker, smallFrame},
	{FindCoordinator, "FindCoordinator", 0, 6, onBroker, smallFrame},
	{JoinGroup, "JoinGroup", 0, 9, onBroker, 0},
	{Heartbeat, "Heartbeat", 0, 4, onBroker, smallFrame},
	{LeaveGroup, "LeaveGroup", 0, 5, onBroker, smallFrame},
	{SyncGroup, "SyncGroup", 0, 5, onBroker, 0},
	{DescribeGroups, "DescribeGroups", 0, 6, onBroker, smallFrame},
	{ListGroups, "ListGroups", 0, 5, onBroker, smallFrame},
	{SaslHandshake, "SaslHandshake", 0, 1, onBoth, smallFrame},
	{ApiVersions, "ApiVersions", 0, 5, onBoth, smallFrame},
	{CreateTopics, "CreateTopics", 2, 7, onBoth, smallFrame},
	{DeleteTopics, "DeleteTopics", 1, 6, onBoth, smallFrame},
	{DeleteRecords, "DeleteRecords", 0, 2, onBroker, smallFrame},
	{InitProducerId, "InitProducerId", 0, 5, onBroker, smallFrame},
	{OffsetForLeaderEpoch, "OffsetForLeaderEpoch", 2, 4, onBroker, smallFrame},
	{AddPartitionsToTxn, "AddPartitionsToTxn", 0, 5, onBroker, smallFrame},
	{AddOffsetsToTxn, "AddOffsetsToTxn", 0, 4, onBroker, smallFrame},
	{EndTxn, "EndTxn", 0, 5, onBroker, smallFrame},
	{WriteTxnMarkers, "WriteTxnMarkers", 1, 2, onBroker, 0},
	{TxnOffsetCommit, "TxnOffsetCommit", 0, 6, onBroker, 0},
	{DescribeAcls, "DescribeAcls", 1, 3, onBoth, smallFrame},
	{CreateAcls, "CreateAcls", 1, 3, onBoth, smallFrame},
	{DeleteAcls, "DeleteAcls", 1, 3, onBoth, smallFrame},
	{DescribeConfigs, "DescribeConfigs", 1, 4, onBoth, smallFrame},
	{AlterConfigs, "AlterConfigs", 0, 2, onBoth, smallFrame},
	{AlterReplicaLogDirs, "AlterReplicaLogDirs", 1, 2, onBroker, smallFrame},
	{DescribeLogDirs, "DescribeLogDirs", 1, 5, onBroker, smallFrame},
	{SaslAuthenticate, "SaslAuthenticate", 0, 2, onBoth, smallFrame},
	{CreatePartitions, "CreatePartitions", 0, 3, onBoth, smallFrame},
	{CreateDelegationToken, "CreateDelegationToken", 1, 3, onBoth, smallFrame},
	{RenewDelegationToken, "RenewDelegationToken", 1, 2, onBoth, smallFrame},
	{ExpireDelegationToken, "ExpireDelegationToken", 1, 2, onBoth, smallFrame},
	{DescribeDelegationToken, "DescribeDelegationToken", 1, 3, onBoth, smallFrame},
	{DeleteGroups, "DeleteGroups", 0, 3, onBroker, smallFrame},
	{ElectLeaders, "ElectLeaders", 0, 2, onBoth, smallFrame},
	{IncrementalAlterConfigs, "IncrementalAlterConfigs", 0, 1, onBoth, smallFrame},
	{AlterPartitionReassignments, "AlterPartitionReassignments", 0, 1, onBoth, smallFrame},
	{ListPartitionReassignments, "ListPartitionReassignments", 0, 0, onBoth, smallFrame},
	{OffsetDelete, "OffsetDelete", 0, 0, onBroker, smallFrame},
	{DescribeClientQuotas, "DescribeClientQuotas", 0, 1, onBroker, smallFrame},
	{AlterClientQuotas, "AlterClientQuotas", 0, 1, onBoth, smallFrame},
	{DescribeUserScramCredentials, "DescribeUserScramCredentials", 0, 0, onBoth, smallFrame},
	{AlterUserScramCredentials, "AlterUserScramCredentials", 0, 0, onBoth, smallFrame},
	{Vote, "Vote", 0, 2, onController, smallFrame},
	{BeginQuorumEpoch, "BeginQuorumEpoch", 0, 1, onController, smallFrame},
	{EndQuorumEpoch, "EndQuorumEpoch", 0, 1, onController, smallFrame},
	{DescribeQuorum, "DescribeQuorum", 0, 2, onBoth, smallFrame},
	{AlterPartition, "AlterPartition", 2, 3, onController, 0},
	{UpdateFeatures, "UpdateFeatures", 0, 2, onBoth, smallFrame},
	{Envelope, "Envelope", 0, 0, onController, 0},
	{FetchSnapshot, "FetchSnapshot", 0, 1, onController, smallFrame},
	{DescribeCluster, "DescribeCluster", 0, 2, onBoth, smallFrame},
	{DescribeProducers, "DescribeProducers", 0, 0, onBroker, smallFrame},
	{BrokerRegistration, "BrokerRegistration", 0, 4, onController, smallFrame},
	{BrokerHeartbeat, "BrokerHeartbeat", 0, 2, onController, smallFrame},
	{UnregisterBroker, "UnregisterBroker", 0, 0, onBoth, smallFrame},
	{DescribeTransactions, "DescribeTransactions", 0, 0, onBroker, smallFrame},
	{ListTransactions, "ListTransactions", 0, 2, onBroker, smallFrame},
	{AllocateProducerIds, "AllocateProducerIds", 0, 0, onController, smallFrame},
	{ConsumerGroupHeartbeat, "ConsumerGroupHeartbeat", 0, 1, onBroker, smallFrame},
	{ConsumerGroupDescribe, "ConsumerGroupDescribe", 0, 1, onBroker, smallFrame},
	{ControllerRegistration, "ControllerRegistration", 0, 0, onController, smallFrame},
	{GetTelemetrySubscriptions, "GetTelemetrySubscriptions", 0, 0, onBroker, smallFrame},
	{PushTelemetry, "PushTelemetry", 0, 0, onBroker, smallFrame},
	{AssignReplicasToDirs, "AssignReplicasToDirs", 0, 0, onController, 0},
	{ListConfigResources, "ListConfigResources", 0, 1, onBroker, smallFrame},
	{DescribeTopicPartitions, "DescribeTopicPartitions", 0, 0, onBroker, smallFrame},
	{ShareGroupHeartbeat, "ShareGroupHeartbeat", 1, 1, onBroker, smallFrame},
	{ShareGroupDescribe, "ShareGroupDescribe", 1, 1, onBroker, smallFrame},
	{ShareFetch, "ShareFetch", 1, 2, onBroker, 0},
	{ShareAcknowledge, "ShareAcknowledge", 1, 2, onBroker, 0},
	{AddRaftVoter, "AddRaftVoter", 0, 1, onBoth, smallFrame},
	{RemoveRaftVoter, "RemoveRaftVoter", 0, 0, onBoth, smallFrame},
	{UpdateRaftVoter, "UpdateRaftVoter", 0, 0, onController, smallFrame},
	{InitializeShareGroupState, "InitializeShareGroupState", 0, 0, onBroker, smallFrame},
	{ReadShareGroupState, "ReadShareGroupState", 0, 0, onBroker, smallFrame},
	{WriteShareGroupState, "WriteShareGroupState", 0, 1, onBroker, 0},
	{DeleteShareGroupState, "DeleteShareGroupState", 0, 0, onBroker, smallFrame},
	{ReadShareGroupStateSummary, "ReadShareGroupStateSummary", 0, 1, onBroker, smallFrame},
	{StreamsGroupHeartbeat, "StreamsGroupHeartbeat", 0, 1, onBroker, smallFrame},
	{StreamsGroupDescribe, "StreamsGroupDescribe", 0, 1, onBroker, smallFrame},
	{DescribeShareGroupOffsets, "DescribeShareGroupOffsets", 0, 1, onBroker, smallFrame},
	{AlterShareGroupOffsets, "AlterShareGroupOffsets", 0, 0, onBroker, smallFrame},
	{DeleteShareGroupOffsets, "DeleteShareGroupOffsets", 0, 0, onBroker, smallFrame},
	{StreamsGroupTopologyDescriptionUpdate, "StreamsGroupTopologyDescriptionUpdate", 0, 0, onBroker, smallFrame},
	{UnregisterController, "UnregisterController", 0, 0, onBoth, smallFrame},
}

// APIs is a copy of the whole table in key order.
func APIs() []API {
	t := apis
	return t[:]
}

// APIOf looks a key up; false for a key that Kafka 4.4 does not know.
func APIOf(key int16) (API, bool) {
	// Keys from 8 on sit four places below their number, because 4 to 7 are gone.
	i := int(key)
	if i >= 8 {
		i -= 4
	} else if i > 3 {
		return API{}, false
	}
	if i < 0 || i >= len(apis) {
		return API{}, false
	}
	return apis[i], true
}
