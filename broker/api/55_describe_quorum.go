package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeQuorum 0 to 2, answered by the controller.
//
//   - v1: fetch and caught-up times (KIP-836); v2: directory ids and listeners of the nodes (KIP-853).
func (h *handlers) describeQuorum(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	return h.forward(ctx, c, req)
}
