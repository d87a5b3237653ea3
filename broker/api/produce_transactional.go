package api

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
	"github.com/ottla/ottla/storage"
	"github.com/ottla/ottla/txncoord"
)

// Versions of Produce.
const (
	produceAbortable = 11 // clients know TRANSACTION_ABORTABLE
	produceAdds      = 12 // partitions become part of the transaction by themselves
)

// verdict is what is known of a transactional batch before it is appended.
type verdict struct {
	guard storage.Guard
	err   error
}

// transactional is a partition's batch as a transactional one, false if it is none.
func transactional(records []byte) (record.Batch, bool) {
	b := record.Batch(records)
	return b, len(b) >= record.HeaderSize && b.Magic() == record.Magic2 && b.IsTransactional()
}

// transactionRefusal is what is wrong with the request's transactional batches as a whole: none without a
// transactional id, and all of them of one producer.
func (p *producing) transactionRefusal() error {
	var first record.Batch
	for i := range p.req.Topics {
		for j := range p.req.Topics[i].Partitions {
			b, ok := transactional(p.req.Topics[i].Partitions[j].Records)
			switch {
			case !ok:
			case p.req.TransactionID == nil:
				return protocol.TransactionalIDAuthorizationFailed
			case first == nil:
				first = b
			case b.ProducerID() != first.ProducerID() || b.ProducerEpoch() != first.ProducerEpoch():
				return &protocol.Fault{Code: protocol.InvalidProducerIDMapping, Message: "Transactional records contained more than one producer ID"}
			}
		}
	}
	return nil
}

// verify makes sure, before anything is appended, that the partitions are part of the transaction (KIP-890). The
// coordinator is asked once for all partitions in which the transaction is not open yet.
func (p *producing) verify(ctx context.Context) {
	q := txncoord.Question{Add: p.req.Version >= produceAdds, Abortable: p.req.Version >= produceAbortable}
	var asked []*kmsg.ProduceRequestTopicPartition
	for i := range p.req.Topics {
		in := &p.req.Topics[i]
		t, _ := findTopic(p.hints.image, in.Topic, in.TopicID, p.req.Version >= 13)
		if t == nil || !p.mayWrite(t) {
			continue // refused when it is its turn
		}
		for j := range in.Partitions {
			part := &in.Partitions[j]
			b, ok := transactional(part.Records)
			if !ok || t.Partition(part.Partition) == nil {
				continue
			}
			if p.startVerification(t, part, b, q.Add) {
				q.ProducerID, q.Epoch = b.ProducerID(), b.ProducerEpoch()
				q.Partitions = append(q.Partitions, protocol.TopicPartition{Topic: t.Name, Partition: part.Partition})
				asked = append(asked, part)
			}
		}
	}
	if len(asked) == 0 {
		return
	}
	q.ID = string([]byte(*p.req.TransactionID)) // the request's goes with its frame
	codes := p.ask(ctx, &q)
	for i, part := range asked {
		if codes[i] != protocol.None {
			p.verdicts[part] = verdict{err: notVerified(codes[i], q.Add)}
		}
	}
}

func (p *producing) ask(ctx context.Context, q *txncoord.Question) []protocol.ErrorCode {
	if q.Add {
		return p.h.Verifier.AskPatiently(ctx, q)
	}
	return p.h.Verifier.Ask(ctx, q)
}

// startVerification asks the log, and says whether the coordinator has to be asked too.
func (p *producing) startVerification(t *metadata.Topic, in *kmsg.ProduceRequestTopicPartition, b record.Batch, adds bool) bool {
	var g storage.Guard
	part, err := p.h.Partitions.Partition(protocol.TopicPartition{Topic: t.Name, Partition: in.Partition})
	if err == nil {
		g, err = part.StartVerification(b.ProducerID(), b.ProducerEpoch(), b.BaseSequence(), adds)
	}
	ask := err == nil && g != storage.NoGuard
	if ask && !adds && !p.h.Config().Broker().Bool("transaction.partition.verification.enable") {
		g, ask = storage.Unverified, false
	}
	if p.verdicts == nil {
		p.verdicts = map[*kmsg.ProduceRequestTopicPartition]verdict{}
	}
	p.verdicts[in] = verdict{g, err}
	return ask
}

// notVerified is what a producer is told when its coordinator gave a code. What may be better in a moment is
// NOT_ENOUGH_REPLICAS, which all clients retry.
func notVerified(code protocol.ErrorCode, adds bool) error {
	switch code {
	case protocol.InvalidTxnState:
		return &protocol.Fault{Code: code, Message: "Partition was not added to the transaction"}
	case protocol.ConcurrentTransactions:
		if adds {
			return &protocol.Fault{Code: code, Message: "The transaction before is still being completed"}
		}
	case protocol.NetworkException, protocol.CoordinatorLoadInProgress, protocol.CoordinatorNotAvailable, protocol.NotCoordinator:
	default:
		return code
	}
	return &protocol.Fault{Code: protocol.NotEnoughReplicas, Message: fmt.Sprintf(
		"Unable to verify the partition has been added to the transaction. Underlying error: %s", code)}
}
