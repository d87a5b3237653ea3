package api

import (
	"github.com/ottla/ottla/protocol"
)

// Row is an API that is built.
type Row struct {
	protocol.API
	// Listeners are the kinds of listener on which it is built, a part of what Kafka has.
	Listeners protocol.Scope
	Handle    Handler
	// Without is what of it is not built, as a part of a sentence; "" when nothing is missing.
	Without string
}

func (r Row) without(what string) Row {
	r.Without = what
	return r
}

const (
	onBroker     = protocol.ScopeBroker
	onController = protocol.ScopeController
	onBoth       = protocol.ScopeBroker | protocol.ScopeController
)

// Table lists every API that is built, in key order. ApiVersions answers from it, the connections
// dispatch by it, and docs/COMPATIBILITY.md is written from it: there is no second list.
func Table(d *Deps) []Row {
	h := &handlers{Deps: d, sessions: newFetchSessions()}
	h.rows = []Row{
		row(protocol.Produce, onBroker, h.produce),
		row(protocol.Fetch, onBroker, h.fetch).without("replicas, and the metadata log on controller listeners"),
		row(protocol.ListOffsets, onBroker, h.listOffsets),
		row(protocol.Metadata, onBroker, h.metadata),
		row(protocol.OffsetCommit, onBroker, h.offsetCommit),
		row(protocol.OffsetFetch, onBroker, h.offsetFetch),
		row(protocol.FindCoordinator, onBroker, h.findCoordinator).without("share coordinators"),
		row(protocol.JoinGroup, onBroker, h.joinGroup),
		row(protocol.Heartbeat, onBroker, h.heartbeat),
		row(protocol.LeaveGroup, onBroker, h.leaveGroup),
		row(protocol.SyncGroup, onBroker, h.syncGroup),
		row(protocol.DescribeGroups, onBroker, h.describeGroups),
		row(protocol.ListGroups, onBroker, h.listGroups),
		row(protocol.ApiVersions, onBoth, h.apiVersions),
		row(protocol.CreateTopics, onBoth, h.createTopics),
		row(protocol.DeleteTopics, onBoth, h.deleteTopics),
		row(protocol.DeleteRecords, onBroker, h.deleteRecords),
		row(protocol.InitProducerId, onBroker, h.initProducerID),
		row(protocol.OffsetForLeaderEpoch, onBroker, h.offsetForLeaderEpoch),
		row(protocol.AddPartitionsToTxn, onBroker, h.addPartitionsToTxn),
		row(protocol.AddOffsetsToTxn, onBroker, h.addOffsetsToTxn),
		row(protocol.EndTxn, onBroker, h.endTxn),
		row(protocol.WriteTxnMarkers, onBroker, h.writeTxnMarkers),
		row(protocol.TxnOffsetCommit, onBroker, h.txnOffsetCommit),
		row(protocol.DescribeConfigs, onBroker, h.describeConfigs),
		row(protocol.AlterConfigs, onBoth, h.alterConfigs),
		row(protocol.DescribeLogDirs, onBroker, h.describeLogDirs),
		row(protocol.CreatePartitions, onBoth, h.createPartitions),
		row(protocol.DeleteGroups, onBroker, h.deleteGroups),
		row(protocol.ElectLeaders, onBoth, h.electLeaders),
		row(protocol.IncrementalAlterConfigs, onBoth, h.incrementalAlterConfigs),
		row(protocol.AlterPartitionReassignments, onBoth, h.alterPartitionReassignments),
		row(protocol.ListPartitionReassignments, onBoth, h.listPartitionReassignments),
		row(protocol.OffsetDelete, onBroker, h.offsetDelete),
		row(protocol.DescribeQuorum, onBoth, h.describeQuorum),
		row(protocol.AlterPartition, onController, h.controllerRequest),
		row(protocol.UpdateFeatures, onBoth, h.updateFeatures),
		row(protocol.DescribeCluster, onBoth, h.describeCluster),
		row(protocol.DescribeProducers, onBroker, h.describeProducers),
		row(protocol.BrokerRegistration, onController, h.controllerRequest),
		row(protocol.BrokerHeartbeat, onController, h.controllerRequest),
		row(protocol.UnregisterBroker, onBoth, h.unregisterBroker),
		row(protocol.DescribeTransactions, onBroker, h.describeTransactions),
		row(protocol.ListTransactions, onBroker, h.listTransactions),
		row(protocol.AllocateProducerIds, onController, h.controllerRequest),
		row(protocol.ConsumerGroupHeartbeat, onBroker, h.consumerGroupHeartbeat),
		row(protocol.ConsumerGroupDescribe, onBroker, h.consumerGroupDescribe),
		row(protocol.ControllerRegistration, onController, h.controllerRequest),
		row(protocol.AssignReplicasToDirs, onController, h.controllerRequest),
		row(protocol.ListConfigResources, onBroker, h.listConfigResources),
		row(protocol.DescribeTopicPartitions, onBroker, h.describeTopicPartitions),
	}
	return h.rows
}

func row(key int16, listeners protocol.Scope, h Handler) Row {
	a, ok := protocol.APIOf(key)
	if !ok || listeners&^a.Listeners != 0 {
		panic("api table: key or listener that Kafka does not have")
	}
	return Row{API: a, Listeners: listeners, Handle: h}
}
