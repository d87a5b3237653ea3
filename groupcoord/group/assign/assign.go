// Package assign has the assignors that run in the coordinator (KIP-848): uniform and range, with the results of
// Apache Kafka 4.4. They are functions of members, their topics, and what they were to have before.
package assign

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/ottla/ottla/protocol"
)

// Partitions are partitions by topic, ascending. A topic without partitions is not there.
type Partitions map[protocol.UUID][]int32

// Len is the number of partitions.
func (p Partitions) Len() int {
	n := 0
	for _, ps := range p {
		n += len(ps)
	}
	return n
}

// Has says whether a partition is among them.
func (p Partitions) Has(topic protocol.UUID, partition int32) bool {
	_, ok := slices.BinarySearch(p[topic], partition)
	return ok
}

// Equal says whether both are the same partitions.
func (p Partitions) Equal(q Partitions) bool {
	if len(p) != len(q) {
		return false
	}
	for t, ps := range p {
		if !slices.Equal(ps, q[t]) {
			return false
		}
	}
	return true
}

// Topics lists the topics in the order of their ids.
func (p Partitions) Topics() []protocol.UUID {
	ids := make([]protocol.UUID, 0, len(p))
	for t := range p {
		ids = append(ids, t)
	}
	slices.SortFunc(ids, compareIDs)
	return ids
}

// compareIDs orders ids byte by byte.
func compareIDs(a, b protocol.UUID) int { return bytes.Compare(a[:], b[:]) }

func (p Partitions) add(topic protocol.UUID, partition int32) {
	ps := p[topic]
	at, has := slices.BinarySearch(ps, partition)
	if !has {
		p[topic] = slices.Insert(ps, at, partition)
	}
}

func (p Partitions) remove(topic protocol.UUID, partition int32) {
	ps := p[topic]
	at, has := slices.BinarySearch(ps, partition)
	if !has {
		return
	}
	if len(ps) == 1 {
		delete(p, topic)
		return
	}
	p[topic] = slices.Delete(ps, at, at+1)
}

// Member is a member to assign to.
type Member struct {
	ID       string
	Instance string // "" for a dynamic member
	// Topics are those it subscribes to and that exist, in any order, each once.
	Topics []protocol.UUID
	// Target is what it was to have until now. It is not written to.
	Target Partitions
}

// Group is what an assignor works on.
type Group struct {
	Members []Member
	// Equal says that all members subscribe to the same topics.
	Equal bool
	// Counts is the number of partitions of each topic that anybody subscribes to.
	Counts map[protocol.UUID]int32
}

// Assignor gives every member its partitions, by member id.
type Assignor func(g Group) (map[string]Partitions, error)

// ByName finds an assignor: "uniform" or "range"; nil if there is none of that name.
func ByName(name string) Assignor {
	switch name {
	case "uniform":
		return Uniform
	case "range":
		return Range
	}
	return nil
}

// check refuses a subscription to a topic whose size is not known.
func (g Group) check() error {
	for i := range g.Members {
		for _, t := range g.Members[i].Topics {
			if _, ok := g.Counts[t]; !ok {
				return fmt.Errorf("member %s subscribes to topic %s, whose partitions are not known", g.Members[i].ID, t)
			}
		}
	}
	return nil
}
