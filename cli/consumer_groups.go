package cli

import (
	"errors"
	"fmt"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ottla/ottla/protocol"
)

// runConsumerGroups is kafka-consumer-groups: list, describe, reset and delete groups of consumers.
func runConsumerGroups(e *env) int {
	p, code, done, err := e.parse("Lists, describes and deletes groups of consumers, and resets their offsets.", consumerGroupsOptions())
	if done {
		return code
	}
	if err != nil {
		e.errorf("Exception in thread \"main\" %s", trace(err))
		return 1
	}
	if err = checkConsumerGroups(e, p); err == nil {
		err = consumerGroupsAction(e, p)
	}
	var java *javaError
	if errors.As(err, &java) && java == err && java.class == "java.lang.IllegalArgumentException" {
		return e.usage(p, java.msg)
	}
	if e.orUsage(p, err) {
		return 1
	}
	if err != nil { // Kafka's tool says so and exits with 0
		e.println("\nError: Executing consumer group command failed due to " + err.Error())
		e.errorf("%s", trace(err))
	}
	return 0
}

func consumerGroupsOptions() []option {
	return []option{
		{name: "bootstrap-server", arg: requiredArg, hint: "server to connect to", doc: "host:port of a broker, or several separated by commas. REQUIRED except with --validate-regex."},
		{name: "group", arg: requiredArg, hint: "group id", doc: "The group; may be repeated."},
		{name: "topic", arg: requiredArg, hint: "topic", doc: "A topic whose offsets are to be reset or deleted; may be repeated. topic:0,1,2 are some of its partitions."},
		{name: "all-topics", doc: "All topics that the group has committed offsets for."},
		{name: "list", doc: "Print the ids of the groups."},
		{name: "describe", doc: "Show a group, at first its offsets and how far they are behind."},
		{name: "all-groups", doc: "All groups of consumers."},
		{name: "delete", doc: "Delete groups and all their offsets."},
		{name: "timeout", arg: requiredArg, kind: "Long", hint: "timeout (ms)", def: "30000", doc: "How long each question to the cluster may take."},
		{name: "command-config", arg: requiredArg, hint: "command config property file", doc: "Properties file with settings for the connection."},
		{name: "reset-offsets", doc: "Give a group without members new offsets. What is reset: --topic or --all-topics. To what: one of --to-datetime, --by-duration, --to-earliest, --to-latest, --shift-by, --from-file, --to-current, --to-offset. --dry-run shows the new offsets, --execute commits them, --export prints them as CSV."},
		{name: "delete-offsets", doc: "Delete a group's offsets of topics."},
		{name: "dry-run", doc: "With --reset-offsets: only show what would be committed."},
		{name: "execute", doc: "With --reset-offsets: commit the new offsets."},
		{name: "export", doc: "With --reset-offsets: print the new offsets as CSV."},
		{name: "to-offset", arg: requiredArg, kind: "Long", hint: "offset", doc: "Reset to this offset."},
		{name: "from-file", arg: requiredArg, hint: "path to CSV file", doc: "Reset to the offsets in a file of lines topic,partition,offset, or group,topic,partition,offset."},
		{name: "to-datetime", arg: requiredArg, hint: "datetime", doc: "Reset to the first record not older than YYYY-MM-DDThh:mm:ss.sss, in UTC if no zone follows."},
		{name: "by-duration", arg: requiredArg, hint: "duration", doc: "Reset to the first record not older than now less a duration, PnDTnHnMnS."},
		{name: "to-earliest", doc: "Reset to the first record."},
		{name: "to-latest", doc: "Reset to the end."},
		{name: "to-current", doc: "Reset to what is committed; to the end where nothing is."},
		{name: "shift-by", arg: requiredArg, kind: "Long", hint: "number-of-offsets", doc: "Reset to what is committed plus a number, which may be negative."},
		{name: "members", onlyWith: []string{"describe"}, doc: "With --describe: show the members."},
		{name: "verbose", onlyWith: []string{"describe"}, doc: "With --describe: show more columns."},
		{name: "offsets", onlyWith: []string{"describe"}, doc: "With --describe: show the offsets. This is the default."},
		{name: "state", arg: optionalArg, onlyWith: []string{"describe", "list"}, doc: "With --describe: show the state of the group. With --list: show the states too, and if some follow, separated by commas, only groups in one of these."},
		{name: "type", arg: optionalArg, onlyWith: []string{"list"}, doc: "With --list: show the types too, and if some follow, separated by commas, only groups of these: classic, consumer."},
		{name: "validate-regex", arg: requiredArg, hint: "regex", doc: "Say whether the brokers can use the regular expression (RE2)."},
	}
}

// resetScenarios are the ways to choose new offsets.
var resetScenarios = []string{"to-offset", "shift-by", "to-datetime", "by-duration", "to-earliest", "to-latest", "to-current", "from-file"}

const resetWarning = "WARN: No action will be performed as the --execute option is missing. In version 5.0, this command will require " +
	"either --dry-run or --execute to be specified. You should add the --dry-run option explicitly if you are scripting this command " +
	"and want to keep the current default behavior without prompting."

// checkConsumerGroups refuses combinations of options that Kafka refuses, in Kafka's order.
func checkConsumerGroups(e *env, p *parsed) error {
	if !p.has("validate-regex") {
		if err := requireAll(p, "bootstrap-server"); err != nil {
			return err
		}
	}
	noGroup := !p.hasAny("group", "all-groups")
	needGroup := func(action string) error {
		return &usageError{"Option [" + action + "] takes one of these options: [all-groups], [group]"}
	}
	if p.has("describe") {
		if noGroup {
			return needGroup("describe")
		}
		if n := countOf(p, "members", "offsets", "state"); n > 1 {
			return &usageError{"Option [describe] takes at most one of these options: [members], [offsets], [state]"}
		}
		if p.str("state") != "" {
			return &usageError{"Option [describe] does not take a value for [state]"}
		}
	}
	if p.has("delete") {
		if noGroup {
			return needGroup("delete")
		}
		if p.has("topic") {
			return &usageError{"The consumer does not support topic-specific offset deletion from a consumer group."}
		}
	}
	if p.has("delete-offsets") && !(p.has("group") && p.has("topic")) {
		return &usageError{"Option [delete-offsets] takes the following options: [topic], [group]"}
	}
	if p.has("reset-offsets") {
		if err := checkReset(e, p, noGroup); err != nil {
			return err
		}
	}
	err := firstError(refuseWith(p, "group", "all-groups"), refuseWith(p, "group", "list"), refuseWith(p, "topic", "describe", "list"))
	if err != nil {
		return err
	}
	actions := []string{"list", "describe", "delete", "reset-offsets", "delete-offsets", "validate-regex"}
	if countOf(p, actions...) != 1 {
		return &usageError{"Command must include exactly one action: --" + strings.Join(actions, ", --")}
	}
	return nil
}

func checkReset(e *env, p *parsed, noGroup bool) error {
	if p.has("dry-run") && p.has("execute") {
		return &usageError{"Option [reset-offsets] only accepts one of [execute] and [dry-run]"}
	}
	if !p.hasAny("dry-run", "execute") {
		e.errorln(resetWarning)
	}
	if noGroup {
		return &usageError{"Option [reset-offsets] takes one of these options: [group], [all-groups]"}
	}
	for _, s := range []string{"to-offset", "to-datetime", "by-duration", "to-earliest", "to-latest", "to-current", "shift-by", "from-file"} {
		if err := refuseWith(p, s, resetScenarios...); err != nil {
			return err
		}
	}
	return nil
}

func countOf(p *parsed, names ...string) int {
	n := 0
	for _, name := range names {
		if p.has(name) {
			n++
		}
	}
	return n
}

func consumerGroupsAction(e *env, p *parsed) error {
	if p.has("validate-regex") {
		return validateRegex(e, p.str("validate-regex"))
	}
	timeout := p.int64("timeout")
	if p.err != nil {
		return p.err
	}
	c, err := e.open(p.str("command-config"), p.str("bootstrap-server"))
	if err = firstError(err, p.err); err != nil {
		return err
	}
	defer c.close()
	c.timeout = time.Duration(max(timeout, 1)) * time.Millisecond
	switch {
	case p.has("list"):
		return listConsumerGroups(e, c, p)
	case p.has("describe"):
		return describeConsumerGroups(e, c, p)
	case p.has("delete"):
		return deleteConsumerGroups(e, c, p)
	case p.has("reset-offsets"):
		return resetGroupOffsets(e, c, p)
	}
	return deleteGroupOffsets(e, c, p)
}

// validateRegex says whether an expression is RE2, which Go's expressions are.
func validateRegex(e *env, expr string) error {
	_, err := syntax.Parse(expr, syntax.Perl)
	if err == nil {
		e.printf("The regular expression `%s` is valid.\n", expr)
		return nil
	}
	why := err.Error()
	var bad *syntax.Error
	if errors.As(err, &bad) {
		why = bad.Code.String()
	}
	e.printf("The regular expression `%s` is invalid: %s.\n", expr, why)
	return nil
}

// selectedGroups are the groups of --group, or all of them.
func selectedGroups(c *cluster, p *parsed) ([]string, error) {
	if !p.has("all-groups") {
		return slices.Compact(p.list("group")), nil
	}
	groups, err := c.listConsumerGroups(nil, nil)
	var ids []string
	for _, g := range groups {
		ids = append(ids, g.id)
	}
	return ids, asRuntime(asExecution(err))
}

func listConsumerGroups(e *env, c *cluster, p *parsed) error {
	if !p.hasAny("type", "state") {
		groups, err := c.listConsumerGroups(nil, nil)
		for _, g := range groups {
			e.println(g.id)
		}
		return asRuntime(asExecution(err))
	}
	types, err := parseGroupTypes(p.str("type"))
	if err != nil {
		return err
	}
	states, err := parseGroupStates(p.str("state"))
	if err = firstError(err, p.err); err != nil {
		return err
	}
	groups, err := c.listConsumerGroups(states, types)
	if err != nil {
		return asExecution(err)
	}
	width := 15
	for _, g := range groups {
		width = max(width, len(g.id))
	}
	row := func(id, kind, state string) {
		e.printf("%-*s", width+10, id)
		if p.has("type") {
			e.printf(" %-20s", kind)
		}
		if p.has("state") {
			e.printf(" %-20s", state)
		}
		e.println()
	}
	row("GROUP", "TYPE", "STATE")
	for _, g := range groups {
		row(g.id, titleOr(g.kind, "Unknown"), titleOr(g.state, "Unknown"))
	}
	return nil
}

// titleOr is a type as Kafka's tools write it, whatever the broker's spelling.
func titleOr(s, missing string) string {
	if s == "" {
		return missing
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

var consumerGroupStates = []string{"PreparingRebalance", "Empty", "Assigning", "Dead", "Stable", "CompletingRebalance", "Reconciling"}

// parseGroupStates reads states separated by commas, in any case.
func parseGroupStates(list string) ([]string, error) {
	return parseNames(list, consumerGroupStates, "Invalid state list '%s'. Valid states are: %s")
}

func parseGroupTypes(list string) ([]string, error) {
	return parseNames(list, []string{"Consumer", "Classic"}, "Invalid types list '%s'. Valid types are: %s")
}

func parseNames(list string, valid []string, complaint string) ([]string, error) {
	if list == "" {
		return nil, nil
	}
	var names []string
	for s := range strings.SplitSeq(list, ",") {
		i := slices.IndexFunc(valid, func(v string) bool { return strings.EqualFold(v, strings.TrimSpace(s)) })
		if i < 0 {
			return nil, illegalArgument(complaint, list, strings.Join(valid, ", "))
		}
		names = append(names, valid[i])
	}
	return names, nil
}

func deleteConsumerGroups(e *env, c *cluster, p *parsed) error {
	ids, err := selectedGroups(c, p)
	if err != nil {
		return err
	}
	results, err := c.deleteGroups(ids)
	if err != nil {
		return err
	}
	var deleted []string
	failed := 0
	for _, id := range ids {
		if results[id] == nil {
			deleted = append(deleted, "'"+id+"'")
		} else {
			failed++
		}
	}
	if failed == 0 {
		e.println("Deletion of requested consumer groups (" + strings.Join(deleted, ", ") + ") was successful.")
		return nil
	}
	e.println("\nError: Deletion of some consumer groups failed:")
	for _, id := range ids {
		if err := results[id]; err != nil {
			e.printf("* Group '%s' could not be deleted due to: %s: %s\n", id, className(err), err)
		}
	}
	if len(deleted) > 0 {
		e.println("\nThese consumer groups were deleted successfully: " + strings.Join(deleted, ", "))
	}
	return nil
}

func deleteGroupOffsets(e *env, c *cluster, p *parsed) error {
	group := p.str("group")
	if p.err != nil {
		return p.err
	}
	results := map[protocol.TopicPartition]error{}
	var tps []protocol.TopicPartition
	for _, arg := range p.list("topic") {
		if strings.Contains(arg, ":") {
			some, err := parseTopicPartitions(arg)
			if err != nil {
				return err
			}
			tps = append(tps, some...)
			continue
		}
		topics, err := c.describeTopics([]string{arg}, partitionsPerPage)
		if err != nil {
			results[protocol.TopicPartition{Topic: arg, Partition: -1}] = err
			continue
		}
		tps = append(tps, topics[0].topicPartitions()...)
	}
	perPartition, err := c.deleteOffsets(group, tps)
	if err != nil && codeOf(err) == protocol.None {
		return err
	}
	for tp, perr := range perPartition {
		results[tp] = perr
		if err == nil {
			err = perr
		}
	}
	printDeletedOffsets(e, group, err, results)
	return nil
}

func printDeletedOffsets(e *env, group string, err error, results map[protocol.TopicPartition]error) {
	switch code := codeOf(err); code {
	case protocol.None:
		e.println("Request succeeded for deleting offsets from group " + group + ".")
	case protocol.InvalidGroupID, protocol.GroupIDNotFound, protocol.GroupAuthorizationFailed, protocol.NonEmptyGroup:
		e.println("\nError: " + codeMessage(code))
	case protocol.GroupSubscribedToTopic, protocol.TopicAuthorizationFailed, protocol.UnknownTopicOrPartition:
		e.println("\nError: Encountered some partition-level error, see the follow-up details.")
	default:
		e.println("\nError: Encountered some unknown error: " + code.String())
	}
	tps := keysOf(results)
	slices.SortFunc(tps, func(a, b protocol.TopicPartition) int {
		return strings.Compare(a.Topic+strconv.Itoa(int(a.Partition)), b.Topic+strconv.Itoa(int(b.Partition)))
	})
	width := 15
	for _, tp := range tps {
		width = max(width, len(tp.Topic))
	}
	e.printf("\n%-*s %-10s %-15s", width, "TOPIC", "PARTITION", "STATUS")
	for _, tp := range tps {
		number, status := "-", "Successful"
		if tp.Partition >= 0 {
			number = fmt.Sprint(tp.Partition)
		}
		if err := results[tp]; err != nil {
			status = "Error: " + className(err) + ": " + err.Error()
		}
		e.printf("\n%-*s %-10s %-15s", width, tp.Topic, number, status)
	}
	e.println()
}
