package controller

import (
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/controller/catalog"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

// describeQuorum answers DescribeQuorum 0 to 2 (KIP-595, KIP-836, KIP-853) for the metadata log, which is the only one
// there is. What is committed is all there is to show of a quorum of one.
func (s *Service) describeQuorum(r *kmsg.DescribeQuorumRequest) kmsg.Response {
	leader, epoch := s.quorum.Leader()
	if leader != s.o.NodeID {
		return catalog.Refuse(r, protocol.NotLeaderOrFollower)
	}
	resp := r.ResponseKind().(*kmsg.DescribeQuorumResponse)
	resp.ErrorMessage = new(string) // empty, not null, where there is no error
	voters := s.o.Loader.Current().Voters()
	if !describesMetadata(r) {
		return unknownQuorum(r, resp)
	}
	p := kmsg.NewDescribeQuorumResponseTopicPartition()
	p.LeaderID, p.LeaderEpoch, p.HighWatermark = leader, epoch, s.o.Loader.NextOffset()
	p.ErrorMessage = new(string)
	now := time.Now().UnixMilli()
	for _, v := range voters {
		state := kmsg.NewDescribeQuorumResponseTopicPartitionReplicaState()
		state.ReplicaID, state.ReplicaDirectoryID = v.VoterID, v.VoterDirectoryID
		state.LogEndOffset, state.LastFetchTimestamp, state.LastCaughtUpTimestamp = p.HighWatermark, now, now
		p.CurrentVoters = append(p.CurrentVoters, state)
		resp.Nodes = append(resp.Nodes, quorumNode(v))
	}
	t := kmsg.NewDescribeQuorumResponseTopic()
	t.Topic, t.Partitions = protocol.ClusterMetadataTopic, append(t.Partitions, p)
	resp.Topics = append(resp.Topics, t)
	return resp
}

func quorumNode(v msg.VotersRecordVoter) kmsg.DescribeQuorumResponseNode {
	n := kmsg.NewDescribeQuorumResponseNode()
	n.NodeID = v.VoterID
	for _, e := range v.Endpoints {
		l := kmsg.NewDescribeQuorumResponseNodeListener()
		l.Name, l.Host, l.Port = e.Name, e.Host, e.Port
		n.Listeners = append(n.Listeners, l)
	}
	return n
}

// describesMetadata: exactly the one partition of the metadata log is asked for.
func describesMetadata(r *kmsg.DescribeQuorumRequest) bool {
	return len(r.Topics) == 1 && r.Topics[0].Topic == protocol.ClusterMetadataTopic &&
		len(r.Topics[0].Partitions) == 1 && r.Topics[0].Partitions[0].Partition == 0
}

func unknownQuorum(r *kmsg.DescribeQuorumRequest, resp *kmsg.DescribeQuorumResponse) kmsg.Response {
	message := "There is a quorum for partition 0 of " + protocol.ClusterMetadataTopic + " only"
	for _, t := range r.Topics {
		out := kmsg.NewDescribeQuorumResponseTopic()
		out.Topic = t.Topic
		for _, p := range t.Partitions {
			o := kmsg.NewDescribeQuorumResponseTopicPartition()
			o.Partition, o.ErrorCode, o.ErrorMessage = p.Partition, int16(protocol.UnknownTopicOrPartition), &message
			out.Partitions = append(out.Partitions, o)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return resp
}
