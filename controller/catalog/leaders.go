package catalog

import (
	"slices"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol/msg"
)

// at is one partition.
type at struct {
	topic  *metadata.Topic
	number int32
}

func (a at) partition() *metadata.Partition { return a.topic.Partitions[a.number] }

// partitions lists those that match, by topic name and number.
func (c *Catalog) partitions(match func(*metadata.Partition) bool) []at {
	var out []at
	for t := range c.settle().Topics() {
		for n, p := range t.Partitions {
			if match(p) {
				out = append(out, at{t, int32(n)})
			}
		}
	}
	return out
}

func (c *Catalog) inISR(id int32) []at {
	return c.partitions(func(p *metadata.Partition) bool { return slices.Contains(p.ISR, id) })
}

func (c *Catalog) inELR(id int32) []at {
	return c.partitions(func(p *metadata.Partition) bool { return slices.Contains(p.ELR, id) })
}

// leads reports whether the broker leads a partition.
func (c *Catalog) leads(id int32) bool {
	for t := range c.settle().Topics() {
		if slices.ContainsFunc(t.Partitions, func(p *metadata.Partition) bool { return p.Leader == id }) {
			return true
		}
	}
	return false
}

// departure is why leaders and ISRs have to be looked at again; ids are −1 where there is none.
type departure struct {
	leaves    int32 // leaves the ISR and may not lead
	joins     int32 // may lead, although its registration is not unfenced yet
	restarted int32 // leaves, and may have lost what it had
}

func leaving(id int32) departure    { return departure{id, -1, -1} }
func joining(id int32) departure    { return departure{-1, id, -1} }
func restarting(id int32) departure { return departure{-1, -1, id} }

// leave decides leader and ISR of each partition anew.
func (c *Catalog) leave(where []at, d departure) []metadata.Record {
	var out []metadata.Record
	for _, a := range where {
		ch := c.changeOf(a.topic, a.number)
		ch.restarted = d.restarted
		p := a.partition()
		ch.mayLead = func(id int32) bool {
			return id != d.leaves && id != d.restarted && c.mayLead(p, id, id == d.joins || c.active(id))
		}
		if c.uncleanAllowed(a.topic.Name) {
			ch.election = electUnclean
		}
		ch.isr = without(p.ISR, d.leaves, d.restarted)
		if r := ch.build(); r != nil {
			out = append(out, r)
		}
	}
	return out
}

func (c *Catalog) uncleanAllowed(topic string) bool {
	return c.topicConfig(topic).Bool("unclean.leader.election.enable")
}

// fence takes a broker out of every ISR, then fences it.
func (c *Catalog) fence(b *metadata.Broker) []metadata.Record {
	r := registrationChange(b)
	r.Fenced = 1
	return append(c.leave(c.inISR(b.ID), leaving(b.ID)), r)
}

// unfence lets the broker lead, first of all partitions that nobody leads. ISRs it joins when their leaders say so.
func (c *Catalog) unfence(b *metadata.Broker) []metadata.Record {
	r := registrationChange(b)
	r.Fenced = -1
	leaderless := c.partitions(func(p *metadata.Partition) bool { return p.Leader == metadata.NoLeader })
	return append([]metadata.Record{r}, c.leave(leaderless, joining(b.ID))...)
}

// beginShutdown moves leadership away from a broker that wants to stop.
func (c *Catalog) beginShutdown(b *metadata.Broker) []metadata.Record {
	var out []metadata.Record
	if !b.InControlledShutdown {
		r := registrationChange(b)
		r.InControlledShutdown = 1
		out = append(out, r)
	}
	return append(out, c.leave(c.inISR(b.ID), leaving(b.ID))...)
}

// restart cleans up after an earlier process of a broker. After an unclean shutdown it may have lost records that
// were not synced, so with eligible leader replicas on it is not eligible either (KIP-966).
func (c *Catalog) restart(id int32, clean bool) []metadata.Record {
	if clean || !c.elr() {
		return c.leave(c.inISR(id), leaving(id))
	}
	return append(c.leave(c.inISR(id), restarting(id)), c.leave(c.inELR(id), restarting(id))...)
}

// clearELR follows a change of min.insync.replicas: what counts as eligible has to be found anew.
func (c *Catalog) clearELR(records []metadata.Record) []metadata.Record {
	if !c.elr() {
		return nil
	}
	var out []metadata.Record
	for _, r := range records {
		cfg, ok := r.(*msg.ConfigRecord)
		if !ok || cfg.Name != "min.insync.replicas" {
			continue
		}
		if metadata.ResourceType(cfg.ResourceType) == metadata.TopicResource {
			out = append(out, &msg.ClearElrRecord{TopicName: cfg.ResourceName})
		} else {
			out = append(out, &msg.ClearElrRecord{})
		}
	}
	return out
}
