//go:build compat

package differential

import (
	"fmt"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// mutate is a batch with one byte changed, counted from the start (its CRC is then wrong, unless the byte is outside).
func mutate(b []byte, at int, v byte) []byte {
	out := append([]byte{}, b...)
	out[at] = v
	return out
}

func TestProduce(t *testing.T) {
	both(t, func(s *side) {
		one := values("v").encode()
		s.each(0, func(v int16) {
			topic := s.n(fmt.Sprintf("p-%d", v))
			id := s.newTopic(topic, 3)
			small := s.n(fmt.Sprintf("p-small-%d", v))
			smallID := s.newTopic(small, 1, "max.message.bytes", "200", "message.timestamp.type", "LogAppendTime")
			compact := s.n(fmt.Sprintf("p-compact-%d", v))
			compactID := s.newTopic(compact, 1, "cleanup.policy", "compact", "message.timestamp.before.max.ms", "3600000", "message.timestamp.after.max.ms", "3600000")
			ids := map[string][16]byte{topic: id, small: smallID, compact: compactID}
			part := func(topic string, p int32, records []byte) producePart {
				if v >= 13 {
					return producePart{"", ids[topic], p, records}
				}
				return producePart{topic, [16]byte{}, p, records}
			}
			send := func(label string, acks int16, parts ...producePart) {
				do[*kmsg.ProduceResponse](s, label, v, produceRequest(acks, parts...))
			}
			if v < 3 {
				send("gone", 1, part(topic, 0, one))
				return
			}
			for _, acks := range []int16{1, -1, 2, -2, 32767} {
				send(fmt.Sprintf("acks %d", acks), acks, part(topic, 0, one))
			}
			send("nothing", 1)
			send("two batches of records", -1, part(topic, 0, values("a", "b", "c").encode()))
			send("three partitions", -1, part(topic, 0, one), part(topic, 1, one), part(topic, 2, one))
			if v < 13 {
				send("internal topic", -1, part("__consumer_offsets", 0, one))
			}
			send("some bad", -1, part(topic, 0, one), part(topic, 3, one), part(topic, -1, one), part(topic, 1, mutate(one, 17, 0)), part(topic, 2, nil2empty()))
			send("two topics", -1, part(topic, 1, one), part(small, 0, one))
			send("unknown topic", -1, unknownPart(s, v, one))
			send("too large and good", -1, part(small, 0, values(string(make([]byte, 300))).encode()), part(topic, 1, one))
			send("null key", -1, part(compact, 0, values("a", "").encode()))
			late := values("a", "b", "c")
			late.ts = []int64{now, now - 7200000, now}
			send("too old", -1, part(compact, 0, late.encode()))
			late.ts = []int64{now, now + 7200000, now}
			send("too new", -1, part(compact, 0, late.encode()))
			for i, b := range [][]byte{
				mutate(one, 16, 1), mutate(one, 16, 3), mutate(one, 16, 0), mutate(one, 20, 0x55), append(append([]byte{}, one...), one...), one[:len(one)-3], append(append([]byte{}, one...), 1, 2, 3), one[:20], {0}, make([]byte, 61), mutate(one, 7, 9), mutate(one, 11, 1), mutate(one, 8, 0x7f), mutate(one, 8, 0xff),
			} {
				send(fmt.Sprintf("malformed %d", i), -1, part(topic, 2, b))
			}
			for _, attrs := range []int16{5, 6, 7, 8, 16, 32, 48, 64, 128, 0x4000} {
				b := values("x")
				b.attrs = attrs
				send(fmt.Sprintf("attributes %#x", attrs), -1, part(topic, 2, b.encode()))
			}
			idem := values("i")
			idem.pid, idem.epoch = 4000000000+int64(v), 0
			for _, seq := range []int32{0, 1, 2, 3, 4, 5, 6, 6, 2, 1, 0, 9, 7} {
				idem.seq = seq
				send(fmt.Sprintf("sequence %d", seq), -1, part(topic, 1, idem.encode()))
			}
			idem.values = []string{"a", "b"}
			send("partly known", -1, part(topic, 1, idem.encode()))
			for i, x := range [][2]int32{{1, 3}, {1, 0}, {0, 8}, {1, -1}, {-1, 1}, {1, 2147483647}} {
				idem.epoch, idem.seq = int16(x[0]), x[1]
				send(fmt.Sprintf("epoch and sequence %d %v", i, x), -1, part(topic, 1, idem.encode()))
			}
			txn := produceRequest(-1, part(topic, 0, one))
			txn.TransactionID = ptr("some-txn")
			do[*kmsg.ProduceResponse](s, "a transactional id beside a plain batch", v, txn)
			slow := produceRequest(-1, part(topic, 0, one))
			slow.TimeoutMillis = -1
			do[*kmsg.ProduceResponse](s, "negative timeout", v, slow)
			do[*kmsg.FetchResponse](s, fmt.Sprintf("what is there after v%d", v), 12, fetchRequest(topic, [16]byte{}, fetchPart{0, 0, 1 << 20}, fetchPart{1, 0, 1 << 20}, fetchPart{2, 0, 1 << 20}))
		})
	})
}

func nil2empty() []byte { return []byte{} }

func unknownPart(s *side, v int16, records []byte) producePart {
	if v >= 13 {
		return producePart{"", [16]byte{8, 8}, 0, records}
	}
	return producePart{s.n("p-missing"), [16]byte{}, 0, records}
}

// TestProduceNoAnswer: with acks 0 nothing comes back, and errors close the connection.
func TestProduceNoAnswer(t *testing.T) {
	both(t, func(s *side) {
		topic := s.n("p0")
		s.newTopic(topic, 1)
		one := values("v").encode()
		for i, p := range []producePart{{topic, [16]byte{}, 0, one}, {topic, [16]byte{}, 9, one}, {topic, [16]byte{}, 0, mutate(one, 17, 0)}} {
			c := s.dial()
			req := produceRequest(0, p)
			req.SetVersion(9)
			c.send(req)
			o := c.exchange(1, metadataRequest(), patience)
			what := "the connection goes on"
			if o.resp == nil {
				what = o.instead
			}
			s.mu.Lock()
			s.add(step{label: fmt.Sprint("acks 0, case ", i), lines: []line{{"after", what, false}}})
			s.mu.Unlock()
		}
	})
}

type fetchPart struct {
	partition int32
	offset    int64
	max       int32
}

func fetchRequest(topic string, id [16]byte, parts ...fetchPart) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID = -1
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 50, 1, 50<<20, -1
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic, rt.TopicID = topic, id
	for _, p := range parts {
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = p.partition, p.offset, p.max
		rp.CurrentLeaderEpoch, rp.LastFetchedEpoch, rp.LogStartOffset = -1, -1, -1
		rt.Partitions = append(rt.Partitions, rp)
	}
	if len(parts) > 0 {
		req.Topics = append(req.Topics, rt)
	}
	return req
}

func TestFetch(t *testing.T) {
	both(t, func(s *side) {
		topic := s.n("f")
		id := s.newTopic(topic, 4)
		for p := range int32(2) {
			s.fill(topic, p, values("a", "b", "c"), values("d", "e"), values("f"))
		}
		s.fill(topic, 2, values("x"))
		s.each(1, func(v int16) {
			request := func(parts ...fetchPart) *kmsg.FetchRequest {
				if v >= 13 {
					return fetchRequest("", id, parts...)
				}
				return fetchRequest(topic, [16]byte{}, parts...)
			}
			send := func(label string, req *kmsg.FetchRequest) *kmsg.FetchResponse {
				return do[*kmsg.FetchResponse](s, label, v, req)
			}
			for o := int64(-2); o <= 8; o++ {
				send(fmt.Sprint("offset ", o), request(fetchPart{0, o, 1 << 20}))
			}
			send("nothing", request())
			send("all", request(fetchPart{0, 0, 1 << 20}, fetchPart{1, 3, 1 << 20}, fetchPart{2, 0, 1 << 20}, fetchPart{3, 0, 1 << 20}))
			send("bad partitions", request(fetchPart{0, 0, 1 << 20}, fetchPart{9, 0, 1 << 20}, fetchPart{-1, 0, 1 << 20}))
			for _, n := range []int32{0, 1, 2147483647} { // Kafka stumbles over negative ones
				send(fmt.Sprint("partition limit ", n), request(fetchPart{0, 0, n}, fetchPart{1, 0, n}))
				req := request(fetchPart{0, 0, 1 << 20}, fetchPart{1, 0, 1 << 20})
				req.MaxBytes = n
				send(fmt.Sprint("limit ", n), req)
				req = request(fetchPart{0, 0, 1 << 20})
				req.MinBytes = n
				send(fmt.Sprint("at least ", n), req)
			}
			for _, wait := range []int32{-1, 0} {
				req := request(fetchPart{3, 0, 1 << 20})
				req.MaxWaitMillis = wait
				send(fmt.Sprint("wait ", wait), req)
			}
			for _, iso := range []int8{0, 1, 2, -1} {
				req := request(fetchPart{0, 0, 1 << 20}, fetchPart{3, 0, 1 << 20})
				req.IsolationLevel = iso
				send(fmt.Sprint("isolation ", iso), req)
			}
			for _, epoch := range []int32{-2, 0, 1, 5} {
				req := request(fetchPart{0, 0, 1 << 20})
				req.Topics[0].Partitions[0].CurrentLeaderEpoch = epoch
				send(fmt.Sprint("leader epoch ", epoch), req)
				req.Topics[0].Partitions[0].CurrentLeaderEpoch = -1
				req.Topics[0].Partitions[0].LastFetchedEpoch = epoch
				send(fmt.Sprint("fetched epoch ", epoch), req)
				req.Topics[0].Partitions[0].FetchOffset = 6
				send(fmt.Sprint("fetched epoch at the end ", epoch), req)
			}
			rack := request(fetchPart{0, 0, 1 << 20})
			rack.Rack = "r1"
			send("rack", rack)
			logStart := request(fetchPart{0, 0, 1 << 20})
			logStart.Topics[0].Partitions[0].LogStartOffset = 5
			send("log start", logStart)
			cluster := request(fetchPart{0, 0, 1 << 20})
			cluster.ClusterID = ptr("another")
			send("another cluster", cluster)
			two := request(fetchPart{0, 0, 1 << 20})
			two.Topics = append(two.Topics, request(fetchPart{1, 0, 1 << 20}).Topics...)
			send("topic twice", two)
			other := request(fetchPart{0, 0, 1 << 20})
			if v >= 13 {
				other.Topics = append(other.Topics, fetchRequest("", [16]byte{7, 7}, fetchPart{0, 0, 1}).Topics...)
				other.Topics = append(other.Topics, fetchRequest("", [16]byte{}, fetchPart{0, 0, 1}).Topics...)
			} else {
				other.Topics = append(other.Topics, fetchRequest(s.n("f-missing"), [16]byte{}, fetchPart{0, 0, 1}).Topics...)
				other.Topics = append(other.Topics, fetchRequest("a b", [16]byte{}, fetchPart{0, 0, 1}).Topics...)
				other.Topics = append(other.Topics, fetchRequest("", [16]byte{}, fetchPart{0, 0, 1}).Topics...)
			}
			send("other topics", other)
			send("only unknown", &kmsg.FetchRequest{ReplicaID: -1, MaxWaitMillis: 50, MinBytes: 1, MaxBytes: 1 << 20, SessionEpoch: -1, Topics: other.Topics[1:], ReplicaState: kmsg.NewFetchRequestReplicaState()})
		})
	})
}

func TestFetchSessions(t *testing.T) {
	both(t, func(s *side) {
		topic := s.n("fs")
		id := s.newTopic(topic, 4)
		s.fill(topic, 0, values("a", "b"))
		s.fill(topic, 1, values("a"))
		s.fill(topic, 2, values("a"))
		for v := int16(7); v <= 18; v++ {
			name, tid := topic, [16]byte{}
			if v >= 13 {
				name, tid = "", id
			}
			c := s.shared()
			send := func(label string, session, epoch int32, parts []fetchPart, forget ...int32) *kmsg.FetchResponse {
				req := fetchRequest(name, tid, parts...)
				req.SessionID, req.SessionEpoch = session, epoch
				if len(forget) > 0 {
					f := kmsg.NewFetchRequestForgottenTopic()
					f.Topic, f.TopicID, f.Partitions = name, tid, forget
					req.ForgottenTopics = append(req.ForgottenTopics, f)
				}
				return doOn[*kmsg.FetchResponse](c, label, v, req)
			}
			p := func(n int32, offset int64) fetchPart { return fetchPart{n, offset, 1 << 20} }
			r := send("full", 0, 0, []fetchPart{p(0, 0), p(1, 0), p(2, 0)})
			if r == nil || r.SessionID == 0 {
				continue
			}
			id := r.SessionID
			send("same again, moved on", id, 1, []fetchPart{p(0, 2), p(1, 1)})
			send("nothing new", id, 2, nil)
			send("epoch of before", id, 2, nil)
			send("epoch too high", id, 9, nil)
			send("one partition again", id, 3, []fetchPart{p(0, 0)})
			send("one more", id, 4, []fetchPart{p(3, 0)})
			send("one unknown more", id, 5, []fetchPart{p(9, 0)})
			send("the unknown again", id, 6, nil)
			send("forget it", id, 7, nil, 9)
			send("forget and add", id, 8, []fetchPart{p(0, 0)}, 0, 1)
			send("forget what is not there", id, 9, nil, 77)
			send("out of range", id, 10, []fetchPart{p(1, 100)})
			send("still out of range", id, 11, nil)
			send("forget all", id, 12, nil, 0, 1, 2, 3)
			send("empty session", id, 13, nil)
			send("unknown session", id^0x55555, 1, nil)
			send("no session, epoch 1", 0, 1, nil)
			send("negative session", -5, 1, nil)
			n := send("a new one instead", id, 0, []fetchPart{p(0, 1)})
			send("the old one", id, 14, nil)
			if n != nil && n.SessionID != 0 {
				send("the new one", n.SessionID, 1, nil)
				send("ended", n.SessionID, -1, []fetchPart{p(0, 0)})
				send("after its end", n.SessionID, 2, nil)
			}
			send("empty one", 0, 0, nil)
			turns := send("taking turns", 0, 0, []fetchPart{{0, 0, 1}, {1, 0, 1}, {2, 0, 1}})
			for i := range int32(6) {
				if turns != nil && turns.SessionID != 0 {
					send(fmt.Sprint("turn ", i), turns.SessionID, i+1, nil)
				}
			}
			send("negative epoch", 0, -7, []fetchPart{p(0, 0)})
		}
	})
}

func TestListOffsets(t *testing.T) {
	both(t, func(s *side) {
		topic, empty := s.n("lo"), s.n("lo-empty")
		s.newTopic(topic, 2)
		s.newTopic(empty, 1)
		b := values("a", "b", "c")
		b.ts = []int64{now, now + 10, now + 5}
		c := values("d")
		c.ts = []int64{now + 7}
		s.fill(topic, 0, b, c)
		s.each(2, func(v int16) {
			send := func(label string, iso int8, topic string, parts ...listPart) {
				do[*kmsg.ListOffsetsResponse](s, label, v, listOffsets(iso, topic, parts...))
			}
			for _, ts := range []int64{-1, -2, -3, -4, -5, -6, -7, -100, 0, now - 1, now, now + 1, now + 5, now + 6, now + 7, now + 8, now + 10, now + 11, 1 << 62} {
				label := fmt.Sprint("at ", ts)
				if ts >= now-1 && ts < 1<<61 {
					label = fmt.Sprint("at now + ", ts-now)
				}
				send(label, 0, topic, listPart{0, -1, ts})
				send(label+" of nothing", 0, empty, listPart{0, -1, ts})
			}
			for _, iso := range []int8{1, 2, -1} {
				send(fmt.Sprint("isolation ", iso), iso, topic, listPart{0, -1, -1})
			}
			for _, epoch := range []int32{-2, 0, 1, 7} {
				send(fmt.Sprint("epoch ", epoch), 0, topic, listPart{0, epoch, -1})
				send(fmt.Sprint("by time in epoch ", epoch), 0, topic, listPart{0, epoch, 0})
			}
			send("bad partitions", 0, topic, listPart{0, -1, -1}, listPart{9, -1, -1}, listPart{-1, -1, -1})
			send("same twice", 0, topic, listPart{0, -1, -1}, listPart{0, -1, -2}, listPart{1, -1, -2})
			send("unknown topic", 0, s.n("lo-missing"), listPart{0, -1, -1})
			send("bad name", 0, "a b", listPart{0, -1, -1})
			send("no partitions", 0, topic)
			none := listOffsets(0, topic)
			none.Topics = nil
			do[*kmsg.ListOffsetsResponse](s, "no topics", v, none)
			for _, replica := range []int32{-2, -3, 0, 1, 5} {
				req := listOffsets(0, topic, listPart{0, -1, -1})
				req.ReplicaID = replica
				do[*kmsg.ListOffsetsResponse](s, fmt.Sprint("replica ", replica), v, req)
			}
			slow := listOffsets(0, topic, listPart{0, -1, 0})
			slow.TimeoutMillis = -1
			do[*kmsg.ListOffsetsResponse](s, "negative timeout", v, slow)
		})
	})
}

func TestOffsetForLeaderEpoch(t *testing.T) {
	both(t, func(s *side) {
		topic := s.n("ole")
		s.newTopic(topic, 2)
		s.fill(topic, 0, values("a", "b", "c"))
		s.each(23, func(v int16) {
			for _, replica := range []int32{-1, -2, 1, 9} {
				for _, x := range [][3]int32{{0, -1, 0}, {0, -1, -1}, {0, -1, 1}, {0, -1, 100}, {0, 0, 0}, {0, 1, 0}, {0, -2, 0}, {1, -1, 0}, {9, -1, 0}, {-1, -1, 0}, {0, -1, -5}} {
					req := kmsg.NewPtrOffsetForLeaderEpochRequest()
					req.ReplicaID = replica
					rt := kmsg.NewOffsetForLeaderEpochRequestTopic()
					rt.Topic = topic
					rp := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
					rp.Partition, rp.CurrentLeaderEpoch, rp.LeaderEpoch = x[0], x[1], x[2]
					rt.Partitions = append(rt.Partitions, rp)
					req.Topics = append(req.Topics, rt)
					if x[0] == 0 {
						rt.Topic = s.n("ole-missing")
						rt.Partitions = rt.Partitions[:1]
						req.Topics = append(req.Topics, rt)
					}
					do[*kmsg.OffsetForLeaderEpochResponse](s, fmt.Sprintf("replica %d, partition, current, asked %v", replica, x), v, req)
				}
			}
			do[*kmsg.OffsetForLeaderEpochResponse](s, "nothing", v, kmsg.NewPtrOffsetForLeaderEpochRequest())
		})
	})
}

func TestProducers(t *testing.T) {
	both(t, func(s *side) {
		for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if ask[*kmsg.InitProducerIDResponse](s, 4, kmsg.NewPtrInitProducerIDRequest()).ErrorCode != 14 {
				break // Kafka has its first block of ids
			}
		}
		s.each(22, func(v int16) {
			for _, timeout := range []int32{60000, 0, -1, 2147483647} {
				for _, x := range [][2]int64{{-1, -1}, {5, 0}, {-1, 3}, {5, -1}} {
					req := kmsg.NewPtrInitProducerIDRequest()
					req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = timeout, x[0], int16(x[1])
					do[*kmsg.InitProducerIDResponse](s, fmt.Sprintf("timeout %d, id and epoch %v", timeout, x), v, req)
				}
			}
			empty := kmsg.NewPtrInitProducerIDRequest()
			empty.TransactionalID = ptr("")
			do[*kmsg.InitProducerIDResponse](s, "empty transactional id", v, empty)
		})
		topic := s.n("dp")
		s.newTopic(topic, 3)
		b := values("a", "b")
		b.pid, b.epoch, b.seq = 4_100_000_000, 3, 0
		s.fill(topic, 0, b)
		b.pid = 4_100_000_001
		s.fill(topic, 0, b)
		request := func(x ...any) *kmsg.DescribeProducersRequest {
			req := kmsg.NewPtrDescribeProducersRequest()
			for i := 0; i+1 < len(x); i += 2 {
				rt := kmsg.NewDescribeProducersRequestTopic()
				rt.Topic, rt.Partitions = x[i].(string), x[i+1].([]int32)
				req.Topics = append(req.Topics, rt)
			}
			return req
		}
		for i, x := range [][]any{{}, {topic, []int32{0}}, {topic, []int32{0, 1, 9, -1}}, {topic, []int32{}}, {topic, []int32{0, 0}}, {s.n("dp-missing"), []int32{0, 1}}, {"a b", []int32{0}}, {"", []int32{0}}, {topic, []int32{1}, topic, []int32{2}}} {
			do[*kmsg.DescribeProducersResponse](s, fmt.Sprint("producers ", i), 0, request(x...))
		}
	})
}

func TestLogDirs(t *testing.T) {
	alone(t, func(s *side) {
		topic := s.n("ld")
		s.newTopic(topic, 2)
		s.fill(topic, 0, values("a", "b"))
		s.each(35, func(v int16) {
			send := func(label string, x ...any) {
				req := kmsg.NewPtrDescribeLogDirsRequest()
				req.Topics = []kmsg.DescribeLogDirsRequestTopic{}
				for i := 0; i+1 < len(x); i += 2 {
					rt := kmsg.NewDescribeLogDirsRequestTopic()
					rt.Topic, rt.Partitions = x[i].(string), x[i+1].([]int32)
					req.Topics = append(req.Topics, rt)
				}
				if label == "all" {
					req.Topics = nil
					label = "all topics"
				}
				do[*kmsg.DescribeLogDirsResponse](s, label, v, req)
			}
			send("all")
			send("none")
			send("one", topic, []int32{0})
			send("both", topic, []int32{0, 1})
			send("no partitions", topic, []int32{})
			send("unknown", topic, []int32{9}, s.n("ld-missing"), []int32{0})
			send("twice", topic, []int32{0, 0}, topic, []int32{1})
			send("some", topic, []int32{0, 9}, "a b", []int32{0})
		})
	})
}

func TestQuorum(t *testing.T) {
	both(t, func(s *side) {
		request := func(x ...any) *kmsg.DescribeQuorumRequest {
			req := kmsg.NewPtrDescribeQuorumRequest()
			for i := 0; i+1 < len(x); i += 2 {
				rt := kmsg.NewDescribeQuorumRequestTopic()
				rt.Topic = x[i].(string)
				for _, p := range x[i+1].([]int32) {
					rp := kmsg.NewDescribeQuorumRequestTopicPartition()
					rp.Partition = p
					rt.Partitions = append(rt.Partitions, rp)
				}
				req.Topics = append(req.Topics, rt)
			}
			return req
		}
		const m = "__cluster_metadata"
		s.each(55, func(v int16) {
			for i, x := range [][]any{{m, []int32{0}}, {}, {m, []int32{}}, {m, []int32{1}}, {m, []int32{-1}}, {m, []int32{0, 0}}, {m, []int32{0, 1}}, {"other", []int32{0}}, {"", []int32{0}}, {m, []int32{0}, "other", []int32{0}}, {m, []int32{0}, m, []int32{0}}} {
				do[*kmsg.DescribeQuorumResponse](s, fmt.Sprint("quorum ", i), v, request(x...))
			}
		})
	})
}

func TestUpdateFeatures(t *testing.T) {
	both(t, func(s *side) {
		type update struct {
			name  string
			level int16
			allow bool
			kind  int8
		}
		s.each(57, func(v int16) {
			for i, list := range [][]update{
				{}, {{"metadata.version", 33, false, 1}}, {{"metadata.version", 34, false, 1}}, {{"metadata.version", 1, false, 1}}, {{"metadata.version", 0, true, 2}}, {{"metadata.version", 0, true, 3}}, {{"metadata.version", -1, false, 1}},
				{{"metadata.version", 30, false, 1}}, {{"metadata.version", 6, true, 3}}, {{"no.such", 1, false, 1}}, {{"no.such", 0, true, 2}}, {{"", 1, false, 1}}, {{"kraft.version", 1, false, 1}}, {{"kraft.version", 0, true, 2}}, {{"kraft.version", 2, false, 1}},
				{{"metadata.version", 33, false, 0}}, {{"metadata.version", 33, false, 4}}, {{"metadata.version", 33, false, -1}}, {{"metadata.version", 33, false, 1}, {"metadata.version", 33, false, 1}}, {{"no.such", 1, false, 1}, {"metadata.version", 33, false, 1}},
				{{"eligible.leader.replicas.version", 1, false, 1}}, {{"eligible.leader.replicas.version", 2, false, 1}}, {{"group.version", 9, false, 1}},
			} {
				for _, validate := range []bool{true, false} {
					req := kmsg.NewPtrUpdateFeaturesRequest()
					req.ValidateOnly, req.TimeoutMillis = validate, 10000
					for _, u := range list {
						f := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
						f.Feature, f.MaxVersionLevel, f.AllowDowngrade, f.UpgradeType = u.name, u.level, u.allow, u.kind
						req.FeatureUpdates = append(req.FeatureUpdates, f)
					}
					do[*kmsg.UpdateFeaturesResponse](s, fmt.Sprintf("%d %v (validate %v)", i, list, validate), v, req)
				}
			}
		})
	})
}

func TestPartitionLeaders(t *testing.T) {
	alone(t, func(s *side) {
		topic := s.n("el")
		s.newTopic(topic, 2)
		s.each(43, func(v int16) {
			for _, kind := range []int8{0, 1, 2, -1} {
				for i, parts := range [][]int32{{0}, {0, 1}, {9}, {}, {0, 0}, {-1}} {
					req := kmsg.NewPtrElectLeadersRequest()
					req.ElectionType, req.TimeoutMillis = kind, 5000
					rt := kmsg.NewElectLeadersRequestTopic()
					rt.Topic, rt.Partitions = topic, parts
					req.Topics = append(req.Topics, rt)
					do[*kmsg.ElectLeadersResponse](s, fmt.Sprintf("election %d of %d", kind, i), v, req)
					rt.Topic = s.n("el-missing")
					req.Topics = []kmsg.ElectLeadersRequestTopic{rt}
					do[*kmsg.ElectLeadersResponse](s, fmt.Sprintf("unknown topic: election %d of %d", kind, i), v, req)
				}
				none := kmsg.NewPtrElectLeadersRequest()
				none.ElectionType, none.TimeoutMillis, none.Topics = kind, 5000, []kmsg.ElectLeadersRequestTopic{}
				do[*kmsg.ElectLeadersResponse](s, fmt.Sprintf("election %d of none", kind), v, none)
				none.Topics = nil
				do[*kmsg.ElectLeadersResponse](s, fmt.Sprintf("all topics: election %d of null", kind), v, none)
			}
		})
		s.each(45, func(v int16) {
			for i, x := range [][]int32{{1}, {}, nil, {9}, {1, 1}, {-1}, {1, 9}} {
				for _, name := range []string{topic, s.n("el-missing"), ""} {
					req := kmsg.NewPtrAlterPartitionAssignmentsRequest()
					req.TimeoutMillis = 5000
					rt := kmsg.NewAlterPartitionAssignmentsRequestTopic()
					rt.Topic = name
					for _, p := range []int32{0, 9, -1} {
						rp := kmsg.NewAlterPartitionAssignmentsRequestTopicPartition()
						rp.Partition, rp.Replicas = p, x
						rt.Partitions = append(rt.Partitions, rp)
					}
					req.Topics = append(req.Topics, rt)
					do[*kmsg.AlterPartitionAssignmentsResponse](s, fmt.Sprintf("assign %d %v to %.3q", i, x, name), v, req)
					req.AllowReplicationFactorChange = false
					do[*kmsg.AlterPartitionAssignmentsResponse](s, fmt.Sprintf("assign %d %v to %.3q with the same factor", i, x, name), v, req)
				}
			}
			do[*kmsg.AlterPartitionAssignmentsResponse](s, "assign nothing", v, kmsg.NewPtrAlterPartitionAssignmentsRequest())
		})
		for i, x := range [][]kmsg.ListPartitionReassignmentsRequestTopic{nil, {}, {{Topic: topic, Partitions: []int32{0, 9}}}, {{Topic: s.n("el-missing"), Partitions: []int32{0}}}, {{Topic: topic}, {Topic: topic}}} {
			req := kmsg.NewPtrListPartitionReassignmentsRequest()
			req.TimeoutMillis, req.Topics = 5000, x
			do[*kmsg.ListPartitionReassignmentsResponse](s, fmt.Sprint("list ", i), 0, req)
		}
		for _, id := range []int32{99, -1} {
			req := kmsg.NewPtrUnregisterBrokerRequest()
			req.BrokerID = id
			do[*kmsg.UnregisterBrokerResponse](s, fmt.Sprint("unregister ", id), 0, req)
		}
	})
}
