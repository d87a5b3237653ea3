package catalog

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// Refuse is the response to a request that failed as a whole, as Kafka builds it: the code for everything that was
// asked. It is nil for a request that the controller does not know.
func Refuse(req kmsg.Request, err error) kmsg.Response {
	code, message := int16(protocol.CodeOf(err)), protocol.MessageOf(err)
	switch r := req.(type) {
	case *kmsg.CreateTopicsRequest:
		return refuseCreateTopics(r, code, message)
	case *kmsg.DeleteTopicsRequest:
		return refuseDeleteTopics(r, code, message)
	case *kmsg.CreatePartitionsRequest:
		return refuseCreatePartitions(r, code, message)
	case *kmsg.AlterConfigsRequest:
		return refuseAlterConfigs(r, code, message)
	case *kmsg.IncrementalAlterConfigsRequest:
		return refuseIncrementalAlterConfigs(r, code, message)
	case *kmsg.ElectLeadersRequest:
		return refuseElectLeaders(r, code, message)
	case *kmsg.UpdateFeaturesRequest:
		return refuseUpdateFeatures(r, code, message)
	case *kmsg.AlterPartitionAssignmentsRequest:
		return refuseReassignments(r, code, message)
	}
	return refuseWhole(req, code, message)
}

// refuseWhole is for responses with one code.
func refuseWhole(req kmsg.Request, code int16, message *string) kmsg.Response {
	switch resp := req.ResponseKind().(type) {
	case *kmsg.ListPartitionReassignmentsResponse:
		resp.ErrorCode, resp.ErrorMessage = code, message
		return resp
	case *kmsg.AllocateProducerIDsResponse:
		resp.ErrorCode = code
		return resp
	case *kmsg.BrokerRegistrationResponse:
		resp.ErrorCode, resp.BrokerEpoch = code, -1
		return resp
	case *kmsg.BrokerHeartbeatResponse:
		resp.ErrorCode, resp.IsFenced = code, true
		return resp
	case *kmsg.UnregisterBrokerResponse:
		resp.ErrorCode, resp.ErrorMessage = code, message
		return resp
	case *kmsg.AlterPartitionResponse:
		resp.ErrorCode = code
		return resp
	case *kmsg.AssignReplicasToDirsResponse:
		resp.ErrorCode = code
		return resp
	case *kmsg.ControllerRegistrationResponse:
		resp.ErrorCode, resp.ErrorMessage = code, message
		return resp
	case *kmsg.DescribeQuorumResponse:
		resp.ErrorCode, resp.ErrorMessage = code, message
		return resp
	}
	return nil
}

func refuseCreateTopics(r *kmsg.CreateTopicsRequest, code int16, message *string) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.CreateTopicsResponse)
	for _, t := range r.Topics {
		resp.Topics = append(resp.Topics, refusedTopic(t.Topic, code, message))
	}
	return resp
}

func refuseDeleteTopics(r *kmsg.DeleteTopicsRequest, code int16, message *string) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.DeleteTopicsResponse)
	add := func(name *string, id [16]byte) {
		out := kmsg.NewDeleteTopicsResponseTopic()
		out.Topic, out.TopicID, out.ErrorCode, out.ErrorMessage = name, id, code, message
		resp.Topics = append(resp.Topics, out)
	}
	for i := range r.TopicNames {
		add(&r.TopicNames[i], [16]byte{})
	}
	for _, t := range r.Topics {
		add(t.Topic, t.TopicID)
	}
	return resp
}

func refuseCreatePartitions(r *kmsg.CreatePartitionsRequest, code int16, message *string) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.CreatePartitionsResponse)
	for _, t := range r.Topics {
		out := kmsg.NewCreatePartitionsResponseTopic()
		out.Topic, out.ErrorCode, out.ErrorMessage = t.Topic, code, message
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

func refuseAlterConfigs(r *kmsg.AlterConfigsRequest, code int16, message *string) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.AlterConfigsResponse)
	for _, x := range r.Resources {
		out := kmsg.NewAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName, out.ErrorCode, out.ErrorMessage = x.ResourceType, x.ResourceName, code, message
		resp.Resources = append(resp.Resources, out)
	}
	return resp
}

func refuseIncrementalAlterConfigs(r *kmsg.IncrementalAlterConfigsRequest, code int16, message *string) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	for _, x := range r.Resources {
		out := kmsg.NewIncrementalAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName, out.ErrorCode, out.ErrorMessage = x.ResourceType, x.ResourceName, code, message
		resp.Resources = append(resp.Resources, out)
	}
	return resp
}

func refuseElectLeaders(r *kmsg.ElectLeadersRequest, code int16, message *string) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.ElectLeadersResponse)
	resp.ErrorCode = code
	for _, t := range r.Topics {
		out := kmsg.NewElectLeadersResponseTopic()
		out.Topic = t.Topic
		for _, n := range t.Partitions {
			p := kmsg.NewElectLeadersResponseTopicPartition()
			p.Partition, p.ErrorCode, p.ErrorMessage = n, code, message
			out.Partitions = append(out.Partitions, p)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}

func refuseUpdateFeatures(r *kmsg.UpdateFeaturesRequest, code int16, message *string) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.UpdateFeaturesResponse)
	resp.ErrorCode, resp.ErrorMessage = code, message // no results then, in no version
	return resp
}

func refuseReassignments(r *kmsg.AlterPartitionAssignmentsRequest, code int16, message *string) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.AlterPartitionAssignmentsResponse)
	resp.ErrorCode, resp.ErrorMessage = code, message
	for _, t := range r.Topics {
		out := kmsg.NewAlterPartitionAssignmentsResponseTopic()
		out.Topic = t.Topic
		for _, p := range t.Partitions {
			o := kmsg.NewAlterPartitionAssignmentsResponseTopicPartition()
			o.Partition, o.ErrorCode, o.ErrorMessage = p.Partition, code, message
			out.Partitions = append(out.Partitions, o)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}
