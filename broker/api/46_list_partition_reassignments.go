package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListPartitionReassignments 0 (KIP-455), answered by the controller.
func (h *handlers) listPartitionReassignments(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	return h.forward(ctx, c, req)
}
