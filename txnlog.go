package ottla

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/broker/api"
	"github.com/ottla/ottla/groupcoord"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/txncoord"
)

// makeTransactions makes the transaction coordinator, and what asks coordinators on behalf of the partitions here.
func (n *node) makeTransactions() {
	n.transactions = txncoord.New(txncoord.Options{
		Config: n.settings.transaction, Level: n.transactionVersion, Partitions: func() int32 { return n.partitionsOf(protocol.TransactionStateTopic) },
		Log: n.transactionLog, NextProducerID: n.producerIDs.Next, Leader: n.leaderOf, WriteMarkers: n.writeMarkers,
		Logger: n.log.Named("transactions"),
	})
	n.onStop(func(context.Context) error { n.transactions.Close(); return nil })
	n.verifier = txncoord.NewVerifier(txncoord.VerifierOptions{
		Config: n.settings.transaction, Coordinator: n.transactionCoordinator, Ask: n.askTransactionCoordinator, Ending: n.transactions.Ending,
	})
}

// transactionVersion is the cluster's finalised transaction.version.
func (n *node) transactionVersion() int16 {
	return n.loader.Current().Feature(metadata.TransactionVersion)
}

// transactionLog finds a partition of __transaction_state on this broker.
func (n *node) transactionLog(partition int32) (txncoord.Log, error) {
	p, err := n.partitions.Partition(protocol.TopicPartition{Topic: protocol.TransactionStateTopic, Partition: partition})
	if err != nil {
		return nil, err
	}
	return p.Coordinator(), nil
}

// leaderOf is the live broker that leads a partition, -1 if none does; false if there is no such partition.
func (n *node) leaderOf(tp protocol.TopicPartition) (int32, bool) {
	image := n.loader.Current()
	p := image.Topic(tp.Topic).Partition(tp.Partition)
	if p == nil {
		return metadata.NoLeader, false
	}
	if b := image.Broker(p.Leader); b == nil || b.Fenced {
		return metadata.NoLeader, true
	}
	return p.Leader, true
}

// transactionCoordinator is the broker that coordinates a transactional id.
func (n *node) transactionCoordinator(id string) (int32, bool) {
	node, _ := n.leaderOf(protocol.TopicPartition{Topic: protocol.TransactionStateTopic, Partition: n.transactions.PartitionFor(id)})
	return node, node != metadata.NoLeader
}

// writeMarkers and askTransactionCoordinator reach this node only: clusters of several are not built.
func (n *node) writeMarkers(ctx context.Context, node int32, req *kmsg.WriteTxnMarkersRequest) (*kmsg.WriteTxnMarkersResponse, error) {
	if node != n.o.Config.NodeID {
		return nil, protocol.NetworkException
	}
	return api.WriteTxnMarkers(ctx, n.requests, req), nil
}

func (n *node) askTransactionCoordinator(ctx context.Context, node int32, req *kmsg.AddPartitionsToTxnRequest) (*kmsg.AddPartitionsToTxnResponse, error) {
	if node != n.o.Config.NodeID {
		return nil, protocol.NetworkException
	}
	return api.AddPartitionsToTxn(ctx, n.requests, req), nil
}

// verifyOffsets asks about a partition of __consumer_offsets on behalf of the group coordinator.
func (n *node) verifyOffsets(ctx context.Context, q groupcoord.Question) protocol.ErrorCode {
	return n.verifier.Ask(ctx, &txncoord.Question{
		ID: q.TransactionalID, ProducerID: q.ProducerID, Epoch: q.Epoch, Partitions: []protocol.TopicPartition{q.Partition},
		Add: q.Add, Abortable: q.Abortable,
	})[0]
}
