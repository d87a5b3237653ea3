package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// EndTxn 0 to 5. v2: PRODUCER_FENCED (KIP-588); v5: every transaction has its epoch, and the answer says which one the
// next has (KIP-890).
//
//   - The answer is given when the end is decided. The markers follow; until they are written the transaction's
//     partitions hold readers back, and the next transaction waits.
func (h *handlers) endTxn(ctx context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.EndTxnRequest)
	resp := h.Transactions.EndTxn(ctx, r)
	resp.SetVersion(r.Version)
	if r.Version < fencedVersion && protocol.ErrorCode(resp.ErrorCode) == protocol.ProducerFenced {
		resp.ErrorCode = int16(protocol.InvalidProducerEpoch)
	}
	return Body(resp), nil
}
