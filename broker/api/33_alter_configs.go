package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// AlterConfigs 0 to 2 (KIP-133), answered by the controller: all settings of a resource are replaced by
// those named. Log levels are changed through IncrementalAlterConfigs only, and settings of one broker on that broker.
func (h *handlers) alterConfigs(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.AlterConfigsRequest)
	resp := r.ResponseKind().(*kmsg.AlterConfigsResponse)
	resp.Resources = make([]kmsg.AlterConfigsResponseResource, len(r.Resources))
	var rest []kmsg.AlterConfigsRequestResource
	var forwarded []int // where the answers of the controller go
	for i := range r.Resources {
		in, out := &r.Resources[i], &resp.Resources[i]
		if err := h.ownBrokerConfigs(c, in.ResourceType, in.ResourceName); err != nil {
			out.ResourceType, out.ResourceName = in.ResourceType, in.ResourceName
			out.ErrorCode, out.ErrorMessage = int16(protocol.CodeOf(err)), protocol.MessageOf(err)
			continue
		}
		rest, forwarded = append(rest, *in), append(forwarded, i)
	}
	if len(rest) > 0 {
		r.Resources = rest
		answer, err := h.controller(ctx, c, r)
		if err != nil {
			return Reply{}, err
		}
		for i, out := range answer.(*kmsg.AlterConfigsResponse).Resources {
			resp.Resources[forwarded[i]] = out
		}
	}
	return Body(resp), nil
}
