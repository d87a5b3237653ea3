package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// SyncGroup 0 to 5. v3: group instance id (KIP-345); v5: protocol type and name, which must be the group's
// (KIP-559). Waits for the leader's assignments and hands each member its own, byte for byte.
func (h *handlers) syncGroup(ctx context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.SyncGroupRequest)
	resp := h.Groups.SyncGroup(ctx, r)
	resp.SetVersion(r.Version)
	return Body(resp), nil
}
