package conformance

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// txn is a transactional producer that sends what the test says, and remembers
// what it was given last.
type txn struct {
	c     *conn
	id    string
	pid   int64
	epoch int16
	seq   map[string]int32
}

// newTxn finds the coordinator of a transactional id; nothing is begun.
func newTxn(c *conn, id string) *txn {
	c.t.Helper()
	req := kmsg.NewPtrFindCoordinatorRequest()
	req.CoordinatorType, req.CoordinatorKeys = 1, []string{id}
	eventually(c.t, "transaction coordinator", func() bool {
		k := do[*kmsg.FindCoordinatorResponse](c, 4, req).Coordinators[0]
		if k.ErrorCode != 0 && k.ErrorCode != 15 {
			c.t.Fatalf("FindCoordinator: error %d", k.ErrorCode)
		}
		if k.ErrorCode == 0 {
			switch describeTxn(c, id).ErrorCode {
			case 0, 105:
				return true
			}
		}
		return false
	})
	return &txn{c: c, id: id, seq: map[string]int32{}}
}

// startTxn is a producer that is ready.
func startTxn(c *conn, id string, timeout time.Duration) *txn {
	c.t.Helper()
	x := newTxn(c, id)
	eq(c.t, "InitProducerId", x.init(timeout), 0)
	return x
}

// init asks for an id and epoch, and comes again while the coordinator says so.
func (x *txn) init(timeout time.Duration) int16 {
	x.c.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		r := x.initOnce(5, timeout, -1, -1)
		if r.ErrorCode != 51 && r.ErrorCode != 14 || time.Now().After(deadline) {
			return r.ErrorCode
		}
	}
}

func (x *txn) initOnce(version int16, timeout time.Duration, pid int64, epoch int16) *kmsg.InitProducerIDResponse {
	x.c.t.Helper()
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis = &x.id, int32(timeout.Milliseconds())
	req.ProducerID, req.ProducerEpoch = pid, epoch
	r := do[*kmsg.InitProducerIDResponse](x.c, version, req)
	if r.ErrorCode == 0 {
		x.pid, x.epoch = r.ProducerID, r.ProducerEpoch
		clear(x.seq)
	} else if r.ProducerID != -1 || r.ProducerEpoch < -1 || r.ProducerEpoch > 0 {
		x.c.t.Errorf("an error with producer id %d and epoch %d", r.ProducerID, r.ProducerEpoch)
	}
	return r
}

// batch is transactional, of the producer's current epoch and next sequence.
func (x *txn) batch(topic string, values ...string) []byte {
	b := newBatch()
	for _, v := range values {
		b.recs = append(b.recs, r(v))
	}
	b.attrs, b.pid, b.pepoch, b.seq = 0x10, x.pid, x.epoch, x.seq[topic]
	return b.encode()
}

// produce sends one batch; with version 12 and later the broker adds the
// partition to the transaction.
func (x *txn) produce(version int16, topic string, values ...string) kmsg.ProduceResponseTopicPartition {
	x.c.t.Helper()
	p := x.send(version, topic, x.batch(topic, values...))
	if p.ErrorCode == 0 {
		x.seq[topic] += int32(len(values))
	}
	return p
}

func (x *txn) send(version int16, topic string, records []byte) kmsg.ProduceResponseTopicPartition {
	x.c.t.Helper()
	req := produceRequest(topic, 0, -1, records)
	req.TransactionID = &x.id
	for deadline := time.Now().Add(10 * time.Second); ; {
		r := do[*kmsg.ProduceResponse](x.c, version, req)
		p := r.Topics[0].Partitions[0]
		if p.ErrorCode != 51 || time.Now().After(deadline) {
			return p
		}
	}
}

// add is AddPartitionsToTxn from a client: versions 0 to 3.
func (x *txn) add(version int16, topic string, partitions ...int32) []int16 {
	x.c.t.Helper()
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = x.id, x.pid, x.epoch
	rt := kmsg.NewAddPartitionsToTxnRequestTopic()
	rt.Topic, rt.Partitions = topic, partitions
	req.Topics = append(req.Topics, rt)
	var codes []int16
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		r := do[*kmsg.AddPartitionsToTxnResponse](x.c, version, req)
		codes = codes[:0]
		for _, p := range partitions {
			for _, q := range r.Topics[0].Partitions {
				if q.Partition == p {
					codes = append(codes, q.ErrorCode)
				}
			}
		}
		if !slices.Contains(codes, 51) || time.Now().After(deadline) {
			return codes
		}
	}
}

// end is EndTxn with the producer's epoch; the answer's id and epoch are taken over.
func (x *txn) end(version int16, commit bool) *kmsg.EndTxnResponse {
	x.c.t.Helper()
	r := x.endAs(version, commit, x.pid, x.epoch)
	if version >= 5 && r.ErrorCode == 0 {
		x.pid, x.epoch = r.ProducerID, r.ProducerEpoch
		clear(x.seq)
	}
	return r
}

// endAs comes again while the coordinator says CONCURRENT_TRANSACTIONS.
func (x *txn) endAs(version int16, commit bool, pid int64, epoch int16) *kmsg.EndTxnResponse {
	x.c.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		r := x.endOnce(version, commit, pid, epoch)
		if r.ErrorCode != 51 || time.Now().After(deadline) {
			return r
		}
	}
}

func (x *txn) endOnce(version int16, commit bool, pid int64, epoch int16) *kmsg.EndTxnResponse {
	x.c.t.Helper()
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = x.id, pid, epoch, commit
	return do[*kmsg.EndTxnResponse](x.c, version, req)
}

func (x *txn) addOffsets(version int16, group string) int16 {
	x.c.t.Helper()
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = x.id, x.pid, x.epoch, group
	return do[*kmsg.AddOffsetsToTxnResponse](x.c, version, req).ErrorCode
}

// offset is one partition to commit.
type offset struct {
	topic     string
	partition int32
	offset    int64
}

func (x *txn) commitRequest(group string, what ...offset) *kmsg.TxnOffsetCommitRequest {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch = x.id, group, x.pid, x.epoch
	req.Generation = -1
	for _, o := range what {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != o.topic {
			req.Topics = append(req.Topics, kmsg.TxnOffsetCommitRequestTopic{Topic: o.topic, TopicID: idOf(x.c, o.topic)})
		}
		rt := &req.Topics[len(req.Topics)-1]
		rt.Partitions = append(rt.Partitions, kmsg.TxnOffsetCommitRequestTopicPartition{Partition: o.partition, Offset: o.offset, LeaderEpoch: -1})
	}
	return req
}

// idOf is a topic's id, and one that no topic has for a topic that is not there.
func idOf(c *conn, topic string) [16]byte {
	if m := metadata(c, 12, topic); m.Topics[0].ErrorCode == 0 {
		return m.Topics[0].TopicID
	}
	return [16]byte{1, 2, 3}
}

// codes of the answer, by topic and partition.
func (x *txn) commitOffsets(version int16, group string, what ...offset) map[offset]int16 {
	x.c.t.Helper()
	return x.commitCodes(version, x.commitRequest(group, what...), what...)
}

func (x *txn) commitCodes(version int16, req *kmsg.TxnOffsetCommitRequest, what ...offset) map[offset]int16 {
	x.c.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		codes, again := map[offset]int16{}, false
		for _, rt := range do[*kmsg.TxnOffsetCommitResponse](x.c, version, req).Topics {
			for _, rp := range rt.Partitions {
				again = again || rp.ErrorCode == 51
				for _, o := range what {
					if o.partition == rp.Partition && (o.topic == rt.Topic || version >= 6 && idOf(x.c, o.topic) == rt.TopicID) {
						codes[o] = rp.ErrorCode
					}
				}
			}
		}
		if !again || time.Now().After(deadline) {
			return codes
		}
	}
}

func describeTxn(c *conn, id string) kmsg.DescribeTransactionsResponseTransactionState {
	c.t.Helper()
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{id}
	return do[*kmsg.DescribeTransactionsResponse](c, 0, req).TransactionStates[0]
}

// awaitState waits until the transaction is in one of the states.
func (x *txn) awaitState(states ...string) {
	x.c.t.Helper()
	eventually(x.c.t, "transaction state", func() bool { return slices.Contains(states, describeTxn(x.c, x.id).State) })
}

// settled waits until no markers are on their way.
func (x *txn) settled() {
	x.c.t.Helper()
	x.awaitState("Empty", "Ongoing", "CompleteCommit", "CompleteAbort")
}

// fetchOffset is one committed offset and its error.
func fetchOffset(c *conn, group string, stable bool, topic string, partition int32) (int64, int16) {
	c.t.Helper()
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group, req.RequireStable = group, stable
	req.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: topic, Partitions: []int32{partition}}}
	r := do[*kmsg.OffsetFetchResponse](c, 7, req)
	eq(c.t, "OffsetFetch", r.ErrorCode, 0)
	p := r.Topics[0].Partitions[0]
	return p.Offset, p.ErrorCode
}

// fetchCommitted reads as a read_committed consumer's client does.
func fetchCommitted(c *conn, topic string, at int64) kmsg.FetchResponseTopicPartition {
	c.t.Helper()
	o := plainFetch()
	o.isolation = 1
	return fetchWith(c, topic, o, want{0, at, 10 << 20})[0]
}

// visible is the values that a read_committed consumer gives to its
// application.
func visible(c *conn, topic string) []string {
	c.t.Helper()
	var out []string
	p := fetchCommitted(c, topic, 0)
	eq(c.t, "fetch", p.ErrorCode, 0)
	aborted := map[int64]bool{}
	for _, b := range split(c.t, p.RecordBatches) {
		for _, a := range p.AbortedTransactions {
			if a.FirstOffset <= b.base+int64(b.lastDelta) && a.FirstOffset >= b.base {
				aborted[a.ProducerID] = true
			}
		}
		if b.attrs&0x20 != 0 {
			delete(aborted, b.pid)
			continue
		}
		if b.attrs&0x10 != 0 && aborted[b.pid] {
			continue
		}
		out = append(out, valuesOf(c.t, b)...)
	}
	return out
}

// valuesOf is the values of an uncompressed batch.
func valuesOf(t *testing.T, b stored) []string {
	t.Helper()
	var out []string
	x := b.raw[61:]
	number := func() int {
		v, n := binary.Varint(x)
		if n <= 0 {
			t.Fatal("a record that cannot be read")
		}
		x = x[n:]
		return int(v)
	}
	for range b.count {
		size := number()
		rest := x[size:]
		x = x[1:]
		number() // timestamp
		number() // offset
		if key := number(); key > 0 {
			x = x[key:]
		}
		value := number()
		out = append(out, string(x[:max(0, value)]))
		x = rest
	}
	return out
}

// addFrom is AddPartitionsToTxn of any version, sent once; the largest code of
// the answer.
func (x *txn) addFrom(version int16, verify bool, pid int64, epoch int16, topics map[string][]int32) (worst int16) {
	x.c.t.Helper()
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = x.id, pid, epoch
	of := kmsg.AddPartitionsToTxnRequestTransaction{TransactionalID: x.id, ProducerID: pid, ProducerEpoch: epoch, VerifyOnly: verify}
	for topic, partitions := range topics {
		req.Topics = append(req.Topics, kmsg.AddPartitionsToTxnRequestTopic{Topic: topic, Partitions: partitions})
		of.Topics = append(of.Topics, kmsg.AddPartitionsToTxnRequestTransactionTopic{Topic: topic, Partitions: partitions})
	}
	req.Transactions = append(req.Transactions, of)
	r := do[*kmsg.AddPartitionsToTxnResponse](x.c, version, req)
	for _, rt := range r.Topics {
		for _, p := range rt.Partitions {
			worst = max(worst, p.ErrorCode)
		}
	}
	for _, rt := range r.Transactions {
		for _, tt := range rt.Topics {
			for _, p := range tt.Partitions {
				worst = max(worst, p.ErrorCode)
			}
		}
	}
	return max(worst, r.ErrorCode)
}
