package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// CreatePartitions 0 to 3 (KIP-195), answered by the controller.
func (h *handlers) createPartitions(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.CreatePartitionsRequest)
	return h.forward(ctx, c, r, func(code protocol.ErrorCode) kmsg.Response {
		resp := r.ResponseKind().(*kmsg.CreatePartitionsResponse)
		for _, t := range r.Topics {
			o := kmsg.NewCreatePartitionsResponseTopic()
			o.Topic, o.ErrorCode = t.Topic, int16(code)
			resp.Topics = append(resp.Topics, o)
		}
		return resp
	})
}
