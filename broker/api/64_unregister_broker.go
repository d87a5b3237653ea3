package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// UnregisterBroker 0 (KIP-500), answered by the controller.
func (h *handlers) unregisterBroker(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	return h.forward(ctx, c, req)
}
