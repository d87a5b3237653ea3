package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// CreateTopics 2 to 7, answered by the controller.
//
//   - v4: counts of -1 mean the broker's defaults (KIP-464); v5: the answer says what was made, with its
//     settings (KIP-525); v7: topic ids (KIP-516).
//   - The topics can be used when the answer comes.
func (h *handlers) createTopics(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.CreateTopicsRequest)
	return h.forward(ctx, c, r, func(code protocol.ErrorCode) kmsg.Response {
		resp := r.ResponseKind().(*kmsg.CreateTopicsResponse)
		for _, t := range r.Topics {
			o := kmsg.NewCreateTopicsResponseTopic()
			o.Topic, o.ErrorCode = t.Topic, int16(code)
			resp.Topics = append(resp.Topics, o)
		}
		return resp
	})
}
