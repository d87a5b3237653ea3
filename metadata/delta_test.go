package metadata

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

func topicID(n byte) protocol.UUID { return protocol.UUID{15: n, 0: 1} }

func partitionRecord(id protocol.UUID, n int32, replicas ...int32) *msg.PartitionRecord {
	r := msg.NewPartitionRecord()
	r.TopicID, r.PartitionID, r.Replicas, r.ISR, r.Leader = id, n, replicas, replicas, replicas[0]
	r.LeaderEpoch, r.PartitionEpoch = 0, 0
	return r
}

// after replays records on an image as one delta.
func after(t testing.TB, i *Image, records ...Record) (*Delta, *Image) {
	t.Helper()
	d := NewDelta(i)
	for _, r := range records {
		if err := d.Replay(r); err != nil {
			t.Fatal(err)
		}
	}
	next, err := d.Apply(i.Offset+int64(len(records)), 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	return d, next
}

// TestPartitionChange: given fields replace, the partition epoch always rises, the leader epoch when a leader is named.
func TestPartitionChange(t *testing.T) {
	_, i := after(t, New(), &msg.TopicRecord{Name: "a", TopicID: topicID(1)}, partitionRecord(topicID(1), 0, 1, 2, 3))
	c := msg.NewPartitionChangeRecord()
	c.TopicID, c.PartitionID, c.ISR = topicID(1), 0, []int32{1, 3}
	_, j := after(t, i, c)
	p := j.Topic("a").Partitions[0]
	if p.LeaderEpoch != 0 || p.PartitionEpoch != 1 || !slices.Equal(p.ISR, []int32{1, 3}) || p.Leader != 1 {
		t.Errorf("ISR shrink: %+v", p)
	}
	c = msg.NewPartitionChangeRecord()
	c.TopicID, c.PartitionID, c.Leader = topicID(1), 0, 1
	_, j = after(t, j, c)
	if p := j.Topic("a").Partitions[0]; p.LeaderEpoch != 1 || p.PartitionEpoch != 2 {
		t.Errorf("same leader named: %+v", p)
	}
	c = msg.NewPartitionChangeRecord()
	c.TopicID, c.PartitionID, c.ISR, c.Leader, c.EligibleLeaderReplicas = topicID(1), 0, []int32{}, NoLeader, []int32{1}
	_, j = after(t, j, c)
	if p := j.Topic("a").Partitions[0]; len(p.ISR) != 0 || !slices.Equal(p.ELR, []int32{1}) || p.Leader != NoLeader {
		t.Errorf("emptied ISR: %+v", p)
	}
	_, k := after(t, j, &msg.ClearElrRecord{TopicName: "a"})
	if p := k.Topic("a").Partitions[0]; len(p.ELR) != 0 || p.PartitionEpoch != 4 {
		t.Errorf("cleared ELR: %+v", p)
	}
	_, l := after(t, k, &msg.ClearElrRecord{})
	if l.Topic("a").Partitions[0] != k.Topic("a").Partitions[0] {
		t.Error("nothing to clear, yet the partition changed")
	}
	if p := i.Topic("a").Partitions[0]; p.PartitionEpoch != 0 || len(p.ISR) != 3 {
		t.Errorf("the first image changed: %+v", p)
	}
}

// TestReplaceReplicas keeps the directories of replicas that stay.
func TestReplaceReplicas(t *testing.T) {
	p := &Partition{Replicas: []int32{1, 2}, Directories: []protocol.UUID{{1}, {2}}}
	c := msg.NewPartitionChangeRecord()
	c.Replicas = []int32{3, 2}
	q, err := p.Merge(c)
	if err != nil || !reflect.DeepEqual(q.Directories, []protocol.UUID{protocol.MigratingDir, {2}}) {
		t.Errorf("%+v, %v", q, err)
	}
}

// TestTopicChanges: a topic made again under its name is two changes; one made and deleted within is none.
func TestTopicChanges(t *testing.T) {
	value := "1"
	_, i := after(t, New(), &msg.TopicRecord{Name: "a", TopicID: topicID(1)}, partitionRecord(topicID(1), 0, 1), partitionRecord(topicID(1), 1, 1),
		&msg.ConfigRecord{ResourceType: 2, ResourceName: "a", Name: "retention.ms", Value: &value})
	d, j := after(t, i,
		&msg.RemoveTopicRecord{TopicID: topicID(1)},
		&msg.TopicRecord{Name: "a", TopicID: topicID(2)}, partitionRecord(topicID(2), 0, 1),
		&msg.TopicRecord{Name: "b", TopicID: topicID(3)}, &msg.RemoveTopicRecord{TopicID: topicID(3)})
	var got []string
	for c := range d.Topics() {
		n := 0
		for range c.Partitions() {
			n++
		}
		got = append(got, fmt.Sprint(c.Before != nil, c.After != nil, n))
	}
	if want := []string{"true false 2", "false true 1"}; !reflect.DeepEqual(got, want) {
		t.Errorf("changes %v, want %v", got, want)
	}
	if j.PartitionCount() != 1 || j.TopicCount() != 1 || j.TopicByID(topicID(1)) != nil || j.Topic("b") != nil || j.Config(Resource{TopicResource, "a"}) != nil {
		t.Errorf("%+v", dump(j))
	}
	if c := d.Configs(); len(c) != 1 || c[0].Name != "a" || i.Config(c[0])["retention.ms"] != "1" {
		t.Errorf("configs changed: %v", c)
	}
}

// TestRefusedRecords lists what cannot follow from what was there.
func TestRefusedRecords(t *testing.T) {
	_, i := after(t, New(), &msg.TopicRecord{Name: "a", TopicID: topicID(1)}, partitionRecord(topicID(1), 0, 1),
		&msg.RegisterBrokerRecord{BrokerID: 1, BrokerEpoch: 5})
	change := msg.NewPartitionChangeRecord()
	change.TopicID, change.PartitionID = topicID(1), 1
	far := partitionRecord(topicID(1), 1<<30, 1)
	for want, r := range map[string]Record{
		"topic \"a\" exists":           &msg.TopicRecord{Name: "a", TopicID: topicID(2)},
		"is taken":                     &msg.TopicRecord{Name: "b", TopicID: topicID(1)},
		"unknown topic id":             &msg.RemoveTopicRecord{TopicID: topicID(2)},
		"a has no partition 1":         change,
		"partition number 1073741824":  far,
		"of unknown topic id":          partitionRecord(topicID(9), 0, 1),
		"broker 1 has epoch 5":         &msg.UnregisterBrokerRecord{BrokerID: 1, BrokerEpoch: 4},
		"broker 2 is not registered":   &msg.FenceBrokerRecord{ID: 2, Epoch: 4},
		"no entry has id":              &msg.RemoveAccessControlEntryRecord{ID: topicID(1)},
		"has no place in an image":     &msg.BeginTransactionRecord{},
		"unknown topic \"nope\"":       &msg.ClearElrRecord{TopicName: "nope"},
		"entity names user twice":      &msg.ClientQuotaRecord{Entity: []msg.ClientQuotaRecordEntityData{{EntityType: "user"}, {EntityType: "user"}}},
		"in controlled shutdown 2":     &msg.BrokerRegistrationChangeRecord{BrokerID: 1, BrokerEpoch: 5, InControlledShutdown: 2},
		"2 directories for 1 replicas": &msg.PartitionRecord{TopicID: topicID(1), Replicas: []int32{1}, Directories: make([]protocol.UUID, 2)},
	} {
		if err := NewDelta(i).Replay(r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%T: %v, want %s", r, err, want)
		}
	}
	d := NewDelta(i)
	if err := d.Replay(partitionRecord(topicID(1), 2, 1)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Apply(9, 1, 0); err == nil || !strings.Contains(err.Error(), `topic "a" has no partition 1 of 3`) {
		t.Errorf("gap: %v", err)
	}
}

// TestTransactions: what is between Begin and End appears at End, Abort drops it.
func TestTransactions(t *testing.T) {
	f := NewFollower(New())
	offset := int64(0)
	feed := func(records ...Record) []Step {
		t.Helper()
		var entries []Entry
		for _, r := range records {
			entries = append(entries, Entry{Offset: offset, Record: r})
			offset++
		}
		if err := f.Entries(entries, offset-1, 3, 77); err != nil {
			t.Fatal(err)
		}
		steps, err := f.Take()
		if err != nil {
			t.Fatal(err)
		}
		return steps
	}
	begin, end, abort := &msg.BeginTransactionRecord{}, &msg.EndTransactionRecord{}, &msg.AbortTransactionRecord{}
	topic := func(n byte) Record { return &msg.TopicRecord{Name: string('a' + rune(n)), TopicID: topicID(n)} }

	if s := feed(topic(0), begin, topic(1)); len(s) != 1 || s[0].Image.TopicCount() != 1 || s[0].Image.Offset != 0 {
		t.Errorf("before the transaction: %v", s)
	}
	if s := feed(topic(2)); len(s) != 0 || !f.InTransaction() {
		t.Errorf("within: %v", s)
	}
	if s := feed(end, topic(3)); len(s) != 1 || s[0].Image.TopicCount() != 4 || s[0].Image.Offset != 5 || s[0].Image.Epoch != 3 || s[0].Image.Timestamp != 77 {
		t.Errorf("after the end: %v", s)
	}
	feed(begin, topic(4))
	if s := feed(topic(5), abort); len(s) != 1 || s[0].Image.TopicCount() != 4 || s[0].Image.Offset != 9 {
		t.Errorf("after the abort: %v", s)
	}
	if s := feed(topic(5)); len(s) != 1 || s[0].Image.TopicCount() != 5 {
		t.Errorf("the aborted topic again: %v", s)
	}
	if err := f.Entries([]Entry{{Offset: offset, Record: end}}, offset, 3, 0); err == nil {
		t.Error("an end without a begin was accepted")
	}
}

// TestManyTopics: ten thousand topics made one by one take linear time and share their memory.
func TestManyTopics(t *testing.T) {
	took := func(n int) time.Duration {
		start := time.Now()
		i := New()
		for k := range n {
			id := protocol.UUID{0: 1, 12: byte(k >> 16), 13: byte(k >> 8), 15: byte(k)}
			_, i = after(t, i, &msg.TopicRecord{Name: fmt.Sprintf("topic-%d", k), TopicID: id}, partitionRecord(id, 0, 1))
		}
		if i.TopicCount() != n || i.PartitionCount() != n {
			t.Fatal(i.TopicCount(), i.PartitionCount())
		}
		var names []string
		for topic := range i.Topics() {
			names = append(names, topic.Name)
		}
		if !slices.IsSorted(names) || len(names) != n {
			t.Fatal("topics are not sorted")
		}
		return time.Since(start)
	}
	small, large := took(1000), took(10000)
	t.Log(small, large)
	if large > 60*small+time.Second {
		t.Errorf("1,000 topics: %v, 10,000: %v", small, large)
	}
}
