package cli

import (
	"encoding/csv"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ottla/ottla/protocol"
)

const offsetsResetter = "org.apache.kafka.tools.GroupOffsetsResetter"

// newOffsets are the offsets that a group is to get.
type newOffsets struct {
	group   string
	offsets map[protocol.TopicPartition]int64
}

func resetGroupOffsets(e *env, c *cluster, p *parsed) error {
	ids, err := selectedGroups(c, p)
	if err != nil {
		return err
	}
	var plans []newOffsets
	for _, id := range ids {
		offsets, err := resetGroup(e, c, p, id)
		if err != nil {
			return err
		}
		plans = append(plans, newOffsets{id, offsets})
	}
	if p.has("export") {
		exportOffsets(e, plans, len(p.list("group")) == 1)
	} else {
		printNewOffsets(e, plans)
	}
	return nil
}

// resetGroup works out the new offsets of one group, and commits them with --execute. A group with members is refused.
func resetGroup(e *env, c *cluster, p *parsed, group string) (map[protocol.TopicPartition]int64, error) {
	groups, err := c.describeGroups([]string{group})
	if err != nil && codeOf(err) != protocol.GroupIDNotFound {
		return nil, asRuntime(asExecution(err))
	}
	if err == nil && groups[0].state != "Empty" && groups[0].state != "Dead" {
		e.println("\nError: Assignments can only be reset if the group '" + group + "' is inactive, but the current state is " + groups[0].state + ".")
		return nil, nil
	}
	tps, err := partitionsToReset(c, p, group)
	if err != nil {
		return nil, err
	}
	if err := c.checkPartitions(tps); err != nil {
		return nil, err
	}
	r := resetter{env: e, c: c, p: p, group: group}
	offsets, err := r.prepare(tps)
	if err == nil {
		err = p.err
	}
	if err == nil && p.has("execute") {
		err = c.commitOffsets(group, offsets)
	}
	return offsets, err
}

// partitionsToReset is the scope: --all-topics, --topic, or the lines of the file.
func partitionsToReset(c *cluster, p *parsed, group string) ([]protocol.TopicPartition, error) {
	switch {
	case p.has("all-topics"):
		commits, err := c.committed(group)
		return keysOf(commits), asRuntime(asExecution(err))
	case p.has("topic"):
		var tps []protocol.TopicPartition
		var whole []string
		for _, arg := range p.list("topic") {
			if !strings.Contains(arg, ":") {
				whole = append(whole, arg)
				continue
			}
			some, err := parseTopicPartitions(arg)
			if err != nil {
				return nil, err
			}
			tps = append(tps, some...)
		}
		topics, err := c.describeTopics(whole, partitionsPerPage)
		for _, t := range topics {
			tps = append(tps, t.topicPartitions()...)
		}
		return tps, err
	case p.has("from-file"):
		return nil, nil
	}
	return nil, &usageError{"One of the reset scopes should be defined: --all-topics, --topic."}
}

// parseTopicPartitions reads topic:0,1,2.
func parseTopicPartitions(arg string) ([]protocol.TopicPartition, error) {
	parts := strings.Split(strings.TrimRight(arg, ":"), ":")
	if len(parts) != 2 {
		return nil, illegalArgument("Invalid topic arg '%s', expected topic name and partitions", arg)
	}
	var tps []protocol.TopicPartition
	for s := range strings.SplitSeq(parts[1], ",") {
		n, err := strconv.ParseInt(s, 10, 32)
		if err != nil {
			return nil, illegalArgument("Invalid partition '%s' specified in topic arg '%s''", s, arg)
		}
		tps = append(tps, protocol.TopicPartition{Topic: parts[0], Partition: int32(n)})
	}
	return tps, nil
}

// checkPartitions fails unless all the partitions exist and have leaders.
func (c *cluster) checkPartitions(tps []protocol.TopicPartition) error {
	var names []string
	for _, tp := range tps {
		names = append(names, tp.Topic)
	}
	topics, err := c.describeTopics(names, partitionsPerPage)
	if err != nil {
		return asRuntime(asExecution(err))
	}
	leaders := map[protocol.TopicPartition]int32{}
	for _, t := range topics {
		for _, part := range t.partitions {
			leaders[protocol.TopicPartition{Topic: t.name, Partition: part.id}] = part.leader
		}
	}
	var absent, headless []string
	for _, tp := range tps {
		if leader, ok := leaders[tp]; !ok {
			absent = append(absent, tp.String())
		} else if leader < 0 {
			headless = append(headless, tp.String())
		}
	}
	if len(absent) > 0 {
		return &brokerError{protocol.UnknownTopicOrPartition, `The partitions "` + strings.Join(absent, ",") + `" do not exist`}
	}
	if len(headless) > 0 {
		return &brokerError{protocol.LeaderNotAvailable, `The partitions "` + strings.Join(headless, ",") + `" have no leader`}
	}
	return nil
}

// resetter works out new offsets for one group.
type resetter struct {
	env   *env
	c     *cluster
	p     *parsed
	group string
}

// prepare works out the new offsets of the partitions by the scenario that the options name.
func (r resetter) prepare(tps []protocol.TopicPartition) (map[protocol.TopicPartition]int64, error) {
	switch p := r.p; {
	case p.has("to-offset"):
		wanted := map[protocol.TopicPartition]int64{}
		for _, tp := range tps {
			wanted[tp] = p.int64("to-offset")
		}
		return r.clamp(wanted)
	case p.has("to-earliest"):
		return r.at(tps, timeEarliest)
	case p.has("to-latest"):
		return r.at(tps, timeLatest)
	case p.has("shift-by"):
		return r.shift(tps, p.int64("shift-by"))
	case p.has("to-datetime"):
		t, err := parseDateTime(p.str("to-datetime"))
		if err != nil {
			return nil, asRuntime(err)
		}
		return r.since(tps, t)
	case p.has("by-duration"):
		d, err := parseDuration(p.str("by-duration"))
		if err != nil {
			return nil, err
		}
		return r.since(tps, time.Now().Add(-d))
	case p.has("from-file"):
		return r.fromFile(p.str("from-file"))
	case p.has("to-current"):
		return r.current(tps)
	}
	return nil, &usageError{"Option '[reset-offsets]' requires one of the following scenarios: [[" + strings.Join(resetScenarios, "], [") + "]]"}
}

func (r resetter) at(tps []protocol.TopicPartition, timestamp int64) (map[protocol.TopicPartition]int64, error) {
	offsets, err := r.c.offsetsAt(tps, timestamp)
	return offsets, asRuntime(asExecution(err))
}

// since is the first record that is not older than t, or the end.
func (r resetter) since(tps []protocol.TopicPartition, t time.Time) (map[protocol.TopicPartition]int64, error) {
	offsets, err := r.at(tps, t.UnixMilli())
	if err != nil {
		return nil, err
	}
	var none []protocol.TopicPartition
	for _, tp := range tps {
		if at, ok := offsets[tp]; ok && at < 0 {
			r.env.printf("\nWarn: Partition %d from topic %s is empty. Falling back to latest known offset.\n", tp.Partition, tp.Topic)
			none = append(none, tp)
		}
	}
	ends, err := r.at(none, timeLatest)
	for tp, end := range ends {
		offsets[tp] = end
	}
	return offsets, err
}

func (r resetter) shift(tps []protocol.TopicPartition, by int64) (map[protocol.TopicPartition]int64, error) {
	commits, err := r.c.committed(r.group)
	if err != nil {
		return nil, asRuntime(asExecution(err))
	}
	wanted := map[protocol.TopicPartition]int64{}
	for _, tp := range tps {
		at, ok := commits[tp]
		if !ok {
			return nil, illegalArgument("Cannot shift offset for partition %s since there is no current committed offset", tp)
		}
		wanted[tp] = at.offset + by
	}
	return r.clamp(wanted)
}

func (r resetter) current(tps []protocol.TopicPartition) (map[protocol.TopicPartition]int64, error) {
	commits, err := r.c.committed(r.group)
	if err != nil {
		return nil, asRuntime(asExecution(err))
	}
	var none []protocol.TopicPartition
	for _, tp := range tps {
		if _, ok := commits[tp]; !ok {
			none = append(none, tp)
		}
	}
	offsets, err := r.at(none, timeLatest)
	if err != nil {
		return nil, err
	}
	for _, tp := range tps {
		if at, ok := commits[tp]; ok {
			offsets[tp] = at.offset
		}
	}
	return offsets, nil
}

func (r resetter) fromFile(path string) (map[protocol.TopicPartition]int64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, asRuntime(&javaError{class: "java.io.IOException", msg: "Unable to read file " + path, cause: fileError(path, err)})
	}
	plans, err := parsePlan(string(text), r.p.list("group"))
	if err != nil {
		return nil, err
	}
	for _, plan := range plans {
		if plan.group == r.group {
			return r.clamp(plan.offsets)
		}
	}
	r.env.println("\nError: No reset plan for group " + r.group + " found.")
	return nil, nil
}

// clamp moves offsets that are outside of the log to its nearest end, with a warning.
func (r resetter) clamp(wanted map[protocol.TopicPartition]int64) (map[protocol.TopicPartition]int64, error) {
	tps := keysOf(wanted)
	starts, err := r.at(tps, timeEarliest)
	if err != nil {
		return nil, err
	}
	ends, err := r.at(tps, timeLatest)
	if err != nil {
		return nil, err
	}
	move := func(tp protocol.TopicPartition, side, end string, to int64) {
		r.env.log("WARN", offsetsResetter, fmt.Sprintf("New offset (%d) is %s than %s offset for topic partition %s. Value will be set to %d.",
			wanted[tp], side, end, tp, to))
		wanted[tp] = to
	}
	for _, tp := range tps {
		if end, ok := ends[tp]; ok && wanted[tp] > end {
			move(tp, "higher", "latest", end)
		} else if start, ok := starts[tp]; ok && wanted[tp] < start {
			move(tp, "lower", "earliest", start)
		}
	}
	return wanted, nil
}

// parsePlan reads lines of topic,partition,offset, for the only group, or of group,topic,partition,offset.
func parsePlan(text string, groups []string) ([]newOffsets, error) {
	r := csv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = -1
	lines, err := r.ReadAll()
	if err != nil {
		return nil, asRuntime(fmt.Errorf("the file of offsets is not CSV: %w", err))
	}
	var plans []newOffsets
	for _, fields := range lines {
		if len(fields) == 3 && len(groups) == 1 {
			fields = append([]string{groups[0]}, fields...)
		}
		if len(fields) != 4 {
			return nil, asRuntime(fmt.Errorf("the line %q has not the form topic,partition,offset, or with several groups group,topic,partition,offset",
				strings.Join(fields, ",")))
		}
		partition, perr := strconv.ParseInt(strings.TrimSpace(fields[2]), 10, 32)
		offset, oerr := strconv.ParseInt(strings.TrimSpace(fields[3]), 10, 64)
		if err := firstError(perr, oerr); err != nil {
			return nil, asRuntime(fmt.Errorf("the line %q has a partition or an offset that is no number: %w", strings.Join(fields, ","), err))
		}
		i := slices.IndexFunc(plans, func(n newOffsets) bool { return n.group == fields[0] })
		if i < 0 {
			i = len(plans)
			plans = append(plans, newOffsets{fields[0], map[protocol.TopicPartition]int64{}})
		}
		plans[i].offsets[protocol.TopicPartition{Topic: fields[1], Partition: int32(partition)}] = offset
	}
	return plans, nil
}

// exportOffsets prints what parsePlan reads.
func exportOffsets(e *env, plans []newOffsets, oneGroup bool) {
	w := csv.NewWriter(e.out)
	for _, plan := range plans {
		for _, tp := range keysOf(plan.offsets) {
			line := []string{plan.group, tp.Topic, strconv.Itoa(int(tp.Partition)), strconv.FormatInt(plan.offsets[tp], 10)}
			if oneGroup {
				line = line[1:]
			}
			_ = w.Write(line) // into memory
		}
	}
	w.Flush()
	e.println()
}

func printNewOffsets(e *env, plans []newOffsets) {
	group, topic := 15, 15
	for _, plan := range plans {
		group = max(group, len(plan.group))
		for tp := range plan.offsets {
			topic = max(topic, len(tp.Topic))
		}
	}
	if len(plans) > 0 {
		e.printf("\n%-*s %-*s %-10s %s", group, "GROUP", topic, "TOPIC", "PARTITION", "NEW-OFFSET")
	}
	for _, plan := range plans {
		for _, tp := range keysOf(plan.offsets) {
			e.printf("\n%-*s %-*s %-10d %d", group, plan.group, topic, tp.Topic, tp.Partition, plan.offsets[tp])
		}
	}
	e.println()
}
