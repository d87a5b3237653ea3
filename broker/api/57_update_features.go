package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// UpdateFeatures 0 to 2 (KIP-584), answered by the controller.
//
//   - v1: upgrade types and validate-only (KIP-778); v2: no result for every feature any more.
func (h *handlers) updateFeatures(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.UpdateFeaturesRequest)
	return h.forward(ctx, c, r, func(code protocol.ErrorCode) kmsg.Response {
		resp := r.ResponseKind().(*kmsg.UpdateFeaturesResponse)
		resp.ErrorCode = int16(code)
		return resp
	})
}
