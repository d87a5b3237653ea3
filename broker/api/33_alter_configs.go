package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// AlterConfigs 0 to 2 (KIP-133), answered by the controller: all settings of a resource are replaced by
// those named. Log levels are changed through IncrementalAlterConfigs only.
func (h *handlers) alterConfigs(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.AlterConfigsRequest)
	return h.forward(ctx, c, r, func(code protocol.ErrorCode) kmsg.Response {
		resp := r.ResponseKind().(*kmsg.AlterConfigsResponse)
		for _, t := range r.Resources {
			o := kmsg.NewAlterConfigsResponseResource()
			o.ResourceType, o.ResourceName, o.ErrorCode = t.ResourceType, t.ResourceName, int16(code)
			resp.Resources = append(resp.Resources, o)
		}
		return resp
	})
}
