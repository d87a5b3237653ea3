package storage

import (
	"errors"
	"io"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/ottla/ottla/protocol/record"
)

// recover reads the segments that may have lost something: after an unclean stop those
// from the recovery point on, and any without an offset index or with a bad transaction
// index.
func (l *loading) recover() error {
	unclean := len(l.segments)
	if !l.clean {
		unclean, _ = slices.BinarySearchFunc(l.segments, l.recovery+1, func(s *segment, o int64) int {
			if s.base < o {
				return -1
			}
			return 1
		})
		unclean = max(0, unclean-1)
	}
	for i := 0; i < len(l.segments); i++ {
		s := l.segments[i]
		if i < unclean {
			ok, err := l.indexesUsable(s)
			if err != nil {
				return err
			}
			if ok {
				continue
			}
		}
		cut, err := l.recoverSegment(s)
		if err != nil {
			return err
		}
		if i < unclean || i+1 == len(l.segments) {
			continue
		}
		// A file whose length was lost ends at a whole batch, and still lacks some. Kafka goes
		// on with the next segment then; we keep the log without a gap.
		short := !l.sparse && l.producers.end != l.segments[i+1].base
		if cut || short {
			l.env.logger.Warn("deleting the segments after one that lost its end", zap.Stringer("partition", l.tp),
				zap.Int64("segment", s.base), zap.Int64("its end", l.producers.end), zap.Int("deleted", len(l.segments)-i-1))
			if err := l.discard(i + 1); err != nil {
				return err
			}
		}
	}
	return nil
}

// indexesUsable is all that is checked of a segment that is not recovered.
func (l *loading) indexesUsable(s *segment) (bool, error) {
	if !s.offsets.exists && s.size.Load() > 0 {
		return false, nil
	}
	_, err := s.aborted()
	if err == nil {
		return true, nil
	}
	if isIOError(err) {
		return false, err
	}
	l.env.logger.Warn("rebuilding a transaction index", zap.Stringer("partition", l.tp), zap.Error(err))
	return false, nil
}

// isIOError tells a failing disk from content that makes no sense.
func isIOError(err error) bool {
	var p interface{ Timeout() bool } // of *fs.PathError, which all of vfs's errors are
	return errors.As(err, &p) || errors.Is(err, errSegmentGone)
}

// recoverSegment reads a segment's batches, cuts the file at the first that is bad, and
// builds the indexes anew; the producer state goes along. It reports whether something
// was cut off.
func (l *loading) recoverSegment(s *segment) (cut bool, err error) {
	if err := l.reload(s.base); err != nil {
		return false, err
	}
	if err := s.resetIndexes(); err != nil {
		return false, err
	}
	f, err := s.openLog()
	if err != nil {
		return false, err
	}
	defer f.Release()
	r := newBatchReader(f, s.size.Load())
	defer r.close()
	size := s.size.Load()
	s.size.Store(0)
	for next := s.base; ; {
		b, err := r.next()
		if err != nil {
			return false, err
		}
		// The checksum does not cover the offset, which a torn write may have lost: batches
		// that do not follow each other are bad as well. (Kafka empties the whole segment if
		// it happens to notice.)
		if b == nil || !s.fits(b.LastOffset()) || b.BaseOffset() < next {
			break
		}
		next = b.LastOffset() + 1
		if err := l.recoverBatch(s, b); err != nil {
			return false, err
		}
		s.size.Add(int64(len(b)))
	}
	l.recovered += size
	if extra := size - s.size.Load(); extra > 0 {
		l.env.logger.Warn("cutting off what is no valid batch", zap.Stringer("partition", l.tp),
			zap.Int64("segment", s.base), zap.Int64("bytes", extra), zap.Int64("next offset", l.producers.end))
		if err := f.file.Truncate(s.size.Load()); err != nil {
			return false, err
		}
		cut = true
	}
	s.dirty, s.sinceEntry = true, 0
	l.watch(s)
	if s == l.segments[len(l.segments)-1] {
		return cut, l.snapshotProducers() // it is written to again, or closed later
	}
	if err := s.closeOut(); err != nil {
		return false, err
	}
	return cut, l.takeSnapshot()
}

// snapshotProducers is takeSnapshot unless there are none: without the marker of a clean
// stop no snapshot is needed to know that.
func (l *loading) snapshotProducers() error {
	if len(l.producers.byID) == 0 {
		return nil
	}
	return l.takeSnapshot()
}

// recoverBatch notes a good batch: index entries, epoch, producer.
func (l *loading) recoverBatch(s *segment, b record.Batch) error {
	info := infoOf(b)
	if err := s.account(&info, s.size.Load(), l.Config()); err != nil {
		return err
	}
	if b.Magic() >= record.Magic2 {
		if e := b.PartitionLeaderEpoch(); e > l.epochs.latest() {
			l.epochs.assign(e, b.BaseOffset())
		}
		if b.HasProducerID() {
			if err := l.replay(b, s); err != nil {
				return err
			}
		}
	}
	l.producers.end = b.LastOffset() + 1
	return nil
}

// replay takes a batch that is in the log into the producer state. s is the segment
// whose transaction index gets the entry, nil if it has it.
func (l *Log) replay(b record.Batch, s *segment) error {
	u, err := l.producers.check(b, terms{origin: Replication}, nil)
	if err != nil {
		return nil // a marker that cannot be read ends nothing; analyze refuses new ones
	}
	return l.take(&u, s)
}

// resetIndexes empties a segment's indexes.
func (s *segment) resetIndexes() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range []struct {
		exists bool
		file   *cachedFile
		suffix string
	}{{s.offsets.exists, &s.indexFile, indexSuffix}, {s.times.exists, &s.timeFile, timeSuffix}, {s.hasAborted, &s.txnFile, txnSuffix}} {
		if !x.exists {
			continue
		}
		f, err := s.open(x.file, x.suffix, false)
		if err != nil {
			return err
		}
		err = f.file.Truncate(0)
		f.Release()
		if err != nil {
			return err
		}
	}
	s.offsets = index{entrySize: offsetEntrySize, exists: s.offsets.exists}
	s.times = index{entrySize: timeEntrySize, exists: s.times.exists}
	s.max, s.maxKnown = timePoint{-1, s.base}, true
	s.lastTime, s.sinceEntry, s.firstTimestamp = s.max, 0, -1
	s.txnDirty = s.hasAborted
	return nil
}

// batchReader reads whole batches one after the other, as long as they are good.
type batchReader struct {
	file io.ReaderAt
	pos  int64 // of what follows have
	end  int64
	buf  *[]byte
	have []byte
}

// readAhead is how much recovery reads at a time; a larger batch gets its own size.
const readAhead = 256 << 10

var readPool = sync.Pool{New: func() any { b := make([]byte, readAhead); return &b }}

func newBatchReader(f io.ReaderAt, end int64) *batchReader {
	return &batchReader{file: f, end: end, buf: readPool.Get().(*[]byte)}
}

func (r *batchReader) close() {
	if len(*r.buf) == readAhead {
		readPool.Put(r.buf)
	}
}

// next returns the next batch, valid until the next call; nil where the good ones end.
// Errors are the disk's.
func (r *batchReader) next() (record.Batch, error) {
	if err := r.fill(record.HeaderSize); err != nil {
		return nil, err
	}
	size, err := record.SizeOf(r.have)
	if err != nil || int64(size) > int64(len(r.have))+r.end-r.pos {
		return nil, nil
	}
	if err := r.fill(size); err != nil {
		return nil, err
	}
	b := record.Batch(r.have[:size:size])
	if !b.VerifyCRC() || b.LastOffsetDelta() < 0 || b.BaseOffset() < 0 {
		return nil, nil
	}
	r.have = r.have[size:]
	return b, nil
}

// fill makes n bytes available, or as many as there are.
func (r *batchReader) fill(n int) error {
	if len(r.have) >= n || r.pos == r.end {
		return nil
	}
	if n > len(*r.buf) {
		b := make([]byte, n)
		r.buf = &b
	}
	buf := *r.buf
	kept := copy(buf, r.have)
	more := int(min(int64(len(buf)-kept), r.end-r.pos))
	if err := readFull(r.file, buf[kept:kept+more], r.pos); err != nil {
		return err
	}
	r.pos += int64(more)
	r.have = buf[:kept+more]
	return nil
}
