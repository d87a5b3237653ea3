package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// UnregisterBroker 0 (KIP-500), answered by the controller.
func (h *handlers) unregisterBroker(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.UnregisterBrokerRequest)
	return h.forward(ctx, c, r, func(code protocol.ErrorCode) kmsg.Response {
		resp := r.ResponseKind().(*kmsg.UnregisterBrokerResponse)
		resp.ErrorCode = int16(code)
		return resp
	})
}
