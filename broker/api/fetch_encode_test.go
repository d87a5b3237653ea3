package api

import (
	"bytes"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/storage"
)

// The hand-written encoder against kmsg's, which agrees with Kafka byte for byte, in every version.
func TestFetchEncoderAgreesWithKmsg(t *testing.T) {
	rack := "r1"
	nodes := []endpoint{{id: 3, host: "h", port: 9092}, {id: 4, host: string(bytes.Repeat([]byte("x"), 200)), port: 9093, rack: &rack}}
	idA, idB := protocol.UUID{1}, protocol.UUID{2}
	moved := noOffsets(protocol.NotLeaderOrFollower)
	moved.topic, moved.topicID, moved.partition, moved.leader = "b", idB, 7, currentLeader{4, 9}
	plain := fetched{topic: "a", topicID: idA, partition: 0, highWatermark: 10, lastStableOffset: 9, logStartOffset: 2, preferred: -1, leader: noLeader}
	committed := plain
	committed.partition, committed.committed = 1, true
	committed.aborted = []storage.AbortedTxn{{ProducerID: 5, FirstOffset: 6}, {ProducerID: 7, FirstOffset: 8}}
	none := plain
	none.partition, none.committed, none.preferred = 2, true, 4
	again := plain // a topic that comes back after another is written again
	again.partition = 3
	diverged := plain
	diverged.partition, diverged.diverging = 4, &storage.EpochEnd{Epoch: 3, Offset: 12}
	both := diverged
	both.partition, both.leader = 5, currentLeader{3, 4}
	for name, parts := range map[string][]fetched{
		"nothing": nil,
		"many":    {plain, committed, none, moved, again, diverged, both},
	} {
		for v := int16(4); v <= 18; v++ {
			endpoints := nodes
			if name == "nothing" {
				endpoints = nil
			}
			e := newFetchEncoder(v)
			e.encode(protocol.FetchSessionIDNotFound, 77, parts, endpoints)
			want := kmsgFetch(v, parts, endpoints).AppendTo(nil)
			if got := e.Bytes[Headroom:]; !bytes.Equal(got, want) {
				t.Errorf("%s v%d:\nhave %x\nwant %x", name, v, got, want)
			}
			e.Release()
		}
	}
}

func kmsgFetch(v int16, parts []fetched, nodes []endpoint) *kmsg.FetchResponse {
	r := kmsg.NewPtrFetchResponse()
	r.Version, r.ErrorCode, r.SessionID = v, int16(protocol.FetchSessionIDNotFound), 77
	for i, p := range parts {
		if i == 0 || !sameTopic(&p, &parts[i-1]) {
			topic := kmsg.NewFetchResponseTopic()
			topic.Topic, topic.TopicID = p.topic, p.topicID
			r.Topics = append(r.Topics, topic)
		}
		o := kmsg.NewFetchResponseTopicPartition()
		o.Partition, o.ErrorCode, o.HighWatermark = p.partition, int16(p.code), p.highWatermark
		o.LastStableOffset, o.LogStartOffset, o.PreferredReadReplica = p.lastStableOffset, p.logStartOffset, p.preferred
		o.RecordBatches = []byte{}
		if p.committed {
			o.AbortedTransactions = []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
		}
		for _, a := range p.aborted {
			x := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
			x.ProducerID, x.FirstOffset = a.ProducerID, a.FirstOffset
			o.AbortedTransactions = append(o.AbortedTransactions, x)
		}
		if p.leader.epoch >= 0 {
			o.CurrentLeader.LeaderID, o.CurrentLeader.LeaderEpoch = p.leader.id, p.leader.epoch
		}
		if p.diverging != nil {
			o.DivergingEpoch.Epoch, o.DivergingEpoch.EndOffset = p.diverging.Epoch, p.diverging.Offset
		}
		last := &r.Topics[len(r.Topics)-1]
		last.Partitions = append(last.Partitions, o)
	}
	if v < 16 {
		return r
	}
	for _, n := range nodes {
		b := kmsg.NewFetchResponseBroker()
		b.NodeID, b.Host, b.Port, b.Rack = n.id, n.host, n.port, n.rack
		r.Brokers = append(r.Brokers, b)
	}
	return r
}
