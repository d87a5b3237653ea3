package replication

import (
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
	"github.com/ottla/ottla/protocol/record"
	"github.com/ottla/ottla/storage"
)

func TestAppendAndFetch(t *testing.T) {
	h := newHarness(t)
	p := h.create("t", topicID(1), 2)
	if want := []Leadership{{p.tp, 0, true}, {protocol.TopicPartition{Topic: "t", Partition: 1}, 0, true}}; !slices.Equal(h.changes, want) {
		t.Errorf("leadership: %+v", h.changes)
	}
	first := h.append(p, 1000, 1001)
	second := h.append(p, 1002)
	if first.BaseOffset != 0 || first.AwaitOffset != 2 || !first.Replicated || second.BaseOffset != 2 || second.AwaitOffset != 3 || first.LogAppendTime != -1 {
		t.Errorf("%+v, %+v", first, second)
	}
	answered := false
	p.OnHighWatermark(3, func(err error) { answered = err == nil })
	if !answered {
		t.Error("acks=all is not answered though the leader is the whole ISR")
	}
	got := record.Batch(h.fetch(p, clientFetch(2)))
	if got.BaseOffset() != 2 || got.PartitionLeaderEpoch() != 0 || !got.VerifyCRC() {
		t.Errorf("fetched %x", []byte(got))
	}
	_, err := p.Fetch(clientFetch(4))
	wantCode(t, "beyond the end", err, protocol.OffsetOutOfRange)
	_, err = p.Append([]byte("garbage that is no batch"), clientAppend)
	wantCode(t, "garbage", err, protocol.CorruptMessage)
	one := batch(1000)
	one[len(one)-1] ^= 1
	_, err = p.Append(one, clientAppend)
	wantCode(t, "CRC", err, protocol.CorruptMessage)
	if r := h.append(p, 1003); r.BaseOffset != 3 {
		t.Errorf("a refused batch took offsets: %+v", r)
	}
}

func TestLookups(t *testing.T) {
	h := newHarness(t)
	h.create("mine", topicID(1), 1)
	h.publish(&msg.TopicRecord{Name: "elsewhere", TopicID: topicID(2)}, partition(topicID(2), 0, 2, 0, []int32{2}, 2))
	f := func(topic string, n int32, want protocol.ErrorCode) {
		t.Helper()
		_, err := h.manager.Partition(protocol.TopicPartition{Topic: topic, Partition: n})
		wantCode(t, topic, err, want)
	}
	f("mine", 0, protocol.None)
	f("mine", 1, protocol.UnknownTopicOrPartition)
	f("mine", -1, protocol.UnknownTopicOrPartition)
	f("elsewhere", 0, protocol.NotLeaderOrFollower)
	f("unknown", 0, protocol.UnknownTopicOrPartition)
	g := func(id protocol.UUID, n int32, want protocol.ErrorCode) {
		t.Helper()
		_, err := h.manager.PartitionByID(id, n)
		wantCode(t, id.String(), err, want)
	}
	g(topicID(1), 0, protocol.None)
	g(topicID(1), 5, protocol.UnknownTopicOrPartition)
	g(topicID(2), 0, protocol.NotLeaderOrFollower)
	g(topicID(3), 0, protocol.UnknownTopicID)
}

func TestLeaderEpochs(t *testing.T) {
	h := newHarness(t)
	p := h.create("t", topicID(1), 1)
	h.append(p, 1000)
	h.publish(change(topicID(1), 0, metadata.NoLeader)) // epoch 1
	if want := []Leadership{{p.tp, 1, false}}; !slices.Equal(h.changes, want) {
		t.Errorf("resigned: %+v", h.changes)
	}
	_, err := p.Append(batch(1000), clientAppend)
	wantCode(t, "append without leading", err, protocol.NotLeaderOrFollower)
	_, err = p.Fetch(clientFetch(0))
	wantCode(t, "fetch without leading", err, protocol.NotLeaderOrFollower)
	old := clientFetch(0)
	old.LeaderEpoch = 0
	_, err = p.Fetch(old)
	wantCode(t, "an old epoch comes before not leading", err, protocol.FencedLeaderEpoch)

	h.publish(change(topicID(1), 0, node)) // epoch 2
	if r := h.append(p, 1001); r.BaseOffset != 1 {
		t.Errorf("%+v", r)
	}
	for epoch, want := range map[int32]protocol.ErrorCode{1: protocol.FencedLeaderEpoch, 2: protocol.None, 3: protocol.UnknownLeaderEpoch} {
		o := clientFetch(0)
		o.LeaderEpoch = epoch
		f, err := p.Fetch(o)
		f.Release()
		wantCode(t, "fetch", err, want)
		_, err = p.ListOffset(LatestTimestamp, storage.HighWatermark, epoch)
		wantCode(t, "list offsets", err, want)
		_, err = p.EndOffsetForEpoch(0, epoch)
		wantCode(t, "offset for leader epoch", err, want)
		a := clientAppend
		a.LeaderEpoch = epoch
		_, err = p.Append(batch(1002), a)
		wantCode(t, "append", err, want)
	}
	for epoch, want := range map[int32]storage.EpochEnd{-1: {Epoch: -1, Offset: -1}, 0: {Epoch: 0, Offset: 1}, 1: {Epoch: 0, Offset: 1}, 2: {Epoch: 2, Offset: 3}, 3: {Epoch: -1, Offset: -1}} {
		if got, err := p.EndOffsetForEpoch(epoch, AnyEpoch); err != nil || got != want {
			t.Errorf("end of epoch %d: %+v, %v; want %+v", epoch, got, err, want)
		}
	}
	// A client whose last batch is of epoch 0 but whose log goes on beyond that epoch's end here.
	o := clientFetch(2)
	o.LastFetchedEpoch = 0
	f, err := p.Fetch(o)
	if err != nil || f.Diverging == nil || *f.Diverging != (storage.EpochEnd{Epoch: 0, Offset: 1}) || f.Size != 0 {
		t.Errorf("diverging: %+v, %v", f, err)
	}
	o.Offset = 1
	if got := h.fetch(p, o); len(got) == 0 {
		t.Error("a log that is a prefix is refused")
	}
}

func TestEpochStartsBeforeAnythingIsAppended(t *testing.T) {
	h := newHarness(t)
	p := h.create("t", topicID(1), 1)
	h.append(p, 1, 2, 3)
	h.restart()
	p = h.partition("t", 0)
	if got, want := p.Log().Epochs(), []storage.EpochEntry{{Epoch: 0, StartOffset: 0}, {Epoch: 2, StartOffset: 3}}; !slices.Equal(got, want) {
		t.Errorf("epochs %+v, want %+v", got, want)
	}
	if high := p.Log().HighWatermark(); high != 3 {
		t.Errorf("high watermark %d after a restart as the only replica", high)
	}
	if got, err := p.ListOffset(EarliestTimestamp, storage.HighWatermark, AnyEpoch); err != nil || got.LeaderEpoch != 0 || got.Offset != 0 {
		t.Errorf("earliest: %+v, %v", got, err)
	}
	if got, err := p.ListOffset(LatestTimestamp, storage.HighWatermark, AnyEpoch); err != nil || got.LeaderEpoch != 2 || got.Offset != 3 {
		t.Errorf("latest: %+v, %v", got, err)
	}
}

// B28, and the special timestamps as Kafka 4.4.0 answered them.
func TestListOffsets(t *testing.T) {
	h := newHarness(t)
	p := h.create("t", topicID(1), 2)
	h.append(p, 1000, 1010, 1005)
	h.append(p, 1007)
	f := func(p *Partition, timestamp int64, want storage.OffsetTime) {
		t.Helper()
		want.Found = want.Offset >= 0
		for _, bound := range []storage.Bound{storage.HighWatermark, storage.LastStable} {
			if got, err := p.ListOffset(timestamp, bound, AnyEpoch); err != nil || got != want {
				t.Errorf("%d: %+v, %v; want %+v", timestamp, got, err, want)
			}
		}
	}
	none := storage.OffsetTime{Offset: -1, Timestamp: -1, LeaderEpoch: -1}
	at := func(offset, timestamp int64) storage.OffsetTime {
		return storage.OffsetTime{Offset: offset, Timestamp: timestamp}
	}
	f(p, 0, at(0, 1000))
	f(p, 1000, at(0, 1000))
	for _, ts := range []int64{1001, 1005, 1007, 1008, 1010} {
		f(p, ts, at(1, 1010))
	}
	f(p, 1011, none)
	f(p, LatestTimestamp, at(4, -1))
	f(p, EarliestTimestamp, at(0, -1))
	f(p, MaxTimestamp, at(1, 1010))
	f(p, EarliestLocalTimestamp, at(0, -1))
	f(p, LatestTieredTimestamp, none)
	f(p, EarliestPendingUpload, none)
	empty := h.partition("t", 1)
	f(empty, 1000, none)
	f(empty, MaxTimestamp, none)
	f(empty, LatestTimestamp, at(0, -1))
	f(empty, EarliestTimestamp, at(0, -1))
}

// B12.
func TestDeleteRecords(t *testing.T) {
	h := newHarness(t)
	p := h.create("t", topicID(1), 1)
	for i := range int64(5) {
		h.append(p, 1000+2*i, 1001+2*i)
	}
	f := func(offset, want int64, code protocol.ErrorCode) {
		t.Helper()
		got, err := p.DeleteRecords(offset)
		if got != want || protocol.CodeOf(err) != code {
			t.Errorf("delete before %d: %d, %v; want %d, %s", offset, got, err, want, code)
		}
	}
	f(3, 3, protocol.None)
	if got := record.Batch(h.fetch(p, clientFetch(3))); got.BaseOffset() != 2 {
		t.Errorf("fetch at 3 begins at %d", got.BaseOffset())
	}
	_, err := p.Fetch(clientFetch(2))
	wantCode(t, "fetch at 2", err, protocol.OffsetOutOfRange)
	for _, ts := range []int64{EarliestTimestamp, 0} {
		if got, err := p.ListOffset(ts, storage.HighWatermark, AnyEpoch); err != nil || got.Offset != 3 {
			t.Errorf("timestamp %d: %+v, %v", ts, got, err)
		}
	}
	f(3, 3, protocol.None)
	f(1, 3, protocol.None)
	f(11, -1, protocol.OffsetOutOfRange)
	f(-2, -1, protocol.OffsetOutOfRange)
	f(HighWatermarkOffset, 10, protocol.None)
	if r := h.append(p, 2000); r.BaseOffset != 10 {
		t.Errorf("next append: %+v", r)
	}
	for policy, want := range map[string]protocol.ErrorCode{"compact": protocol.PolicyViolation, "compact,delete": protocol.None, "": protocol.None} {
		h.publish(config("t", "cleanup.policy", policy))
		_, err := p.DeleteRecords(HighWatermarkOffset)
		wantCode(t, "policy "+policy, err, want)
	}
	q := h.create("__consumer_offsets", topicID(2), 1)
	_, err = q.DeleteRecords(0)
	wantCode(t, "internal topic", err, protocol.InvalidTopicException)
}

// min.insync.replicas never asks for more replicas than there are: measured on Kafka 4.4.0.
func TestMinInSyncReplicas(t *testing.T) {
	h := newHarness(t)
	p := h.create("alone", topicID(1), 1, "min.insync.replicas", "3")
	if r := h.append(p, 1000); r.BaseOffset != 0 {
		t.Errorf("%+v", r)
	}
	h.publish(&msg.TopicRecord{Name: "three", TopicID: topicID(2)}, config("three", "min.insync.replicas", "2"),
		partition(topicID(2), 0, node, 0, []int32{node}, node, 2, 3))
	p = h.partition("three", 0)
	_, err := p.Append(batch(1000), clientAppend)
	wantCode(t, "acks=all", err, protocol.NotEnoughReplicas)
	wantCode(t, "coordinator", p.Coordinator().Writable(0), protocol.NotEnoughReplicas)
	o := clientAppend
	o.Acks = 1
	if _, err := p.Append(batch(1000), o); err != nil {
		t.Errorf("acks=1: %v", err)
	}
	if high := p.Log().HighWatermark(); high != 0 {
		t.Errorf("the high watermark moved to %d with too few in sync", high)
	}
	h.publish(config("three", "min.insync.replicas", "1"))
	if high := p.Log().HighWatermark(); high != 1 {
		t.Errorf("high watermark %d after the rule was relaxed", high)
	}
}

func TestConfigChangesTakeEffect(t *testing.T) {
	h := newHarness(t)
	p := h.create("t", topicID(1), 1)
	h.publish(config("t", "max.message.bytes", "80"))
	h.append(p, 1000)
	_, err := p.Append(batch(1000, 1001), clientAppend)
	wantCode(t, "max.message.bytes", err, protocol.MessageTooLarge)
	h.publish(config("t", "max.message.bytes", "8000"), config("t", "compression.type", "zstd"))
	h.append(p, 1000, 1001)
	if got := record.Batch(h.fetch(p, clientFetch(1))); got.Codec() != record.Zstd {
		t.Errorf("stored %s", got.Codec())
	}
	if p.Log().Config().CompressionType != "zstd" {
		t.Error("the log has another configuration")
	}
	h.defaults["max.message.bytes"] = "70"
	h.publish(&msg.ConfigRecord{ResourceType: int8(metadata.BrokerResource), Name: "message.max.bytes", Value: new(string)})
	if p.Config().MaxMessageBytes != 8000 {
		t.Error("a broker default overrides the topic")
	}
	h.publish(&msg.ConfigRecord{ResourceType: int8(metadata.TopicResource), ResourceName: "t", Name: "max.message.bytes"})
	if p.Config().MaxMessageBytes != 70 {
		t.Errorf("max.message.bytes %d after the override went", p.Config().MaxMessageBytes)
	}
}

// B13: a topic of the same name is another topic.
func TestDeletedAndMadeAgain(t *testing.T) {
	h := newHarness(t)
	p := h.create("t", topicID(1), 1)
	h.append(p, 1000)
	var answer error
	w := NewWaiter()
	h.manager.Watch(w, []Interest{{p, storage.HighWatermark, 1}}, 1)
	h.publish(&msg.RemoveTopicRecord{TopicID: topicID(1)})
	<-w.Ready()
	h.manager.Unwatch(w)
	if want := []Leadership{{p.tp, 0, false}}; !slices.Equal(h.changes, want) {
		t.Errorf("leadership: %+v", h.changes)
	}
	p.OnHighWatermark(5, func(err error) { answer = err })
	wantCode(t, "waiting on a deleted partition", answer, protocol.UnknownTopicOrPartition)
	_, err := p.Append(batch(1000), clientAppend)
	wantCode(t, "append to a deleted partition", err, protocol.UnknownTopicOrPartition)
	_, err = h.manager.PartitionByID(topicID(1), 0)
	wantCode(t, "deleted id", err, protocol.UnknownTopicID)
	again := h.create("t", topicID(2), 1)
	if r := h.append(again, 1000); r.BaseOffset != 0 || again == p || again.TopicID() != topicID(2) {
		t.Errorf("%+v", r)
	}
	// Both in one image, as a broker that was away sees them.
	h.publish(&msg.RemoveTopicRecord{TopicID: topicID(2)}, &msg.TopicRecord{Name: "t", TopicID: topicID(3)},
		partition(topicID(3), 0, node, 0, []int32{node}, node))
	third := h.partition("t", 0)
	if r := h.append(third, 1000); r.BaseOffset != 0 || third.TopicID() != topicID(3) {
		t.Errorf("%+v", r)
	}
}

func TestReplicaLeavesThisBroker(t *testing.T) {
	h := newHarness(t)
	h.create("t", topicID(1), 2)
	r := change(topicID(1), 0, 2, 2)
	r.Replicas, r.Directories = []int32{2}, []protocol.UUID{protocol.UnassignedDir}
	h.publish(r)
	if want := []Leadership{{protocol.TopicPartition{Topic: "t"}, 0, false}}; !slices.Equal(h.changes, want) {
		t.Errorf("leadership: %+v", h.changes)
	}
	_, err := h.manager.Partition(protocol.TopicPartition{Topic: "t"})
	wantCode(t, "the partition that left", err, protocol.NotLeaderOrFollower)
	h.partition("t", 1)
	if h.storage.Get(protocol.TopicPartition{Topic: "t"}) != nil {
		t.Error("its log is still there")
	}
	// Partitions may be added to the topic later.
	h.publish(partition(topicID(1), 2, node, 0, []int32{node}, node))
	h.append(h.partition("t", 2), 1000)
	h.append(h.partition("t", 1), 1000)
}

func TestStrayLogsAreNotServed(t *testing.T) {
	h := newHarness(t)
	p := h.create("t", topicID(1), 1)
	h.append(p, 1000)
	h.close()
	h.open()
	h.image = metadata.New()
	q := h.create("t", topicID(2), 1)
	if r := h.append(q, 1000); r.BaseOffset != 0 {
		t.Errorf("the log of another topic id was kept: %+v", r)
	}
}

// B50: a failed disk answers KAFKA_STORAGE_ERROR, wakes everybody, and is reported.
func TestDiskFailure(t *testing.T) {
	fs := vfs.NewMem()
	h := newHarnessOn(t, fs, "/data")
	p := h.create("t", topicID(1), 2)
	h.append(p, 1000)
	w := NewWaiter()
	h.manager.Watch(w, []Interest{{h.partition("t", 1), storage.HighWatermark, 0}}, 1)
	fs.FailAt(0, errDisk, true)
	_, err := p.Append(batch(1000), clientAppend)
	wantCode(t, "the append that fails", err, protocol.KafkaStorageError)
	<-w.Ready() // the other partition of the directory went offline too
	for n := range int32(2) {
		q := h.partition("t", n)
		_, err = q.Append(batch(1000), clientAppend)
		wantCode(t, "append", err, protocol.KafkaStorageError)
		_, err = q.Fetch(clientFetch(0))
		wantCode(t, "fetch", err, protocol.KafkaStorageError)
		_, err = q.ListOffset(LatestTimestamp, storage.HighWatermark, AnyEpoch)
		wantCode(t, "list offsets", err, protocol.KafkaStorageError)
	}
	h.publish(&msg.TopicRecord{Name: "new", TopicID: topicID(9)}, partition(topicID(9), 0, node, 0, []int32{node}, node))
	_, err = h.partition("new", 0).Append(batch(1000), clientAppend)
	wantCode(t, "a new topic without a disk", err, protocol.KafkaStorageError)
	for range 3 {
		<-h.offline // each of them is reported
	}
	fs.SetHook(nil)
}

// Two directories: where a replica went is told, and one that may lie on a failed disk is not made anew.
func TestDirectories(t *testing.T) {
	fs := vfs.NewMem()
	h := newHarnessOn(t, fs, "/a", "/b")
	h.create("t", topicID(1), 2)
	dirs := map[protocol.UUID]bool{}
	for range 2 {
		dirs[(<-h.placed).dir] = true
	}
	if len(dirs) != 2 {
		t.Errorf("placed in %v", dirs)
	}
	var inA protocol.TopicPartition
	for n := range int32(2) {
		if p := h.partition("t", n); p.Log().DirID() == h.storage.Dirs()[0].ID {
			inA = p.tp
		}
		h.append(h.partition("t", n), 1000)
	}
	h.close()
	fs.SetHook(func(op vfs.Op, name string) error {
		if strings.HasPrefix(name, "/a") {
			return errDisk
		}
		return nil
	})
	h.open()
	old := h.image
	h.image = metadata.New()
	records := []metadata.Record{&msg.TopicRecord{Name: "t", TopicID: topicID(1)}}
	for n := range old.Topic("t").Partitions {
		records = append(records, partition(topicID(1), int32(n), node, 2, []int32{node}, node))
	}
	h.publish(records...)
	if tp := <-h.offline; tp != inA {
		t.Errorf("%v is offline, not %v", tp, inA)
	}
	_, err := h.partition("t", inA.Partition).Append(batch(1), clientAppend)
	wantCode(t, "the one on the failed disk", err, protocol.KafkaStorageError)
	h.append(h.partition("t", 1-inA.Partition), 1000)
	h.create("u", topicID(2), 1) // new topics go where there is a disk
	h.append(h.partition("u", 0), 1000)
	fs.SetHook(nil)
}

// KIP-207: a new leader whose high watermark has not reached its epoch's start cannot say yet what is
// latest, while what is below can be told.
func TestOffsetNotAvailable(t *testing.T) {
	h := newHarness(t)
	h.publish(&msg.TopicRecord{Name: "t", TopicID: topicID(1)}, partition(topicID(1), 0, node, 0, []int32{node}, node, 2))
	p := h.partition("t", 0)
	h.append(p, 1000)
	h.publish(change(topicID(1), 0, metadata.LeaderUnchanged, node, 2)) // the follower joins and stays silent
	if _, err := p.Append(batch(2000), clientAppend); err != nil {
		t.Fatal(err)
	}
	h.publish(change(topicID(1), 0, 2))
	h.publish(change(topicID(1), 0, node))
	f := func(timestamp int64, bound storage.Bound, offset int64, want protocol.ErrorCode) {
		t.Helper()
		got, err := p.ListOffset(timestamp, bound, AnyEpoch)
		if got.Offset != offset || protocol.CodeOf(err) != want {
			t.Errorf("%d: %+v, %v; want %d, %s", timestamp, got, err, offset, want)
		}
	}
	f(LatestTimestamp, storage.HighWatermark, -1, protocol.OffsetNotAvailable)
	f(LatestTimestamp, storage.LogEnd, 2, protocol.None)
	f(1500, storage.HighWatermark, -1, protocol.OffsetNotAvailable)
	f(1000, storage.HighWatermark, 0, protocol.None)
	f(EarliestTimestamp, storage.HighWatermark, 0, protocol.None)
	h.publish(change(topicID(1), 0, metadata.LeaderUnchanged, node))
	f(LatestTimestamp, storage.HighWatermark, 2, protocol.None)
	f(1500, storage.HighWatermark, 1, protocol.None)
}
