package replication

import (
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
	"github.com/ottla/ottla/storage"
)

// CoordinatorLog is a partition of an internal topic as its coordinator on this broker uses it.
type CoordinatorLog struct{ p *Partition }

// Coordinator is the partition's log for a coordinator.
func (p *Partition) Coordinator() CoordinatorLog { return CoordinatorLog{p} }

// Writable says why an append under the leader epoch would be refused now, nil if it would not.
func (l CoordinatorLog) Writable(leaderEpoch int32) error {
	l.p.roleMu.RLock()
	defer l.p.roleMu.RUnlock()
	if _, err := l.p.lead(leaderEpoch); err != nil {
		return notLeading(err)
	}
	if !l.p.enough() {
		return protocol.NotEnoughReplicas
	}
	return nil
}

// Append appends a batch under the leader epoch and returns its base offset.
func (l CoordinatorLog) Append(b record.Batch, leaderEpoch int32) (int64, error) {
	r, err := l.p.Append(b, AppendOptions{Acks: AllReplicas, Origin: storage.Coordinator, LeaderEpoch: leaderEpoch})
	return r.BaseOffset, notLeading(err)
}

// StartVerification is the partition's, for a batch without a sequence.
func (l CoordinatorLog) StartVerification(producerID int64, epoch int16, v2 bool) (storage.Guard, error) {
	return l.p.StartVerification(producerID, epoch, record.NoSequence, v2)
}

// AppendTransactional is Append for a batch that is part of a producer's transaction.
func (l CoordinatorLog) AppendTransactional(b record.Batch, leaderEpoch int32, g storage.Guard) (int64, error) {
	r, err := l.p.Append(b, AppendOptions{Acks: AllReplicas, Origin: storage.Coordinator, LeaderEpoch: leaderEpoch, Guard: g})
	return r.BaseOffset, notLeading(err)
}

// AppendMarker appends the end of a producer's transaction and returns its offset.
func (l CoordinatorLog) AppendMarker(m storage.Marker, leaderEpoch int32) (int64, error) {
	r, err := l.p.AppendMarker(m, leaderEpoch)
	return r.BaseOffset, notLeading(err)
}

// OnHighWatermark is the partition's.
func (l CoordinatorLog) OnHighWatermark(offset int64, done func(error)) {
	l.p.OnHighWatermark(offset, done)
}

// Bounds are the log's start and end, 0 and 0 without a log.
func (l CoordinatorLog) Bounds() (start, end int64) {
	if log := l.p.Log(); log != nil {
		return log.LogStartOffset(), log.LogEndOffset()
	}
	return 0, 0
}

// Read appends whole batches from the one that holds offset on to buf, about maxBytes of them and at
// least one; nothing at the log's end.
func (l CoordinatorLog) Read(buf []byte, offset int64, maxBytes int) ([]byte, error) {
	read, err := l.p.Fetch(FetchOptions{
		Offset: offset, MaxBytes: maxBytes, MinOne: true, Bound: storage.LogEnd,
		LeaderEpoch: AnyEpoch, LastFetchedEpoch: AnyEpoch,
	})
	if err != nil {
		return buf, err
	}
	defer read.Release()
	for _, s := range read.Slices {
		at := len(buf)
		buf = append(buf, make([]byte, s.Length)...)
		if err := s.ReadFull(buf[at:]); err != nil {
			return buf[:at], err
		}
	}
	return buf, nil
}

// MaxMessageBytes is the topic's max.message.bytes.
func (l CoordinatorLog) MaxMessageBytes() int { return int(l.p.Config().MaxMessageBytes) }

// notLeading makes the answers about leader epochs what a coordinator means by them: it leads in
// another epoch or not at all.
func notLeading(err error) error {
	switch protocol.CodeOf(err) {
	case protocol.FencedLeaderEpoch, protocol.UnknownLeaderEpoch:
		return protocol.NotLeaderOrFollower
	}
	return err
}
