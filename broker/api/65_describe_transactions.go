package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeTransactions 0: the transactions that this broker coordinates, each with an error of its own. A transaction
// that has ended has no partitions.
func (h *handlers) describeTransactions(ctx context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.DescribeTransactionsRequest)
	resp := r.ResponseKind().(*kmsg.DescribeTransactionsResponse)
	for _, id := range r.TransactionalIDs {
		resp.TransactionStates = append(resp.TransactionStates, h.Transactions.Describe(ctx, id))
	}
	return Body(resp), nil
}
