//go:build compat

package differential

import (
	"fmt"
	"hash/crc32"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func ptr[T any](v T) *T { return &v }

// newTopic makes a topic and waits until every partition answers; its id gets a name.
func (s *side) newTopic(name string, partitions int32, cfg ...string) [16]byte {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 10000
	req.Topics = append(req.Topics, topicSpec(name, partitions, 1, cfg...))
	r := ask[*kmsg.CreateTopicsResponse](s, 7, req)
	if r.Topics[0].ErrorCode != 0 {
		s.fail("create %s: error %d", name, r.Topics[0].ErrorCode)
	}
	return s.awaitTopic(name, partitions)
}

func topicSpec(name string, partitions int32, rf int16, cfg ...string) kmsg.CreateTopicsRequestTopic {
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, partitions, rf
	for i := 0; i+1 < len(cfg); i += 2 {
		rc := kmsg.NewCreateTopicsRequestTopicConfig()
		rc.Name = cfg[i]
		if cfg[i+1] != null {
			rc.Value = ptr(cfg[i+1])
		}
		rt.Configs = append(rt.Configs, rc)
	}
	return rt
}

const null = "\x00null"

func metadataRequest(topics ...string) *kmsg.MetadataRequest {
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = false
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, n := range topics {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = ptr(n)
		req.Topics = append(req.Topics, rt)
	}
	return req
}

func (s *side) awaitTopic(name string, partitions int32) [16]byte {
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		t := ask[*kmsg.MetadataResponse](s, 12, metadataRequest(name)).Topics[0]
		ready := t.ErrorCode == 0 && len(t.Partitions) == int(partitions)
		for _, p := range t.Partitions {
			ready = ready && p.ErrorCode == 0 && p.Leader >= 0
		}
		if ready && s.serves(name, partitions) {
			s.marks.set(fmt.Sprintf("%x", t.TopicID), "id of "+name)
			return t.TopicID
		}
	}
	s.fail("topic %s is not there after 15 s", name)
	return [16]byte{}
}

// serves says whether every partition answers ListOffsets.
func (s *side) serves(name string, partitions int32) bool {
	var all []listPart
	for p := range partitions {
		all = append(all, listPart{p, -1, -1})
	}
	for _, p := range ask[*kmsg.ListOffsetsResponse](s, 5, listOffsets(0, name, all...)).Topics[0].Partitions {
		if p.ErrorCode != 0 {
			return false
		}
	}
	return true
}

// awaitGone waits until a deleted topic is unknown.
func (s *side) awaitGone(name string) {
	for deadline := time.Now().Add(15 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if ask[*kmsg.MetadataResponse](s, 12, metadataRequest(name)).Topics[0].ErrorCode == 3 {
			return
		}
	}
	s.fail("topic %s is still there", name)
}

type listPart struct {
	partition, epoch int32
	ts               int64
}

func listOffsets(isolation int8, topic string, parts ...listPart) *kmsg.ListOffsetsRequest {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.IsolationLevel = -1, isolation
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = topic
	for _, p := range parts {
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.CurrentLeaderEpoch, rp.Timestamp = p.partition, p.epoch, p.ts
		rt.Partitions = append(rt.Partitions, rp)
	}
	req.Topics = append(req.Topics, rt)
	return req
}

// batch is a record batch to produce.
type batch struct {
	pid    int64
	epoch  int16
	seq    int32
	attrs  int16
	values []string // "" = null key, null value; else key=k
	ts     []int64  // default: a fixed one, now
}

var now = time.Now().UnixMilli()

func values(v ...string) batch { return batch{pid: -1, epoch: -1, seq: -1, values: v} }

func (b batch) encode() []byte {
	rb := kmsg.RecordBatch{PartitionLeaderEpoch: -1, Magic: 2, Attributes: b.attrs, LastOffsetDelta: int32(len(b.values)) - 1,
		ProducerID: b.pid, ProducerEpoch: b.epoch, FirstSequence: b.seq, NumRecords: int32(len(b.values)), FirstTimestamp: now, MaxTimestamp: now}
	if b.ts != nil {
		rb.FirstTimestamp, rb.MaxTimestamp = b.ts[0], b.ts[0]
	}
	for i, v := range b.values {
		r := kmsg.Record{OffsetDelta: int32(i), Key: []byte("k"), Value: []byte(v)}
		if b.ts != nil {
			r.TimestampDelta64 = b.ts[i] - rb.FirstTimestamp
			rb.MaxTimestamp = max(rb.MaxTimestamp, b.ts[i])
		}
		if v == "" {
			r.Key, r.Value = nil, nil
		}
		r.Length = int32(len(r.AppendTo(nil)) - 1)
		for l := -1; l != int(r.Length); { // the varint of the length may take more bytes
			l = int(r.Length)
			r.Length = int32(len(r.AppendTo(nil)) - varintLen(int64(r.Length)))
		}
		rb.Records = r.AppendTo(rb.Records)
	}
	rb.Length = int32(49 + len(rb.Records))
	raw := rb.AppendTo(nil)
	rb.CRC = int32(crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	return rb.AppendTo(nil)
}

func varintLen(v int64) int {
	n, u := 1, uint64(v<<1)^uint64(v>>63)
	for ; u >= 0x80; u >>= 7 {
		n++
	}
	return n
}

type producePart struct {
	topic     string
	id        [16]byte
	partition int32
	records   []byte
}

func produceRequest(acks int16, parts ...producePart) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acks, 5000
	for _, p := range parts {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != p.topic || req.Topics[n-1].TopicID != p.id {
			rt := kmsg.NewProduceRequestTopic()
			rt.Topic, rt.TopicID = p.topic, p.id
			req.Topics = append(req.Topics, rt)
		}
		rp := kmsg.NewProduceRequestTopicPartition()
		rp.Partition, rp.Records = p.partition, p.records
		rt := &req.Topics[len(req.Topics)-1]
		rt.Partitions = append(rt.Partitions, rp)
	}
	return req
}

// fill appends batches without recording the answers.
func (s *side) fill(topic string, partition int32, batches ...batch) {
	for _, b := range batches {
		r := ask[*kmsg.ProduceResponse](s, 9, produceRequest(-1, producePart{topic: topic, partition: partition, records: b.encode()}))
		if c := r.Topics[0].Partitions[0].ErrorCode; c != 0 {
			s.fail("produce to %s-%d: error %d", topic, partition, c)
		}
	}
}
