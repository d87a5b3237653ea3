package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Heartbeat 0 to 4. v3: group instance id (KIP-345). REBALANCE_IN_PROGRESS asks the member to join again, and still
// counts as heard.
func (h *handlers) heartbeat(ctx context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.HeartbeatRequest)
	resp := h.Groups.Heartbeat(ctx, r)
	resp.SetVersion(r.Version)
	return Body(resp), nil
}
