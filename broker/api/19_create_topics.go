package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// CreateTopics 2 to 7, answered by the controller.
//
//   - v4: counts of -1 mean the broker's defaults (KIP-464); v5: the answer says what was made, with its
//     settings (KIP-525); v7: topic ids (KIP-516).
//   - The topics can be used when the answer comes.
func (h *handlers) createTopics(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	return h.forward(ctx, c, req)
}
