package assign

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/protocol"
)

// topic makes an id whose hash in Java is its number.
func topic(n byte) protocol.UUID { return protocol.UUID{15: n} }

func member(id string, target Partitions, topics ...byte) Member {
	m := Member{ID: id, Target: target}
	for _, t := range topics {
		m.Topics = append(m.Topics, topic(t))
	}
	return m
}

func show(out map[string]Partitions) string {
	var list []string
	for _, id := range slices.Sorted(maps.Keys(out)) {
		var of []string
		for _, t := range out[id].Topics() {
			of = append(of, fmt.Sprintf("%d%v", t[15], out[id][t]))
		}
		list = append(list, id+"="+strings.Join(of, ""))
	}
	return strings.Join(list, " ")
}

// TestUniform: cases gone through by hand, in the order of Java's hash table, which for "A" to "C" is the alphabet's.
func TestUniform(t *testing.T) {
	f := func(name, want string, counts map[byte]int32, equal bool, ms ...Member) {
		t.Helper()
		g := Group{Members: ms, Equal: equal, Counts: map[protocol.UUID]int32{}}
		for t, n := range counts {
			g.Counts[topic(t)] = n
		}
		out, err := Uniform(g)
		if err != nil {
			t.Fatal(err)
		}
		if got := show(out); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	one := map[byte]int32{1: 3, 3: 2}
	f("two members, two topics", "A=1[0 1] B=1[2]3[0 1]", one, true, member("A", nil, 1, 3), member("B", nil, 1, 3))
	f("more members than partitions", "A= B=1[0] C=1[1]", map[byte]int32{1: 2}, true, member("A", nil, 1), member("B", nil, 1), member("C", nil, 1))
	f("who has one more keeps it", "A=1[0 1]3[0] B=1[2]3[1]", one, true,
		member("A", Partitions{topic(1): {0, 1}, topic(3): {0}}, 1, 3), member("B", Partitions{topic(1): {2}, topic(3): {1}}, 1, 3))
	f("a third member", "A=1[0 1] B=1[2]3[1] C=3[0]", one, true,
		member("A", Partitions{topic(1): {0, 1}, topic(3): {0}}, 1, 3), member("B", Partitions{topic(1): {2}, topic(3): {1}}, 1, 3), member("C", nil, 1, 3))
	f("a member left", "A=1[0 1] C=1[2]3[0 1]", one, true, member("A", Partitions{topic(1): {0, 1}}, 1, 3), member("C", Partitions{topic(3): {1}}, 1, 3))
	f("nothing to read", "", nil, true, member("A", nil))
	f("different subscriptions", "A=1[0 1 2] B=2[0 1 2]3[4] C=3[0 1 2 3]", map[byte]int32{1: 3, 2: 3, 3: 5}, false,
		member("A", nil, 1), member("B", nil, 2, 3), member("C", nil, 3))
	if _, err := Uniform(Group{Members: []Member{member("A", nil, 1)}}); err == nil {
		t.Error("a topic of unknown size was assigned")
	}
}

// TestProperties: for any group every partition that somebody reads has one owner, who reads it; with equal
// subscriptions nobody has two more than another; and nothing moves when nothing has changed.
func TestProperties(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		g := Group{Equal: r.IntN(2) == 0, Counts: map[protocol.UUID]int32{}}
		topics := 1 + r.IntN(4)
		for i := range topics {
			g.Counts[topic(byte(i+1))] = int32(r.IntN(7))
		}
		for i := range 1 + r.IntN(6) {
			m := Member{ID: fmt.Sprintf("m%d", i)}
			for t := range topics {
				if g.Equal || r.IntN(2) == 0 {
					m.Topics = append(m.Topics, topic(byte(t+1)))
				}
			}
			g.Members = append(g.Members, m)
		}
		for _, f := range []Assignor{Uniform, Range} {
			first := check(t, g, f)
			h := g
			h.Members = slices.Clone(g.Members)
			for i := range h.Members {
				h.Members[i].Target = first[h.Members[i].ID]
			}
			if again := check(t, h, f); show(again) != show(first) {
				t.Fatalf("moved without need: %s, then %s", show(first), show(again))
			}
			if len(h.Members) > 1 { // one leaves, one comes
				h.Members = append(h.Members[1:], Member{ID: "new", Topics: h.Members[0].Topics})
				check(t, h, f)
			}
		}
	}
}

func check(t *testing.T, g Group, f Assignor) map[string]Partitions {
	t.Helper()
	out, err := f(g)
	if err != nil {
		t.Fatal(err)
	}
	owner, read := map[part]string{}, map[protocol.UUID]bool{}
	least, most := 1<<30, 0
	for i := range g.Members {
		m := &g.Members[i]
		least, most = min(least, out[m.ID].Len()), max(most, out[m.ID].Len())
		for _, x := range m.Topics {
			read[x] = true
		}
		for x, ps := range out[m.ID] {
			if !slices.Contains(m.Topics, x) || !slices.IsSorted(ps) || len(ps) == 0 {
				t.Fatalf("%s has %v of topic %d", m.ID, ps, x[15])
			}
			for _, n := range ps {
				if owner[part{x, n}] != "" {
					t.Fatalf("two owners in %s", show(out))
				}
				owner[part{x, n}] = m.ID
			}
		}
	}
	want := 0
	for x := range read {
		want += int(g.Counts[x])
	}
	if len(owner) != want {
		t.Fatalf("%d of %d partitions have an owner: %s", len(owner), want, show(out))
	}
	if most > least+1 && g.Equal && len(g.Counts) == 1 {
		t.Fatalf("not even: %s", show(out))
	}
	return out
}

func TestNames(t *testing.T) {
	if ByName("uniform") == nil || ByName("range") == nil || ByName("sticky") != nil {
		t.Error("assignors by name")
	}
}
