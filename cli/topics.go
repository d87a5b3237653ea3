package cli

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/protocol"
)

const topicCommand = "org.apache.kafka.tools.TopicCommand"

// runTopics is kafka-topics: create, list, describe, alter and delete topics.
func runTopics(e *env) int {
	p, code, done, err := e.parse("Creates, lists, describes, alters and deletes topics.", topicsOptions())
	if done {
		return code
	}
	if err == nil {
		err = checkTopics(e, p)
	}
	if e.orUsage(p, err) {
		return 1
	}
	var c *cluster
	if err == nil {
		c, err = e.open(p.str("command-config"), p.str("bootstrap-server"))
	}
	if err != nil {
		e.errorf("%s\n%s\n", err, trace(err))
		return 1
	}
	defer c.close()
	if err := topicsAction(e, c, p); err != nil {
		e.println("Error while executing topic command : " + err.Error())
		e.flush()
		e.log("ERROR", topicCommand, trace(err))
		return 1
	}
	return 0
}

func topicsAction(e *env, c *cluster, p *parsed) error {
	switch {
	case p.has("create"):
		return createTopic(e, c, p)
	case p.has("alter"):
		return alterTopics(c, p)
	case p.has("list"):
		names, err := matchingTopics(c, p)
		if err == nil {
			e.println(strings.Join(names, "\n"))
		}
		return err
	case p.has("describe"):
		return describeTopics(e, c, p)
	}
	return deleteTopics(c, p)
}

func topicsOptions() []option {
	var keys []string
	for _, k := range config.Keys(config.ScopeTopic) {
		if !k.Internal {
			keys = append(keys, "\t"+k.Name)
		}
	}
	return []option{
		{name: "bootstrap-server", arg: requiredArg, hint: "server to connect to", doc: "REQUIRED: host:port of a broker, or several separated by commas."},
		{name: "command-config", arg: requiredArg, hint: "command config property file", doc: "Properties file with settings for the connection."},
		{name: "list", doc: "Print the names of the topics."},
		{name: "create", doc: "Create a topic."},
		{name: "delete", doc: "Delete topics."},
		{name: "alter", doc: "Give topics more partitions. (Settings are changed with kafka-configs.)"},
		{name: "describe", doc: "Show partitions, leaders, replicas and settings of topics."},
		{name: "topic", arg: requiredArg, hint: "topic", doc: "The topic's name; except for --create, a regular expression."},
		{name: "topic-id", arg: requiredArg, hint: "topic-id", doc: "The id of the topic to describe."},
		{name: "config", arg: requiredArg, hint: "name=value", doc: "With --create: a setting of the new topic, one of\n" + strings.Join(keys, "\n")},
		{name: "delete-config", arg: requiredArg, hint: "name", doc: "Has had no effect since 4.0."},
		{name: "partitions", arg: requiredArg, kind: "Integer", hint: "# of partitions", doc: "How many partitions a topic shall have. With --create, the cluster's default if not given. More partitions for a topic with keys change which partition a key belongs to."},
		{name: "replication-factor", arg: requiredArg, kind: "Integer", hint: "replication factor", doc: "How many replicas each partition of the new topic has. The cluster's default if not given."},
		{name: "replica-assignment", arg: requiredArg, hint: "broker_id_for_part1_replica1 : broker_id_for_part1_replica2 , broker_id_for_part2_replica1 : broker_id_for_part2_replica2 , ...", doc: "The brokers of each partition of the new topic, or of all partitions after --alter."},
		{name: "under-replicated-partitions", doc: "With --describe: only partitions with a replica out of sync."},
		{name: "unavailable-partitions", doc: "With --describe: only partitions without a leader."},
		{name: "under-min-isr-partitions", doc: "With --describe: only partitions with fewer replicas in sync than min.insync.replicas."},
		{name: "at-min-isr-partitions", doc: "With --describe: only partitions with exactly min.insync.replicas in sync."},
		{name: "topics-with-overrides", doc: "With --describe: only topics with settings of their own, without partitions."},
		{name: "if-exists", doc: "With --alter, --delete, --describe: no error if there is no such topic."},
		{name: "if-not-exists", doc: "With --create: no error if there is such a topic already."},
		{name: "exclude-internal", doc: "With --list, --describe: leave out the topics that Kafka keeps for itself."},
		{name: "partition-size-limit-per-response", arg: requiredArg, kind: "Integer", hint: "maximum number of partitions per response", doc: "How many partitions to ask for at a time."},
	}
}

// checkTopics refuses combinations of options that Kafka refuses, in Kafka's order.
func checkTopics(e *env, p *parsed) error {
	actions := []string{"create", "list", "alter", "describe", "delete"}
	n := 0
	for _, a := range actions {
		if p.has(a) {
			n++
		}
	}
	if n != 1 {
		return &usageError{"Command must include exactly one action: --list, --describe, --create, --alter or --delete"}
	}
	if p.has("delete-config") {
		e.errorln("delete-config option is no longer supported and deprecated since version 4.0. The config will be fully removed in future releases.")
	}
	if !p.has("bootstrap-server") {
		return illegalArgument("--bootstrap-server must be specified")
	}
	if p.has("describe") && p.has("if-exists") {
		if !p.hasAny("topic", "topic-id") {
			return &usageError{"--topic or --topic-id is required to describe a topic"}
		}
		if p.has("topic") && p.has("topic-id") {
			e.println("Only topic id will be used when both --topic and --topic-id are specified and topicId is not Uuid.ZERO_UUID")
		}
	}
	if !p.hasAny("list", "describe") {
		if err := requireAll(p, "topic"); err != nil {
			return err
		}
	}
	if p.has("alter") {
		if p.has("config") {
			return &usageError{`Option combination "[[bootstrap-server], [config]]" can't be used with option "[alter]" (To alter topic configurations, the kafka-configs tool can be used.)`}
		}
		if err := requireAll(p, "partitions"); err != nil {
			return err
		}
	}
	return checkTopicsTogether(p)
}

// checkTopicsTogether refuses options that are not for the action, or not for each other.
func checkTopicsTogether(p *parsed) error {
	reports := []string{"under-replicated-partitions", "under-min-isr-partitions", "at-min-isr-partitions", "unavailable-partitions"}
	rules := []struct {
		opt   string
		with  []string // the actions it is for
		never []string
	}{
		{"config", []string{"alter", "create"}, nil},
		{"partitions", []string{"alter", "create"}, nil},
		{"replication-factor", []string{"create"}, nil},
		{"replica-assignment", []string{"alter", "create"}, nil},
		{reports[0], []string{"describe"}, []string{"topics-with-overrides"}},
		{reports[1], []string{"describe"}, []string{"topics-with-overrides"}},
		{reports[2], []string{"describe"}, []string{"topics-with-overrides"}},
		{reports[3], []string{"describe"}, []string{"topics-with-overrides"}},
		{"topics-with-overrides", []string{"describe"}, reports},
		{"if-exists", []string{"alter", "delete", "describe"}, nil},
		{"if-not-exists", []string{"create"}, nil},
		{"exclude-internal", []string{"list", "describe"}, nil},
	}
	for _, r := range rules {
		bad := slices.Clone(r.never)
		for _, a := range []string{"alter", "create", "describe", "list", "delete"} {
			if !slices.Contains(r.with, a) {
				bad = append(bad, a)
			}
		}
		if err := refuseWith(p, r.opt, bad...); err != nil {
			return err
		}
		if r.opt == "replica-assignment" && p.has("create") {
			if err := refuseWith(p, r.opt, "partitions", "replication-factor"); err != nil {
				return err
			}
		}
	}
	return nil
}

// matchingTopics lists the topics that --topic matches, or all.
func matchingTopics(c *cluster, p *parsed) ([]string, error) {
	excludeInternal := p.has("exclude-internal")
	var filter *topicFilter
	if expr := p.str("topic"); p.has("topic") {
		if p.err != nil {
			return nil, p.err
		}
		f, err := newTopicFilter(expr)
		if err != nil {
			return nil, err
		}
		filter = &f
	}
	names, err := c.topicNames(!excludeInternal)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(names, func(n string) bool {
		return filter != nil && !filter.allows(n) || excludeInternal && internalTopic(n)
	}), nil
}

// mustExist fails if a topic was asked for, none was found, and --if-exists does not forgive it.
func mustExist(p *parsed, found []string) error {
	if name := p.str("topic"); name != "" && len(found) == 0 && !p.has("if-exists") {
		return illegalArgument("Topic '%s' does not exist as expected", name)
	}
	return nil
}

func createTopic(e *env, c *cluster, p *parsed) error {
	name, partitions, rf := p.str("topic"), p.int32("partitions"), p.int32("replication-factor")
	if p.err != nil {
		return p.err
	}
	assignment, err := parseReplicaAssignment(p.str("replica-assignment"))
	if err != nil {
		return err
	}
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = name, -1, -1
	if t.Configs, err = topicConfigs(p.list("config")); err != nil {
		return err
	}
	if strings.ContainsAny(name, "._") {
		e.println("WARNING: Due to limitations in metric names, topics with a period ('.') or underscore ('_') could collide. To avoid issues it is best to use either, but not both.")
	}
	if p.has("replication-factor") {
		if rf < 1 || rf > math.MaxInt16 {
			return illegalArgument("The replication factor must be between 1 and 32767 inclusive")
		}
		t.ReplicationFactor = int16(rf)
	}
	if p.has("partitions") {
		if partitions < 1 {
			return illegalArgument("The partitions must be greater than 0")
		}
		t.NumPartitions = partitions
	}
	for i, brokers := range assignment {
		a := kmsg.NewCreateTopicsRequestTopicReplicaAssignment()
		a.Partition, a.Replicas = int32(i), brokers
		t.ReplicaAssignment = append(t.ReplicaAssignment, a)
	}
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = int32(c.timeout.Milliseconds())
	req.Topics = append(req.Topics, t)
	resp, err := request[*kmsg.CreateTopicsResponse](c, "createTopics", req)
	if err != nil {
		return err
	}
	for _, r := range resp.Topics {
		err := coded(r.ErrorCode, r.ErrorMessage)
		if codeOf(err) == protocol.TopicAlreadyExists && p.has("if-not-exists") {
			return nil
		}
		if err != nil {
			return err
		}
	}
	e.println("Created topic " + name + ".")
	return nil
}

var equalsSign = regexp.MustCompile(`\s*=\s*`)

// topicConfigs parses the --config arguments, name=value each; a later one wins.
func topicConfigs(args []string) ([]kmsg.CreateTopicsRequestTopicConfig, error) {
	var configs []kmsg.CreateTopicsRequestTopicConfig
	for _, a := range args {
		kv := equalsSign.Split(a, -1)
		for len(kv) > 1 && kv[len(kv)-1] == "" {
			kv = kv[:len(kv)-1]
		}
		if len(kv) != 2 {
			return nil, illegalArgument(`requirement failed: Invalid topic config: all configs to be added must be in the format "key=val".`)
		}
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		if name := strings.TrimSpace(kv[0]); config.Find(config.ScopeTopic, name) == nil {
			return nil, &brokerError{protocol.InvalidConfig, "Unknown topic config name: " + name}
		}
		c.Name, c.Value = strings.TrimSpace(kv[0]), kmsg.StringPtr(strings.TrimSpace(kv[1]))
		configs = slices.DeleteFunc(configs, func(o kmsg.CreateTopicsRequestTopicConfig) bool { return o.Name == c.Name })
		configs = append(configs, c)
	}
	return configs, nil
}

// parseReplicaAssignment parses "1:2,2:3": the brokers of partition 0, then of partition 1. All partitions have as
// many replicas as the first.
func parseReplicaAssignment(s string) ([][]int32, error) {
	if s == "" {
		return nil, nil
	}
	var all [][]int32
	for i, part := range strings.Split(s, ",") {
		var brokers []int32
		for b := range strings.SplitSeq(part, ":") {
			id, err := strconv.ParseInt(strings.TrimSpace(b), 10, 32)
			if err != nil {
				return nil, &javaError{class: "java.lang.NumberFormatException",
					msg: fmt.Sprintf("For input string: %q", strings.TrimSpace(b))}
			}
			if slices.Contains(brokers, int32(id)) {
				return nil, &javaError{class: "org.apache.kafka.tools.AdminCommandFailedException",
					msg: fmt.Sprintf("Partition replica lists may not contain duplicate entries: %d", id)}
			}
			brokers = append(brokers, int32(id))
		}
		all = append(all, brokers)
		if len(brokers) != len(all[0]) {
			return nil, &javaError{class: "org.apache.kafka.tools.AdminOperationException",
				msg: fmt.Sprintf("Partition %d has different replication factor: [%s]", i, joinIDs(brokers, ", "))}
		}
	}
	return all, nil
}

// joinIDs writes broker or partition ids with a separator.
func joinIDs(ids []int32, sep string) string {
	var b strings.Builder
	for i, id := range ids {
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(strconv.Itoa(int(id)))
	}
	return b.String()
}

func alterTopics(c *cluster, p *parsed) error {
	partitions := p.int32("partitions")
	assignment, err := parseReplicaAssignment(p.str("replica-assignment"))
	if err != nil {
		return err
	}
	names, err := matchingTopics(c, p)
	if err != nil || p.err != nil {
		return firstError(err, p.err)
	}
	if err := mustExist(p, names); err != nil || len(names) == 0 {
		return err
	}
	have, err := c.describeTopics(names, 2000)
	if err != nil {
		return err
	}
	req := kmsg.NewPtrCreatePartitionsRequest()
	req.TimeoutMillis = int32(c.timeout.Milliseconds())
	for _, t := range have {
		r := kmsg.NewCreatePartitionsRequestTopic()
		r.Topic, r.Count = t.name, partitions
		for _, brokers := range assignment[min(len(t.partitions), len(assignment)):] {
			a := kmsg.NewCreatePartitionsRequestTopicAssignment()
			a.Replicas = brokers
			r.Assignment = append(r.Assignment, a)
		}
		req.Topics = append(req.Topics, r)
	}
	resp, err := request[*kmsg.CreatePartitionsResponse](c, "createPartitions", req)
	if err != nil {
		return err
	}
	for _, r := range resp.Topics {
		if err := coded(r.ErrorCode, r.ErrorMessage); err != nil {
			return err
		}
	}
	return nil
}

func deleteTopics(c *cluster, p *parsed) error {
	names, err := matchingTopics(c, p)
	if err != nil {
		return err
	}
	if err := mustExist(p, names); err != nil || len(names) == 0 {
		return err
	}
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.TimeoutMillis = int32(c.timeout.Milliseconds())
	for _, n := range names {
		t := kmsg.NewDeleteTopicsRequestTopic()
		t.Topic = kmsg.StringPtr(n)
		req.Topics = append(req.Topics, t)
		req.TopicNames = append(req.TopicNames, n)
	}
	resp, err := request[*kmsg.DeleteTopicsResponse](c, "deleteTopics", req)
	if err != nil {
		return err
	}
	for _, r := range resp.Topics {
		if err := coded(r.ErrorCode, r.ErrorMessage); err != nil {
			return err
		}
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
