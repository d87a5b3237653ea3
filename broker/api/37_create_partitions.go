package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreatePartitions 0 to 3 (KIP-195), answered by the controller.
func (h *handlers) createPartitions(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	return h.forward(ctx, c, req)
}
