package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// LeaveGroup 0 to 5. v3: many members, a result each, and by group instance id alone (KIP-345); v5: a reason
// (KIP-800), for people.
func (h *handlers) leaveGroup(ctx context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.LeaveGroupRequest)
	resp := h.Groups.LeaveGroup(ctx, r)
	resp.SetVersion(r.Version)
	return Body(resp), nil
}
