package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// AlterPartitionReassignments 0 to 1 (KIP-455), answered by the controller.
//
//   - v1: a change of the replication factor can be refused (KIP-860).
func (h *handlers) alterPartitionReassignments(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	return h.forward(ctx, c, req)
}
