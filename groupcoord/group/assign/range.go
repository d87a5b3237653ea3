package assign

import (
	"cmp"
	"slices"

	"github.com/ottla/ottla/protocol"
)

// Range gives each member a contiguous range of every topic it subscribes to. Members are taken in the order of
// their instance ids, dynamic ones behind them by member id, the same for each topic: equal numbers of equally large
// topics meet in one member.
func Range(g Group) (map[string]Partitions, error) {
	if err := g.check(); err != nil {
		return nil, err
	}
	members := slices.Clone(g.Members)
	slices.SortFunc(members, func(a, b Member) int {
		switch {
		case a.Instance != "" && b.Instance != "":
			return cmp.Compare(a.Instance, b.Instance)
		case a.Instance != "":
			return -1
		case b.Instance != "":
			return 1
		}
		return cmp.Compare(a.ID, b.ID)
	})
	subscribers := map[protocol.UUID]int32{}
	for i := range members {
		for _, t := range members[i].Topics {
			subscribers[t]++
		}
	}
	type progress struct{ next, served int32 }
	at := map[protocol.UUID]progress{}
	out := make(map[string]Partitions, len(members))
	for i := range members {
		ps := Partitions{}
		for _, t := range members[i].Topics {
			p := at[t]
			size := g.Counts[t] / subscribers[t]
			if p.served < g.Counts[t]%subscribers[t] {
				size++
			}
			for n := p.next; n < p.next+size; n++ {
				ps[t] = append(ps[t], n)
			}
			at[t] = progress{p.next + size, p.served + 1}
		}
		out[members[i].ID] = ps
	}
	return out, nil
}
