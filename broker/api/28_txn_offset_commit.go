package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
)

// txnCommitByID is the version of TxnOffsetCommit from which topics go by id.
const txnCommitByID = 6

// TxnOffsetCommit 0 to 6.
//
//   - v2: leader epochs (KIP-320); v3: the member that commits (KIP-447); v4: TRANSACTION_ABORTABLE; v5: the group becomes
//     part of the transaction by itself (KIP-890); v6: topic ids, GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH (KIP-848).
//   - Partitions that do not exist are refused here, before the coordinator, and come first in the answer.
//   - The offsets count when the transaction is committed. Until it ends, who asks for stable offsets is put off.
func (h *handlers) txnOffsetCommit(ctx context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.TxnOffsetCommitRequest)
	resp := r.ResponseKind().(*kmsg.TxnOffsetCommitResponse)
	image := h.Metadata()
	known := *r
	known.Topics = make([]kmsg.TxnOffsetCommitRequestTopic, 0, len(r.Topics))
	for i := range r.Topics {
		asked := &r.Topics[i]
		t, code := findTopic(image, asked.Topic, asked.TopicID, r.Version >= txnCommitByID)
		if t == nil {
			refuseTxnCommit(resp, asked, code, asked.Partitions)
			continue
		}
		good, bad := existing(t, asked.Partitions)
		if len(bad) > 0 {
			refuseTxnCommit(resp, asked, protocol.UnknownTopicOrPartition, bad)
		}
		if len(good) > 0 {
			known.Topics = append(known.Topics, kmsg.TxnOffsetCommitRequestTopic{Topic: t.Name, TopicID: t.ID, Partitions: good})
		}
	}
	if len(known.Topics) > 0 {
		mergeTxnCommit(resp, h.Groups.TxnOffsetCommit(ctx, &known), r.Version >= txnCommitByID)
	}
	if r.Version < fencedVersion {
		softenLoading(resp)
	}
	return Body(resp), nil
}

func existing(t *metadata.Topic, ps []kmsg.TxnOffsetCommitRequestTopicPartition) (good, bad []kmsg.TxnOffsetCommitRequestTopicPartition) {
	for _, p := range ps {
		if t.Partition(p.Partition) != nil {
			good = append(good, p)
		} else {
			bad = append(bad, p)
		}
	}
	return good, bad
}

func refuseTxnCommit(resp *kmsg.TxnOffsetCommitResponse, t *kmsg.TxnOffsetCommitRequestTopic, code protocol.ErrorCode, ps []kmsg.TxnOffsetCommitRequestTopicPartition) {
	rt := kmsg.TxnOffsetCommitResponseTopic{Topic: t.Topic, TopicID: t.TopicID}
	for _, p := range ps {
		rt.Partitions = append(rt.Partitions, kmsg.TxnOffsetCommitResponseTopicPartition{Partition: p.Partition, ErrorCode: int16(code)})
	}
	resp.Topics = append(resp.Topics, rt)
}

// mergeTxnCommit adds the coordinator's results behind those refused before, one entry a topic.
func mergeTxnCommit(resp, more *kmsg.TxnOffsetCommitResponse, byID bool) {
	refused := len(resp.Topics)
next:
	for _, t := range more.Topics {
		for i := range resp.Topics[:refused] {
			if have := &resp.Topics[i]; byID && have.TopicID == t.TopicID || !byID && have.Topic == t.Topic {
				have.Partitions = append(have.Partitions, t.Partitions...)
				continue next
			}
		}
		resp.Topics = append(resp.Topics, t)
	}
}

// softenLoading is for clients that do not know COORDINATOR_LOAD_IN_PROGRESS here.
func softenLoading(resp *kmsg.TxnOffsetCommitResponse) {
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			if p := &resp.Topics[i].Partitions[j]; protocol.ErrorCode(p.ErrorCode) == protocol.CoordinatorLoadInProgress {
				p.ErrorCode = int16(protocol.CoordinatorNotAvailable)
			}
		}
	}
}
