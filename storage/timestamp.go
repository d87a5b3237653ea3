package storage

import (
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

// MaxTimestamp, as OffsetForTimestamp's argument, asks for the record with the largest
// timestamp (KIP-734).
const MaxTimestamp int64 = -3

// OffsetForTimestamp finds the first record with a timestamp of at least ts, in
// offset order; with MaxTimestamp the first one that has the largest. Results at or
// past the bound count as not found.
func (l *Log) OffsetForTimestamp(ts int64, bound Bound) (OffsetTime, error) {
	var o OffsetTime
	err := l.retry(func() (err error) {
		v := l.view()
		switch {
		case v.start == v.end:
			o = OffsetTime{}
		case ts == MaxTimestamp:
			o, err = l.largestTimestamp(&v)
		default:
			o, err = l.firstAtOrAfter(&v, ts)
		}
		if err == nil && (!o.Found || o.Offset >= v.limit(bound)) {
			o = OffsetTime{Offset: -1, Timestamp: -1, LeaderEpoch: -1}
		}
		return err
	})
	return o, err
}

func (l *Log) largestTimestamp(v *view) (OffsetTime, error) {
	best := -1
	var point timePoint
	for i, s := range v.segments {
		if err := s.loadMax(); err != nil {
			return OffsetTime{}, err
		}
		s.mu.RLock()
		p := s.max
		s.mu.RUnlock()
		if p.timestamp >= 0 && (best < 0 || p.timestamp > point.timestamp) {
			best, point = i, p
		}
	}
	if best < 0 {
		return OffsetTime{}, nil
	}
	return l.searchTime(v, best, point.offset, point.timestamp)
}

func (l *Log) firstAtOrAfter(v *view, ts int64) (OffsetTime, error) {
	for i := v.segmentOf(v.start); i < len(v.segments); i++ {
		s := v.segments[i]
		if v.sizeOf(i) == 0 {
			continue
		}
		largest, _, err := s.largest()
		if err != nil {
			return OffsetTime{}, err
		}
		if largest < ts {
			continue
		}
		from, err := s.offsetBefore(ts)
		if err != nil {
			return OffsetTime{}, err
		}
		o, err := l.searchTime(v, i, max(from, v.start), ts)
		if err != nil || o.Found {
			return o, err
		}
	}
	return OffsetTime{}, nil
}

// offsetBefore is an offset that all records with a smaller timestamp than ts precede,
// as the time index knows.
func (s *segment) offsetBefore(ts int64) (int64, error) {
	x := s.timesCopy()
	var e [timeEntrySize]byte
	i, err := s.floorEntry(&x, &s.timeFile, timeSuffix, entryTime, ts-1, e[:])
	if err != nil || i < 0 {
		return s.base, err
	}
	return s.base + entryTimeOffset(e[:]), nil
}

// searchTime scans segment i from the batch that holds offset from on for the first
// record with a timestamp of at least ts.
func (l *Log) searchTime(v *view, i int, from, ts int64) (OffsetTime, error) {
	s, end := v.segments[i], v.sizeOf(i)
	f, err := s.openLog()
	if err != nil {
		return OffsetTime{}, err
	}
	defer f.Release()
	b, ok, err := s.find(f, from, end)
	if err != nil || !ok {
		return OffsetTime{}, err
	}
	sc := newScanner(f, b.pos, end)
	defer sc.close()
	for {
		h, at, err := sc.next()
		if h == nil || err != nil {
			return OffsetTime{}, err
		}
		if h.MaxTimestamp() < ts {
			continue
		}
		o, err := searchBatch(f, h, at, ts, v.start, l.Config().MaxDecompressedMessageBytes)
		if err != nil || o.Found {
			return o, err
		}
	}
}

// searchBatch looks for the record in one batch.
func searchBatch(f *FileRef, h record.Batch, at, ts, start int64, maxDecompressed int32) (OffsetTime, error) {
	o := OffsetTime{Timestamp: h.MaxTimestamp(), LeaderEpoch: h.PartitionLeaderEpoch(), Found: true}
	b := make(record.Batch, h.Size())
	if err := readFull(f, b, at); err != nil {
		return OffsetTime{}, err
	}
	if b.Magic() < record.Magic2 {
		return searchMessages(b, ts, start, maxDecompressed)
	}
	for r, err := range b.Stamps(int(maxDecompressed)) {
		if err != nil {
			return OffsetTime{}, &protocol.Fault{Code: protocol.CorruptMessage, Message: err.Error()}
		}
		if r.Timestamp >= ts && r.Offset >= start {
			o.Offset, o.Timestamp = r.Offset, r.Timestamp
			return o, nil
		}
	}
	return OffsetTime{}, nil
}

// searchMessages looks for the record in a message of an old format, or in what it holds compressed.
func searchMessages(b record.Batch, ts, start int64, maxDecompressed int32) (OffsetTime, error) {
	o := OffsetTime{Timestamp: b.MaxTimestamp(), LeaderEpoch: record.NoLeaderEpoch}
	for r, err := range b.Messages(int(maxDecompressed)) {
		if err != nil {
			return OffsetTime{}, &protocol.Fault{Code: protocol.CorruptMessage, Message: err.Error()}
		}
		if r.Timestamp >= ts && r.Offset >= start {
			o.Offset, o.Timestamp, o.Found = r.Offset, r.Timestamp, true
			return o, nil
		}
	}
	return OffsetTime{}, nil
}
