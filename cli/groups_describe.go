package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ottla/ottla/protocol"
)

const missing = "-" // a cell without a value

func describeConsumerGroups(e *env, c *cluster, p *parsed) error {
	ids, err := selectedGroups(c, p)
	if err != nil {
		return err
	}
	groups, err := c.describeGroups(ids)
	if err != nil {
		return asExecution(err)
	}
	sortGroups(groups)
	verbose := p.has("verbose")
	var rows [][]offsetRow
	if !p.hasAny("members", "state") {
		for _, g := range groups {
			r, err := c.offsetRows(g)
			if err != nil {
				return asRuntime(asExecution(err))
			}
			rows = append(rows, r)
		}
	}
	for i, g := range groups {
		switch {
		case p.has("members"):
			if err := printMembers(e, g, verbose); err != nil {
				return err
			}
		case p.has("state"):
			if err := printGroupState(e, g, verbose); err != nil {
				return err
			}
		default:
			if err := printGroupOffsets(e, g, rows[i], verbose); err != nil {
				return err
			}
		}
	}
	return nil
}

// printStateLine says what is notable about a group's state. The table follows if it reports true.
func printStateLine(e *env, g groupInfo, rows int) (bool, error) {
	switch g.state {
	case "Dead":
		e.println("\nError: Consumer group '" + g.id + "' does not exist.")
		return false, nil
	case "Empty":
		e.errorln("\nConsumer group '" + g.id + "' has no active members.")
	case "PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling":
		e.errorln("\nWarning: Consumer group '" + g.id + "' is rebalancing.")
	case "Stable":
	default:
		return false, kafkaException("Expected a valid consumer group state, but found '%s'.", cmp.Or(g.state, "Unknown"))
	}
	return rows > 0, nil
}

// offsetRow is one partition that a group has an offset of or a member for.
type offsetRow struct {
	tp                     protocol.TopicPartition
	commit                 *commit
	end                    *int64
	consumer, host, client string
}

// offsetRows lists a group's partitions: those of the member with the most first, those without a member last.
func (c *cluster) offsetRows(g groupInfo) ([]offsetRow, error) {
	commits, err := c.committed(g.id)
	if err != nil {
		return nil, err
	}
	members := slices.DeleteFunc(slices.Clone(g.members), func(m memberInfo) bool { return len(m.assigned) == 0 })
	slices.SortStableFunc(members, func(a, b memberInfo) int { return cmp.Compare(len(b.assigned), len(a.assigned)) })
	var rows []offsetRow
	taken := map[protocol.TopicPartition]bool{}
	for _, m := range members {
		tps := slices.Clone(m.assigned)
		sortPartitions(tps)
		for _, tp := range tps {
			taken[tp] = true
			rows = append(rows, offsetRow{tp: tp, consumer: m.id, host: m.host, client: m.client})
		}
	}
	for _, tp := range keysOf(commits) {
		if !taken[tp] {
			rows = append(rows, offsetRow{tp: tp, consumer: missing, host: missing, client: missing})
		}
	}
	ends, err := c.logEnds(rows)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		if at, ok := commits[rows[i].tp]; ok {
			rows[i].commit = &at
		}
		if end, ok := ends[rows[i].tp]; ok {
			rows[i].end = &end
		}
	}
	return rows, nil
}

// logEnds asks for the end of every partition that has a leader.
func (c *cluster) logEnds(rows []offsetRow) (map[protocol.TopicPartition]int64, error) {
	var names []string
	for _, r := range rows {
		names = append(names, r.tp.Topic)
	}
	topics, err := c.describeTopics(names, partitionsPerPage)
	if err != nil {
		return nil, err
	}
	var led []protocol.TopicPartition
	for _, t := range topics {
		for _, part := range t.partitions {
			tp := protocol.TopicPartition{Topic: t.name, Partition: part.id}
			if part.leader >= 0 && slices.ContainsFunc(rows, func(r offsetRow) bool { return r.tp == tp }) {
				led = append(led, tp)
			}
		}
	}
	return c.offsetsAt(led, timeLatest)
}

// offsetsAt is listOffsets that fails with the first partition that fails.
func (c *cluster) offsetsAt(tps []protocol.TopicPartition, timestamp int64) (map[protocol.TopicPartition]int64, error) {
	answers, err := c.listOffsets(tps, timestamp)
	if err != nil {
		return nil, err
	}
	offsets := map[protocol.TopicPartition]int64{}
	for _, tp := range keysOf(answers) {
		if answers[tp].err != nil {
			return nil, answers[tp].err
		}
		offsets[tp] = answers[tp].offset
	}
	return offsets, nil
}

func printGroupOffsets(e *env, g groupInfo, rows []offsetRow, verbose bool) error {
	ok, err := printStateLine(e, g, len(rows))
	if !ok || err != nil {
		return err
	}
	group, topic, consumer, host := max(15, len(g.id)), 15, 15, 15
	for _, r := range rows {
		topic, consumer, host = max(topic, len(r.tp.Topic)), max(consumer, len(r.consumer)), max(host, len(r.host))
	}
	row := func(id, name, number, epoch, current, end, lag, member, from, client string) {
		e.printf("\n%-*s %-*s %-10s ", group, id, topic, name, number)
		if verbose {
			e.printf("%-15s ", epoch)
		}
		e.printf("%-15s %-15s %-15s %-*s %-*s %s", current, end, lag, consumer, member, host, from, client)
	}
	row("GROUP", "TOPIC", "PARTITION", "LEADER-EPOCH", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID")
	for _, r := range rows {
		epoch, current, end, lag := missing, missing, missing, missing
		if r.end != nil {
			end = strconv.FormatInt(*r.end, 10)
		}
		if r.commit != nil {
			current = strconv.FormatInt(r.commit.offset, 10)
			if r.commit.leaderEpoch >= 0 {
				epoch = strconv.Itoa(int(r.commit.leaderEpoch))
			}
			if r.end != nil {
				lag = strconv.FormatInt(*r.end-r.commit.offset, 10)
			}
		}
		row(g.id, r.tp.Topic, strconv.Itoa(int(r.tp.Partition)), epoch, current, end, lag, r.consumer, r.host, r.client)
	}
	e.println()
	return nil
}

func printMembers(e *env, g groupInfo, verbose bool) error {
	group, id, instance, host, client, current, target := 15, 15, 17, 15, 15, 20, 20
	var static, classic, upgraded bool
	shown, err := printStateLine(e, g, len(g.members))
	if err != nil {
		return err
	}
	if shown {
		group = max(group, len(g.id))
		for _, m := range g.members {
			id, instance = max(id, len(m.id)), max(instance, len(m.instance))
			host, client = max(host, len(m.host)), max(client, len(m.client))
			current, target = max(current, len(assignment(m.assigned))), max(target, len(assignment(m.target)))
			static = static || m.instance != ""
			classic = classic || m.upgraded != nil && !*m.upgraded
			upgraded = upgraded || m.upgraded != nil && *m.upgraded
		}
	}
	mixed := classic && upgraded
	row := func(group_, id_, instance_, host_, client_, partitions string, more [5]string) {
		e.printf("%-*s %-*s ", group, group_, id, id_)
		if static {
			e.printf("%-*s ", instance, instance_)
		}
		e.printf("%-*s %-*s %-15s ", host, host_, client, client_, partitions)
		if verbose {
			e.printf("%-15s %-*s %-15s %-*s", more[0], current, more[1], more[2], target, more[3])
			if mixed {
				e.printf(" %s", more[4])
			}
		}
		e.println()
	}
	e.println()
	row("GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS",
		[5]string{"CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT", "UPGRADED"})
	for _, m := range g.members {
		row(g.id, m.id, m.instance, m.host, m.client, strconv.Itoa(len(m.assigned)),
			[5]string{orMissing(m.epoch), assignment(m.assigned), orMissing(g.targetEpoch), assignment(m.target), orMissing(m.upgraded)})
	}
	return nil
}

// orMissing writes a value that may not be there.
func orMissing[T any](v *T) string {
	if v == nil {
		return missing
	}
	return fmt.Sprint(*v)
}

// assignment writes partitions as topic:0,1;other:2.
func assignment(tps []protocol.TopicPartition) string {
	var topics []string
	for _, g := range byTopic(tps) {
		topics = append(topics, g.topic+":"+joinIDs(g.partitions, ","))
	}
	if len(topics) == 0 {
		return missing
	}
	slices.Sort(topics)
	return strings.Join(topics, ";")
}

func printGroupState(e *env, g groupInfo, verbose bool) error {
	ok, err := printStateLine(e, g, 1)
	if !ok || err != nil {
		return err
	}
	coordinator := fmt.Sprintf("%s:%d  (%d)", g.coordinator.Host, g.coordinator.Port, g.coordinator.NodeID)
	group, node := max(15, len(g.id)), max(25, len(coordinator))
	row := func(id, coordinator, strategy, state, epoch, target, members string) {
		e.printf("\n%-*s %-*s %-20s %-20s ", group, id, node, coordinator, strategy, state)
		if verbose {
			e.printf("%-15s %-25s ", epoch, target)
		}
		e.printf("%s", members)
	}
	row("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH", "#MEMBERS")
	row(g.id, coordinator, cmp.Or(g.assignor, missing), g.state, orMissing(g.epoch), orMissing(g.targetEpoch), strconv.Itoa(len(g.members)))
	e.println()
	return nil
}
