package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// DeleteTopics 1 to 6, answered by the controller.
//
//   - v5: error messages; v6: topics by name or id (KIP-516).
func (h *handlers) deleteTopics(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.DeleteTopicsRequest)
	return h.forward(ctx, c, r, func(code protocol.ErrorCode) kmsg.Response {
		resp := r.ResponseKind().(*kmsg.DeleteTopicsResponse)
		for i := range r.TopicNames {
			o := kmsg.NewDeleteTopicsResponseTopic()
			o.Topic, o.ErrorCode = &r.TopicNames[i], int16(code)
			resp.Topics = append(resp.Topics, o)
		}
		for _, t := range r.Topics {
			o := kmsg.NewDeleteTopicsResponseTopic()
			o.Topic, o.TopicID, o.ErrorCode = t.Topic, t.TopicID, int16(code)
			resp.Topics = append(resp.Topics, o)
		}
		return resp
	})
}
