package replication

import (
	"bytes"
	"testing"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
	"github.com/ottla/ottla/protocol/record"
	"github.com/ottla/ottla/storage"
)

// transactional is a batch of one record of producer 7.
func transactional(epoch int16, sequence int32) []byte {
	o := record.NewOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = 7, epoch, sequence, true
	b := record.NewBuilder(o)
	b.Append(1000, []byte("k"), []byte("v"))
	return bytes.Clone(b.Build())
}

func TestTransaction(t *testing.T) {
	h := newHarness(t)
	p := h.create("t", topicID(1), 1)
	_, err := p.Append(transactional(0, 0), clientAppend)
	wantCode(t, "not verified", err, protocol.InvalidTxnState)
	o := clientAppend
	if o.Guard, err = p.StartVerification(7, 0, 0, true); err != nil || o.Guard == storage.NoGuard {
		t.Fatal(o.Guard, err)
	}
	if _, err := p.Append(transactional(0, 0), o); err != nil {
		t.Fatal(err)
	}
	h.append(p, 1000)
	committed := clientFetch(0)
	committed.Bound = storage.LastStable
	if got := h.fetch(p, committed); len(got) != 0 {
		t.Errorf("%d bytes before the transaction ended", len(got))
	}
	m := storage.Marker{ProducerID: 7, Epoch: 0, CoordinatorEpoch: 3, TransactionVersion: 2}
	_, err = p.AppendMarker(m, AnyEpoch)
	wantCode(t, "a marker of version 2 in the data's epoch", err, protocol.InvalidProducerEpoch)
	m.Epoch = 1
	r, err := p.AppendMarker(m, AnyEpoch)
	if err != nil || r.BaseOffset != 2 || r.AwaitOffset != 3 || !r.Replicated {
		t.Fatalf("%+v, %v", r, err)
	}
	f, err := p.Fetch(committed)
	if err != nil || f.LastStableOffset != 3 || len(f.Aborted) != 1 || f.Aborted[0] != (storage.AbortedTxn{ProducerID: 7, FirstOffset: 0}) {
		t.Errorf("%+v, %v", f, err)
	}
	f.Release()
	at := clientFetch(2)
	b := record.Batch(h.fetch(p, at))
	kind, value, err := b.ControlRecord()
	epoch, err2 := record.ParseMarker(value)
	if err != nil || err2 != nil || kind != record.Abort || epoch != 3 || b.ProducerEpoch() != 1 || b.Attributes() != 0x30 {
		t.Errorf("marker %v of epoch %d, attributes %#x: %v, %v", kind, epoch, b.Attributes(), err, err2)
	}
	m.CoordinatorEpoch = 2
	_, err = p.AppendMarker(m, AnyEpoch)
	wantCode(t, "an older coordinator", err, protocol.TransactionCoordinatorFenced)
	_, err = p.StartVerification(7, 0, 0, true)
	wantCode(t, "the epoch before the marker's", err, protocol.InvalidProducerEpoch)
}

func TestMarkersNeedALeaderAndReplicas(t *testing.T) {
	h := newHarness(t)
	h.publish(&msg.TopicRecord{Name: "three", TopicID: topicID(2)}, config("three", "min.insync.replicas", "2"),
		partition(topicID(2), 0, node, 0, []int32{node}, node, 2, 3))
	p := h.partition("three", 0)
	_, err := p.AppendMarker(storage.Marker{ProducerID: 7}, AnyEpoch)
	wantCode(t, "too few in sync", err, protocol.NotEnoughReplicas)
	_, err = p.AppendMarker(storage.Marker{ProducerID: 7}, 4)
	wantCode(t, "another epoch", err, protocol.UnknownLeaderEpoch)
	h.publish(change(topicID(2), 0, metadata.NoLeader))
	_, err = p.AppendMarker(storage.Marker{ProducerID: 7}, AnyEpoch)
	wantCode(t, "not leading", err, protocol.NotLeaderOrFollower)
	_, err = p.StartVerification(7, 0, 0, false)
	wantCode(t, "not leading", err, protocol.NotLeaderOrFollower)
}
