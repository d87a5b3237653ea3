package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ElectLeaders 0 to 2 (KIP-183), answered by the controller.
//
//   - v1: unclean elections (KIP-460). Null partitions mean all that need one.
func (h *handlers) electLeaders(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	return h.forward(ctx, c, req)
}
