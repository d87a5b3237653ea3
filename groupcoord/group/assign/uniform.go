package assign

import (
	"cmp"
	"slices"

	"github.com/ottla/ottla/protocol"
)

// Uniform gives all members the same number of partitions, give or take one, and moves as few as that allows.
func Uniform(g Group) (map[string]Partitions, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	g.Members = slices.Clone(g.Members)
	hashed(g.Members, func(m Member) int32 { return protocol.JavaHash(m.ID) }, func(a, b Member) int { return cmp.Compare(a.ID, b.ID) })
	if g.Equal {
		return uniformEqual(g), nil
	}
	return uniformMixed(g), nil
}

// part is one partition.
type part struct {
	topic protocol.UUID
	n     int32
}

// uniformEqual is for members with the same subscription: each keeps what it has up to its quota, and what is free
// then fills the quotas up in order.
func uniformEqual(g Group) map[string]Partitions {
	out := make(map[string]Partitions, len(g.Members))
	if len(g.Members) == 0 || len(g.Members[0].Topics) == 0 {
		return out
	}
	topics := slices.Clone(g.Members[0].Topics)
	hashed(topics, idHash, compareIDs)
	free, total := unassigned(g, topics)
	quota, extra := total/len(g.Members), total%len(g.Members)
	type want struct {
		member string
		room   int
	}
	var wants []want
	for i := range g.Members {
		m := &g.Members[i]
		room, odd := quota, extra > 0
		if odd {
			room++
		}
		kept, given := keep(m, topics, &room)
		free = append(free, given...)
		if room > 0 && odd && len(g.Members)-i > extra {
			room, odd = room-1, false // there are enough behind it to take the odd ones
		}
		if room > 0 {
			wants = append(wants, want{m.ID, room})
		}
		if odd {
			extra--
		}
		out[m.ID] = kept
	}
	for _, w := range wants {
		for ; w.room > 0 && len(free) > 0; w.room-- {
			out[w.member].add(free[0].topic, free[0].n)
			free = free[1:]
		}
	}
	return out
}

// unassigned lists the partitions that no member was to have, and counts all.
func unassigned(g Group, topics []protocol.UUID) (free []part, total int) {
	had := map[part]bool{}
	for i := range g.Members {
		for t, ps := range g.Members[i].Target {
			for _, n := range ps {
				had[part{t, n}] = true
			}
		}
	}
	for _, t := range topics {
		total += int(g.Counts[t])
		for n := range g.Counts[t] {
			if !had[part{t, n}] {
				free = append(free, part{t, n})
			}
		}
	}
	return free, total
}

// keep is what a member keeps of what it has, up to room, and what it gives away.
func keep(m *Member, topics []protocol.UUID, room *int) (kept Partitions, given []part) {
	kept = Partitions{}
	had := m.Target.Topics()
	hashed(had, idHash, compareIDs)
	for _, t := range had {
		if !slices.Contains(topics, t) {
			continue
		}
		ps := m.Target[t]
		n := min(len(ps), max(*room, 0))
		*room -= n
		if n > 0 {
			kept[t] = slices.Clone(ps[:n])
		}
		for _, p := range ps[n:] {
			given = append(given, part{t, p})
		}
	}
	return kept, given
}
