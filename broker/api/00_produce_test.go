package api_test

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

func onePartition(t *testing.T, r *kmsg.ProduceResponse) kmsg.ProduceResponseTopicPartition {
	t.Helper()
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		t.Fatalf("%+v", r)
	}
	return r.Topics[0].Partitions[0]
}

func TestProduceInEveryVersion(t *testing.T) {
	e := newEdge(t)
	id := e.CreateTopic("t", 1)
	for v := int16(3); v <= 13; v++ {
		req := produce("t", 0, -1, batch("a", "b"))
		req.Topics[0].TopicID = id
		resp := ask[*kmsg.ProduceResponse](e, req, v)
		p := onePartition(t, resp)
		if want := int64(v-3) * 2; p.ErrorCode != 0 || p.BaseOffset != want || p.LogAppendTime != -1 {
			t.Errorf("v%d: %+v, want base %d", v, p, want)
		}
		if v >= 13 && resp.Topics[0].TopicID != id || v < 13 && resp.Topics[0].Topic != "t" {
			t.Errorf("v%d: topic %+v", v, resp.Topics[0])
		}
	}
}

func TestProduceRefusals(t *testing.T) {
	e := newEdge(t)
	e.CreateTopic("t", 1)
	e.CreateTopic("c", 1, "cleanup.policy", "compact")
	e.CreateTopic(protocol.ConsumerOffsetsTopic, 1)
	withTxn := batch("a")
	withTxn[22] |= 1 << 4 // attributes: transactional
	badCRC, noSequence := batch("a"), record.Batch(batch("a"))
	badCRC[17]++
	noSequence[43] = 0 // a producer id, but no sequence
	noSequence.UpdateCRC()
	for name, c := range map[string]struct {
		topic     string
		partition int32
		acks      int16
		records   []byte
		want      protocol.ErrorCode
		logStart  int64 // where Kafka names it beside the code, else -1
	}{
		"unknown topic":               {"nope", 0, 1, batch("a"), protocol.UnknownTopicOrPartition, -1},
		"unknown partition":           {"t", 1, 1, batch("a"), protocol.UnknownTopicOrPartition, -1},
		"acks 2":                      {"t", 0, 2, batch("a"), protocol.InvalidRequiredAcks, -1},
		"acks -2":                     {"t", 0, -2, batch("a"), protocol.InvalidRequiredAcks, -1},
		"internal topic":              {protocol.ConsumerOffsetsTopic, 0, 1, batch("a"), protocol.InvalidTopicException, -1},
		"no bytes":                    {"t", 0, 1, []byte{}, protocol.InvalidRecord, -1},
		"null records":                {"t", 0, 1, nil, protocol.InvalidRecord, -1},
		"transactional without an id": {"t", 0, 1, withTxn, protocol.TransactionalIDAuthorizationFailed, -1},
		"null key on a compacted one": {"c", 0, 1, batch("a"), protocol.InvalidRecord, 0},
		"wrong CRC":                   {"t", 0, 1, badCRC, protocol.CorruptMessage, -1},
		"a producer's, no sequence":   {"t", 0, 1, noSequence, protocol.InvalidRecord, 0},
	} {
		p := onePartition(t, ask[*kmsg.ProduceResponse](e, produce(c.topic, c.partition, c.acks, c.records), 9))
		if got := protocol.ErrorCode(p.ErrorCode); got != c.want || p.BaseOffset != -1 || p.LogStartOffset != c.logStart {
			t.Errorf("%s: %v, %+v, want %v", name, got, p, c.want)
		}
	}
	if got := e.put("t", 0, batch("a")); got != 0 {
		t.Errorf("the refused left a gap: offset %d", got)
	}
	// Case B16: which record was at fault, from version 8 on.
	p := onePartition(t, ask[*kmsg.ProduceResponse](e, produce("c", 0, 1, batch("a", "b")), 8))
	if len(p.ErrorRecords) == 0 || p.ErrorRecords[0].RelativeOffset != 0 || p.ErrorMessage == nil {
		t.Errorf("%+v", p)
	}
	unknown := produce("t", 0, 1, batch("a"))
	unknown.Topics[0].TopicID = protocol.UUID{9}
	resp := ask[*kmsg.ProduceResponse](e, unknown, 13)
	if got := protocol.ErrorCode(onePartition(t, resp).ErrorCode); got != protocol.UnknownTopicID || resp.Topics[0].TopicID != unknown.Topics[0].TopicID {
		t.Errorf("unknown id: %v", got)
	}
}

// acks=0 has no answer, and no other way to report an error than to close the connection.
func TestProduceWithoutAcks(t *testing.T) {
	e := newEdge(t)
	e.CreateTopic("t", 1)
	reply, err := e.reply(produce("t", 0, 0, batch("a")), 9)
	if err != nil || !reply.IsNone() {
		t.Errorf("%+v, %v", reply, err)
	}
	if _, err := e.reply(produce("nope", 0, 0, batch("a")), 9); protocol.CodeOf(err) != protocol.UnknownTopicOrPartition {
		t.Errorf("error %v", err)
	}
	if got := e.put("t", 0, batch("a")); got != 1 {
		t.Errorf("offset %d", got)
	}
}

// A client that comes to the wrong broker learns where to go, at the address of its listener (KIP-951).
func TestProduceSaysWhereTheLeaderWent(t *testing.T) {
	e := newEdge(t)
	id := e.CreateTopic("t", 1)
	e.MoveLeader("t", 0, 2)
	e.conn.Listener = "OUTSIDE"
	for v, hinted := range map[int16]bool{9: false, 10: true, 13: true} {
		req := produce("t", 0, -1, batch("a"))
		req.Topics[0].TopicID = id
		resp := ask[*kmsg.ProduceResponse](e, req, v)
		p := onePartition(t, resp)
		if protocol.ErrorCode(p.ErrorCode) != protocol.NotLeaderOrFollower {
			t.Errorf("v%d: %+v", v, p)
		}
		if got := p.CurrentLeader.LeaderID == 2 && p.CurrentLeader.LeaderEpoch == 1; got != hinted {
			t.Errorf("v%d: leader %+v", v, p.CurrentLeader)
		}
		if !hinted {
			continue
		}
		if len(resp.Brokers) != 1 || resp.Brokers[0].Host != "broker.example.com" || resp.Brokers[0].Port != 19093 {
			t.Errorf("v%d: brokers %+v", v, resp.Brokers)
		}
	}
}
