package config

import (
	"slices"
	"strings"
)

// Default is what `ottla server` runs with when no file is named, with its data in dir and overrides from the
// command line: one node in both roles, clients at localhost:9092, one replica of everything. The
// controller listener takes a free port of the loopback address: only this node needs to know it, and a
// second server then collides with the first only where its user expects it, at the clients' port and
// the data directory. Overrides that replace the listeners need not name the controller's.
func Default(dir string, overrides Properties) Properties {
	const controller = "CONTROLLER://localhost:0"
	p := append(Properties{
		{Name: "process.roles", Value: "broker,controller"},
		{Name: "node.id", Value: "1"},
		{Name: "listeners", Value: "PLAINTEXT://localhost:9092," + controller},
		{Name: "controller.listener.names", Value: "CONTROLLER"},
		{Name: "controller.quorum.bootstrap.servers", Value: "localhost:0"},
		{Name: "log.dirs", Value: dir},
		{Name: "offsets.topic.replication.factor", Value: "1"},
		{Name: "transaction.state.log.replication.factor", Value: "1"},
		{Name: "transaction.state.log.min.isr", Value: "1"},
		{Name: "share.coordinator.state.topic.replication.factor", Value: "1"},
		{Name: "share.coordinator.state.topic.min.isr", Value: "1"},
	}, overrides...)
	sets := func(name string) int {
		return slices.IndexFunc(overrides, func(x Property) bool { return x.Name == name })
	}
	if i := sets("listeners"); i >= 0 && sets("controller.listener.names") < 0 && !strings.Contains(overrides[i].Value, "CONTROLLER:") {
		p = append(p, Property{Name: "listeners", Value: overrides[i].Value + "," + controller})
	}
	return p
}
