package catalog

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

// Types of election in requests.
const (
	preferredElection int8 = 0
	uncleanElection   int8 = 1
)

// ElectLeaders 0 to 2: preferred leaders (KIP-183), or unclean ones for partitions without a leader (KIP-460).
func (c *Catalog) ElectLeaders(r *kmsg.ElectLeadersRequest) (*kmsg.ElectLeadersResponse, Result, error) {
	if nothing := r.Topics != nil && len(r.Topics) == 0; !nothing && r.ElectionType != preferredElection && r.ElectionType != uncleanElection {
		return nil, Result{}, fault(protocol.InvalidRequest, "Unknown election type %d", r.ElectionType)
	}
	resp := r.ResponseKind().(*kmsg.ElectLeadersResponse)
	var records []metadata.Record
	elect := func(out *kmsg.ElectLeadersResponseTopic, number int32, all bool) {
		rec, err := c.electLeader(out.Topic, number, r.ElectionType)
		if rec != nil {
			records = append(records, rec)
		}
		if code := protocol.CodeOf(err); !all || code != protocol.ElectionNotNeeded {
			p := kmsg.NewElectLeadersResponseTopicPartition()
			p.Partition, p.ErrorCode, p.ErrorMessage = number, int16(code), protocol.MessageOf(err)
			out.Partitions = append(out.Partitions, p)
		}
	}
	for _, t := range r.Topics {
		out := kmsg.NewElectLeadersResponseTopic()
		out.Topic = t.Topic
		for _, n := range t.Partitions {
			elect(&out, n, false)
		}
		resp.Topics = append(resp.Topics, out)
	}
	if r.Topics == nil {
		for t := range c.settle().Topics() {
			out := kmsg.NewElectLeadersResponseTopic()
			out.Topic = t.Name
			for n := range t.Partitions {
				elect(&out, int32(n), true)
			}
			resp.Topics = append(resp.Topics, out)
		}
	}
	if err := tooMany(records); err != nil {
		return nil, Result{}, err
	}
	return resp, Result{Records: records, Divisible: true}, nil
}

func (c *Catalog) electLeader(topic string, number int32, kind int8) (*msg.PartitionChangeRecord, error) {
	t := c.settle().Topic(topic)
	p := t.Partition(number)
	switch {
	case t == nil:
		return nil, fault(protocol.UnknownTopicOrPartition, "No such topic as %s", topic)
	case p == nil:
		return nil, fault(protocol.UnknownTopicOrPartition, "No such partition as %s-%d", topic, number)
	case kind == preferredElection && p.Leader == p.Replicas[0],
		kind == uncleanElection && p.Leader != metadata.NoLeader:
		return nil, fault(protocol.ElectionNotNeeded, "The partition has the leader it should have")
	}
	ch := c.changeOf(t, number)
	ch.election = electPreferred
	if kind == uncleanElection {
		ch.election = electUnclean
	}
	if r := ch.build(); r != nil {
		return r, nil
	}
	if kind == preferredElection {
		return nil, fault(protocol.PreferredLeaderNotAvailable, "The preferred leader is not in sync or not there")
	}
	return nil, fault(protocol.EligibleLeadersNotAvailable, "No replica is there to lead")
}

// Balance elects the preferred leader of up to limit partitions that have another one; more says that some are left.
func (c *Catalog) Balance(limit int) (res Result, more bool) {
	return c.electSome(limit, preferredElection, func(_ *metadata.Topic, p *metadata.Partition) bool { return p.Leader != p.Replicas[0] })
}

// ElectUnclean gives up to limit partitions without a leader one that may lack records, where the topic allows it.
func (c *Catalog) ElectUnclean(limit int) (res Result, more bool) {
	return c.electSome(limit, uncleanElection, func(t *metadata.Topic, p *metadata.Partition) bool {
		return p.Leader == metadata.NoLeader && c.uncleanAllowed(t.Name)
	})
}

func (c *Catalog) electSome(limit int, kind int8, match func(*metadata.Topic, *metadata.Partition) bool) (res Result, more bool) {
	for t := range c.settle().Topics() {
		for n, p := range t.Partitions {
			if !match(t, p) {
				continue
			}
			if len(res.Records) >= limit {
				return res, true
			}
			if r, _ := c.electLeader(t.Name, int32(n), kind); r != nil {
				res.Records = append(res.Records, r)
			}
		}
	}
	return res, false
}
