package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord"
)

// ConsumerGroupHeartbeat 0 to 1 (KIP-848). One request joins, keeps alive, reports what was given up, brings
// assignments, and leaves.
//
//   - v0: the coordinator makes the member id; v1: the member does (KIP-1082), and can subscribe by a pattern.
//   - Fields that have not changed are null, and so is the assignment in the answer.
func (h *handlers) consumerGroupHeartbeat(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.ConsumerGroupHeartbeatRequest)
	resp := h.Groups.ConsumerGroupHeartbeat(ctx, groupcoord.Client{ID: c.Header.Client(), Host: c.Conn.ClientHost()}, r)
	resp.SetVersion(r.Version)
	return Body(resp), nil
}
