package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord"
)

// JoinGroup 0 to 9.
//
//   - v0: no rebalance timeout, the session's stands in; v4: a new member is given its id first (KIP-394);
//     v5: static members (KIP-345); v7: the protocol in the answer may be null (KIP-559); v8: a reason (KIP-800),
//     for people; v9: a leader may be told not to assign (KIP-814).
//   - Waits until the group's next generation begins. The protocols' metadata is never looked into, but for the topics
//     of consumers.
func (h *handlers) joinGroup(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.JoinGroupRequest)
	resp := h.Groups.JoinGroup(ctx, groupcoord.Client{ID: c.Header.Client(), Host: c.Conn.ClientHost()}, r)
	if r.Version < 7 && resp.Protocol == nil {
		resp.Protocol = new(string)
	}
	resp.SetVersion(r.Version)
	return Body(resp), nil
}
