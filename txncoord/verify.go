package txncoord

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// VerifierOptions are all required.
type VerifierOptions struct {
	Config func() Config
	// Coordinator is the broker that coordinates a transactional id; false if there is none at the moment.
	Coordinator func(id string) (node int32, ok bool)
	// Ask sends a question to a broker, which may be this one. Errors are those of the connection.
	Ask func(ctx context.Context, node int32, req *kmsg.AddPartitionsToTxnRequest) (*kmsg.AddPartitionsToTxnResponse, error)
	// Ending is closed when the transaction that is ending under an id is complete; nil if that is not known here.
	Ending func(id string) <-chan struct{}
}

// Verifier asks the coordinators of transactions about partitions that this broker leads, before they take
// transactional data (KIP-890). It is safe for concurrent use.
type Verifier struct{ o VerifierOptions }

// NewVerifier makes one.
func NewVerifier(o VerifierOptions) *Verifier { return &Verifier{o} }

// Question is about one producer's partitions.
type Question struct {
	ID         string // transactional
	ProducerID int64
	Epoch      int16
	Partitions []protocol.TopicPartition
	// Add makes the partitions part of the transaction; otherwise they have to be already.
	Add bool
	// Abortable says that the client knows TRANSACTION_ABORTABLE; it gets INVALID_TXN_STATE otherwise.
	Abortable bool
}

// Ask gives one code for each partition: None if it is part of the transaction, INVALID_PRODUCER_EPOCH,
// INVALID_TXN_STATE or TRANSACTION_ABORTABLE if it is not, or why that cannot be told (NETWORK_EXCEPTION,
// CONCURRENT_TRANSACTIONS and coordinator errors).
func (v *Verifier) Ask(ctx context.Context, q *Question) []protocol.ErrorCode {
	node, ok := v.o.Coordinator(q.ID)
	if !ok {
		return all(q, protocol.CoordinatorNotAvailable)
	}
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.SetVersion(req.MaxVersion())
	t := kmsg.AddPartitionsToTxnRequestTransaction{
		TransactionalID: q.ID, ProducerID: q.ProducerID, ProducerEpoch: q.Epoch, VerifyOnly: !q.Add,
	}
	for _, tp := range q.Partitions {
		i := slices.IndexFunc(t.Topics, func(have kmsg.AddPartitionsToTxnRequestTransactionTopic) bool { return have.Topic == tp.Topic })
		if i < 0 {
			i = len(t.Topics)
			t.Topics = append(t.Topics, kmsg.AddPartitionsToTxnRequestTransactionTopic{Topic: tp.Topic})
		}
		t.Topics[i].Partitions = append(t.Topics[i].Partitions, tp.Partition)
	}
	req.Transactions = []kmsg.AddPartitionsToTxnRequestTransaction{t}
	resp, err := v.o.Ask(ctx, node, req)
	if err != nil {
		return all(q, protocol.NetworkException)
	}
	return answers(q, resp)
}

// AskPatiently asks again while the transaction before is still ending, for as long as is configured.
func (v *Verifier) AskPatiently(ctx context.Context, q *Question) []protocol.ErrorCode {
	c := v.o.Config()
	deadline := time.Now().Add(min(c.RetryTime, c.RequestTimeout))
	for {
		codes := v.Ask(ctx, q)
		if !slices.Contains(codes, protocol.ConcurrentTransactions) || !time.Now().Before(deadline) {
			return codes
		}
		pause := time.NewTimer(min(c.RetryPause, time.Until(deadline)))
		select {
		case <-v.o.Ending(q.ID):
		case <-pause.C:
		case <-ctx.Done():
		}
		pause.Stop()
		if ctx.Err() != nil {
			return codes
		}
	}
}

func all(q *Question, code protocol.ErrorCode) []protocol.ErrorCode {
	return slices.Repeat([]protocol.ErrorCode{code}, len(q.Partitions))
}

// answers puts the codes into the order of the partitions, and into the words of a partition's leader.
func answers(q *Question, resp *kmsg.AddPartitionsToTxnResponse) []protocol.ErrorCode {
	if code := protocol.ErrorCode(resp.ErrorCode); code != protocol.None {
		if code == protocol.ClusterAuthorizationFailed {
			code = protocol.InvalidTxnState
		}
		return all(q, code)
	}
	codes := all(q, protocol.NetworkException) // of what is not answered
	for _, t := range resp.Transactions {
		if t.TransactionalID != q.ID {
			continue
		}
		for _, rt := range t.Topics {
			for _, p := range rt.Partitions {
				if i := slices.Index(q.Partitions, protocol.TopicPartition{Topic: rt.Topic, Partition: p.Partition}); i >= 0 {
					codes[i] = q.leaders(protocol.ErrorCode(p.ErrorCode))
				}
			}
		}
	}
	return codes
}

func (q *Question) leaders(code protocol.ErrorCode) protocol.ErrorCode {
	switch {
	case code == protocol.ProducerFenced:
		return protocol.InvalidProducerEpoch
	case code == protocol.TransactionAbortable && !q.Abortable:
		return protocol.InvalidTxnState
	}
	return code
}
