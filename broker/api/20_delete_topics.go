package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// DeleteTopics 1 to 6, answered by the controller.
//
//   - v5: error messages; v6: topics by name or id (KIP-516).
func (h *handlers) deleteTopics(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	return h.forward(ctx, c, req)
}
