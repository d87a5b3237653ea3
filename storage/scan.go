package storage

import (
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/ottla/ottla/protocol/record"
)

// Header scans read a file in pieces: a small one first, larger ones when batches turn
// out to follow each other closely.
const (
	scanFirst = 4 << 10
	scanMax   = 64 << 10
)

var scanPool = sync.Pool{New: func() any { return new([scanMax]byte) }}

// scanner walks the headers of the batches in part of a file. The file ends for it at
// the first batch that is not whole.
type scanner struct {
	file io.ReaderAt
	pos  int64 // of the next batch
	end  int64
	step int
	buf  *[scanMax]byte
	have []byte // bytes of the file from at on
	at   int64
}

func newScanner(file io.ReaderAt, pos, end int64) *scanner {
	return &scanner{file: file, pos: pos, end: end, step: scanFirst, buf: scanPool.Get().(*[scanMax]byte)}
}

// close gives the buffer back; headers returned before are gone then.
func (s *scanner) close() { scanPool.Put(s.buf) }

// next returns the next batch's header and position. The header is valid until the next
// call. nil at the end.
func (s *scanner) next() (header record.Batch, pos int64, err error) {
	if s.end-s.pos < minBatch {
		return nil, s.pos, nil
	}
	need := int(min(record.HeaderSize, s.end-s.pos))
	if s.pos < s.at || s.pos+int64(need) > s.at+int64(len(s.have)) {
		if err := s.fill(); err != nil {
			return nil, s.pos, err
		}
	}
	h := s.have[s.pos-s.at:]
	size, err := record.SizeOf(h)
	if err != nil {
		if errors.Is(err, record.ErrIncomplete) {
			return nil, s.pos, nil
		}
		return nil, s.pos, fmt.Errorf("batch at %d: %w", s.pos, err)
	}
	if int64(size) > s.end-s.pos {
		return nil, s.pos, nil
	}
	pos = s.pos
	s.pos += int64(size)
	return record.Batch(h[:min(len(h), size, record.HeaderSize)]), pos, nil
}

// minBatch is the smallest batch there is, an empty message of format 0.
const minBatch = 26

func (s *scanner) fill() error {
	if s.pos == s.at+int64(len(s.have)) && len(s.have) > 0 {
		s.step = min(4*s.step, scanMax)
	}
	n := min(int64(s.step), s.end-s.pos)
	s.have, s.at = s.buf[:n], s.pos
	if err := readFull(s.file, s.have, s.pos); err != nil {
		s.have = nil
		return err
	}
	return nil
}
