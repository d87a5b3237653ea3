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
}

const (
	onBroker     = protocol.ScopeBroker
	onController = protocol.ScopeController
	onBoth       = protocol.ScopeBroker | protocol.ScopeController
)

// Table lists every API that is built, in key order. ApiVersions answers from it, the connections
// dispatch by it, and docs/COMPATIBILITY.md is written from it: there is no second list.
func Table(d *Deps) []Row {
	h := &handlers{Deps: d}
	h.rows = []Row{
		row(protocol.Metadata, onBroker, h.metadata),
		row(protocol.OffsetCommit, onBroker, h.offsetCommit),
		row(protocol.OffsetFetch, onBroker, h.offsetFetch),
		row(protocol.FindCoordinator, onBroker, h.findCoordinator),
		row(protocol.JoinGroup, onBroker, h.joinGroup),
		row(protocol.Heartbeat, onBroker, h.heartbeat),
		row(protocol.LeaveGroup, onBroker, h.leaveGroup),
		row(protocol.SyncGroup, onBroker, h.syncGroup),
		row(protocol.DescribeGroups, onBroker, h.describeGroups),
		row(protocol.ListGroups, onBroker, h.listGroups),
		row(protocol.ApiVersions, onBoth, h.apiVersions),
		row(protocol.CreateTopics, onBoth, h.createTopics),
		row(protocol.DeleteTopics, onBoth, h.deleteTopics),
		row(protocol.InitProducerId, onBroker, h.initProducerID),
		row(protocol.DescribeConfigs, onBroker, h.describeConfigs),
		row(protocol.AlterConfigs, onBoth, h.alterConfigs),
		row(protocol.CreatePartitions, onBoth, h.createPartitions),
		row(protocol.DeleteGroups, onBroker, h.deleteGroups),
		row(protocol.IncrementalAlterConfigs, onBoth, h.incrementalAlterConfigs),
		row(protocol.OffsetDelete, onBroker, h.offsetDelete),
		row(protocol.DescribeQuorum, onBoth, h.describeQuorum),
		row(protocol.UpdateFeatures, onBoth, h.updateFeatures),
		row(protocol.DescribeCluster, onBoth, h.describeCluster),
		row(protocol.UnregisterBroker, onBoth, h.unregisterBroker),
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
