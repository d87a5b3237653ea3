package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// InitProducerId 0 to 5. v3: the id and epoch a producer has, to go on with (KIP-360).
//
//   - Without a transactional id every request gets a new producer id with epoch 0.
//   - With one, the id stays the same and its epoch grows; what an earlier producer of that name has open is aborted, and
//     the new one told to come again: CONCURRENT_TRANSACTIONS. v4: PRODUCER_FENCED (KIP-588).
//   - No block of ids from the controller yet: COORDINATOR_LOAD_IN_PROGRESS, which they do.
func (h *handlers) initProducerID(ctx context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.InitProducerIDRequest)
	resp := r.ResponseKind().(*kmsg.InitProducerIDResponse)
	resp.ProducerID, resp.ProducerEpoch = -1, -1
	if r.Version < 3 {
		r.ProducerID, r.ProducerEpoch = -1, -1
	}
	switch {
	case (r.ProducerID == -1) != (r.ProducerEpoch == -1), r.TransactionalID != nil && *r.TransactionalID == "":
		resp.ErrorCode = int16(protocol.InvalidRequest)
	case r.TransactionalID != nil:
		resp = h.Transactions.InitProducerID(ctx, r)
		resp.SetVersion(r.Version)
		if r.Version < 4 && protocol.ErrorCode(resp.ErrorCode) == protocol.ProducerFenced {
			resp.ErrorCode = int16(protocol.InvalidProducerEpoch)
		}
	default:
		id, err := h.ProducerIDs.Next(ctx)
		if err != nil {
			resp.ErrorCode = int16(protocol.CodeOf(err))
			break
		}
		resp.ProducerID, resp.ProducerEpoch = id, 0
	}
	return Body(resp), nil
}
