package txn

import (
	"regexp"
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// Describe is one transactional id as DescribeTransactions shows it: TRANSACTIONAL_ID_NOT_FOUND if it is not known.
func (s *Store) Describe(id string) kmsg.DescribeTransactionsResponseTransactionState {
	r := kmsg.NewDescribeTransactionsResponseTransactionState()
	r.TransactionalID = id
	t := s.byID[id]
	if t == nil {
		r.ErrorCode = int16(protocol.TransactionalIDNotFound)
		return r
	}
	r.State, r.TimeoutMillis, r.StartTimestamp = t.State.String(), t.TimeoutMs, t.StartMs
	r.ProducerID, r.ProducerEpoch = t.ProducerID, t.Epoch
	for _, tp := range t.Partitions {
		if n := len(r.Topics); n == 0 || r.Topics[n-1].Topic != tp.Topic {
			of := kmsg.NewDescribeTransactionsResponseTransactionStateTopic()
			of.Topic = tp.Topic
			r.Topics = append(r.Topics, of)
		}
		of := &r.Topics[len(r.Topics)-1]
		of.Partitions = append(of.Partitions, tp.Partition)
	}
	return r
}

// Filter is what a ListTransactions request asks for.
type Filter struct {
	// Unknown are those of the states asked for that do not exist.
	Unknown []string

	byState   bool
	states    []State
	producers []int64
	longerMs  int64 // negative: of any duration
	pattern   *regexp.Regexp
}

// NewFilter reads the request: INVALID_REGULAR_EXPRESSION if the pattern is none.
func NewFilter(req *kmsg.ListTransactionsRequest) (*Filter, error) {
	f := &Filter{byState: len(req.StateFilters) > 0, producers: req.ProducerIDFilters, longerMs: -1}
	for _, name := range req.StateFilters {
		if s, ok := stateOf(name); ok {
			f.states = append(f.states, s)
		} else {
			f.Unknown = append(f.Unknown, name)
		}
	}
	if req.Version >= 1 {
		f.longerMs = req.DurationFilterMillis
	}
	if p := req.TransactionalIDPattern; req.Version >= 2 && p != nil && *p != "" {
		re, err := regexp.Compile(`\A(?:` + *p + `)\z`)
		if err == nil {
			_, err = regexp.Compile(*p) // alone it has to be one too
		}
		if err != nil {
			return nil, &protocol.Fault{Code: protocol.InvalidRegularExpression,
				Message: "Transaction ID pattern `" + *p + "` is not a valid regular expression: " + err.Error() + "."}
		}
		f.pattern = re
	}
	return f, nil
}

func (f *Filter) takes(t *Transaction, nowMs int64) bool {
	switch {
	case len(f.producers) > 0 && !slices.Contains(f.producers, t.ProducerID):
		return false
	case f.byState && !slices.Contains(f.states, t.State):
		return false
	case f.longerMs >= 0 && nowMs-t.StartMs <= f.longerMs:
		return false
	}
	return f.pattern == nil || f.pattern.MatchString(t.ID)
}

// List is the transactions that the filter takes, by id.
func (s *Store) List(f *Filter, nowMs int64) []kmsg.ListTransactionsResponseTransactionState {
	var out []kmsg.ListTransactionsResponseTransactionState
	for _, t := range s.byID {
		if t.State == Dead || !f.takes(t, nowMs) {
			continue
		}
		l := kmsg.NewListTransactionsResponseTransactionState()
		l.TransactionalID, l.ProducerID, l.TransactionState = t.ID, t.ProducerID, t.State.String()
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b kmsg.ListTransactionsResponseTransactionState) int {
		return strings.Compare(a.TransactionalID, b.TransactionalID)
	})
	return out
}
