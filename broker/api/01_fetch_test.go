package api_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/broker/api/fetchsession"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

// place is a partition and what to fetch of it.
type place struct {
	topic     string
	id        protocol.UUID
	partition int32
	offset    int64
	maxBytes  int32
}

func fetch(places ...place) *kmsg.FetchRequest {
	r := kmsg.NewPtrFetchRequest()
	r.MaxBytes, r.SessionEpoch, r.MinBytes = 1<<20, fetchsession.Final, 1
	for _, p := range places {
		o := kmsg.NewFetchRequestTopicPartition()
		o.Partition, o.FetchOffset, o.PartitionMaxBytes = p.partition, p.offset, p.maxBytes
		if o.PartitionMaxBytes == 0 {
			o.PartitionMaxBytes = 1 << 20
		}
		t := kmsg.NewFetchRequestTopic()
		t.Topic, t.TopicID, t.Partitions = p.topic, p.id, []kmsg.FetchRequestTopicPartition{o}
		r.Topics = append(r.Topics, t)
	}
	return r
}

// bases are the base offsets of the whole batches in a partition's records.
func bases(t *testing.T, records []byte) []int64 {
	t.Helper()
	var out []int64
	for len(records) > 0 {
		b, rest, err := record.Next(records)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, b.BaseOffset())
		records = rest
	}
	return out
}

func (e *edge) fetchOne(version int16, p place) kmsg.FetchResponseTopicPartition {
	e.t.Helper()
	r := ask[*kmsg.FetchResponse](e, fetch(p), version)
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		e.t.Fatalf("%+v", r)
	}
	return r.Topics[0].Partitions[0]
}

func TestFetchInEveryVersion(t *testing.T) {
	e := newEdge(t)
	id := e.CreateTopic("t", 1)
	e.put("t", 0, batch("a", "b"))
	for v := int16(4); v <= 18; v++ {
		for iso := range int8(2) {
			req := fetch(place{topic: "t", id: id})
			req.IsolationLevel = iso
			r := ask[*kmsg.FetchResponse](e, req, v)
			p := r.Topics[0].Partitions[0]
			if p.ErrorCode != 0 || p.HighWatermark != 2 || p.LastStableOffset != 2 || len(bases(t, p.RecordBatches)) != 1 {
				t.Errorf("v%d: %+v", v, p)
			}
			if (p.AbortedTransactions != nil) != (iso == 1) { // case B24
				t.Errorf("v%d isolation %d: aborted %v", v, iso, p.AbortedTransactions)
			}
			if v >= 13 && r.Topics[0].TopicID != id || v < 13 && r.Topics[0].Topic != "t" {
				t.Errorf("v%d: topic %+v", v, r.Topics[0])
			}
		}
	}
}

// Case B20: a batch is found by any offset in it.
func TestFetchFromTheMiddleOfABatch(t *testing.T) {
	e := newEdge(t)
	e.CreateTopic("t", 1)
	e.put("t", 0, batch("a", "b", "c"))
	e.put("t", 0, batch("d", "e"))
	for offset, want := range [][]int64{{0, 3}, {0, 3}, {0, 3}, {3}, {3}, {}} {
		p := e.fetchOne(12, place{topic: "t", offset: int64(offset)})
		if got := bases(t, p.RecordBatches); p.ErrorCode != 0 || len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
			t.Errorf("offset %d: %+v, batches %v, want %v", offset, p, got, want)
		}
	}
}

// Case B21: the first batch comes whole whatever the limits, in the first partition that has data only.
func TestFetchLimits(t *testing.T) {
	e := newEdge(t)
	e.CreateTopic("t", 3)
	first := batch(string(bytes.Repeat([]byte("x"), 200)))
	size := len(first)
	for n := range int32(2) {
		e.put("t", n+1, bytes.Clone(first))
		e.put("t", n+1, batch("y"))
	}
	for _, limit := range []int32{0, 1, int32(size)} {
		req := fetch(place{topic: "t", partition: 0, maxBytes: limit}, place{topic: "t", partition: 1, maxBytes: limit}, place{topic: "t", partition: 2, maxBytes: limit})
		for i := range req.Topics {
			req.Topics[i].Partitions[0].PartitionMaxBytes = limit
		}
		req.MaxBytes = limit
		r := ask[*kmsg.FetchResponse](e, req, 12)
		var sizes []int
		for _, topic := range r.Topics {
			for _, p := range topic.Partitions {
				if p.ErrorCode != 0 {
					t.Errorf("limit %d: %+v", limit, p)
				}
				sizes = append(sizes, len(p.RecordBatches))
			}
		}
		if len(sizes) != 3 || sizes[0] != 0 || sizes[1] != size || sizes[2] != 0 {
			t.Errorf("limit %d: %v, want 0 %d 0", limit, sizes, size)
		}
	}
}

// Case B26.
func TestFetchOutOfRange(t *testing.T) {
	e := newEdge(t)
	e.CreateTopic("t", 1)
	e.put("t", 0, batch("a"))
	for offset, want := range map[int64]protocol.ErrorCode{-1: protocol.OffsetOutOfRange, 0: 0, 1: 0, 2: protocol.OffsetOutOfRange} {
		p := e.fetchOne(12, place{topic: "t", offset: offset})
		if protocol.ErrorCode(p.ErrorCode) != want {
			t.Errorf("offset %d: %+v", offset, p)
		}
		if want != 0 && (p.HighWatermark != -1 || p.LastStableOffset != -1 || p.LogStartOffset != -1) {
			t.Errorf("offset %d: an error carries no hint: %+v", offset, p)
		}
	}
}

// Case B23.
func TestFetchWaits(t *testing.T) {
	const wait = 700
	data := func(e *edge) { e.put("t", 0, batch("x")) }
	for name, c := range map[string]struct {
		places   []place
		minBytes int32
		maxBytes int32
		before   func(*edge)
		meantime func(*edge) // after 200 ms
		ms       int
	}{
		"empty":                           {places: []place{{topic: "t"}}, minBytes: 1, ms: wait},
		"empty, min bytes 0":              {places: []place{{topic: "t"}}, ms: 0},
		"produced to meanwhile":           {places: []place{{topic: "t"}}, minBytes: 1, meantime: data, ms: 200},
		"less than min bytes":             {places: []place{{topic: "t"}}, minBytes: 1 << 20, before: data, ms: wait},
		"partition limit below min bytes": {places: []place{{topic: "t", maxBytes: 70}}, minBytes: 1 << 19, before: data, ms: wait},
		"request limit below min bytes":   {places: []place{{topic: "t"}}, minBytes: 1 << 19, maxBytes: 50, before: data, ms: 0},
		"one out of range":                {places: []place{{topic: "t"}, {topic: "t", partition: 1, offset: 9}}, minBytes: 1, ms: 0},
		"one unknown":                     {places: []place{{topic: "t"}, {topic: "nope"}}, minBytes: 1, ms: wait},
		"only unknown":                    {places: []place{{topic: "nope"}}, minBytes: 1, ms: 0},
		"topic deleted meanwhile":         {places: []place{{topic: "t"}}, minBytes: 1, meantime: func(e *edge) { e.DeleteTopic("t") }, ms: 200},
		"leader moved meanwhile":          {places: []place{{topic: "t"}}, minBytes: 1, meantime: func(e *edge) { e.MoveLeader("t", 0, 2) }, ms: 200},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEdge(t)
				e.CreateTopic("t", 2)
				if c.before != nil {
					c.before(e)
				}
				if c.meantime != nil {
					time.AfterFunc(200*time.Millisecond, func() { c.meantime(e) })
				}
				req := fetch(c.places...)
				req.MaxWaitMillis, req.MinBytes = wait, c.minBytes
				if c.maxBytes > 0 {
					req.MaxBytes = c.maxBytes
				}
				start := time.Now()
				r := ask[*kmsg.FetchResponse](e, req, 12)
				if got := int(time.Since(start).Milliseconds()); got != c.ms {
					t.Errorf("answered after %d ms, want %d", got, c.ms)
				}
				n := 0
				for _, topic := range r.Topics {
					n += len(topic.Partitions)
				}
				if n != len(c.places) {
					t.Errorf("%d partitions answered of %d", n, len(c.places))
				}
				if c.meantime != nil && name == "produced to meanwhile" && len(r.Topics[0].Partitions[0].RecordBatches) == 0 {
					t.Error("woken without data")
				}
			})
		})
	}
}

// A session sends what changed, and only that (KIP-227).
func TestFetchSession(t *testing.T) {
	e := newEdge(t)
	id := e.CreateTopic("t", 3)
	req := fetch(place{id: id}, place{id: id, partition: 1}, place{id: id, partition: 2})
	req.SessionEpoch = fetchsession.Initial
	r := ask[*kmsg.FetchResponse](e, req, 13)
	if r.SessionID == 0 || r.ErrorCode != 0 || partitionsOf(r) != "0 1 2" {
		t.Fatalf("%+v", r)
	}
	session, epoch := r.SessionID, int32(1)
	next := func(places ...place) *kmsg.FetchResponse {
		t.Helper()
		req := fetch(places...)
		req.SessionID, req.SessionEpoch = session, epoch
		epoch++
		r := ask[*kmsg.FetchResponse](e, req, 13)
		if r.ErrorCode != 0 || r.SessionID != session {
			t.Fatalf("%+v", r)
		}
		return r
	}
	if got := partitionsOf(next()); got != "" {
		t.Errorf("nothing changed, sent %q", got)
	}
	e.put("t", 1, batch("a"))
	r = next()
	if got := partitionsOf(r); got != "1" || len(r.Topics[0].Partitions[0].RecordBatches) == 0 {
		t.Errorf("one partition has data, sent %q", got)
	}
	if got := partitionsOf(next(place{id: id, partition: 1, offset: 1})); got != "" {
		t.Errorf("caught up, sent %q", got)
	}
	e.put("t", 0, batch("a"))
	e.put("t", 1, batch("b"))
	if got := partitionsOf(next()); got != "0 1" {
		t.Errorf("partition 0 was not served for longer, sent %q", got)
	}
	again := fetch()
	again.SessionID, again.SessionEpoch = session, epoch-1
	if r := ask[*kmsg.FetchResponse](e, again, 13); protocol.ErrorCode(r.ErrorCode) != protocol.InvalidFetchSessionEpoch || r.SessionID != 0 {
		t.Errorf("an epoch twice: %+v", r)
	}
	again.SessionID++
	if r := ask[*kmsg.FetchResponse](e, again, 13); protocol.ErrorCode(r.ErrorCode) != protocol.FetchSessionIDNotFound {
		t.Errorf("unknown session: %+v", r)
	}
	again.SessionID, again.SessionEpoch = session, epoch
	if r := ask[*kmsg.FetchResponse](e, again, 12); protocol.ErrorCode(r.ErrorCode) != protocol.FetchSessionTopicIDError {
		t.Errorf("by name in a session of ids: %+v", r)
	}
	again.SessionEpoch = fetchsession.Final
	ask[*kmsg.FetchResponse](e, again, 13)
	again.SessionEpoch = epoch
	if r := ask[*kmsg.FetchResponse](e, again, 13); protocol.ErrorCode(r.ErrorCode) != protocol.FetchSessionIDNotFound {
		t.Errorf("a closed session: %+v", r)
	}
}

func partitionsOf(r *kmsg.FetchResponse) string {
	var out []byte
	for _, topic := range r.Topics {
		for _, p := range topic.Partitions {
			if len(out) > 0 {
				out = append(out, ' ')
			}
			out = append(out, byte('0'+p.Partition))
		}
	}
	return string(out)
}

// Case B13: a session that outlives its topic.
func TestFetchSessionOfADeletedTopic(t *testing.T) {
	e := newEdge(t)
	old := e.CreateTopic("t", 1)
	req := fetch(place{id: old})
	req.SessionEpoch = fetchsession.Initial
	r := ask[*kmsg.FetchResponse](e, req, 13)
	incremental := func(epoch int32) protocol.ErrorCode {
		req := fetch()
		req.SessionID, req.SessionEpoch = r.SessionID, epoch
		return protocol.ErrorCode(ask[*kmsg.FetchResponse](e, req, 13).Topics[0].Partitions[0].ErrorCode)
	}
	e.DeleteTopic("t")
	if got := incremental(1); got != protocol.UnknownTopicOrPartition {
		t.Errorf("deleted: %v", got)
	}
	e.CreateTopic("t", 1)
	if got := incremental(2); got != protocol.InconsistentTopicID {
		t.Errorf("created again: %v", got)
	}
	sessionless := ask[*kmsg.FetchResponse](e, fetch(place{id: old}), 13)
	if got := protocol.ErrorCode(sessionless.Topics[0].Partitions[0].ErrorCode); got != protocol.UnknownTopicID {
		t.Errorf("by the old id: %v", got)
	}
	if p := e.fetchOne(12, place{topic: "t", offset: 5}); protocol.ErrorCode(p.ErrorCode) != protocol.OffsetOutOfRange {
		t.Errorf("by name, beyond the new end: %+v", p)
	}
}

func TestFetchSaysWhereTheLeaderWent(t *testing.T) {
	e := newEdge(t)
	id := e.CreateTopic("t", 1)
	e.MoveLeader("t", 0, 2)
	for _, v := range []int16{4, 11, 12, 15, 16, 18} {
		r := ask[*kmsg.FetchResponse](e, fetch(place{topic: "t", id: id}), v)
		p := r.Topics[0].Partitions[0]
		if protocol.ErrorCode(p.ErrorCode) != protocol.NotLeaderOrFollower {
			t.Errorf("v%d: %+v", v, p)
		}
		if v >= 12 && p.CurrentLeader.LeaderID != 2 {
			t.Errorf("v%d: leader %+v", v, p.CurrentLeader)
		}
		if v >= 16 && (len(r.Brokers) != 1 || r.Brokers[0].Port != 9093) {
			t.Errorf("v%d: brokers %+v", v, r.Brokers)
		}
	}
}

func TestFetchEpochs(t *testing.T) {
	e := newEdge(t)
	e.CreateTopic("t", 1)
	e.put("t", 0, batch("a"))
	for epoch, want := range map[int32]protocol.ErrorCode{-1: 0, 0: 0, 1: protocol.UnknownLeaderEpoch} {
		req := fetch(place{topic: "t"})
		req.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch
		if p := ask[*kmsg.FetchResponse](e, req, 12).Topics[0].Partitions[0]; protocol.ErrorCode(p.ErrorCode) != want {
			t.Errorf("epoch %d: %+v", epoch, p)
		}
	}
	// The client has a record at 1 in epoch 0, where this log ends.
	req := fetch(place{topic: "t", offset: 2})
	req.Topics[0].Partitions[0].LastFetchedEpoch = 0
	p := ask[*kmsg.FetchResponse](e, req, 12).Topics[0].Partitions[0]
	if p.ErrorCode != 0 || p.DivergingEpoch.Epoch != 0 || p.DivergingEpoch.EndOffset != 1 || len(p.RecordBatches) != 0 {
		t.Errorf("diverging: %+v", p)
	}
}

// What Kafka 4.4 answers to requests that no client should send.
func TestFetchOdd(t *testing.T) {
	e := newEdge(t)
	id := e.CreateTopic("t", 1)
	e.put("t", 0, batch("a"))
	for v := int16(4); v <= 18; v++ {
		req := fetch(place{topic: "t", id: id})
		req.IsolationLevel = 2
		r := ask[*kmsg.FetchResponse](e, req, v)
		if v >= 7 && protocol.ErrorCode(r.ErrorCode) != protocol.UnknownServerError || (len(r.Topics) == 1) != (v < 13) {
			t.Errorf("isolation 2, v%d: %+v", v, r)
		}
		if v < 13 {
			if p := r.Topics[0].Partitions[0]; protocol.ErrorCode(p.ErrorCode) != protocol.UnknownServerError || p.AbortedTransactions == nil {
				t.Errorf("isolation 2, v%d: %+v", v, p)
			}
			if p := e.fetchOne(v, place{}); protocol.ErrorCode(p.ErrorCode) != protocol.UnknownTopicOrPartition || p.AbortedTransactions == nil {
				t.Errorf("no name, v%d: %+v", v, p)
			}
		}
		req = fetch(place{topic: "t", id: id})
		req.Topics[0].Partitions[0].CurrentLeaderEpoch, req.Topics[0].Partitions[0].LastFetchedEpoch = -2, -7
		if p := ask[*kmsg.FetchResponse](e, req, v).Topics[0].Partitions[0]; p.ErrorCode != 0 || len(p.RecordBatches) == 0 {
			t.Errorf("negative epochs, v%d: %+v", v, p)
		}
	}
}
