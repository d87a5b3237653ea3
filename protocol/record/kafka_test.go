package record

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/ottla/ottla/protocol"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// OTTLA_KAFKA is the address of a running Apache Kafka, host:port: what it answers to a set of good
// and bad batches must be what Validate says, and what it stores what Validate makes of them.

type kafka struct {
	t    *testing.T
	conn net.Conn
}

func dialKafka(t *testing.T) *kafka {
	addr := os.Getenv("OTTLA_KAFKA")
	if addr == "" {
		t.Skip("OTTLA_KAFKA is not set")
	}
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &kafka{t, conn}
}

func (k *kafka) ask(req kmsg.Request) kmsg.Response {
	k.t.Helper()
	out := kmsg.NewRequestFormatter(kmsg.FormatterClientID("record-test")).AppendRequest(nil, req, 1)
	if _, err := k.conn.Write(out); err != nil {
		k.t.Fatal(err)
	}
	var size [4]byte
	if _, err := io.ReadFull(k.conn, size[:]); err != nil {
		k.t.Fatal(err)
	}
	in := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(k.conn, in); err != nil {
		k.t.Fatal(err)
	}
	body := in[4:]
	if req.IsFlexible() {
		body = body[1:]
	}
	resp := req.ResponseKind()
	if err := resp.ReadFrom(body); err != nil {
		k.t.Fatal(err)
	}
	return resp
}

func (k *kafka) create(topic string, configs ...string) {
	req := kmsg.NewPtrCreateTopicsRequest()
	req.Version = 5
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = topic, 1, 1
	for i := 0; i < len(configs); i += 2 {
		rc := kmsg.NewCreateTopicsRequestTopicConfig()
		rc.Name, rc.Value = configs[i], &configs[i+1]
		rt.Configs = append(rt.Configs, rc)
	}
	req.Topics = append(req.Topics, rt)
	if code := k.ask(req).(*kmsg.CreateTopicsResponse).Topics[0].ErrorCode; code != 0 {
		k.t.Fatalf("CreateTopics: %d", code)
	}
	time.Sleep(300 * time.Millisecond)
	k.t.Cleanup(func() {
		req := kmsg.NewPtrDeleteTopicsRequest()
		req.Version = 3
		req.TopicNames = []string{topic}
		k.ask(req)
	})
}

func (k *kafka) produce(topic string, b []byte) kmsg.ProduceResponseTopicPartition {
	req := kmsg.NewPtrProduceRequest()
	req.Version, req.Acks, req.TimeoutMillis = 9, 1, 5000
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Records = b
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return k.ask(req).(*kmsg.ProduceResponse).Topics[0].Partitions[0]
}

func (k *kafka) fetch(topic string, offset int64) []byte {
	req := kmsg.NewPtrFetchRequest()
	req.Version, req.MaxWaitMillis, req.MaxBytes, req.SessionEpoch = 11, 100, 1<<25, -1
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.FetchOffset, rp.PartitionMaxBytes, rp.CurrentLeaderEpoch = offset, 1<<25, -1
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return k.ask(req).(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches
}

// samples are good and bad batches by name.
func samples() map[string][]byte {
	all := map[string][]byte{}
	for name, f := range framings() {
		all[name] = f.batch
	}
	at := time.Now().UnixMilli()
	for codec := None; codec <= Zstd; codec++ {
		o := NewOptions()
		o.Codec = codec
		b := NewBuilder(o)
		b.Append(at, nil, nil, Header{"h", nil}, Header{"h", []byte{}}, Header{"", []byte("z")})
		b.Append(at+5, []byte{}, bytes.Repeat([]byte("text"), 50000))
		all["built "+codec.String()] = bytes.Clone(b.Build())
		two := batchOf(codec, at, at+1)
		all["max timestamp −1 "+codec.String()] = with(two, set64(posMaxTimestamp, -1))
		all["log append time "+codec.String()] = with(two, setAttribute(attrLogAppendTime))
		all["delete horizon "+codec.String()] = with(two, setAttribute(attrDeleteHorizon))
		all["high attributes "+codec.String()] = with(two, func(b Batch) { b[posAttributes] = 0x55 })
		all["high attributes, max timestamp "+codec.String()] = with(two, func(b Batch) { b[posAttributes] = 0x55; set64(posMaxTimestamp, 3)(b) })
		all["base offset 5 "+codec.String()] = with(two, set64(posBaseOffset, 5))
		all["count 1 "+codec.String()] = with(two, func(b Batch) { set32(posCount, 1)(b); set32(posLastOffsetDelta, 0)(b) })
		all["count 3 "+codec.String()] = with(two, func(b Batch) { set32(posCount, 3)(b); set32(posLastOffsetDelta, 2)(b) })
		all["no timestamp "+codec.String()] = batchOf(codec, -1, -1)
		all["too new "+codec.String()] = batchOf(codec, at, at+7200000)
		all["cut in the middle "+codec.String()] = with(all["built "+codec.String()][:len(all["built "+codec.String()])*2/3], func(b Batch) { set32(posLength, int32(len(b)-Overhead))(b) })
	}
	one := batchOf(None, at)
	all["two batches"] = append(bytes.Clone(one), one...)
	all["20 stray zeros"] = append(bytes.Clone(one), make([]byte, 20)...)
	all["11 stray zeros"] = append(bytes.Clone(one), make([]byte, 11)...)
	all["magic 3"] = with(one, func(b Batch) { b[posMagic] = 3 })
	all["magic 1"] = with(one, func(b Batch) { b[posMagic] = 1 })
	all["codec 6"] = with(one, setAttribute(6))
	all["control"] = with(one, setAttribute(attrControl))
	all["length 30"] = with(one, set32(posLength, 30))
	all["empty"] = []byte{}
	return all
}

func TestSameAsKafka(t *testing.T) {
	k := dialKafka(t)
	targets := map[string]Codec{"producer": AsSent, "uncompressed": None, "lz4": LZ4, "zstd": Zstd}
	for compression, target := range targets {
		for _, kind := range []TimestampType{CreateTime, LogAppendTime} {
			topic := fmt.Sprintf("rec-%s-%s-%d", compression, kind, os.Getpid())
			k.create(topic, "compression.type", compression, "message.timestamp.type", kind.String())
			r := plainRules()
			r.Target, r.TimestampType = target, kind
			for name, sent := range samples() {
				answer := k.produce(topic, sent)
				at := time.Now().UnixMilli()
				if answer.ErrorCode == 0 && kind == LogAppendTime {
					at = answer.LogAppendTime
				}
				b, v, err := Validate(bytes.Clone(sent), r, at)
				if code(err) != protocol.ErrorCode(answer.ErrorCode) {
					t.Errorf("%s, %q: %v, Kafka says %s", topic, name, err, protocol.ErrorCode(answer.ErrorCode))
					continue
				}
				if err != nil {
					rejection := err.(*Rejection)
					if len(rejection.Records) != len(answer.ErrorRecords) || (answer.ErrorMessage == nil) != (rejection.Message == "") {
						t.Errorf("%s, %q: %+v, Kafka has %d record errors and message %v", topic, name, rejection, len(answer.ErrorRecords), answer.ErrorMessage)
					}
					continue
				}
				stored, _, err := Next(k.fetch(topic, answer.BaseOffset))
				if err != nil {
					t.Fatalf("%s, %q: %v", topic, name, err)
				}
				b.SetBaseOffset(stored.BaseOffset())
				b.SetPartitionLeaderEpoch(stored.PartitionLeaderEpoch())
				if !v.Recompressed || target == None {
					if !bytes.Equal(b, stored) {
						t.Errorf("%s, %q:\n got %x\nhave %x", topic, name, b[:min(100, len(b))], stored[:min(100, len(stored))])
					}
					continue
				}
				var want []Record
				for rec, err := range stored.Records(MaxDecompressed) {
					if err != nil {
						t.Fatal(err)
					}
					want = append(want, rec)
				}
				checkRecords(t, b, want)
			}
		}
	}
}
