package cli

import (
	"cmp"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// topicInfo is what a cluster says about one topic.
type topicInfo struct {
	name       string
	id         protocol.UUID
	internal   bool
	partitions []partitionInfo // by id
}

// partitionInfo is one partition. leader is -1 when there is none.
type partitionInfo struct {
	id, leader        int32
	replicas, isr     []int32
	elr, lastKnownELR []int32
	knowsELR          bool // false when the answer had no place for the two before
}

// partitionsOf lists the topic's partitions.
func (t topicInfo) topicPartitions() []protocol.TopicPartition {
	var tps []protocol.TopicPartition
	for _, p := range t.partitions {
		tps = append(tps, protocol.TopicPartition{Topic: t.name, Partition: p.id})
	}
	return tps
}

// topics asks for all topics of the cluster, by name. Topics in error are left out.
func (c *cluster) topics() ([]topicInfo, error) {
	req := kmsg.NewPtrMetadataRequest()
	resp, err := request[*kmsg.MetadataResponse](c, "listTopics", req)
	if err != nil {
		return nil, err
	}
	var all []topicInfo
	for _, t := range resp.Topics {
		if t.ErrorCode == 0 && t.Topic != nil {
			all = append(all, topicOf(t))
		}
	}
	sortTopics(all)
	return all, nil
}

// topicNames lists the names of all topics, sorted, without the internal ones unless asked for.
func (c *cluster) topicNames(internal bool) ([]string, error) {
	all, err := c.topics()
	var names []string
	for _, t := range all {
		if internal || !t.internal {
			names = append(names, t.name)
		}
	}
	return names, err
}

func topicOf(t kmsg.MetadataResponseTopic) topicInfo {
	info := topicInfo{id: t.TopicID, internal: t.IsInternal}
	if t.Topic != nil {
		info.name = *t.Topic
	}
	for _, p := range t.Partitions {
		info.partitions = append(info.partitions, partitionInfo{id: p.Partition, leader: p.Leader, replicas: p.Replicas, isr: p.ISR})
	}
	slices.SortFunc(info.partitions, func(a, b partitionInfo) int { return cmp.Compare(a.id, b.id) })
	return info
}

func sortTopics(ts []topicInfo) {
	slices.SortFunc(ts, func(a, b topicInfo) int { return cmp.Compare(a.name, b.name) })
}

// describeTopics describes the named topics, sorted by name, asking for at most perPage partitions at a time. It
// fails with the first topic that the cluster does not know.
func (c *cluster) describeTopics(names []string, perPage int32) ([]topicInfo, error) {
	if len(names) == 0 {
		return nil, nil
	}
	names = slices.Clone(names)
	slices.Sort(names)
	byName := map[string]*topicInfo{}
	req := kmsg.NewPtrDescribeTopicPartitionsRequest()
	req.ResponsePartitionLimit = perPage
	for _, n := range slices.Compact(names) {
		t := kmsg.NewDescribeTopicPartitionsRequestTopic()
		t.Topic = n
		req.Topics = append(req.Topics, t)
	}
	for {
		resp, err := request[*kmsg.DescribeTopicPartitionsResponse](c, "describeTopics", req)
		if unsupported(err) {
			return c.describeByMetadata(names)
		}
		if err != nil {
			return nil, err
		}
		for _, t := range resp.Topics {
			if err := coded(t.ErrorCode, nil); err != nil {
				return nil, err
			}
			addPage(byName, t)
		}
		if resp.NextCursor == nil {
			break
		}
		next := kmsg.NewDescribeTopicPartitionsRequestCursor()
		next.Topic, next.Partition = resp.NextCursor.Topic, resp.NextCursor.Partition
		req.Cursor = &next
		req.Topics = slices.DeleteFunc(req.Topics, func(t kmsg.DescribeTopicPartitionsRequestTopic) bool {
			return t.Topic < next.Topic
		})
	}
	var all []topicInfo
	for _, t := range byName {
		all = append(all, *t)
	}
	sortTopics(all)
	return all, nil
}

// addPage adds the partitions of one answer to those of earlier answers.
func addPage(byName map[string]*topicInfo, t kmsg.DescribeTopicPartitionsResponseTopic) {
	var name string
	if t.Topic != nil {
		name = *t.Topic
	}
	info := byName[name]
	if info == nil {
		info = &topicInfo{name: name, id: t.TopicID, internal: t.IsInternal}
		byName[name] = info
	}
	for _, p := range t.Partitions {
		info.partitions = append(info.partitions, partitionInfo{
			id: p.Partition, leader: p.LeaderID, replicas: p.Replicas, isr: p.ISR,
			elr: p.EligibleLeaderReplicas, lastKnownELR: p.LastKnownELR, knowsELR: true,
		})
	}
}

// describeByMetadata is describeTopics for brokers without DescribeTopicPartitions (KIP-966).
func (c *cluster) describeByMetadata(names []string) ([]topicInfo, error) {
	req := kmsg.NewPtrMetadataRequest()
	for _, n := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(n)
		req.Topics = append(req.Topics, t)
	}
	return c.describeMetadata(req)
}

// describeTopicID describes one topic by its id.
func (c *cluster) describeTopicID(id protocol.UUID) ([]topicInfo, error) {
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.TopicID = id
	req.Topics = append(req.Topics, t)
	return c.describeMetadata(req)
}

func (c *cluster) describeMetadata(req *kmsg.MetadataRequest) ([]topicInfo, error) {
	resp, err := request[*kmsg.MetadataResponse](c, "describeTopics", req)
	if err != nil {
		return nil, err
	}
	var all []topicInfo
	for _, t := range resp.Topics {
		if err := coded(t.ErrorCode, nil); err != nil {
			return nil, err
		}
		all = append(all, topicOf(t))
	}
	sortTopics(all)
	return all, nil
}

// Endpoint types of DescribeCluster (KIP-919).
const (
	brokerEndpoints     = 1
	controllerEndpoints = 2
)

// brokers lists the brokers that are alive, by id; through a controller, the controllers.
func (c *cluster) brokers() ([]kmsg.DescribeClusterResponseBroker, error) {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.EndpointType = brokerEndpoints
	if c.direct {
		req.EndpointType = controllerEndpoints
	}
	resp, err := request[*kmsg.DescribeClusterResponse](c, "listNodes", req)
	if err != nil {
		return nil, err
	}
	if err := coded(resp.ErrorCode, resp.ErrorMessage); err != nil {
		return nil, err
	}
	slices.SortFunc(resp.Brokers, func(a, b kmsg.DescribeClusterResponseBroker) int { return cmp.Compare(a.NodeID, b.NodeID) })
	return resp.Brokers, nil
}

// describeConfigs asks for the settings of resources of one type, with synonyms if wanted, in the order of names.
func (c *cluster) describeConfigs(kind kmsg.ConfigResourceType, names []string, synonyms bool) ([]kmsg.DescribeConfigsResponseResource, error) {
	if len(names) == 0 {
		return nil, nil
	}
	req := kmsg.NewPtrDescribeConfigsRequest()
	req.IncludeSynonyms = synonyms
	for _, n := range names {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kind, n
		req.Resources = append(req.Resources, r)
	}
	resp, err := request[*kmsg.DescribeConfigsResponse](c, "describeConfigs", req)
	if err != nil {
		return nil, err
	}
	for _, r := range resp.Resources {
		if err := coded(r.ErrorCode, r.ErrorMessage); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(resp.Resources, func(a, b kmsg.DescribeConfigsResponseResource) int {
		return cmp.Compare(slices.Index(names, a.ResourceName), slices.Index(names, b.ResourceName))
	})
	return resp.Resources, nil
}
