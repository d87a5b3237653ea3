package cli

import (
	"context"
	"errors"
	"net"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// connectEither opens a cluster through its brokers or, if no broker is named, through its controllers.
func (e *env) connectEither(c clientConfig, servers, controllers string) (*cluster, error) {
	if servers != "" {
		return e.connect(c.with(clientConfig{"bootstrap.servers": servers}))
	}
	return e.connectControllers(c.with(clientConfig{"bootstrap.servers": controllers}))
}

// connectControllers opens a connection to the active controller, which the controllers in bootstrap.servers name
// (KIP-919). Controllers have no metadata of topics: every request goes to that one node.
func (e *env) connectControllers(conf clientConfig) (*cluster, error) {
	c, err := e.connect(conf)
	if err != nil {
		return nil, err
	}
	c.direct = true
	active, err := c.activeController()
	if err != nil || active == "" || active == conf["bootstrap.servers"] {
		if err != nil {
			c.close()
			return nil, err
		}
		return c, nil
	}
	c.close()
	c, err = e.connect(conf.with(clientConfig{"bootstrap.servers": active}))
	if err != nil {
		return nil, err
	}
	c.direct = true
	return c, nil
}

// activeController asks for the address of the active controller, "" if the controllers do not say.
func (c *cluster) activeController() (string, error) {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.EndpointType = controllerEndpoints
	resp, err := request[*kmsg.DescribeClusterResponse](c, "listNodes", req)
	if err != nil {
		return "", err
	}
	if err := coded(resp.ErrorCode, resp.ErrorMessage); err != nil {
		return "", err
	}
	for _, n := range resp.Brokers {
		if n.NodeID == resp.ControllerID {
			return net.JoinHostPort(n.Host, strconv.Itoa(int(n.Port))), nil
		}
	}
	return "", nil
}

// askSeeds sends a request to the first of the bootstrap servers that answers.
func (c *cluster) askSeeds(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	var resp kmsg.Response
	err := persist(ctx, func() error {
		err := errors.New("there is no bootstrap server")
		for _, b := range c.cl.SeedBrokers() {
			if resp, err = b.RetriableRequest(ctx, req); err == nil {
				return nil
			}
		}
		return err
	})
	return resp, err
}
