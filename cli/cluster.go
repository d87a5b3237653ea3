package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// runCluster is kafka-cluster: the cluster's id and nodes, and taking nodes out of it.
func runCluster(e *env) int {
	ns, err := parseCommand(clusterCommand(), e.args)
	if err == nil {
		err = clusterAction(e, ns)
	}
	var bad *argError
	var short *terse
	switch {
	case err == nil:
		return 0
	case errors.As(err, &bad):
		e.complain(bad)
	case errors.As(err, &short):
		e.errorln(short.msg)
	default:
		e.errorf("%s\n%s\n", err, trace(err))
	}
	return 1
}

func clusterCommand() command {
	connection := []argument{
		{names: []string{"--bootstrap-server", "-b"}, group: "bootstrap", oneOf: true, help: "host:port of a broker, or several separated by commas."},
		{names: []string{"--bootstrap-controller", "-C"}, group: "bootstrap", oneOf: true, help: "host:port of a controller, or several separated by commas."},
		{names: []string{"--config"}, help: "(DEPRECATED) The old name of --command-config."},
		{names: []string{"--command-config", "-c"}, help: "Properties file with settings for the connection."},
	}
	id := argument{names: []string{"--id", "-i"}, number: true, required: true, help: "The node's id."}
	with := func(name, help string, more ...argument) command {
		return command{name: name, help: help, args: slices.Concat(connection, more)}
	}
	return command{name: "kafka-cluster", help: "Shows the id and the nodes of a cluster and takes nodes out of it.", subs: []command{
		with("cluster-id", "Print the cluster's id."),
		with("unregister", "Take a broker that is gone for good out of the cluster.", id),
		with("unregister-controller", "Take a controller that is gone for good out of the cluster.", id),
		with("list-endpoints", "List the brokers or controllers.", argument{names: []string{"--include-fenced-brokers"}, flag: true,
			help: "Also brokers that the controller has fenced."}),
		with("api-versions", "Show which requests each broker or controller answers."),
	}}
}

func clusterAction(e *env, ns *namespace) error {
	if ns.has("config") && ns.has("command-config") {
		return fmt.Errorf("--config and --command-config cannot be specified together.") //nolint:revive,staticcheck // Kafka's text
	}
	file := ns.str("command-config")
	if ns.has("config") {
		e.println("Option --config has been deprecated and will be removed in a future version. Use --command-config instead.")
		file = ns.str("config")
	}
	conf, err := loadConfig(file)
	if err != nil {
		return err
	}
	if ns.has("include-fenced-brokers") && ns.has("bootstrap-controller") {
		return illegalArgument("The option --include-fenced-brokers is only supported with --bootstrap-server option")
	}
	c, err := e.connectEither(conf, ns.str("bootstrap-server"), ns.str("bootstrap-controller"))
	if err != nil {
		return err
	}
	defer c.close()
	switch ns.command {
	case "cluster-id":
		id, err := c.clusterID()
		if err == nil {
			e.println("Cluster ID: " + id)
		}
		return asExecution(err)
	case "unregister", "unregister-controller":
		return unregister(e, c, ns)
	case "list-endpoints":
		return listEndpoints(e, c, ns.has("include-fenced-brokers"))
	}
	return nodeVersions(e, c)
}

// describe asks for the cluster's nodes: brokers, or controllers through a controller.
func (c *cluster) describe(fenced bool) (*kmsg.DescribeClusterResponse, error) {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.EndpointType, req.IncludeFencedBrokers = brokerEndpoints, fenced
	if c.direct {
		req.EndpointType = controllerEndpoints
	}
	resp, err := request[*kmsg.DescribeClusterResponse](c, "listNodes", req)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(resp.Brokers, func(a, b kmsg.DescribeClusterResponseBroker) int { return cmp.Compare(a.NodeID, b.NodeID) })
	return resp, coded(resp.ErrorCode, resp.ErrorMessage)
}

func (c *cluster) clusterID() (string, error) {
	resp, err := c.describe(false)
	if err != nil {
		return "", err
	}
	return resp.ClusterID, nil
}

func unregister(e *env, c *cluster, ns *namespace) error {
	id := int32(ns.int("id"))
	what, api, err := "Broker", "broker", error(nil)
	if ns.command == "unregister" {
		err = c.unregisterBroker(id)
	} else {
		what, api = "Controller", "controller"
		err = c.unregisterController(id)
	}
	if err != nil {
		if unsupported(err) || codeOf(err) == protocol.UnsupportedVersion {
			e.println("The target cluster does not support the " + api + " unregistration API.")
		}
		return asExecution(err)
	}
	e.printf("%s %d is no longer registered.\n", what, id)
	return nil
}

func (c *cluster) unregisterBroker(id int32) error {
	req := kmsg.NewPtrUnregisterBrokerRequest()
	req.BrokerID = id
	resp, err := request[*kmsg.UnregisterBrokerResponse](c, "unregisterBroker", req)
	if err != nil {
		return err
	}
	return coded(resp.ErrorCode, resp.ErrorMessage)
}

func (c *cluster) unregisterController(id int32) error {
	req := kmsg.NewPtrUnregisterControllerRequest()
	req.ControllerID = id
	resp, err := request[*kmsg.UnregisterControllerResponse](c, "unregisterController", req)
	if err != nil {
		return err
	}
	return coded(resp.ErrorCode, resp.ErrorMessage)
}

func listEndpoints(e *env, c *cluster, fenced bool) error {
	resp, err := c.describe(fenced)
	if err != nil {
		return asExecution(err)
	}
	host, rack := 0, 0
	for _, n := range resp.Brokers {
		host = max(host, len(n.Host))
		if n.Rack != nil {
			rack = max(rack, len(*n.Rack))
		}
	}
	host, rack = cmp.Or(host, 100), cmp.Or(rack, 10)
	row := func(id, name, port, rackName, state, kind any) {
		e.printf("%-10v %-*v %-10v %-*v ", id, host, name, port, rack, rackName)
		if !c.direct {
			e.printf("%-10v ", state)
		}
		e.printf("%-15v\n", kind)
	}
	row("ID", "HOST", "PORT", "RACK", "STATE", "ENDPOINT_TYPE")
	for _, n := range resp.Brokers {
		state, kind := "unfenced", "broker"
		if n.IsFenced {
			state = "fenced"
		}
		if c.direct {
			kind = "controller"
		}
		row(n.NodeID, n.Host, n.Port, orNull(n.Rack), state, kind)
	}
	return nil
}

func nodeVersions(e *env, c *cluster) error {
	resp, err := c.describe(false)
	if err != nil {
		return asExecution(err)
	}
	for _, n := range resp.Brokers {
		e.printf("%s:%d (id: %d rack: %s isFenced: %t) -> ", n.Host, n.Port, n.NodeID, orNull(n.Rack), n.IsFenced)
		versions, err := c.askVersions(int64(n.NodeID))
		if err != nil {
			e.printf("ERROR: %s: %s\n", className(err), err)
			continue
		}
		e.println(formatAPIVersions(versions.ApiKeys))
	}
	return nil
}
