package catalog

import (
	"bufio"
	"encoding/binary"
	"encoding/hex"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

// TestChangesAsKafka compares with Kafka's PartitionChangeBuilder: random states of a partition and wanted changes, and
// the record that it made of them. Written by testdata/Changes.java with the jars of Kafka 4.4.0. Left out are elections
// of a last known leader that is no replica any more, which are refused here.
func TestChangesAsKafka(t *testing.T) {
	f, err := os.Open("testdata/changes.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for in := bufio.NewScanner(f); in.Scan(); n++ {
		want := strings.Fields(in.Text())
		ch := changeFrom(t, want[:20])
		got := "none"
		if r := ch.build(); r != nil {
			v := metadata.VersionFor(r, ch.level)
			b, err := msg.Append(nil, r, v)
			if err != nil {
				t.Fatalf("%s: %v", in.Text(), err)
			}
			got = strconv.Itoa(int(v)) + ":" + hex.EncodeToString(b)
		}
		if got != want[20] {
			t.Errorf("%s\nmade %s", in.Text(), got)
		}
	}
	if n < 1000 {
		t.Errorf("only %d vectors", n)
	}
}

// changeFrom reads the first twenty columns: replicas, ISR, ELR, last known ELR, removing, adding, leader, recovery
// state; election, min ISR, ELR on, metadata.version, brokers alive; target ISR, replicas, removing, adding, recovery
// state (~ and -1 are unset), restarted broker, broker whose directory is set.
func changeFrom(t *testing.T, c []string) *change {
	num := func(i int) int32 {
		n, err := strconv.Atoi(c[i])
		if err != nil {
			t.Fatal(err)
		}
		return int32(n)
	}
	nums := func(i int) []int32 {
		var out []int32
		for _, s := range strings.FieldsFunc(c[i], func(r rune) bool { return r == ',' || r == '-' || r == '~' }) {
			n, err := strconv.Atoi(s)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, int32(n))
		}
		return out
	}
	p := &metadata.Partition{
		Replicas: nums(0), ISR: nums(1), ELR: nums(2), LastKnownELR: nums(3), Removing: nums(4), Adding: nums(5),
		Leader: num(6), RecoveryState: int8(num(7)), LeaderEpoch: 5, PartitionEpoch: 9,
	}
	for _, id := range p.Replicas {
		p.Directories = append(p.Directories, testDir(id))
	}
	alive := nums(12)
	ch := &change{
		p: p, topic: protocol.UUID{7: 7, 15: 7}, number: 3,
		election: []election{electPreferred, electOnline, electUnclean}[num(8)], minISR: int(num(9)), elrOn: c[10] == "true", level: int16(num(11)),
		mayLead: func(id int32) bool { return slices.Contains(alive, id) },
		dirOf:   func(id int32) protocol.UUID { return testDir(100 + id) },
		isr:     p.ISR, replicas: p.Replicas, removing: p.Removing, adding: p.Adding, elr: p.ELR, recovery: p.RecoveryState,
		restarted: num(18),
	}
	for i, to := range []*[]int32{&ch.isr, &ch.replicas, &ch.removing, &ch.adding} {
		if c[13+i] != "~" {
			*to = nums(13 + i)
		}
	}
	if num(17) >= 0 {
		ch.recovery = int8(num(17))
	}
	if id := num(19); id >= 0 {
		ch.dirs = map[int32]protocol.UUID{id: testDir(200 + id)}
	}
	return ch
}

func testDir(n int32) (d protocol.UUID) {
	binary.BigEndian.PutUint64(d[:8], 0x1000)
	binary.BigEndian.PutUint64(d[8:], uint64(n))
	return d
}
