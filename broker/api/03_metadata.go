package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
)

// Metadata 0 to 13.
//
//   - v0: no topics means all; v1: null means all, none means none; v4: whether to create what is missing,
//     below it always; v8 to v10: authorized operations of the cluster (KIP-430); v12: topics by id
//     (KIP-516); v13: a top-level error (KIP-1102).
//   - Topics that exist come first, then those that do not. A topic named twice appears once.
//   - Addresses are those of the listener the request came in on.
//   - A missing topic is created in the background and answered UNKNOWN_TOPIC_OR_PARTITION meanwhile.
func (h *handlers) metadata(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.MetadataRequest)
	resp := r.ResponseKind().(*kmsg.MetadataResponse)
	if !validTopicNames(r) {
		return Body(refusedMetadata(r, resp)), nil
	}
	image := h.Metadata()
	for b := range image.Brokers() {
		if e, ok := b.Listener(c.Conn.Listener); ok && !b.Fenced {
			n := kmsg.NewMetadataResponseBroker()
			n.NodeID, n.Host, n.Port, n.Rack = b.ID, e.Host, int32(e.Port), b.Rack
			resp.Brokers = append(resp.Brokers, n)
		}
	}
	resp.ClusterID, resp.ControllerID = &h.ClusterID, anyBroker(image, c.Conn)
	v := view{image, c.Conn.Listener}
	switch {
	case r.Topics == nil || r.Version == 0 && len(r.Topics) == 0:
		resp.Topics = make([]kmsg.MetadataResponseTopic, 0, image.TopicCount())
		for t := range image.Topics() {
			resp.Topics = append(resp.Topics, v.metadataTopic(t, r.Version))
		}
	case namesIDs(r):
		resp.Topics = v.topicsByID(r)
	default:
		resp.Topics = h.topicsByName(ctx, c, v, r)
	}
	addMetadataOperations(r, resp)
	return Body(resp), nil
}

// validTopicNames checks that every topic has a name, and no id where ids are not served. Where they are, a
// request that has ids needs no names.
func validTopicNames(r *kmsg.MetadataRequest) bool {
	byID := namesIDs(r)
	for i := range r.Topics {
		if r.Topics[i].Topic == nil && !byID || r.Version < 12 && !protocol.UUID(r.Topics[i].TopicID).IsZero() {
			return false
		}
	}
	return true
}

// refusedMetadata says INVALID_REQUEST for every topic of a request, and of v13 on for the request itself.
func refusedMetadata(r *kmsg.MetadataRequest, resp *kmsg.MetadataResponse) *kmsg.MetadataResponse {
	resp.ErrorCode = int16(protocol.InvalidRequest)
	for _, t := range r.Topics {
		refused := missingTopic(t.Topic, protocol.InvalidRequest)
		refused.TopicID, refused.IsInternal = t.TopicID, false
		resp.Topics = append(resp.Topics, refused)
	}
	return resp
}

// namesIDs says that topics are asked for by id; names beside ids are ignored.
func namesIDs(r *kmsg.MetadataRequest) bool {
	for i := range r.Topics {
		if r.Version >= 12 && !protocol.UUID(r.Topics[i].TopicID).IsZero() {
			return true
		}
	}
	return false
}

func (v view) topicsByID(r *kmsg.MetadataRequest) []kmsg.MetadataResponseTopic {
	var known, unknown []kmsg.MetadataResponseTopic
	seen := make(map[protocol.UUID]bool, len(r.Topics))
	for i := range r.Topics {
		id := protocol.UUID(r.Topics[i].TopicID)
		if seen[id] || id.IsZero() {
			continue
		}
		seen[id] = true
		if t := v.image.TopicByID(id); t != nil {
			known = append(known, v.metadataTopic(t, r.Version))
			continue
		}
		missing := missingTopic(nil, protocol.UnknownTopicID)
		missing.TopicID = id
		unknown = append(unknown, missing)
	}
	return append(known, unknown...)
}

func (h *handlers) topicsByName(ctx context.Context, c *Call, v view, r *kmsg.MetadataRequest) []kmsg.MetadataResponseTopic {
	known := make([]kmsg.MetadataResponseTopic, 0, len(r.Topics))
	var unknown []kmsg.MetadataResponseTopic
	var create []string
	seen := make(map[string]bool, len(r.Topics))
	for i := range r.Topics {
		name := *r.Topics[i].Topic
		if seen[name] {
			continue
		}
		seen[name] = true
		if t := v.image.Topic(name); t != nil {
			known = append(known, v.metadataTopic(t, r.Version))
			continue
		}
		code := protocol.UnknownTopicOrPartition
		if protocol.CheckTopicName(name) != nil {
			code = protocol.InvalidTopicException
		} else {
			create = append(create, name)
		}
		unknown = append(unknown, missingTopic(&name, code))
	}
	if len(create) > 0 && r.AllowAutoTopicCreation && h.Config().Broker().Bool("auto.create.topics.enable") {
		h.topics.create(ctx, h, c, create)
	}
	return append(known, unknown...)
}

func missingTopic(name *string, code protocol.ErrorCode) kmsg.MetadataResponseTopic {
	t := kmsg.NewMetadataResponseTopic()
	t.Topic, t.ErrorCode = name, int16(code)
	if name == nil && code == protocol.InvalidRequest {
		t.Topic = new(string)
	}
	t.IsInternal = name != nil && protocol.IsInternalTopic(*name)
	return t
}

func (v view) metadataTopic(t *metadata.Topic, version int16) kmsg.MetadataResponseTopic {
	out := kmsg.NewMetadataResponseTopic()
	out.Topic, out.TopicID, out.IsInternal = &t.Name, t.ID, protocol.IsInternalTopic(t.Name)
	out.Partitions = make([]kmsg.MetadataResponseTopicPartition, len(t.Partitions))
	for i, p := range t.Partitions {
		o := &out.Partitions[i]
		o.Default()
		o.Partition, o.LeaderEpoch = int32(i), p.LeaderEpoch
		o.Replicas, o.ISR, o.OfflineReplicas = p.Replicas, p.ISR, v.offline(p)
		leader, code := v.leader(p)
		if code == protocol.ListenerNotFound && version < 6 {
			code = protocol.LeaderNotAvailable
		}
		o.Leader, o.ErrorCode = leader, int16(code)
		if version == 0 {
			v.dropUnreachable(o)
		}
	}
	return out
}

// dropUnreachable names only replicas that the client could reach: version 0 has no list of the offline ones.
func (v view) dropUnreachable(o *kmsg.MetadataResponseTopicPartition) {
	replicas, isr := v.reachable(o.Replicas), v.reachable(o.ISR)
	if o.ErrorCode == 0 && (len(replicas) < len(o.Replicas) || len(isr) < len(o.ISR)) {
		o.ErrorCode = int16(protocol.ReplicaNotAvailable)
	}
	o.Replicas, o.ISR = replicas, isr
}

func addMetadataOperations(r *kmsg.MetadataRequest, resp *kmsg.MetadataResponse) {
	if r.Version >= 8 && r.Version <= 10 && r.IncludeClusterAuthorizedOperations {
		resp.AuthorizedOperations = clusterOperations
	}
	if r.Version < 8 || !r.IncludeTopicAuthorizedOperations {
		return
	}
	for i := range resp.Topics {
		if resp.Topics[i].ErrorCode != int16(protocol.UnknownTopicID) {
			resp.Topics[i].AuthorizedOperations = topicOperations
		}
	}
}
