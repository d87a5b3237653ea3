package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// DescribeGroups 0 to 6. v3: authorized operations (KIP-430); v4: group instance ids (KIP-345); v6: a group that
// does not exist is GROUP_ID_NOT_FOUND (KIP-1043), before only in state Dead.
func (h *handlers) describeGroups(ctx context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.DescribeGroupsRequest)
	resp := r.ResponseKind().(*kmsg.DescribeGroupsResponse)
	for _, id := range r.Groups {
		g := h.Groups.DescribeGroup(ctx, r.Version, id)
		g.AuthorizedOperations = notAsked
		if r.IncludeAuthorizedOperations && g.ErrorCode == 0 {
			g.AuthorizedOperations = groupOperations
		}
		resp.Groups = append(resp.Groups, g)
	}
	return Body(resp), nil
}
