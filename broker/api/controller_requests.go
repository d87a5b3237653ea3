package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// controllerRequest hands over what brokers and other nodes ask of the controller, on its own listeners only:
// AlterPartition 2 to 3, BrokerRegistration 0 to 4, BrokerHeartbeat 0 to 2, AllocateProducerIds 0,
// ControllerRegistration 0 and AssignReplicasToDirs 0. Nobody waits for the metadata to be seen here: the
// asker follows the metadata log itself.
func (h *handlers) controllerRequest(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	resp, _, err := h.Controller(ctx, c, req)
	if err != nil {
		return Reply{}, err
	}
	return Body(resp), nil
}
