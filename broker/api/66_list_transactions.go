package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListTransactions 0 to 2: the transactions that this broker coordinates. v1: only those that have been open for
// longer (KIP-994); v2: only ids that a pattern matches (KIP-1152).
func (h *handlers) listTransactions(ctx context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.ListTransactionsRequest)
	resp := h.Transactions.List(ctx, r)
	resp.SetVersion(r.Version)
	return Body(resp), nil
}
