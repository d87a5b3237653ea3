package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// DeleteGroups 0 to 3 (KIP-229). Only groups without members: NON_EMPTY_GROUP; GROUP_ID_NOT_FOUND. Their
// offsets go with them. A group named twice is answered once.
func (h *handlers) deleteGroups(ctx context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.DeleteGroupsRequest)
	resp := r.ResponseKind().(*kmsg.DeleteGroupsResponse)
	seen := make(map[string]bool, len(r.Groups))
	for _, id := range r.Groups {
		if seen[id] {
			continue
		}
		seen[id] = true
		resp.Groups = append(resp.Groups, kmsg.DeleteGroupsResponseGroup{Group: id, ErrorCode: int16(h.Groups.DeleteGroup(ctx, id))})
	}
	return Body(resp), nil
}
