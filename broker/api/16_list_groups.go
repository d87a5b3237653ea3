package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ListGroups 0 to 5. v4: states and a filter on them (KIP-518); v5: types likewise (KIP-848). Names in filters
// ignore case, unknown ones match nothing. Groups whose coordinator is still loading are left out.
func (h *handlers) listGroups(ctx context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.ListGroupsRequest)
	resp := h.Groups.ListGroups(ctx, r)
	resp.SetVersion(r.Version)
	return Body(resp), nil
}
