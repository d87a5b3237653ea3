package api

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/controller/catalog"
	"github.com/ottla/ottla/protocol"
)

// forward lets the controller answer, and returns when what it did is in this broker's metadata and at work
// here: a topic that was created can be produced to. Both within the request's timeout. Kafka does not
// wait for the latter; see docs/DIVERGENCES.md.
func (h *handlers) forward(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	resp, err := h.controller(ctx, c, req)
	if err != nil {
		return Reply{}, err
	}
	return Body(resp), nil
}

// controller forwards a request. The error is for an end of the server only: whatever else goes wrong
// is in the response.
func (h *handlers) controller(ctx context.Context, c *Call, req kmsg.Request) (kmsg.Response, error) {
	wait := timeoutOf(req)
	if wait <= 0 {
		wait = time.Duration(h.Config().Broker().Int("request.timeout.ms")) * time.Millisecond
	}
	limited, cancel := context.WithDeadline(ctx, c.Received.Add(wait))
	defer cancel()
	resp, offset, err := h.Controller(limited, c, req)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		return catalog.Refuse(req, protocol.RequestTimedOut), nil
	default:
		h.Log.Warn("request to the controller", zap.String("api", kmsg.NameForKey(req.Key())), zap.Error(err))
		return catalog.Refuse(req, protocol.CodeOf(err)), nil
	}
	if err := h.AwaitMetadata(limited, offset); err != nil {
		h.Log.Warn("what the controller did is not visible here yet", zap.String("api", kmsg.NameForKey(req.Key())), zap.Int64("offset", offset), zap.Error(err))
	}
	return resp, nil
}

// timeoutOf is how long the client waits for the answer, as far as the request says.
func timeoutOf(req kmsg.Request) time.Duration {
	if r, ok := req.(interface{ Timeout() int32 }); ok {
		return time.Duration(r.Timeout()) * time.Millisecond
	}
	return 0
}
