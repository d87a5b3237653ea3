package cli

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ottla/ottla/protocol"
)

// terse is an error whose message is enough: no trace is printed.
type terse struct{ msg string }

func (e *terse) Error() string { return e.msg }

func (e *terse) javaClass() string { return "org.apache.kafka.tools.TerseException" }

// runGetOffsets is kafka-get-offsets: the offsets that partitions have for a point in time.
func runGetOffsets(e *env) int {
	p, code, done, err := e.parse("Prints the offsets that partitions have at a point in time, as topic:partition:offset.", getOffsetsOptions())
	if done {
		return code
	}
	if err != nil {
		err = &terse{err.Error()}
	} else {
		err = getOffsets(e, p)
	}
	if err == nil {
		return 0
	}
	if e.orUsage(p, err) {
		return 1
	}
	e.errorln("Error occurred: " + err.Error())
	if t := (*terse)(nil); !errors.As(err, &t) || error(t) != err {
		e.errorln(trace(err))
	}
	return 1
}

func getOffsetsOptions() []option {
	return []option{
		{name: "bootstrap-server", arg: requiredArg, hint: "HOST1:PORT1,...,HOST3:PORT3", doc: "REQUIRED. host:port of a broker, or several separated by commas."},
		{name: "topic-partitions", arg: requiredArg, hint: "topic1:1,topic2:0-3,topic3,topic4:5-,topic5:-3", doc: "Which partitions, as a list of topic:partitions. The topic is a regular expression, any topic if empty. The partitions are a number, FROM-TO without TO, FROM-, -TO, or all if left out."},
		{name: "topic", arg: requiredArg, hint: "topic", doc: "Which topics, a regular expression; all if not given. Not together with --topic-partitions."},
		{name: "partitions", arg: requiredArg, hint: "partition ids", doc: "Which partitions of the topics, numbers separated by commas; all if not given. Not together with --topic-partitions."},
		{name: "time", arg: requiredArg, hint: "<timestamp> / -1 or latest / -2 or earliest / -3 or max-timestamp / -4 or earliest-local / -5 or latest-tiered / -6 or earliest-pending-upload", def: "latest", doc: "The point in time; a timestamp stands for the first record that is not older. A partition without such a record is left out."},
		{name: "command-config", arg: requiredArg, hint: "config file", doc: "Properties file with settings for the connection."},
		{name: "exclude-internal-topics", doc: "Leave out the topics that Kafka keeps for itself."},
	}
}

func getOffsets(e *env, p *parsed) error {
	if err := requireAll(p, "bootstrap-server"); err != nil {
		return err
	}
	bootstrap := p.str("bootstrap-server")
	if err := checkHostPorts(bootstrap); err != nil {
		return err
	}
	if p.has("topic-partitions") && p.hasAny("topic", "partitions") {
		return &terse{"--topic-partitions cannot be used with --topic or --partitions"}
	}
	timestamp, err := parseTime(p.str("time"))
	if err != nil {
		return err
	}
	rules, err := partitionRules(p)
	if err != nil {
		return err
	}
	conf, err := loadConfig(p.str("command-config"))
	if err = firstError(err, p.err); err != nil {
		return err
	}
	c, err := e.connect(conf.with(clientConfig{"bootstrap.servers": bootstrap, "client.id": "GetOffsetShell"}))
	if err != nil {
		return err
	}
	defer c.close()
	tps, err := c.partitionsMatching(rules, !p.has("exclude-internal-topics"))
	if err != nil {
		return err
	}
	if len(tps) == 0 {
		return &terse{"Could not match any topic-partitions with the specified filters"}
	}
	return printOffsets(e, c, tps, timestamp)
}

func printOffsets(e *env, c *cluster, tps []protocol.TopicPartition, timestamp int64) error {
	answers, err := c.listOffsets(tps, timestamp)
	if err != nil {
		return err
	}
	slices.SortFunc(tps, func(a, b protocol.TopicPartition) int { return cmp.Compare(a.String(), b.String()) })
	for _, tp := range tps {
		a, ok := answers[tp]
		switch {
		case !ok:
		case a.err != nil:
			e.errorln("Skip getting offsets for topic-partition " + tp.String() + " due to error: " +
				className(a.err) + ": " + a.err.Error())
		case a.offset != -1:
			e.printf("%s:%d:%d\n", tp.Topic, tp.Partition, a.offset)
		}
	}
	return nil
}

// parseTime reads --time: a name, or a number that is a timestamp or one of the special ones.
func parseTime(s string) (int64, error) {
	switch s {
	case "earliest":
		return timeEarliest, nil
	case "latest":
		return timeLatest, nil
	case "max-timestamp":
		return timeMax, nil
	case "earliest-local":
		return timeEarliestLocal, nil
	case "latest-tiered":
		return timeLatestTiered, nil
	case "earliest-pending-upload":
		return timeEarliestPendingUpload, nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, &terse{"Malformed time argument " + s + ". Please use -1 or latest / -2 or earliest / " +
			"-3 or max-timestamp / -4 or earliest-local / -5 or latest-tiered / -6 or earliest-pending-upload, " +
			"or a specified long format timestamp"}
	}
	return n, nil
}

// partitionRule is one element of --topic-partitions, or what --topic and --partitions say together: topics that
// match, and of those the listed partitions, or those from first to last, last not included.
type partitionRule struct {
	topics      topicFilter
	only        []int32
	first, last int32
}

func (r partitionRule) allows(topic string, partition int32) bool {
	if !r.topics.allows(topic) {
		return false
	}
	if len(r.only) > 0 {
		return slices.Contains(r.only, partition)
	}
	return partition >= r.first && partition < r.last
}

var rulePattern = regexp.MustCompile(`^([^:,]*)(?::(?:([0-9]*)|(?:([0-9]*)-([0-9]*))))?$`)

func partitionRules(p *parsed) ([]partitionRule, error) {
	if p.has("topic-partitions") {
		var rules []partitionRule
		for spec := range strings.SplitSeq(p.str("topic-partitions"), ",") {
			r, err := parseRule(spec)
			if err != nil {
				return nil, err
			}
			rules = append(rules, r)
		}
		return rules, nil
	}
	r := partitionRule{last: math.MaxInt32}
	var err error
	if r.topics, err = newTopicFilter(cmp.Or(p.str("topic"), ".*")); err != nil {
		return nil, err
	}
	if ids := p.str("partitions"); ids != "" {
		for id := range strings.SplitSeq(ids, ",") {
			n, err := strconv.ParseInt(id, 10, 32)
			if err != nil {
				return nil, &terse{"--partitions expects a comma separated list of numeric partition ids, but received: " + ids}
			}
			r.only = append(r.only, int32(n))
		}
	}
	return []partitionRule{r}, nil
}

// parseRule reads topic:N, topic:A-B, topic:A-, topic:-B or topic.
func parseRule(spec string) (partitionRule, error) {
	m := rulePattern.FindStringSubmatch(spec)
	if m == nil {
		cause := &terse{"Invalid rule specification: " + spec}
		return partitionRule{}, &javaError{class: "java.lang.RuntimeException",
			msg: cause.javaClass() + ": " + cause.msg, cause: cause}
	}
	r := partitionRule{last: math.MaxInt32}
	var err error
	if r.topics, err = newTopicFilter(cmp.Or(m[1], ".*")); err != nil {
		return r, err
	}
	number := func(s string, into *int32) {
		if s != "" && err == nil {
			n, perr := strconv.ParseInt(s, 10, 32)
			if perr != nil {
				err = &javaError{class: "java.lang.NumberFormatException", msg: fmt.Sprintf("For input string: %q", s)}
			}
			*into = int32(n)
		}
	}
	if m[2] != "" {
		number(m[2], &r.first)
		r.last = r.first + 1
		return r, err
	}
	number(m[3], &r.first)
	number(m[4], &r.last)
	return r, err
}

// partitionsMatching lists the partitions of the cluster that at least one rule allows.
func (c *cluster) partitionsMatching(rules []partitionRule, internal bool) ([]protocol.TopicPartition, error) {
	topics, err := c.topics()
	if err != nil {
		return nil, err
	}
	var tps []protocol.TopicPartition
	for _, t := range topics {
		if t.internal && !internal {
			continue
		}
		for _, tp := range t.topicPartitions() {
			if slices.ContainsFunc(rules, func(r partitionRule) bool { return r.allows(tp.Topic, tp.Partition) }) {
				tps = append(tps, tp)
			}
		}
	}
	return tps, nil
}

var hostPort = regexp.MustCompile(`^(?:[a-zA-Z][a-zA-Z\d+\-.]*://)?\[?[0-9a-zA-Z\-._%:]*\]?:[0-9]+$`)

// checkHostPorts is the check of the bootstrap servers that some tools do before anything else.
func checkHostPorts(list string) error {
	if strings.TrimSpace(list) == "" {
		return &usageError{"Error while validating the bootstrap address\n"}
	}
	for s := range strings.SplitSeq(list, ",") {
		if !hostPort.MatchString(s) {
			return &usageError{"Please provide valid host:port like host1:9091,host2:9092\n"}
		}
	}
	return nil
}
