package catalog

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Decide answers any request the catalog has a rule for. A request that failed as a whole is an error, the response
// then comes from Refuse; known is false for a request that has no rule here.
func (c *Catalog) Decide(req kmsg.Request, now time.Time) (resp kmsg.Response, res Result, err error, known bool) {
	switch r := req.(type) {
	case *kmsg.CreateTopicsRequest:
		return answer(c.CreateTopics(r))
	case *kmsg.DeleteTopicsRequest:
		return answer(c.DeleteTopics(r))
	case *kmsg.CreatePartitionsRequest:
		return answer(c.CreatePartitions(r))
	case *kmsg.AlterConfigsRequest:
		return answer(c.AlterConfigs(r))
	case *kmsg.IncrementalAlterConfigsRequest:
		return answer(c.IncrementalAlterConfigs(r))
	case *kmsg.ElectLeadersRequest:
		return answer(c.ElectLeaders(r))
	case *kmsg.UpdateFeaturesRequest:
		return answer(c.UpdateFeatures(r))
	case *kmsg.AlterPartitionAssignmentsRequest:
		return answer(c.AlterPartitionReassignments(r))
	case *kmsg.ListPartitionReassignmentsRequest:
		return c.ListPartitionReassignments(r), Result{}, nil, true
	case *kmsg.AllocateProducerIDsRequest:
		return answer(c.AllocateProducerIds(r))
	case *kmsg.BrokerRegistrationRequest:
		return answer(c.BrokerRegistration(r, now))
	case *kmsg.BrokerHeartbeatRequest:
		return answer(c.BrokerHeartbeat(r, now))
	case *kmsg.UnregisterBrokerRequest:
		return answer(c.UnregisterBroker(r))
	case *kmsg.AlterPartitionRequest:
		return answer(c.AlterPartition(r))
	case *kmsg.AssignReplicasToDirsRequest:
		return answer(c.AssignReplicasToDirs(r))
	case *kmsg.ControllerRegistrationRequest:
		return answer(c.ControllerRegistration(r))
	}
	return nil, Result{}, nil, false
}

// answer makes one shape of what the rules return.
func answer[R kmsg.Response](resp R, res Result, err error) (kmsg.Response, Result, error, bool) {
	if err != nil {
		return nil, Result{}, err, true
	}
	return resp, res, nil, true
}
