package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// UpdateFeatures 0 to 2 (KIP-584), answered by the controller.
//
//   - v1: upgrade types and validate-only (KIP-778); v2: no result for every feature any more.
func (h *handlers) updateFeatures(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	return h.forward(ctx, c, req)
}
