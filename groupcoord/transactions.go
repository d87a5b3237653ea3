package groupcoord

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/groupcoord/group/offsets"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/storage"
)

// Versions of TxnOffsetCommit.
const (
	txnMembers   = 3 // they say which member commits
	txnAbortable = 4 // clients know TRANSACTION_ABORTABLE
	txnAdds      = 5 // the group becomes part of the transaction by itself (KIP-890)
	txnNewErrors = 6 // clients know GROUP_ID_NOT_FOUND and STALE_MEMBER_EPOCH
)

// Question is about a partition of __consumer_offsets and a producer's transaction.
type Question struct {
	TransactionalID string
	ProducerID      int64
	Epoch           int16
	Partition       protocol.TopicPartition
	// Add makes the partition part of the transaction; otherwise it has to be already.
	Add bool
	// Abortable says that the client knows TRANSACTION_ABORTABLE.
	Abortable bool
}

// TxnOffsetCommit commits offsets of partitions that exist as part of a producer's transaction: topics have been
// checked, and both name and id filled in as far as they are known. Results are in the order of the request.
func (s *Service) TxnOffsetCommit(ctx context.Context, req *kmsg.TxnOffsetCommitRequest) *kmsg.TxnOffsetCommitResponse {
	var r *kmsg.TxnOffsetCommitResponse
	err := checkGroupID(req.Group)
	if err == nil {
		r, err = s.commitVerified(ctx, req)
	}
	if err != nil {
		return offsets.RefuseTransactional(req, codeOf(err))
	}
	return r
}

func (s *Service) commitVerified(ctx context.Context, req *kmsg.TxnOffsetCommitRequest) (*kmsg.TxnOffsetCommitResponse, error) {
	guard, err := s.verify(ctx, req)
	if err != nil {
		return nil, err
	}
	return do(ctx, s, req.Group, func(m *machine, now time.Time) (*kmsg.TxnOffsetCommitResponse, group.Outcome) {
		if code := m.checkTransactional(req); code != protocol.None {
			return offsets.RefuseTransactional(req, code), group.Outcome{}
		}
		o, r := m.offsets.CommitTransactional(now, m.config().MetadataMax, req, uint64(guard))
		return r, o
	})
}

// verify makes sure that the group's partition is part of the transaction.
func (s *Service) verify(ctx context.Context, req *kmsg.TxnOffsetCommitRequest) (storage.Guard, error) {
	partition := s.PartitionFor(req.Group)
	if _, err := s.shardOf(req.Group); err != nil {
		return storage.NoGuard, err
	}
	log, err := s.o.Log(partition)
	if err != nil {
		return storage.NoGuard, err
	}
	adds := req.Version >= txnAdds
	guard, err := log.StartVerification(req.ProducerID, req.ProducerEpoch, adds)
	if err != nil || guard == storage.NoGuard {
		return guard, err
	}
	if !adds && !s.o.Config().VerifyTransactions {
		return storage.Unverified, nil
	}
	code := s.o.Verify(ctx, Question{
		TransactionalID: req.TransactionalID, ProducerID: req.ProducerID, Epoch: req.ProducerEpoch,
		Partition: protocol.TopicPartition{Topic: protocol.ConsumerOffsetsTopic, Partition: partition},
		Add:       adds, Abortable: req.Version >= txnAbortable,
	})
	if code != protocol.None {
		return storage.NoGuard, code
	}
	return guard, nil
}

// checkTransactional says whether offsets may be committed in a transaction by who claims to be a member. A producer
// that is none commits for the group all the same.
func (m *machine) checkTransactional(req *kmsg.TxnOffsetCommitRequest) protocol.ErrorCode {
	if req.Version < txnMembers {
		req.MemberID, req.Generation, req.InstanceID = "", -1, nil
	}
	code := m.mayCommit(req)
	if code == protocol.StaleMemberEpoch && req.Version < txnNewErrors {
		return protocol.IllegalGeneration
	}
	return code
}

func (m *machine) mayCommit(req *kmsg.TxnOffsetCommitRequest) protocol.ErrorCode {
	if g := m.consumers.Get(req.Group); g != nil {
		code, each := g.CheckCommit(req.Version, req.MemberID, req.Generation, true)
		for _, t := range req.Topics {
			for _, p := range t.Partitions {
				if each != nil && code == protocol.None {
					code = each(t.TopicID, p.Partition)
				}
			}
		}
		return code
	}
	if g := m.others.Get(req.Group); g != nil {
		return g.CheckCommit(req.MemberID, req.Generation)
	}
	g := m.groups.Get(req.Group)
	switch {
	case g != nil:
		return g.CheckCommit(req.MemberID, req.InstanceID, req.Generation, true)
	case req.Generation < 0:
		return protocol.None // applying the offsets makes a simple group
	case req.Version >= txnNewErrors:
		return protocol.GroupIDNotFound
	default:
		return protocol.IllegalGeneration
	}
}

// CompleteTransaction writes a marker into a partition of __consumer_offsets: what the producer committed in its
// transaction counts from now on, or is dropped. It waits until that is committed.
func (s *Service) CompleteTransaction(ctx context.Context, partition int32, marker storage.Marker) protocol.ErrorCode {
	s.mu.RLock()
	sh, closed := s.shards[partition], s.closed
	s.mu.RUnlock()
	switch {
	case closed:
		return protocol.CoordinatorNotAvailable
	case sh == nil:
		return protocol.NotCoordinator
	}
	r := group.Record{
		ProducerID: marker.ProducerID, ProducerEpoch: marker.Epoch, Marker: group.AbortMarker,
		CoordinatorEpoch: marker.CoordinatorEpoch, TransactionVersion: marker.TransactionVersion,
	}
	if marker.Commit {
		r.Marker = group.CommitMarker
	}
	_, err := doIn(ctx, sh, func(*machine, time.Time) (struct{}, group.Outcome) {
		return struct{}{}, group.Outcome{Records: []group.Record{r}, Alone: true}
	})
	return codeOf(err)
}
