package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// groupListing is one group of the cluster. kind and state are empty if the brokers are too old to say.
type groupListing struct {
	id, protocol, kind, state string
}

// isConsumer reports whether the group is one of consumers: of either protocol, or only a holder of offsets.
func (g groupListing) isConsumer() bool {
	return (g.kind == "" || strings.EqualFold(g.kind, "classic") || strings.EqualFold(g.kind, "consumer")) &&
		(g.protocol == "" || g.protocol == "consumer")
}

// listGroups asks all brokers for their groups, of some states and types if any are given.
func (c *cluster) listGroups(states, types []string) ([]groupListing, error) {
	req := kmsg.NewPtrListGroupsRequest()
	req.StatesFilter, req.TypesFilter = states, types
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	if err := c.await(ctx); err != nil {
		return nil, callError("listGroups", err)
	}
	var groups []groupListing
	for _, shard := range c.cl.RequestSharded(ctx, req) {
		if shard.Err != nil {
			return nil, callError("listGroups", shard.Err)
		}
		resp := shard.Resp.(*kmsg.ListGroupsResponse)
		if err := coded(resp.ErrorCode, nil); err != nil {
			return nil, err
		}
		for _, g := range resp.Groups {
			groups = append(groups, groupListing{g.Group, g.ProtocolType, g.GroupType, g.GroupState})
		}
	}
	return groups, nil
}

// listConsumerGroups is listGroups for groups of consumers.
func (c *cluster) listConsumerGroups(states, types []string) ([]groupListing, error) {
	if len(types) == 0 {
		types = []string{"Consumer", "Classic"}
	}
	groups, err := c.listGroups(states, types)
	return slices.DeleteFunc(groups, func(g groupListing) bool { return !g.isConsumer() }), err
}

// groupInfo is a group of consumers, of the classic protocol or of KIP-848.
type groupInfo struct {
	id, state, assignor string
	coordinator         kgo.BrokerMetadata
	epoch, targetEpoch  *int32 // nil for classic groups
	members             []memberInfo
}

// memberInfo is a member of a group. epoch and upgraded are nil in classic groups.
type memberInfo struct {
	id, instance, client, host string
	assigned, target           []protocol.TopicPartition
	epoch                      *int32
	upgraded                   *bool // false for a member that still speaks the classic protocol in a KIP-848 group
}

// describeGroups describes groups of consumers, in the order of ids. It fails with the first that does not exist.
func (c *cluster) describeGroups(ids []string) ([]groupInfo, error) {
	var infos []groupInfo
	for _, id := range ids {
		info, err := c.describeConsumerGroup(id)
		if code := codeOf(err); code == protocol.GroupIDNotFound || code == protocol.UnsupportedVersion || unsupported(err) {
			info, err = c.describeClassicGroup(id)
		}
		if err != nil {
			return nil, err
		}
		if info.coordinator, err = c.coordinator(id); err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

// describeConsumerGroup describes a group of KIP-848.
func (c *cluster) describeConsumerGroup(id string) (groupInfo, error) {
	req := kmsg.NewPtrConsumerGroupDescribeRequest()
	req.Groups = []string{id}
	resp, err := request[*kmsg.ConsumerGroupDescribeResponse](c, "describeConsumerGroups", req)
	if err != nil {
		return groupInfo{}, err
	}
	if len(resp.Groups) != 1 {
		return groupInfo{}, fmt.Errorf("the coordinator did not answer for group %s", id)
	}
	g := resp.Groups[0]
	if err := coded(g.ErrorCode, g.ErrorMessage); err != nil {
		return groupInfo{}, err
	}
	info := groupInfo{id: g.Group, state: g.State, assignor: g.AssignorName, epoch: &g.Epoch, targetEpoch: &g.AssignmentEpoch}
	for _, m := range g.Members {
		member := memberInfo{id: m.MemberID, client: m.ClientID, host: m.ClientHost, epoch: &m.MemberEpoch,
			assigned: assignedPartitions(m.Assignment), target: assignedPartitions(m.TargetAssignment)}
		if m.InstanceID != nil {
			member.instance = *m.InstanceID
		}
		if m.MemberType >= 0 {
			upgraded := m.MemberType == 1
			member.upgraded = &upgraded
		}
		info.members = append(info.members, member)
	}
	return info, nil
}

func assignedPartitions(a kmsg.Assignment) []protocol.TopicPartition {
	var tps []protocol.TopicPartition
	for _, t := range a.TopicPartitions {
		for _, p := range t.Partitions {
			tps = append(tps, protocol.TopicPartition{Topic: t.Topic, Partition: p})
		}
	}
	return tps
}

// describeClassicGroup describes a group of the classic protocol.
func (c *cluster) describeClassicGroup(id string) (groupInfo, error) {
	req := kmsg.NewPtrDescribeGroupsRequest()
	req.Groups = []string{id}
	resp, err := request[*kmsg.DescribeGroupsResponse](c, "describeConsumerGroups", req)
	if err != nil {
		return groupInfo{}, err
	}
	if len(resp.Groups) != 1 {
		return groupInfo{}, fmt.Errorf("the coordinator did not answer for group %s", id)
	}
	g := resp.Groups[0]
	if err := coded(g.ErrorCode, g.ErrorMessage); err != nil {
		return groupInfo{}, err
	}
	if g.ProtocolType != "" && g.ProtocolType != "consumer" {
		return groupInfo{}, illegalArgument("GroupId %s is not a consumer group (%s).", id, g.ProtocolType)
	}
	info := groupInfo{id: g.Group, state: g.State, assignor: g.Protocol}
	for _, m := range g.Members {
		member := memberInfo{id: m.MemberID, client: m.ClientID, host: m.ClientHost}
		if m.InstanceID != nil {
			member.instance = *m.InstanceID
		}
		if member.assigned, err = classicAssignment(m.MemberAssignment); err != nil {
			return groupInfo{}, fmt.Errorf("the assignment of member %s cannot be read: %w", m.MemberID, err)
		}
		info.members = append(info.members, member)
	}
	return info, nil
}

func classicAssignment(b []byte) ([]protocol.TopicPartition, error) {
	if len(b) == 0 {
		return nil, nil
	}
	a := kmsg.NewConsumerMemberAssignment()
	if err := a.ReadFrom(b); err != nil {
		return nil, err
	}
	var tps []protocol.TopicPartition
	for _, t := range a.Topics {
		for _, p := range t.Partitions {
			tps = append(tps, protocol.TopicPartition{Topic: t.Topic, Partition: p})
		}
	}
	return tps, nil
}

// coordinator finds the broker that coordinates a group.
func (c *cluster) coordinator(group string) (kgo.BrokerMetadata, error) {
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorKey, req.CoordinatorKeys = group, []string{group}
	resp, err := request[*kmsg.FindCoordinatorResponse](c, "findCoordinator", req)
	if err != nil {
		return kgo.BrokerMetadata{}, err
	}
	for _, k := range resp.Coordinators {
		if k.Key == group {
			return kgo.BrokerMetadata{NodeID: k.NodeID, Host: k.Host, Port: k.Port}, coded(k.ErrorCode, k.ErrorMessage)
		}
	}
	return kgo.BrokerMetadata{NodeID: resp.NodeID, Host: resp.Host, Port: resp.Port}, coded(resp.ErrorCode, resp.ErrorMessage)
}

// commit is a committed offset; leaderEpoch is -1 if it was not committed with one.
type commit struct {
	offset      int64
	leaderEpoch int32
}

// committed lists all offsets that a group has committed.
func (c *cluster) committed(group string) (map[protocol.TopicPartition]commit, error) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group = group
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	req.Groups = append(req.Groups, g)
	resp, err := request[*kmsg.OffsetFetchResponse](c, "listConsumerGroupOffsets", req)
	if err != nil {
		return nil, err
	}
	commits := map[protocol.TopicPartition]commit{}
	for _, g := range resp.Groups {
		if err := coded(g.ErrorCode, nil); err != nil {
			return nil, err
		}
		for _, t := range g.Topics {
			if t.Topic == "" { // since version 10 the answer may have ids only
				if t.Topic, err = c.topicNamed(t.TopicID); err != nil {
					return nil, err
				}
			}
			for _, p := range t.Partitions {
				if err := coded(p.ErrorCode, nil); err != nil {
					return nil, err
				}
				if p.Offset >= 0 {
					commits[protocol.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = commit{p.Offset, p.LeaderEpoch}
				}
			}
		}
	}
	return commits, nil
}

// topicNamed finds the name of a topic by its id.
func (c *cluster) topicNamed(id protocol.UUID) (string, error) {
	topics, err := c.describeTopicID(id)
	if err != nil {
		return "", err
	}
	return topics[0].name, nil
}

// commitOffsets commits offsets for a group without members.
func (c *cluster) commitOffsets(group string, offsets map[protocol.TopicPartition]int64) error {
	if len(offsets) == 0 {
		return nil
	}
	var names []string
	for tp := range offsets {
		names = append(names, tp.Topic)
	}
	topics, err := c.describeTopics(names, partitionsPerPage) // since version 10 the request has ids
	if err != nil {
		return err
	}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = group, -1
	for _, g := range byTopic(keysOf(offsets)) {
		t := kmsg.NewOffsetCommitRequestTopic()
		t.Topic = g.topic
		if i := slices.IndexFunc(topics, func(info topicInfo) bool { return info.name == g.topic }); i >= 0 {
			t.TopicID = topics[i].id
		}
		for _, n := range g.partitions {
			p := kmsg.NewOffsetCommitRequestTopicPartition()
			p.Partition, p.Offset = n, offsets[protocol.TopicPartition{Topic: g.topic, Partition: n}]
			p.Metadata = kmsg.StringPtr("")
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	resp, err := request[*kmsg.OffsetCommitResponse](c, "alterConsumerGroupOffsets", req)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := coded(p.ErrorCode, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

// keysOf lists the partitions of a map, sorted.
func keysOf[V any](m map[protocol.TopicPartition]V) []protocol.TopicPartition {
	var tps []protocol.TopicPartition
	for tp := range m {
		tps = append(tps, tp)
	}
	sortPartitions(tps)
	return tps
}

// deleteGroups deletes groups; the answer has the error of each, nil for those deleted.
func (c *cluster) deleteGroups(ids []string) (map[string]error, error) {
	results := map[string]error{}
	for _, id := range ids {
		req := kmsg.NewPtrDeleteGroupsRequest()
		req.Groups = []string{id}
		resp, err := request[*kmsg.DeleteGroupsResponse](c, "deleteConsumerGroups", req)
		if err != nil && codeOf(err) == protocol.None {
			return nil, err
		}
		results[id] = err
		if err == nil {
			for _, g := range resp.Groups {
				results[g.Group] = coded(g.ErrorCode, nil)
			}
		}
	}
	return results, nil
}

// deleteOffsets deletes a group's commits for partitions. The first answer has the error of each partition; the
// error of the whole request, if there is one, stands for all of them.
func (c *cluster) deleteOffsets(group string, tps []protocol.TopicPartition) (map[protocol.TopicPartition]error, error) {
	req := kmsg.NewPtrOffsetDeleteRequest()
	req.Group = group
	for _, g := range byTopic(tps) {
		t := kmsg.NewOffsetDeleteRequestTopic()
		t.Topic = g.topic
		for _, n := range g.partitions {
			p := kmsg.NewOffsetDeleteRequestTopicPartition()
			p.Partition = n
			t.Partitions = append(t.Partitions, p)
		}
		req.Topics = append(req.Topics, t)
	}
	resp, err := request[*kmsg.OffsetDeleteResponse](c, "deleteConsumerGroupOffsets", req)
	if err == nil {
		err = coded(resp.ErrorCode, nil)
	}
	results := map[protocol.TopicPartition]error{}
	if err != nil {
		if codeOf(err) == protocol.None {
			return nil, err
		}
		for _, tp := range tps {
			results[tp] = err
		}
		return results, err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			results[protocol.TopicPartition{Topic: t.Topic, Partition: p.Partition}] = coded(p.ErrorCode, nil)
		}
	}
	return results, nil
}

// asExecution wraps an error as Java's futures do: the message has the class and the message of the cause.
func asExecution(err error) error {
	if err == nil {
		return nil
	}
	var named *javaError
	if errors.As(err, &named) && named.class == "java.util.concurrent.ExecutionException" {
		return err
	}
	return &javaError{class: "java.util.concurrent.ExecutionException", msg: className(err) + ": " + err.Error(), cause: err}
}

// asRuntime wraps an error as Java code does with errors it has to declare.
func asRuntime(err error) error {
	if err == nil {
		return nil
	}
	return &javaError{class: "java.lang.RuntimeException", msg: className(err) + ": " + err.Error(), cause: err}
}

// sortGroups sorts descriptions by group id.
func sortGroups(groups []groupInfo) {
	slices.SortFunc(groups, func(a, b groupInfo) int { return cmp.Compare(a.id, b.id) })
}
