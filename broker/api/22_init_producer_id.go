package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// InitProducerId 0 to 5. v3: the id and epoch a producer has, to go on with (KIP-360).
//
//   - Without a transactional id every request gets a new producer id with epoch 0.
//   - Transactions are not built: with a transactional id UNSUPPORTED_VERSION, which clients do not retry.
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
		resp.ErrorCode = int16(protocol.UnsupportedVersion)
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
