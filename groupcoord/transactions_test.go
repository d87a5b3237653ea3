package groupcoord

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/storage"
)

// commitTxn commits one offset of group g and topic t as producer 7.
func (b *testBroker) commitTxn(version int16, epoch int16, partition int32, offset int64) protocol.ErrorCode {
	return b.commitTxnAs(version, epoch, partition, offset, func(*kmsg.TxnOffsetCommitRequest) {})
}

func (b *testBroker) commitTxnAs(version, epoch int16, partition int32, offset int64, change func(*kmsg.TxnOffsetCommitRequest)) protocol.ErrorCode {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.SetVersion(version)
	req.TransactionalID, req.Group, req.ProducerID, req.ProducerEpoch, req.Generation = "x", "g", 7, epoch, -1
	req.Topics = []kmsg.TxnOffsetCommitRequestTopic{{Topic: "t", Partitions: []kmsg.TxnOffsetCommitRequestTopicPartition{{Partition: partition, Offset: offset, LeaderEpoch: 5}}}}
	change(req)
	return protocol.ErrorCode(b.TxnOffsetCommit(context.Background(), req).Topics[0].Partitions[0].ErrorCode)
}

func (b *testBroker) mark(epoch int16, commit bool) protocol.ErrorCode {
	return b.CompleteTransaction(context.Background(), b.PartitionFor("g"), storage.Marker{ProducerID: 7, Epoch: epoch, Commit: commit, CoordinatorEpoch: 1, TransactionVersion: 2})
}

// stable is a committed offset, and its error for who needs stable ones.
func (b *testBroker) stable(partition int32) (int64, protocol.ErrorCode) {
	req := kmsg.NewOffsetFetchRequestGroup()
	req.Group = "g"
	req.Topics = []kmsg.OffsetFetchRequestGroupTopic{{Topic: "t", Partitions: []int32{partition}}}
	p := b.OffsetFetch(context.Background(), &req, true).Topics[0].Partitions[0]
	return p.Offset, protocol.ErrorCode(p.ErrorCode)
}

func TestTransactionalOffsets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := leading(t, 3)
		log := b.logs[b.PartitionFor("g")]
		eq(t, "a plain commit", b.commit("g", "t", 0, 1), protocol.None)
		eq(t, "commit", b.commitTxn(5, 0, 0, 10), protocol.None)
		eq(t, "again", b.commitTxn(5, 0, 0, 11), protocol.None)
		check := func(what string, offset int64, code protocol.ErrorCode) {
			t.Helper()
			got, err := b.stable(0)
			eq(t, what, err, code)
			if code == protocol.None {
				eq(t, what, got, offset)
			}
		}
		plain := func(want string) {
			t.Helper()
			got, _ := b.fetch("g")
			eq(t, "not stable", strings.TrimSpace(got), want)
		}
		check("pending", 0, protocol.UnstableOffsetCommit)
		plain("t-0=1")
		b.crash()
		synctest.Wait()
		check("pending, after a load", 0, protocol.UnstableOffsetCommit)
		eq(t, "commit marker", b.mark(1, true), protocol.None)
		check("committed", 11, protocol.None)
		eq(t, "commit", b.commitTxn(5, 1, 0, 20), protocol.None)
		eq(t, "another", b.commitTxn(5, 1, 1, 20), protocol.None)
		eq(t, "abort marker", b.mark(2, false), protocol.None)
		check("aborted", 11, protocol.None)
		plain("t-0=11")
		eq(t, "commit", b.commitTxn(5, 2, 0, 30), protocol.None)
		eq(t, "a plain commit behind it", b.commit("g", "t", 0, 25), protocol.None)
		eq(t, "commit marker", b.mark(3, true), protocol.None)
		check("the later one counts", 25, protocol.None)
		b.crash()
		synctest.Wait()
		check("after a load", 25, protocol.None)

		var kinds []string
		for _, batch := range log.Batches() {
			switch {
			case batch.IsControl():
				kinds = append(kinds, "marker")
			case batch.IsTransactional():
				kinds = append(kinds, "transactional")
				eq(t, "producer", batch.ProducerID(), 7)
				eq(t, "sequence", batch.BaseSequence(), -1)
			default:
				kinds = append(kinds, "plain")
			}
		}
		eq(t, "batches", strings.Join(kinds, " "), "plain transactional transactional marker transactional transactional marker transactional plain marker")
		eq(t, "a marker for nothing", b.mark(9, true), protocol.None)
		b.OnResign(b.PartitionFor("g"), 1<<30)
		eq(t, "not here", b.mark(9, true), protocol.NotCoordinator)
		eq(t, "not here", b.commitTxn(5, 9, 0, 1), protocol.NotCoordinator)
	})
}

func TestTransactionalOffsetsAreVerified(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := leading(t, 1)
		b.conf.VerifyTransactions = true
		var asked []Question
		answer := protocol.None
		b.verify = func(q Question) protocol.ErrorCode {
			asked = append(asked, q)
			return answer
		}
		want := func(add, abortable bool) {
			t.Helper()
			eq(t, "questions", len(asked), 1)
			q := Question{"x", 7, 0, protocol.TopicPartition{Topic: protocol.ConsumerOffsetsTopic}, add, abortable}
			eq(t, "question", asked[0], q)
			asked = nil
		}
		for _, c := range []struct{ coordinators, clients protocol.ErrorCode }{
			{protocol.InvalidTxnState, protocol.InvalidTxnState}, {protocol.TransactionAbortable, protocol.TransactionAbortable},
			{protocol.InvalidProducerEpoch, protocol.InvalidProducerEpoch}, {protocol.ConcurrentTransactions, protocol.ConcurrentTransactions},
			{protocol.InvalidProducerIDMapping, protocol.InvalidProducerIDMapping}, {protocol.NetworkException, protocol.CoordinatorLoadInProgress},
			{protocol.NotCoordinator, protocol.NotCoordinator},
		} {
			answer = c.coordinators
			eq(t, "refused", b.commitTxn(4, 0, 0, 1), c.clients)
			want(false, true)
		}
		answer = protocol.None
		eq(t, "version 3", b.commitTxn(3, 0, 0, 1), protocol.None)
		want(false, false)
		eq(t, "the transaction is open", b.commitTxn(3, 0, 0, 2), protocol.None)
		eq(t, "questions", len(asked), 0)
		b.mark(0, true)
		eq(t, "version 6", b.commitTxn(6, 0, 0, 1), protocol.None)
		want(true, true)
		b.mark(1, true)
		b.conf.VerifyTransactions = false
		eq(t, "not verified", b.commitTxn(3, 1, 0, 1), protocol.None)
		eq(t, "questions", len(asked), 0)
		b.mark(1, true)
	})
}

func TestWhoMayCommitTransactionally(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := leading(t, 1)
		as := func(version int16, member string, generation int32) protocol.ErrorCode {
			return b.commitTxnAs(version, 0, 0, 1, func(r *kmsg.TxnOffsetCommitRequest) { r.MemberID, r.Generation = member, generation })
		}
		eq(t, "unknown group", as(6, "m", 1), protocol.GroupIDNotFound)
		eq(t, "unknown group", as(5, "m", 1), protocol.IllegalGeneration)
		eq(t, "versions that know no members", as(2, "m", 1), protocol.None)
		eq(t, "the empty group id", b.commitTxnAs(6, 0, 0, 1, func(r *kmsg.TxnOffsetCommitRequest) { r.Group = "" }), protocol.InvalidGroupID)
		long := strings.Repeat("m", 5000)
		eq(t, "metadata", b.commitTxnAs(6, 0, 0, 1, func(r *kmsg.TxnOffsetCommitRequest) { r.Topics[0].Partitions[0].Metadata = &long }), protocol.OffsetMetadataTooLarge)
		j := b.join("g", "", 3)
		eq(t, "member", as(6, j.MemberID, j.Generation), protocol.None)
		eq(t, "another generation", as(6, j.MemberID, j.Generation+1), protocol.IllegalGeneration)
		eq(t, "a stranger", as(6, "stranger", j.Generation), protocol.UnknownMemberID)
		eq(t, "nobody", as(6, "", -1), protocol.None)
		recs := b.logs[0].Records(t.Context())
		last := recs[len(recs)-1]
		p, err := group.Parse(group.Record{Key: last.Key, Value: last.Value})
		if err != nil || p.Committed == nil || p.Committed.LeaderEpoch != 5 {
			t.Errorf("%+v, %v", p, err)
		}
	})
}
