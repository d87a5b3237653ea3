package cli

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

const partitionsPerPage = 2000

// moves are the partitions that are being reassigned.
type moves map[protocol.TopicPartition]kmsg.ListPartitionReassignmentsResponseTopicPartition

func describeTopics(e *env, c *cluster, p *parsed) error {
	topics, err := topicsToDescribe(c, p)
	if err != nil || len(topics) == 0 {
		return err
	}
	var names []string
	var tps []protocol.TopicPartition
	for _, t := range topics {
		names = append(names, t.name)
		tps = append(tps, t.topicPartitions()...)
	}
	configs, err := c.describeConfigs(kmsg.ConfigResourceTypeTopic, names, false)
	if err != nil {
		return err
	}
	brokers, err := c.brokers()
	if err != nil {
		return err
	}
	var live []int32
	for _, b := range brokers {
		live = append(live, b.NodeID)
	}
	moving, err := c.reassignments(tps)
	if err != nil {
		return err
	}
	for _, t := range topics {
		i := slices.IndexFunc(configs, func(r kmsg.DescribeConfigsResponseResource) bool { return r.ResourceName == t.name })
		if i >= 0 {
			printTopic(e, p, t, configs[i].Configs, moving, live)
		}
	}
	return nil
}

// topicsToDescribe finds the topics by --topic-id, else by --topic.
func topicsToDescribe(c *cluster, p *parsed) ([]topicInfo, error) {
	id, perPage := p.str("topic-id"), p.int32("partition-size-limit-per-response")
	if p.err != nil {
		return nil, p.err
	}
	if !p.has("partition-size-limit-per-response") {
		perPage = partitionsPerPage
	}
	if id != "" {
		u, err := parseTopicID(id)
		if err != nil {
			return nil, err
		}
		if !u.IsZero() {
			return topicByID(c, p, u)
		}
	}
	names, err := matchingTopics(c, p)
	if err != nil {
		return nil, err
	}
	if err := mustExist(p, names); err != nil {
		return nil, err
	}
	return c.describeTopics(names, perPage)
}

func topicByID(c *cluster, p *parsed, id protocol.UUID) ([]topicInfo, error) {
	all, err := c.topics()
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(all, func(t topicInfo) bool { return t.id == id }) {
		if p.has("if-exists") {
			return nil, nil
		}
		return nil, illegalArgument("TopicId '%s' does not exist as expected", id)
	}
	return c.describeTopicID(id)
}

// parseTopicID reads a topic id the way Kafka's tools do: the last character may have bits set that are not used.
func parseTopicID(s string) (protocol.UUID, error) {
	b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil || len(s) > 24 {
		return protocol.UUID{}, illegalArgument("Input string `%s` is not the base64 text of an id", s)
	}
	if len(b) != len(protocol.UUID{}) {
		return protocol.UUID{}, illegalArgument(
			"Input string `%s` decoded as %d bytes, which is not equal to the expected 16 bytes of a base64-encoded UUID", s, len(b))
	}
	return protocol.UUID(b), nil
}

// reassignments asks which of the partitions are moving; a cluster that does not say has none moving.
func (c *cluster) reassignments(tps []protocol.TopicPartition) (moves, error) {
	req := kmsg.NewPtrListPartitionReassignmentsRequest()
	req.TimeoutMillis = int32(c.timeout.Milliseconds())
	for _, tp := range tps {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != tp.Topic {
			t := kmsg.NewListPartitionReassignmentsRequestTopic()
			t.Topic = tp.Topic
			req.Topics = append(req.Topics, t)
		}
		last := &req.Topics[len(req.Topics)-1]
		last.Partitions = append(last.Partitions, tp.Partition)
	}
	resp, err := request[*kmsg.ListPartitionReassignmentsResponse](c, "listPartitionReassignments", req)
	if unsupported(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	switch err := coded(resp.ErrorCode, resp.ErrorMessage); {
	case codeOf(err) == protocol.ClusterAuthorizationFailed:
		return nil, nil
	case err != nil:
		return nil, err
	}
	m := moves{}
	for _, t := range resp.Topics {
		for _, pt := range t.Partitions {
			m[protocol.TopicPartition{Topic: t.Topic, Partition: pt.Partition}] = pt
		}
	}
	return m, nil
}

// printTopic prints a topic's line and the lines of its partitions, as far as the options of --describe want them.
func printTopic(e *env, p *parsed, t topicInfo, configs []kmsg.DescribeConfigsResponseResourceConfig, moving moves, live []int32) {
	filtered := p.hasAny("under-replicated-partitions", "unavailable-partitions", "under-min-isr-partitions", "at-min-isr-partitions")
	var own []string
	minISR := 1
	hashOrder(configs, func(c kmsg.DescribeConfigsResponseResourceConfig) string { return c.Name })
	for _, c := range configs {
		value := "null"
		if c.Value != nil {
			value = *c.Value
		}
		if c.Source != kmsg.ConfigSourceDefaultConfig {
			own = append(own, c.Name+"="+value)
		}
		if c.Name == "min.insync.replicas" {
			minISR, _ = strconv.Atoi(value)
		}
	}
	if !filtered && len(t.partitions) > 0 && (len(own) > 0 || !p.has("topics-with-overrides")) {
		e.printf("Topic: %s", t.name)
		if !t.id.IsZero() {
			e.printf("\tTopicId: %s", t.id)
		}
		e.printf("\tPartitionCount: %d\tReplicationFactor: %d\tConfigs: %s\n",
			len(t.partitions), replicationFactor(t.name, t.partitions[0], moving), strings.Join(own, ","))
	}
	if p.has("topics-with-overrides") {
		return
	}
	for _, part := range t.partitions {
		noLeader := part.leader < 0
		if !filtered ||
			p.has("under-replicated-partitions") && replicationFactor(t.name, part, moving) > len(part.isr) ||
			p.has("unavailable-partitions") && (noLeader || !slices.Contains(live, part.leader)) ||
			p.has("under-min-isr-partitions") && (noLeader || len(part.isr) < minISR) ||
			p.has("at-min-isr-partitions") && len(part.isr) == minISR {
			printPartition(e, t.name, part, moving)
		}
	}
}

// replicationFactor is the number of replicas, for a partition that is moving without those it is only getting.
func replicationFactor(topic string, p partitionInfo, moving moves) int {
	m, ok := moving[protocol.TopicPartition{Topic: topic, Partition: p.id}]
	if ok && slices.ContainsFunc(p.replicas, func(r int32) bool {
		return slices.Contains(m.AddingReplicas, r) || slices.Contains(m.RemovingReplicas, r)
	}) {
		return len(m.Replicas) - len(m.AddingReplicas)
	}
	return len(p.replicas)
}

func printPartition(e *env, topic string, p partitionInfo, moving moves) {
	leader := "none"
	if p.leader >= 0 {
		leader = strconv.Itoa(int(p.leader))
	}
	e.printf("\tTopic: %s\tPartition: %d\tLeader: %s\tReplicas: %s\tIsr: %s",
		topic, p.id, leader, joinIDs(p.replicas, ","), joinIDs(p.isr, ","))
	if m, ok := moving[protocol.TopicPartition{Topic: topic, Partition: p.id}]; ok {
		e.printf("\tAdding Replicas: %s\tRemoving Replicas: %s", joinIDs(m.AddingReplicas, ","), joinIDs(m.RemovingReplicas, ","))
	}
	if p.knowsELR {
		e.printf("\tElr: %s\tLastKnownElr: %s\n", joinIDs(p.elr, ","), joinIDs(p.lastKnownELR, ","))
	} else {
		e.printf("\tElr: N/A\tLastKnownElr: N/A\n")
	}
}
