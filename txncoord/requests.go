package txncoord

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/rsm"
	"github.com/ottla/ottla/txncoord/txn"
)

// InitProducerID answers a request with a transactional id.
func (s *Service) InitProducerID(ctx context.Context, req *kmsg.InitProducerIDRequest) *kmsg.InitProducerIDResponse {
	r := kmsg.NewPtrInitProducerIDResponse()
	r.ProducerID, r.ProducerEpoch = txn.NoProducerID, txn.NoEpoch
	if code := txn.CheckInit(req, s.o.Config().MaxTimeoutMs); code != protocol.None {
		r.ErrorCode = int16(code)
		return r
	}
	d, err := s.decide(ctx, *req.TransactionalID, func(st *txn.Store, c txn.Call) txn.Decision { return st.Init(c, req) })
	if err == nil {
		err = orNil(d.Code)
	}
	if err != nil {
		r.ErrorCode = int16(codeOf(err))
		return r
	}
	r.ProducerID, r.ProducerEpoch = d.ProducerID, d.Epoch
	return r
}

func orNil(c protocol.ErrorCode) error {
	if c == protocol.None {
		return nil
	}
	return c
}

// Add makes partitions that exist part of a transaction.
func (s *Service) Add(ctx context.Context, a *txn.Adding) protocol.ErrorCode {
	if a.ID == "" {
		return protocol.InvalidRequest
	}
	d, err := s.decide(ctx, a.ID, func(st *txn.Store, c txn.Call) txn.Decision { return st.Add(c, a) })
	if err != nil {
		return codeOf(err)
	}
	return d.Code
}

// Verify says which partitions are not part of a transaction, or why that cannot be told.
func (s *Service) Verify(ctx context.Context, a *txn.Adding) (missing []protocol.TopicPartition, code protocol.ErrorCode) {
	if a.ID == "" {
		return nil, protocol.InvalidRequest
	}
	sh, err := s.shardOf(a.ID)
	if err != nil {
		return nil, codeOf(err)
	}
	code, err = rsm.Do(ctx, sh.rsm, func(m *machine, _ time.Time) (protocol.ErrorCode, rsm.Outcome[txn.Record]) {
		var code protocol.ErrorCode
		missing, code = m.store.Verify(a)
		return code, rsm.Outcome[txn.Record]{}
	})
	if err != nil {
		return nil, codeOf(err)
	}
	return missing, code
}

// EndTxn answers when the end is decided; the markers are sent after that.
func (s *Service) EndTxn(ctx context.Context, req *kmsg.EndTxnRequest) *kmsg.EndTxnResponse {
	r := kmsg.NewPtrEndTxnResponse()
	r.ProducerID, r.ProducerEpoch = txn.NoProducerID, txn.NoEpoch
	if req.TransactionalID == "" {
		r.ErrorCode = int16(protocol.InvalidRequest)
		return r
	}
	d, err := s.decide(ctx, req.TransactionalID, func(st *txn.Store, c txn.Call) txn.Decision { return st.End(c, req) })
	if err != nil {
		r.ErrorCode = int16(codeOf(err))
		return r
	}
	r.ErrorCode, r.ProducerID, r.ProducerEpoch = int16(d.Code), d.ProducerID, d.Epoch
	return r
}

// Describe shows one transactional id.
func (s *Service) Describe(ctx context.Context, id string) kmsg.DescribeTransactionsResponseTransactionState {
	r, err := kmsg.NewDescribeTransactionsResponseTransactionState(), error(nil)
	r.TransactionalID = id
	if id == "" {
		r.ErrorCode = int16(protocol.InvalidRequest)
		return r
	}
	sh, err := s.shardOf(id)
	if err == nil {
		r, err = rsm.Do(ctx, sh.rsm, func(m *machine, _ time.Time) (kmsg.DescribeTransactionsResponseTransactionState, rsm.Outcome[txn.Record]) {
			return m.store.Describe(id), rsm.Outcome[txn.Record]{}
		})
	}
	if err != nil {
		r.TransactionalID, r.ErrorCode = id, int16(codeOf(err))
	}
	return r
}

// List lists the transactions of all shards here, by id within each. While one is loading there is no list.
func (s *Service) List(ctx context.Context, req *kmsg.ListTransactionsRequest) *kmsg.ListTransactionsResponse {
	r := kmsg.NewPtrListTransactionsResponse()
	f, err := txn.NewFilter(req)
	if err == nil {
		r.UnknownStateFilters = f.Unknown
		r.TransactionStates, err = s.list(ctx, f)
	}
	if err != nil {
		r.TransactionStates, r.ErrorCode = nil, int16(codeOf(err))
	}
	return r
}

func (s *Service) list(ctx context.Context, f *txn.Filter) ([]kmsg.ListTransactionsResponseTransactionState, error) {
	s.mu.RLock()
	closed, shards := s.closed, sortedShards(s.shards)
	s.mu.RUnlock()
	if closed {
		return nil, protocol.CoordinatorNotAvailable
	}
	var all []kmsg.ListTransactionsResponseTransactionState
	for _, sh := range shards {
		some, err := rsm.Do(ctx, sh.rsm, func(m *machine, now time.Time) ([]kmsg.ListTransactionsResponseTransactionState, rsm.Outcome[txn.Record]) {
			return m.store.List(f, now.UnixMilli()), rsm.Outcome[txn.Record]{}
		})
		if errors.Is(err, rsm.ErrNotActive) {
			continue
		}
		if err != nil {
			return nil, err
		}
		all = slices.Concat(all, some)
	}
	return all, nil
}

// Ending is closed when the transaction that is ending under this id is complete; nil if none is known to be.
func (s *Service) Ending(id string) <-chan struct{} { return s.markers.wait(id) }
