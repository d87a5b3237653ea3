package api

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
)

// Endpoint types of KIP-919.
const (
	brokerEndpoint     int8 = 1
	controllerEndpoint int8 = 2
)

// DescribeCluster 0 to 2 (KIP-700).
//
//   - v1: the client says whether it means brokers or controllers (KIP-919); below it, brokers.
//   - v2: fenced brokers on request (KIP-1073).
//
// Only nodes that have the listener the request came in on are named, at their address there.
func (h *handlers) describeCluster(_ context.Context, c *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.DescribeClusterRequest)
	resp := r.ResponseKind().(*kmsg.DescribeClusterResponse)
	asked, here := r.EndpointType, brokerEndpoint
	if r.Version < 1 {
		asked = brokerEndpoint
	}
	if c.Conn.Scope == protocol.ScopeController {
		here = controllerEndpoint
	}
	resp.EndpointType = here
	if err := checkEndpoint(asked, here); err != nil {
		resp.EndpointType = brokerEndpoint
		resp.ErrorCode, resp.ErrorMessage = int16(protocol.CodeOf(err)), protocol.MessageOf(err)
		return Body(resp), nil
	}
	resp.ClusterID = h.ClusterID
	image := h.Metadata()
	if here == controllerEndpoint {
		resp.ControllerID = h.ActiveController()
		for n := range image.Controllers() {
			addClusterNode(resp, n.ID, n.Listeners, c.Conn.Listener, nil, false)
		}
	} else {
		resp.ControllerID = anyBroker(image, c.Conn)
		for b := range image.Brokers() {
			if !b.Fenced || r.IncludeFencedBrokers && r.Version >= 2 {
				addClusterNode(resp, b.ID, b.Listeners, c.Conn.Listener, b.Rack, b.Fenced)
			}
		}
	}
	if r.IncludeClusterAuthorizedOperations {
		resp.ClusterAuthorizedOperations = clusterOperations
	}
	return Body(resp), nil
}

func checkEndpoint(asked, here int8) error {
	switch asked {
	case here:
		return nil
	case brokerEndpoint, controllerEndpoint:
		return &protocol.Fault{Code: protocol.MismatchedEndpointType, Message: fmt.Sprintf(
			"The request is for an endpoint of type %s, this one is of type %s", endpointName(asked), endpointName(here))}
	}
	return &protocol.Fault{Code: protocol.UnsupportedEndpointType, Message: fmt.Sprintf("There is no endpoint type %d", asked)}
}

func endpointName(t int8) string {
	if t == controllerEndpoint {
		return "CONTROLLER"
	}
	return "BROKER"
}

func addClusterNode(resp *kmsg.DescribeClusterResponse, id int32, all []metadata.Endpoint, listener string, rack *string, fenced bool) {
	for _, e := range all {
		if e.Name != listener {
			continue
		}
		n := kmsg.NewDescribeClusterResponseBroker()
		n.NodeID, n.Host, n.Port, n.Rack, n.IsFenced = id, e.Host, int32(e.Port), rack, fenced
		resp.Brokers = append(resp.Brokers, n)
	}
}

// anyBroker is the id given out as the controller's: clients send it what the controller decides,
// any broker forwards that, and so connections are spread over the brokers.
func anyBroker(image *metadata.Image, c *Conn) int32 {
	var alive []int32
	for b := range image.Brokers() {
		if _, ok := b.Listener(c.Listener); ok && !b.Fenced {
			alive = append(alive, b.ID)
		}
	}
	if len(alive) == 0 {
		return -1
	}
	return alive[c.ID%uint64(len(alive))]
}
