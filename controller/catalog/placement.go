package catalog

import (
	"math/rand/v2"
	"slices"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
)

// placer spreads replicas over racks and brokers in stripes: each partition begins one rack and, within each rack,
// one broker further than the one before. Fenced brokers are used last and never first.
type placer struct {
	rand    *rand.Rand
	racks   []*rack // sorted by name, shuffled from time to time
	offset  int     // rack that the next partition begins with
	round   int     // partitions placed since the last shuffle
	total   int     // usable brokers
	running int     // unfenced ones among them
}

type rack struct {
	name             string
	unfenced, fenced stripe
}

// stripe is a list of brokers that each partition reads from another start.
type stripe struct {
	ids   []int32
	start int
	taken int
	round int
}

// newPlacer looks at the brokers as they are.
func (c *Catalog) newPlacer() *placer {
	p := &placer{rand: c.o.Rand}
	racks := map[string]*rack{}
	for b := range c.settle().Brokers() {
		if !c.usable(b) {
			continue
		}
		name := "" // no rack sorts first
		if b.Rack != nil {
			name = "r" + *b.Rack
		}
		r := racks[name]
		if r == nil {
			r = &rack{name: name}
			racks[name] = r
			p.racks = append(p.racks, r)
		}
		p.total++
		if b.Fenced {
			r.fenced.ids = append(r.fenced.ids, b.ID)
		} else {
			p.running++
			r.unfenced.ids = append(r.unfenced.ids, b.ID)
		}
	}
	slices.SortFunc(p.racks, func(a, b *rack) int {
		if a.name < b.name {
			return -1
		}
		return 1
	})
	for _, r := range p.racks {
		for _, s := range []*stripe{&r.fenced, &r.unfenced} {
			if len(s.ids) > 0 {
				s.start = p.rand.IntN(len(s.ids))
			}
		}
	}
	if len(p.racks) > 0 {
		p.offset = p.rand.IntN(len(p.racks))
	}
	return p
}

// usable: registered, not shutting down, with a directory that takes new replicas.
func (c *Catalog) usable(b *metadata.Broker) bool {
	s := c.sessions[b.ID]
	return s != nil && s.shutdownOffset < 0 && !b.InControlledShutdown && hasUncordonedDir(b)
}

func hasUncordonedDir(b *metadata.Broker) bool {
	if len(b.LogDirs) == 0 || len(b.CordonedDirs) == 0 {
		return true
	}
	return slices.ContainsFunc(b.LogDirs, func(d protocol.UUID) bool { return !slices.Contains(b.CordonedDirs, d) })
}

// check refuses a replication factor that cannot be reached.
func (p *placer) check(replicas int) error {
	switch {
	case replicas <= 0:
		return fault(protocol.InvalidReplicationFactor, "Replication factor %d is not positive", replicas)
	case p.running == 0:
		return fault(protocol.InvalidReplicationFactor, "All brokers are fenced, or have all their log directories cordoned")
	case replicas > p.total:
		return fault(protocol.InvalidReplicationFactor,
			"Replication factor %d cannot be reached: %d broker(s) are registered with a log directory that is not cordoned", replicas, p.total)
	}
	return nil
}

// place returns the replicas of the next partition. check must have passed.
func (p *placer) place(replicas int) []int32 {
	if p.round == p.running && p.running > 1 {
		p.shuffle()
	}
	p.offset %= len(p.racks)
	first, id := p.offset, int32(-1)
	for {
		if id = p.racks[first].unfenced.next(p.round); id >= 0 {
			break
		}
		first = (first + 1) % len(p.racks)
	}
	out := append(make([]int32, 0, replicas), id)
	for at := p.offset; len(out) < replicas; at = (at + 1) % len(p.racks) {
		if at == first {
			first = -1 // the first replica's rack sits out one time
			continue
		}
		if id := p.racks[at].next(p.round); id >= 0 {
			out = append(out, id)
		}
	}
	p.round++
	p.offset++
	return out
}

func (p *placer) shuffle() {
	p.round = 0
	p.rand.Shuffle(len(p.racks), func(i, j int) { p.racks[i], p.racks[j] = p.racks[j], p.racks[i] })
	for _, r := range p.racks {
		for _, ids := range [][]int32{r.fenced.ids, r.unfenced.ids} {
			p.rand.Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
		}
	}
}

func (r *rack) next(round int) int32 {
	if id := r.unfenced.next(round); id >= 0 {
		return id
	}
	return r.fenced.next(round)
}

// next is the next broker for the partition of this round, -1 when all were taken.
func (s *stripe) next(round int) int32 {
	if len(s.ids) == 0 {
		return -1
	}
	if s.round != round {
		s.round, s.taken = round, 0
		s.start = (s.start + 1) % len(s.ids)
	}
	if s.taken == len(s.ids) {
		return -1
	}
	s.taken++
	return s.ids[(s.start+s.taken-1)%len(s.ids)]
}
