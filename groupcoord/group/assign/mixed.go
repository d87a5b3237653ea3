package assign

import (
	"cmp"
	"slices"

	"github.com/ottla/ottla/protocol"
)

// balanceRounds bounds how often all topics are gone through for a better balance.
const balanceRounds = 16

// mixed is an assignment in the making for members with different subscriptions. Members go by index.
type mixed struct {
	counts      map[protocol.UUID]int32
	subscribers map[protocol.UUID][]int // ascending
	owners      map[protocol.UUID][]int // by partition; -1: nobody
	sizes       []int                   // partitions by member
	given       []Partitions
}

func uniformMixed(g Group) map[string]Partitions {
	x := newMixed(g)
	topics := x.sorted()
	for _, t := range topics {
		b := x.balancer(t)
		for n, owner := range x.owners[t] {
			if owner < 0 {
				x.move(t, int32(n), b.least())
			}
		}
	}
	topics = slices.DeleteFunc(topics, func(t protocol.UUID) bool { return len(x.subscribers[t]) < 2 })
	last := -1
rounds:
	for range balanceRounds {
		for i, t := range topics {
			if i == last {
				break rounds // all topics since then were balanced
			}
			if x.balance(t) || last < 0 {
				last = i
			}
		}
	}
	out := make(map[string]Partitions, len(g.Members))
	for i := range g.Members {
		out[g.Members[i].ID] = x.given[i]
	}
	return out
}

// newMixed lets everybody keep what it still subscribes to.
func newMixed(g Group) *mixed {
	x := &mixed{
		counts: g.Counts, subscribers: map[protocol.UUID][]int{}, owners: map[protocol.UUID][]int{},
		sizes: make([]int, len(g.Members)), given: make([]Partitions, len(g.Members)),
	}
	for i := range g.Members {
		for _, t := range g.Members[i].Topics {
			x.subscribers[t] = append(x.subscribers[t], i)
			if x.owners[t] == nil {
				x.owners[t] = slices.Repeat([]int{-1}, int(g.Counts[t]))
			}
		}
	}
	for i := range g.Members {
		m := &g.Members[i]
		x.given[i] = Partitions{}
		for t, ps := range m.Target {
			if !slices.Contains(m.Topics, t) {
				continue
			}
			for _, n := range ps {
				if int(n) < len(x.owners[t]) && x.owners[t][n] < 0 {
					x.move(t, n, i)
				}
			}
		}
	}
	return x
}

// sorted lists the topics: most partitions for each subscriber first, then fewest subscribers, then by id.
func (x *mixed) sorted() []protocol.UUID {
	topics := make([]protocol.UUID, 0, len(x.subscribers))
	for t := range x.subscribers {
		topics = append(topics, t)
	}
	share := func(t protocol.UUID) float64 { return float64(x.counts[t]) / float64(len(x.subscribers[t])) }
	slices.SortFunc(topics, func(a, b protocol.UUID) int {
		return cmp.Or(cmp.Compare(share(b), share(a)), cmp.Compare(len(x.subscribers[a]), len(x.subscribers[b])), signedIDs(a, b))
	})
	return topics
}

// move gives a partition to a member.
func (x *mixed) move(t protocol.UUID, n int32, to int) {
	if from := x.owners[t][n]; from >= 0 {
		x.given[from].remove(t, n)
		x.sizes[from]--
	}
	x.owners[t][n] = to
	x.given[to].add(t, n)
	x.sizes[to]++
}

// balance moves partitions of a topic from its fullest subscribers to its emptiest, until they differ by one.
func (x *mixed) balance(t protocol.UUID) (moved bool) {
	b := x.balancer(t)
	if x.sizes[b.members[len(b.members)-1]]-x.sizes[b.members[0]] <= 1 {
		return false
	}
	// What each had before any move: only that is moved, the highest numbers first.
	has := map[int][]int32{}
	for n, owner := range x.owners[t] {
		has[owner] = append(has[owner], int32(n))
	}
	for !b.balanced() {
		from := b.most()
		for from >= 0 && len(has[from]) == 0 {
			b.exclude()
			from = b.most()
		}
		if from < 0 {
			break
		}
		n := has[from][len(has[from])-1]
		has[from] = has[from][:len(has[from])-1]
		to := b.least()
		if b.balanced() {
			break
		}
		x.move(t, n, to)
		moved = true
	}
	return moved
}

// balancer hands out the emptiest and the fullest subscribers of a topic one after another: the emptiest range grows
// from the left of the sorted members, the fullest from the right, and each is gone through once before its level
// changes.
type balancer struct {
	sizes   []int // by member, as they are now
	members []int // by size, then index

	low, lowEnd, lowNext               int // level, range [0, lowEnd)
	high, highStart, highEnd, highNext int // level, range [highStart, highEnd)
}

func (x *mixed) balancer(t protocol.UUID) *balancer {
	b := &balancer{sizes: x.sizes, members: slices.Clone(x.subscribers[t])}
	slices.SortFunc(b.members, func(i, j int) int { return cmp.Or(cmp.Compare(b.sizes[i], b.sizes[j]), cmp.Compare(i, j)) })
	n := len(b.members)
	b.low = b.sizes[b.members[0]] - 1
	b.high, b.highStart, b.highEnd, b.highNext = b.sizes[b.members[n-1]]+1, n, n, n-1
	return b
}

func (b *balancer) least() int {
	if b.lowNext >= b.lowEnd {
		b.low++
		for b.lowEnd < len(b.members) && b.sizes[b.members[b.lowEnd]] == b.low {
			b.lowEnd++
		}
		b.lowNext = 0
	}
	b.lowNext++
	return b.members[b.lowNext-1]
}

// most is -1 when nobody is left.
func (b *balancer) most() int {
	if b.highNext < b.highStart {
		if b.highEnd <= b.highStart && b.highStart > 0 {
			b.high = b.sizes[b.members[b.highStart-1]] // the range has run empty: go on with the next level there is
		} else {
			b.high--
		}
		for b.highStart > 0 && b.sizes[b.members[b.highStart-1]] == b.high {
			b.highStart--
		}
		b.highNext = b.highEnd - 1
	}
	if b.highNext < 0 {
		return -1
	}
	b.highNext--
	return b.members[b.highNext+1]
}

// exclude drops the member that most has just named.
func (b *balancer) exclude() {
	i, end := b.highNext+1, b.highEnd-1
	b.members[i], b.members[end] = b.members[end], b.members[i]
	b.highEnd--
}

func (b *balancer) balanced() bool { return b.high-b.low <= 1 }
