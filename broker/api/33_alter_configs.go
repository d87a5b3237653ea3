package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// AlterConfigs 0 to 2 (KIP-133), answered by the controller: all settings of a resource are replaced by
// those named. Log levels are changed through IncrementalAlterConfigs only.
func (h *handlers) alterConfigs(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	return h.forward(ctx, c, req)
}
