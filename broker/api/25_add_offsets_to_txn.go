package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/txncoord/txn"
)

// AddOffsetsToTxn 0 to 4: the group's partition of __consumer_offsets becomes part of the transaction. v2:
// PRODUCER_FENCED (KIP-588). Clients of transaction.version 2 do without it.
func (h *handlers) addOffsetsToTxn(ctx context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.AddOffsetsToTxnRequest)
	resp := r.ResponseKind().(*kmsg.AddOffsetsToTxnResponse)
	code := h.Transactions.Add(ctx, &txn.Adding{
		ID: r.TransactionalID, ProducerID: r.ProducerID, Epoch: r.ProducerEpoch,
		Partitions: []protocol.TopicPartition{{Topic: protocol.ConsumerOffsetsTopic, Partition: h.Groups.PartitionFor(r.Group)}},
	})
	if r.Version < fencedVersion && code == protocol.ProducerFenced {
		code = protocol.InvalidProducerEpoch
	}
	resp.ErrorCode = int16(code)
	return Body(resp), nil
}
