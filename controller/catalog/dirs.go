package catalog

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
)

// AssignReplicasToDirs 0: a broker says in which of its directories replicas live (KIP-858). A directory that is not
// among the registered ones is offline: its replicas leave their ISRs.
func (c *Catalog) AssignReplicasToDirs(r *kmsg.AssignReplicasToDirsRequest) (*kmsg.AssignReplicasToDirsResponse, Result, error) {
	if c.settle().MetadataVersion() < metadata.DirectoriesLevel {
		return nil, Result{}, fault(protocol.UnsupportedVersion, "metadata.version %d has no directories", c.settle().MetadataVersion())
	}
	b, err := c.checkEpoch(r.BrokerID, r.BrokerEpoch)
	if err != nil {
		return nil, Result{}, err
	}
	resp := r.ResponseKind().(*kmsg.AssignReplicasToDirsResponse)
	var records []metadata.Record
	var offline []at
	for _, d := range r.Directories {
		out := kmsg.NewAssignReplicasToDirsResponseDirectory()
		out.ID = d.ID
		for _, t := range d.Topics {
			outT := kmsg.NewAssignReplicasToDirsResponseDirectoryTopic()
			outT.TopicID = t.TopicID
			topic := c.settle().TopicByID(t.TopicID)
			for _, p := range t.Partitions {
				outP := kmsg.NewAssignReplicasToDirsResponseDirectoryTopicPartition()
				outP.Partition = p.Partition
				rec, code := c.assignDir(b, topic, p.Partition, d.ID)
				outP.ErrorCode = int16(code)
				if rec != nil {
					records = append(records, rec)
				}
				if code == protocol.None && !b.HasDir(d.ID) {
					offline = append(offline, at{topic, p.Partition})
				}
				outT.Partitions = append(outT.Partitions, outP)
			}
			out.Topics = append(out.Topics, outT)
		}
		resp.Directories = append(resp.Directories, out)
	}
	records = append(records, c.leave(offline, leaving(b.ID))...)
	return resp, Result{Records: records, Divisible: true}, nil
}

func (c *Catalog) assignDir(b *metadata.Broker, t *metadata.Topic, number int32, dir protocol.UUID) (metadata.Record, protocol.ErrorCode) {
	p := t.Partition(number)
	switch {
	case t == nil:
		return nil, protocol.UnknownTopicID
	case p == nil:
		return nil, protocol.UnknownTopicOrPartition
	case !slices.Contains(p.Replicas, b.ID):
		return nil, protocol.NotLeaderOrFollower
	}
	ch := c.changeOf(t, number)
	ch.dirs = map[int32]protocol.UUID{b.ID: dir}
	if r := ch.build(); r != nil {
		return r, protocol.None
	}
	return nil, protocol.None
}
