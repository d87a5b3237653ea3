package conformance

import (
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestFetchInsideBatch is case B20.
func TestFetchInsideBatch(t *testing.T) {
	c := connect(t)
	topic := unique("b20")
	createTopic(c, topic, 1)
	mustProduce(c, topic, 0, newBatch(r("a"), r("b"), r("c")).encode())
	mustProduce(c, topic, 0, newBatch(r("d"), r("e")).encode())
	for offset, bases := range [][]int64{{0, 3}, {0, 3}, {0, 3}, {3}, {3}, {}} {
		p := fetch(c, topic, 0, int64(offset))
		eq(t, "error", p.ErrorCode, 0)
		got := split(t, p.RecordBatches)
		eq(t, "batches", len(got), len(bases))
		for i := range got {
			eq(t, "base", got[i].base, bases[i])
		}
	}
}

// TestFirstBatchLargerThanLimits is case B21.
func TestFirstBatchLargerThanLimits(t *testing.T) {
	c := connect(t)
	topic := unique("b21")
	createTopic(c, topic, 2)
	payload := newBatch(r("01234567890123456789")).encode()
	eq(t, "batch size", len(payload), 88)
	for range 2 {
		mustProduce(c, topic, 0, payload)
		mustProduce(c, topic, 1, payload)
	}
	for _, limit := range []int32{1, 0, 100} {
		o := plainFetch()
		o.maxBytes = limit
		p := fetchWith(c, topic, o, want{0, 0, limit})[0]
		eq(t, "error", p.ErrorCode, 0)
		eq(t, "first batch whole", len(split(t, p.RecordBatches)), 1)
		if limit < 88 {
			eq(t, "nothing more", len(p.RecordBatches), 88)
		}
	}
	o := plainFetch()
	o.maxBytes = 1
	got := fetchWith(c, topic, o, want{0, 0, 1}, want{1, 0, 1})
	eq(t, "partitions", len(got), 2)
	eq(t, "both bytes", len(got[0].RecordBatches)+len(got[1].RecordBatches), 88)
	eq(t, "codes", got[0].ErrorCode|got[1].ErrorCode, 0)
}

// TestLongPoll is case B23.
func TestLongPoll(t *testing.T) {
	c := connect(t)
	topic := unique("b23")
	createTopic(c, topic, 2)
	full := func(what string, o fetchOpts, wants ...want) []kmsg.FetchResponseTopicPartition {
		t.Helper()
		var got []kmsg.FetchResponseTopicPartition
		elapsed(t, what, time.Duration(o.maxWait)*time.Millisecond*9/10, time.Duration(o.maxWait)*time.Millisecond*2, func() {
			got = fetchWith(c, topic, o, wants...)
		})
		return got
	}
	atOnce := func(what string, o fetchOpts, wants ...want) []kmsg.FetchResponseTopicPartition {
		t.Helper()
		var got []kmsg.FetchResponseTopicPartition
		elapsed(t, what, 0, 350*time.Millisecond, func() { got = fetchWith(c, topic, o, wants...) })
		return got
	}
	o := plainFetch()
	o.maxWait = 700
	full("(a) empty, min 1", o, want{0, 0, 1 << 20})
	o.minBytes = 0
	atOnce("(b) empty, min 0", o, want{0, 0, 1 << 20})

	o.minBytes, o.maxWait = 1, 3000
	other := connect(t)
	done := make(chan struct{})
	time.AfterFunc(200*time.Millisecond, func() { defer close(done); mustProduce(other, topic, 0, one("x")) })
	elapsed(t, "(c) produced to after 200 ms", 190*time.Millisecond, time.Second, func() {
		eq(t, "(c) batches", len(split(t, fetchWith(c, topic, o, want{0, 0, 1 << 20})[0].RecordBatches)), 1)
	})
	<-done
	mustProduce(c, topic, 0, newBatch(r("012345678901234567890123456789")).encode())

	o.maxWait, o.minBytes = 700, 1<<20
	full("(d) min 1 MB", o, want{0, 0, 1 << 20})
	full("(e) partition limit", o, want{0, 0, 70})
	o.maxBytes = 70
	atOnce("(f) request limit caps min bytes", o, want{0, 0, 1 << 20})
	o = plainFetch()
	o.maxWait = 700
	got := atOnce("(g) one out of range", o, want{1, 0, 1 << 20}, want{0, 99, 1 << 20})
	eq(t, "(g) partitions", len(got), 2)
	got = full("(h) one unknown", o, want{1, 0, 1 << 20}, want{9, 0, 1 << 20})
	eq(t, "(h) partitions", len(got), 2)
	for _, p := range got {
		if p.Partition == 9 {
			eq(t, "(h) unknown partition", p.ErrorCode, 3)
		}
	}
}

// TestOutOfRange is case B26's first part.
func TestOutOfRange(t *testing.T) {
	c := connect(t)
	topic := unique("b26")
	createTopic(c, topic, 1)
	mustProduce(c, topic, 0, one("x"))
	for _, offset := range []int64{-1, 2} {
		p := fetch(c, topic, 0, offset)
		eq(t, "error", p.ErrorCode, 1)
		eq(t, "high watermark", p.HighWatermark, -1)
		eq(t, "last stable offset", p.LastStableOffset, -1)
		eq(t, "log start", p.LogStartOffset, -1)
		eq(t, "bytes", len(p.RecordBatches), 0)
	}
	p := fetch(c, topic, 0, 1)
	eq(t, "at the end", p.ErrorCode, 0)
	eq(t, "high watermark", p.HighWatermark, 1)
	eq(t, "bytes", len(p.RecordBatches), 0)
}

// TestFetchSessions: KIP-227, full then incremental, and the refusals.
func TestFetchSessions(t *testing.T) {
	c := connect(t)
	topic := unique("session")
	createTopic(c, topic, 2)
	mustProduce(c, topic, 0, one("x"))
	o := plainFetch()
	o.minBytes, o.epoch = 0, 0
	first := c.do(fetchRequest(topic, o, want{0, 0, 1 << 20}, want{1, 0, 1 << 20})).(*kmsg.FetchResponse)
	eq(t, "full: topics", len(first.Topics), 1)
	eq(t, "full: partitions", len(first.Topics[0].Partitions), 2)
	eq(t, "session", first.SessionID != 0, true)

	o.session, o.epoch = first.SessionID, 1
	second := c.do(fetchRequest(topic, o, want{0, 1, 1 << 20})).(*kmsg.FetchResponse)
	eq(t, "incremental: error", second.ErrorCode, 0)
	eq(t, "incremental without news: topics", len(second.Topics), 0)
	mustProduce(c, topic, 1, one("y"))
	o.epoch = 2
	third := c.do(fetchRequest(topic, o)).(*kmsg.FetchResponse)
	eq(t, "incremental with news: topics", len(third.Topics), 1)
	if len(third.Topics) == 1 {
		eq(t, "only the changed partition", len(third.Topics[0].Partitions), 1)
		eq(t, "which", third.Topics[0].Partitions[0].Partition, 1)
	}
	o.epoch = 7
	eq(t, "wrong epoch", c.do(fetchRequest(topic, o)).(*kmsg.FetchResponse).ErrorCode, 71)
	o.session = 123456789
	eq(t, "unknown session", c.do(fetchRequest(topic, o)).(*kmsg.FetchResponse).ErrorCode, 70)
	o.session, o.epoch = first.SessionID, -1
	closing := c.do(fetchRequest(topic, o, want{0, 0, 1 << 20})).(*kmsg.FetchResponse)
	eq(t, "closing: error", closing.ErrorCode, 0)
	eq(t, "closing: session", closing.SessionID, 0)
	o.epoch = 3
	eq(t, "after closing", c.do(fetchRequest(topic, o)).(*kmsg.FetchResponse).ErrorCode, 70)
}

// TestFetchVersions: every version from 4 on returns the record.
func TestFetchVersions(t *testing.T) {
	c := connect(t)
	topic := unique("versions")
	createTopic(c, topic, 1)
	mustProduce(c, topic, 0, one("x"))
	id := topicID(c, topic)
	for v := int16(4); v <= 17; v++ {
		o := plainFetch()
		o.version, o.topicID = v, id
		eq(t, "batches", len(split(t, fetchWith(c, topic, o, want{0, 0, 1 << 20})[0].RecordBatches)), 1)
	}
	for v := int16(3); v <= 12; v++ {
		eq(t, "produce", produce(c, v, topic, 0, one("y")).ErrorCode, 0)
	}
	for v := int16(1); v <= 11; v++ {
		req := kmsg.NewPtrListOffsetsRequest()
		req.ReplicaID = -1
		x := kmsg.NewListOffsetsRequestTopic()
		x.Topic = topic
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Timestamp, p.CurrentLeaderEpoch = -1, -1
		x.Partitions = append(x.Partitions, p)
		req.Topics = append(req.Topics, x)
		eq(t, "list offsets", do[*kmsg.ListOffsetsResponse](c, v, req).Topics[0].Partitions[0].Offset, 11)
	}
	for v := int16(0); v <= 13; v++ {
		req := kmsg.NewPtrMetadataRequest()
		mt := kmsg.NewMetadataRequestTopic()
		mt.Topic = kmsg.StringPtr(topic)
		req.Topics = append(req.Topics, mt)
		m := do[*kmsg.MetadataResponse](c, v, req)
		eq(t, "metadata", len(m.Topics) == 1 && m.Topics[0].ErrorCode == 0 && len(m.Topics[0].Partitions) == 1, true)
	}
}

// TestOffsetForTimestamp is case B28.
func TestOffsetForTimestamp(t *testing.T) {
	c := connect(t)
	topic := unique("b28")
	createTopic(c, topic, 2)
	base := time.Now().UnixMilli() - 1000
	mustProduce(c, topic, 0, newBatch(rt(base, "a"), rt(base+10, "b"), rt(base+5, "c")).encode())
	mustProduce(c, topic, 0, newBatch(rt(base+7, "d")).encode())
	for _, x := range []struct{ at, offset, stamp int64 }{
		{-1, 0, 0}, {0, 0, 0}, {1, 1, 10}, {5, 1, 10}, {7, 1, 10}, {8, 1, 10}, {10, 1, 10},
	} {
		p := listOffset(c, topic, 0, base+x.at)
		if p.ErrorCode != 0 || p.Offset != x.offset || p.Timestamp != base+x.stamp || p.LeaderEpoch != 0 {
			t.Errorf("at +%d: error %d, offset %d, timestamp +%d, epoch %d; want offset %d, +%d", x.at, p.ErrorCode, p.Offset, p.Timestamp-base, p.LeaderEpoch, x.offset, x.stamp)
		}
	}
	for partition, at := range []int64{base + 11, base} {
		p := listOffset(c, topic, int32(partition), at)
		if p.ErrorCode != 0 || p.Offset != -1 || p.Timestamp != -1 || p.LeaderEpoch != -1 {
			t.Errorf("partition %d, a miss: %+v", partition, p)
		}
	}
	maxTs := listOffset(c, topic, 0, -3)
	eq(t, "max timestamp's offset", maxTs.Offset, 1)
	eq(t, "max timestamp", maxTs.Timestamp, base+10)
	eq(t, "earliest", listOffset(c, topic, 0, -2).Offset, 0)
	eq(t, "latest", listOffset(c, topic, 0, -1).Offset, 4)
	eq(t, "earliest local", listOffsetV(c, 8, topic, -4).Offset, 0)
	eq(t, "latest tiered", listOffsetV(c, 9, topic, -5).Offset, -1)
	eq(t, "earliest pending upload", listOffsetV(c, 11, topic, -6).Offset, -1)

	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	x := kmsg.NewListOffsetsRequestTopic()
	x.Topic = topic
	for range 2 {
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Timestamp, p.CurrentLeaderEpoch = -1, -1
		x.Partitions = append(x.Partitions, p)
	}
	req.Topics = append(req.Topics, x)
	twice := do[*kmsg.ListOffsetsResponse](c, 7, req).Topics[0].Partitions
	eq(t, "twice: answers", len(twice), 1)
	eq(t, "twice: error", twice[0].ErrorCode, 42)
}

func listOffsetV(c *conn, version int16, topic string, ts int64) kmsg.ListOffsetsResponseTopicPartition {
	c.t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	x := kmsg.NewListOffsetsRequestTopic()
	x.Topic = topic
	p := kmsg.NewListOffsetsRequestTopicPartition()
	p.Timestamp, p.CurrentLeaderEpoch = ts, -1
	x.Partitions = append(x.Partitions, p)
	req.Topics = append(req.Topics, x)
	return do[*kmsg.ListOffsetsResponse](c, version, req).Topics[0].Partitions[0]
}

// TestLeaderEpochs: KIP-320's checks and lookup.
func TestLeaderEpochs(t *testing.T) {
	c := connect(t)
	topic := unique("epochs")
	createTopic(c, topic, 1)
	mustProduce(c, topic, 0, newBatch(r("a"), r("b")).encode())
	ask := func(current, epoch int32) kmsg.OffsetForLeaderEpochResponseTopicPartition {
		t.Helper()
		req := kmsg.NewPtrOffsetForLeaderEpochRequest()
		req.ReplicaID = -1
		x := kmsg.NewOffsetForLeaderEpochRequestTopic()
		x.Topic = topic
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.CurrentLeaderEpoch, p.LeaderEpoch = current, epoch
		x.Partitions = append(x.Partitions, p)
		req.Topics = append(req.Topics, x)
		return do[*kmsg.OffsetForLeaderEpochResponse](c, 4, req).Topics[0].Partitions[0]
	}
	now := metadata(c, 12, topic).Topics[0].Partitions[0].LeaderEpoch
	p := ask(now, now)
	eq(t, "end offset", p.EndOffset, 2)
	eq(t, "epoch", p.LeaderEpoch, now)
	p = ask(-1, now+5)
	eq(t, "unknown epoch's end", p.EndOffset, -1)
	eq(t, "unknown epoch", p.LeaderEpoch, -1)
	eq(t, "leader epoch ahead", ask(now+1, now).ErrorCode, 75)
}
