package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/txncoord/txn"
)

const (
	// addByBroker is the version of AddPartitionsToTxn from which partition leaders ask, for many transactions at a time.
	addByBroker = 4
	// fencedVersion is the version of a transactional request from which clients know PRODUCER_FENCED.
	fencedVersion = 2
)

// AddPartitionsToTxn 0 to 5.
//
//   - v0 to v3: from producers. A partition that does not exist refuses the request, the others of it are
//     OPERATION_NOT_ATTEMPTED; internal topics are nobody's to write to. v2: PRODUCER_FENCED (KIP-588).
//   - v4, v5: from the leaders of partitions, to add them or to verify that they are in (KIP-890). A partition that
//     is not is TRANSACTION_ABORTABLE.
func (h *handlers) addPartitionsToTxn(ctx context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	return Body(h.addPartitions(ctx, req.(*kmsg.AddPartitionsToTxnRequest))), nil
}

func (h *handlers) addPartitions(ctx context.Context, r *kmsg.AddPartitionsToTxnRequest) *kmsg.AddPartitionsToTxnResponse {
	resp := r.ResponseKind().(*kmsg.AddPartitionsToTxnResponse)
	if r.Version < addByBroker {
		a := &txn.Adding{ID: r.TransactionalID, ProducerID: r.ProducerID, Epoch: r.ProducerEpoch}
		for _, t := range r.Topics {
			a.Partitions = appendPartitions(a.Partitions, t.Topic, t.Partitions)
		}
		code := h.addOne(ctx, r.Version, a, false)
		for _, t := range r.Topics {
			rt := kmsg.AddPartitionsToTxnResponseTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				c := code(protocol.TopicPartition{Topic: t.Topic, Partition: p})
				rt.Partitions = append(rt.Partitions, kmsg.AddPartitionsToTxnResponseTopicPartition{Partition: p, ErrorCode: int16(c)})
			}
			resp.Topics = append(resp.Topics, rt)
		}
		return resp
	}
	for i := range r.Transactions {
		x := &r.Transactions[i]
		a := &txn.Adding{ID: x.TransactionalID, ProducerID: x.ProducerID, Epoch: x.ProducerEpoch, ClientVersion: 2}
		for _, t := range x.Topics {
			a.Partitions = appendPartitions(a.Partitions, t.Topic, t.Partitions)
		}
		code := h.addOne(ctx, r.Version, a, x.VerifyOnly)
		rx := kmsg.AddPartitionsToTxnResponseTransaction{TransactionalID: x.TransactionalID}
		for _, t := range x.Topics {
			rt := kmsg.AddPartitionsToTxnResponseTransactionTopic{Topic: t.Topic}
			for _, p := range t.Partitions {
				c := code(protocol.TopicPartition{Topic: t.Topic, Partition: p})
				rt.Partitions = append(rt.Partitions, kmsg.AddPartitionsToTxnResponseTransactionTopicPartition{Partition: p, ErrorCode: int16(c)})
			}
			rx.Topics = append(rx.Topics, rt)
		}
		resp.Transactions = append(resp.Transactions, rx)
	}
	return resp
}

func appendPartitions(to []protocol.TopicPartition, topic string, ps []int32) []protocol.TopicPartition {
	for _, p := range ps {
		to = append(to, protocol.TopicPartition{Topic: topic, Partition: p})
	}
	return to
}

// addOne adds to one transaction, or verifies, and says what became of each partition.
func (h *handlers) addOne(ctx context.Context, version int16, a *txn.Adding, verify bool) func(protocol.TopicPartition) protocol.ErrorCode {
	image := h.Metadata()
	if slices.ContainsFunc(a.Partitions, func(tp protocol.TopicPartition) bool { return mayAdd(image, version, tp) != protocol.None }) {
		return func(tp protocol.TopicPartition) protocol.ErrorCode {
			if code := mayAdd(image, version, tp); code != protocol.None {
				return code
			}
			return protocol.OperationNotAttempted
		}
	}
	var missing []protocol.TopicPartition
	var code protocol.ErrorCode
	if verify {
		missing, code = h.Transactions.Verify(ctx, a)
	} else {
		code = h.Transactions.Add(ctx, a)
	}
	if version < fencedVersion && code == protocol.ProducerFenced {
		code = protocol.InvalidProducerEpoch
	}
	return func(tp protocol.TopicPartition) protocol.ErrorCode {
		if slices.Contains(missing, tp) {
			return protocol.TransactionAbortable
		}
		return code
	}
}

// mayAdd says whether a partition can be part of a transaction.
func mayAdd(image *metadata.Image, version int16, tp protocol.TopicPartition) protocol.ErrorCode {
	switch {
	case version < addByBroker && protocol.IsInternalTopic(tp.Topic):
		return protocol.TopicAuthorizationFailed
	case image.Topic(tp.Topic).Partition(tp.Partition) == nil:
		return protocol.UnknownTopicOrPartition
	}
	return protocol.None
}
