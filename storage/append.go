package storage

import (
	"errors"
	"fmt"
	"time"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

// AppendAsLeader appends one validated batch: writes its base offset and leader
// epoch in place, checks its producer, rolls if needed. b may be reused when it
// returns. Transactional data is taken unverified: see AppendVerified.
//
// Errors: RECORD_LIST_TOO_LARGE, INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER
// (origin Client), INVALID_TXN_STATE, TRANSACTION_COORDINATOR_FENCED,
// KAFKA_STORAGE_ERROR.
func (l *Log) AppendAsLeader(b record.Batch, leaderEpoch int32, o Origin, nowMs int64) (AppendInfo, error) {
	return l.appendLeader(b, leaderEpoch, terms{origin: o, guard: Unverified}, nowMs)
}

// AppendVerified is AppendAsLeader for a batch that may be transactional: it has to belong
// to a transaction that is open here, or show what StartVerification gave.
func (l *Log) AppendVerified(b record.Batch, leaderEpoch int32, o Origin, g Guard, nowMs int64) (AppendInfo, error) {
	return l.appendLeader(b, leaderEpoch, terms{origin: o, guard: g}, nowMs)
}

// AppendMarker is AppendAsLeader for the coordinator's end-of-transaction marker. From
// transaction.version 2 on (KIP-890) it has to carry a higher epoch than the data.
func (l *Log) AppendMarker(b record.Batch, leaderEpoch int32, transactionVersion int16, nowMs int64) (AppendInfo, error) {
	return l.appendLeader(b, leaderEpoch, terms{origin: Coordinator, transactionVersion: transactionVersion}, nowMs)
}

func (l *Log) appendLeader(b record.Batch, leaderEpoch int32, t terms, nowMs int64) (AppendInfo, error) {
	info, flush, err := l.lockedAppend(b, leaderEpoch, t, nowMs)
	if err == nil && flush {
		err = l.flushTo(info.LastOffset + 1)
	}
	return info, err
}

// lockedAppend reports also whether the log has to be flushed.
func (l *Log) lockedAppend(b record.Batch, leaderEpoch int32, t terms, nowMs int64) (AppendInfo, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return AppendInfo{}, false, err
	}
	c := l.Config()
	if len(b) > int(c.SegmentBytes) {
		return AppendInfo{}, false, &protocol.Fault{Code: protocol.RecordListTooLarge, Message: fmt.Sprintf(
			"batch of %d bytes, a segment has %d", len(b), c.SegmentBytes)}
	}
	if b.LastOffsetDelta() < 0 {
		return AppendInfo{}, false, protocol.InvalidRecord
	}
	base := l.vis.end
	b.SetBaseOffset(base)
	b.SetPartitionLeaderEpoch(leaderEpoch)
	var update producerUpdate
	if b.HasProducerID() {
		if t.origin == Client {
			if d := l.producers.duplicate(b); d != nil {
				return AppendInfo{
					BaseOffset: d.firstOffset(), LastOffset: d.lastOffset, LogAppendTime: d.timestamp,
					LogStartOffset: l.vis.start, LeaderEpoch: leaderEpoch, Duplicate: true,
				}, false, nil
			}
		}
		var err error
		if update, err = l.producers.check(b, t, l.verifying.byID[b.ProducerID()]); err != nil {
			return AppendInfo{}, false, err
		}
	}
	l.infos = append(l.infos[:0], infoOf(b))
	if err := l.write(b, base, nowMs); err != nil {
		return AppendInfo{}, false, err
	}
	l.epochs.assign(leaderEpoch, base)
	if b.HasProducerID() {
		if err := l.applyProducer(&update); err != nil {
			return AppendInfo{}, false, err
		}
		if b.IsTransactional() {
			l.verifying.passed(b)
		}
	}
	l.publish(b.LastOffset() + 1)
	info := AppendInfo{
		BaseOffset: base, LastOffset: b.LastOffset(), LogAppendTime: -1,
		LogStartOffset: l.vis.start, LeaderEpoch: leaderEpoch, Bytes: len(b),
	}
	if b.TimestampType() == record.LogAppendTime {
		info.LogAppendTime = b.MaxTimestamp()
	}
	return info, l.flushDue(c), nil
}

// check is what a batch would do to its producer, or why it may not.
func (ps *producers) check(b record.Batch, t terms, v *verification) (producerUpdate, error) {
	u := ps.begin(b.ProducerID())
	u.verifying = v
	if !b.IsControl() {
		return u, u.data(b, t)
	}
	m, ok, err := markerOf(b)
	if err != nil || !ok {
		return u, err
	}
	return u, u.mark(m, b.ProducerEpoch(), b.BaseOffset(), t)
}

// markerOf reads a control batch; ok is false for one that ends no transaction, or that
// compaction emptied.
func markerOf(b record.Batch) (m marker, ok bool, err error) {
	if b.Count() == 0 {
		return m, false, nil
	}
	t, value, err := b.ControlRecord()
	if err != nil || t != record.Abort && t != record.Commit {
		return m, false, err
	}
	epoch, err := record.ParseMarker(value)
	return marker{abort: t == record.Abort, coordinatorEpoch: epoch, timestamp: b.MaxTimestamp()}, true, err
}

// AppendAsFollower appends batches as a leader (or the raft log) has them, unchanged.
// Batches of an epoch above leaderEpoch, and a last one that is cut off, are left out.
// Errors: CORRUPT_MESSAGE for a bad batch, OFFSET_OUT_OF_RANGE for offsets that
// do not follow, KAFKA_STORAGE_ERROR.
func (l *Log) AppendAsFollower(batches []byte, leaderEpoch int32) (AppendInfo, error) {
	info, flush, err := l.lockedFollow(batches, leaderEpoch)
	if err == nil && flush {
		err = l.flushTo(info.LastOffset + 1)
	}
	return info, err
}

func (l *Log) lockedFollow(batches []byte, leaderEpoch int32) (AppendInfo, bool, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return AppendInfo{}, false, err
	}
	none := AppendInfo{BaseOffset: l.vis.end, LastOffset: l.vis.end - 1, LogAppendTime: -1, LogStartOffset: l.vis.start, LeaderEpoch: -1}
	whole, err := l.analyze(batches, leaderEpoch)
	if err != nil || len(whole) == 0 {
		return none, false, err
	}
	info := none
	info.BaseOffset = record.Batch(whole).BaseOffset()
	info.Bytes = len(whole)
	if err := l.write(whole, info.BaseOffset, time.Now().UnixMilli()); err != nil {
		return none, false, err
	}
	for rest := whole; len(rest) > 0; {
		b, tail, err := record.Next(rest)
		if err != nil {
			return none, false, err // analyze read the same bytes
		}
		rest = tail
		if err := l.follow(b); err != nil {
			return none, false, err
		}
		info.LastOffset, info.LeaderEpoch = b.LastOffset(), b.PartitionLeaderEpoch()
	}
	l.publish(info.LastOffset + 1)
	return info, l.flushDue(l.Config()), nil
}

// analyze checks batches for AppendAsFollower and returns those to be appended,
// described in l.infos.
func (l *Log) analyze(batches []byte, leaderEpoch int32) ([]byte, error) {
	l.infos = l.infos[:0]
	next := l.vis.end
	n := 0
	for n < len(batches) {
		b, _, err := record.Next(batches[n:])
		if errors.Is(err, record.ErrIncomplete) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("batch at byte %d of those to append: %w", n, err)
		}
		if b.PartitionLeaderEpoch() > leaderEpoch {
			break
		}
		if !b.VerifyCRC() || b.LastOffsetDelta() < 0 {
			return nil, &protocol.Fault{Code: protocol.CorruptMessage, Message: fmt.Sprintf(
				"batch with offset %d at byte %d of those to append: checksum or offsets are wrong", b.BaseOffset(), n)}
		}
		if b.BaseOffset() < next {
			return nil, &protocol.Fault{Code: protocol.OffsetOutOfRange, Message: fmt.Sprintf(
				"batch with offset %d cannot follow offset %d", b.BaseOffset(), next-1)}
		}
		if b.IsControl() && b.HasProducerID() {
			if _, _, err := markerOf(b); err != nil {
				return nil, fmt.Errorf("marker with offset %d at byte %d of those to append: %w", b.BaseOffset(), n, err)
			}
		}
		next = b.LastOffset() + 1
		l.infos = append(l.infos, infoOf(b))
		n += len(b)
	}
	return batches[:n], nil
}

// follow takes notice of a batch whose rules a leader has checked.
func (l *Log) follow(b record.Batch) error {
	if b.Magic() < record.Magic2 {
		l.epochs.clear()
		return nil
	}
	if b.PartitionLeaderEpoch() >= 0 {
		l.epochs.assign(b.PartitionLeaderEpoch(), b.BaseOffset())
	}
	if !b.HasProducerID() {
		return nil
	}
	if err := l.replay(b, l.active()); err != nil {
		return l.failed("writing the transaction index", err)
	}
	if b.IsTransactional() {
		l.updateUnstable()
	}
	return nil
}

// applyProducer makes what a written batch did to its producer visible, and notes an
// aborted transaction in the index of the segment that holds the marker.
func (l *Log) applyProducer(u *producerUpdate) error {
	if err := l.take(u, l.active()); err != nil {
		return l.failed("writing the transaction index", err)
	}
	if u.started || u.ended {
		l.updateUnstable()
	}
	return nil
}

// take brings an update into the producer state, and an aborted transaction into the
// index of segment s, unless that is nil.
func (l *Log) take(u *producerUpdate, s *segment) error {
	if !u.changed {
		return nil
	}
	l.producers.apply(u)
	if !u.ended {
		return nil
	}
	if u.txn.aborted && s != nil {
		a := abortedEntry{u.txn.producerID, u.txn.firstOffset, u.txn.lastOffset, l.producers.stableAfter(u.txn)}
		if err := s.addAborted(a); err != nil {
			return err
		}
	}
	l.producers.complete(u.txn)
	return nil
}

// write appends batches, described in l.infos, to the active segment, rolling before
// and, should offsets be too far apart for one segment, in between.
func (l *Log) write(b []byte, first int64, nowMs int64) error {
	infos := l.infos
	for len(infos) > 0 {
		if due, err := l.rollDue(len(b), infos, nowMs); err != nil {
			return l.failed("reading the active segment", err)
		} else if due {
			if err := l.roll(first, nowMs); err != nil {
				return err
			}
		}
		s := l.active()
		n, bytes := 0, 0
		for n < len(infos) && (n == 0 || s.fits(infos[n].lastOffset)) {
			bytes += infos[n].size
			n++
		}
		if !s.fits(infos[0].lastOffset) {
			return fmt.Errorf("%s: offset %d does not fit into a segment that begins at %d", l.tp, infos[0].lastOffset, s.base)
		}
		l.watch(s)
		if err := s.append(b[:bytes], infos[:n], l.Config()); err != nil {
			return l.failed("appending", err)
		}
		s.size.Add(int64(bytes))
		first = infos[n-1].lastOffset + 1
		b, infos = b[bytes:], infos[n:]
	}
	return nil
}

// publish makes what was written visible.
func (l *Log) publish(end int64) {
	l.producers.end = end
	l.setEnd(end)
}

func (l *Log) flushDue(c *LogConfig) bool {
	return l.vis.end-l.recoveryPoint.Load() >= c.FlushMessages
}
