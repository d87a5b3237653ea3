package cli

import (
	"slices"
	"strings"
	"time"
)

const groupsCommand = "org.apache.kafka.tools.GroupsCommand"

// runGroups is kafka-groups: list the groups of all types.
func runGroups(e *env) int {
	p, code, done, err := e.parse("Lists the groups of all types.", []option{
		{name: "bootstrap-server", arg: requiredArg, required: true, hint: "server to connect to", doc: "REQUIRED: host:port of a broker, or several separated by commas."},
		{name: "command-config", arg: requiredArg, hint: "command config property file", doc: "Properties file with settings for the connection."},
		{name: "list", doc: "List the groups."},
		{name: "group-type", arg: requiredArg, hint: "type", doc: "Only groups of this type: classic, consumer, share or streams."},
		{name: "protocol", arg: requiredArg, hint: "protocol", doc: "Only groups of this protocol."},
		{name: "consumer", doc: "Only groups of consumers: of type consumer, and of type classic with protocol consumer or none."},
		{name: "share", doc: "Only share groups."},
		{name: "streams", doc: "Only streams groups."},
	})
	if done {
		return code
	}
	if err != nil {
		return e.usage(p, err.Error())
	}
	err = checkGroups(p)
	if e.orUsage(p, err) {
		return 1
	}
	var c *cluster
	if err == nil {
		c, err = e.open(p.str("command-config"), p.str("bootstrap-server"))
	}
	if err = firstError(err, p.err); err != nil {
		e.errorf("%s\n%s\n", err, trace(err))
		return 1
	}
	defer c.close()
	c.timeout = min(c.timeout, 30*time.Second)
	groups, err := c.listGroups(nil, nil)
	if err != nil {
		e.println("Error while executing groups command : " + err.Error())
		e.flush()
		e.log("ERROR", groupsCommand, trace(err))
		return 1
	}
	printGroups(e, p, groups)
	return 0
}

func checkGroups(p *parsed) error {
	if !p.has("list") {
		return &usageError{"Command must include exactly one action: --list."}
	}
	types := []string{"classic", "consumer", "share", "streams"}
	if p.has("group-type") && !slices.Contains(types, strings.ToLower(p.str("group-type"))) {
		return illegalArgument("--group-type must be a valid group type.")
	}
	return firstError(refuseWith(p, "consumer", "group-type", "protocol", "share", "streams"),
		refuseWith(p, "share", "consumer", "group-type", "protocol", "streams"),
		refuseWith(p, "streams", "consumer", "group-type", "protocol", "share"))
}

// wanted reports whether the options want to see the group.
func (g groupListing) wanted(p *parsed) bool {
	switch {
	case p.has("group-type"):
		return strings.EqualFold(g.kind, p.str("group-type")) && (!p.has("protocol") || g.protocol == p.str("protocol"))
	case p.has("protocol"):
		return g.protocol == p.str("protocol")
	case p.has("consumer"):
		return g.protocol == "consumer" || g.protocol == "" || strings.EqualFold(g.kind, "consumer")
	case p.has("share"):
		return strings.EqualFold(g.kind, "share")
	case p.has("streams"):
		return strings.EqualFold(g.kind, "streams")
	}
	return true
}

func printGroups(e *env, p *parsed, groups []groupListing) {
	groups = slices.DeleteFunc(groups, func(g groupListing) bool { return !g.wanted(p) })
	width := 20
	for _, g := range groups {
		width = max(width, len(g.id), len(g.kind), len(g.protocol))
	}
	e.printf("%-*s %-*s %-*s\n", width, "GROUP", width, "TYPE", width, "PROTOCOL")
	for _, g := range groups {
		e.printf("%-*s %-*s %-*s \n", width, g.id, width, titleOr(g.kind, ""), width, g.protocol)
	}
}
