package replication

import (
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/replication/replica"
	"github.com/ottla/ottla/storage"
)

// FetchOptions are one partition of a Fetch request.
type FetchOptions struct {
	Offset           int64
	MaxBytes         int
	MinOne           bool          // the first batch comes whole even if it is larger than MaxBytes
	Bound            storage.Bound // HighWatermark or LastStable for consumers, LogEnd for replicas
	LeaderEpoch      int32         // the leader epoch that the client knows; AnyEpoch if it does not say
	LastFetchedEpoch int32         // of the batch before Offset in the client's log; AnyEpoch likewise
}

// Fetched is the answer: whoever gets it without an error calls Release once.
type Fetched struct {
	storage.Read
	// Diverging is set when the client's log is not a prefix of this one: there is no data then, and it
	// has to truncate to that epoch's end.
	Diverging *storage.EpochEnd
}

// Fetch reads as the leader. Errors: FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH,
// NOT_LEADER_OR_FOLLOWER, OFFSET_OUT_OF_RANGE, KAFKA_STORAGE_ERROR.
func (p *Partition) Fetch(o FetchOptions) (Fetched, error) {
	p.roleMu.RLock()
	log, err := p.lead(o.LeaderEpoch)
	p.roleMu.RUnlock()
	if err != nil {
		return Fetched{}, err
	}
	if o.LastFetchedEpoch != AnyEpoch {
		end, err := diverging(log, o)
		if err != nil || end != nil {
			return Fetched{Read: bounds(log), Diverging: end}, err
		}
	}
	read, err := log.Read(o.Offset, o.MaxBytes, o.MinOne, o.Bound)
	return Fetched{Read: read}, err
}

// diverging is where the client's last epoch ends here, if that is not where the client's log has it.
func diverging(log *storage.Log, o FetchOptions) (*storage.EpochEnd, error) {
	end := log.EndOffsetForEpoch(o.LastFetchedEpoch)
	differs, known := replica.Diverging(o.Offset, o.LastFetchedEpoch, replica.EpochEnd{Epoch: end.Epoch, Offset: end.Offset})
	switch {
	case !known:
		return nil, protocol.OffsetOutOfRange
	case differs:
		return &end, nil
	}
	return nil, nil
}

// bounds is an empty read.
func bounds(log *storage.Log) storage.Read {
	return storage.Read{
		HighWatermark: log.HighWatermark(), LastStableOffset: log.LastStableOffset(),
		LogStartOffset: log.LogStartOffset(), LogEndOffset: log.LogEndOffset(),
	}
}
