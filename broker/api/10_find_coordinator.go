package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// Kinds of keys a coordinator is looked for by.
const (
	groupKey       int8 = 0
	transactionKey int8 = 1
	shareKey       int8 = 2
)

// FindCoordinator 0 to 6.
//
//   - v0: groups only; v1: kinds of keys; v4: many keys, an error each (KIP-699); v6: share coordinators (KIP-932).
//   - The coordinator is the leader of the key's partition of the internal topic, at its address on the listener the
//     request came in on. Without a live leader COORDINATOR_NOT_AVAILABLE; a missing topic is created meanwhile.
//   - Share coordinators are not built: UNSUPPORTED_VERSION, which clients do not retry.
func (h *handlers) findCoordinator(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.FindCoordinatorRequest)
	resp := r.ResponseKind().(*kmsg.FindCoordinatorResponse)
	if r.Version < 4 {
		f := h.coordinatorOf(ctx, c, r, r.CoordinatorKey)
		resp.ErrorCode, resp.NodeID, resp.Host, resp.Port = f.ErrorCode, f.NodeID, f.Host, f.Port
		if resp.ErrorMessage = f.ErrorMessage; f.ErrorCode == 0 {
			resp.ErrorMessage = kmsg.StringPtr(protocol.None.String()) // as Kafka, though nothing is wrong
		}
		return Body(resp), nil
	}
	for _, key := range r.CoordinatorKeys {
		resp.Coordinators = append(resp.Coordinators, h.coordinatorOf(ctx, c, r, key))
	}
	return Body(resp), nil
}

func (h *handlers) coordinatorOf(ctx context.Context, c *Call, r *kmsg.FindCoordinatorRequest, key string) kmsg.FindCoordinatorResponseCoordinator {
	f := kmsg.FindCoordinatorResponseCoordinator{Key: key, NodeID: -1, Port: -1}
	code := protocol.None
	switch {
	case r.Version == 0 || r.CoordinatorType == groupKey:
		code = h.coordinator(ctx, c, protocol.ConsumerOffsetsTopic, h.Groups.PartitionFor(key), &f)
	case r.CoordinatorType == transactionKey:
		code = h.coordinator(ctx, c, protocol.TransactionStateTopic, h.Transactions.PartitionFor(key), &f)
	case r.CoordinatorType == shareKey && r.Version >= 6:
		code = protocol.UnsupportedVersion
	default:
		code = protocol.InvalidRequest
	}
	f.ErrorCode = int16(code)
	f.ErrorMessage = coordinatorMessage(code, r.CoordinatorType)
	return f
}

// coordinator fills in the live broker, reachable through the listener, that leads a partition of an internal topic.
func (h *handlers) coordinator(ctx context.Context, c *Call, topic string, partition int32, f *kmsg.FindCoordinatorResponseCoordinator) protocol.ErrorCode {
	image := h.Metadata()
	t := image.Topic(topic)
	if t == nil {
		h.topics.create(ctx, h, c, []string{topic})
		return protocol.CoordinatorNotAvailable
	}
	p := t.Partition(partition)
	if p == nil {
		return protocol.CoordinatorNotAvailable
	}
	b := image.Broker(p.Leader)
	if b == nil || b.Fenced {
		return protocol.CoordinatorNotAvailable
	}
	e, ok := b.Listener(c.Conn.Listener)
	if !ok {
		return protocol.CoordinatorNotAvailable
	}
	f.NodeID, f.Host, f.Port = b.ID, e.Host, int32(e.Port)
	return protocol.None
}

func coordinatorMessage(code protocol.ErrorCode, kind int8) *string {
	text := ""
	switch {
	case code == protocol.UnsupportedVersion:
		text = "This server has no share coordinator"
	case code != protocol.None:
		text = code.String()
	}
	return &text
}
