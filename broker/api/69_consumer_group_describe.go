package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// ConsumerGroupDescribe 0 to 1 (KIP-848). v1: whether a member speaks the classic protocol (KIP-1099). A group of
// another kind, or none, is GROUP_ID_NOT_FOUND.
func (h *handlers) consumerGroupDescribe(ctx context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.ConsumerGroupDescribeRequest)
	resp := r.ResponseKind().(*kmsg.ConsumerGroupDescribeResponse)
	for _, id := range r.Groups {
		g := h.Groups.ConsumerGroupDescribe(ctx, id)
		g.AuthorizedOperations = notAsked
		if r.IncludeAuthorizedOperations && g.ErrorCode == 0 {
			g.AuthorizedOperations = groupOperations
		}
		resp.Groups = append(resp.Groups, g)
	}
	return Body(resp), nil
}
