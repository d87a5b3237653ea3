package storage

import (
	"encoding/binary"
	"sort"
	"sync"
)

// The offset index has 8-byte entries: int32 offset - base, int32 position. The entry's
// offset is the last one of the batch that begins at the position. The time index has
// 12-byte entries: int64 timestamp, int32 offset - base: the largest timestamp so far in
// the segment and the last offset of the first batch that reached it.
const (
	offsetEntrySize = 8
	timeEntrySize   = 12

	// pendingMax is how many entries of an active segment wait in memory to be written in
	// one go: at one entry per 4 KiB a write for each half MiB of log. A crash may lose
	// them, and then recovery rebuilds the index.
	pendingMax = 128
	// lookupBlock is read at once at the end of a binary search in a file.
	lookupBlock = 4096
)

// index is one index file: entries on disk and, in an active segment, those still to be
// written. The segment's lock guards it; entries once added never change, so a copy of
// the struct can be searched without the lock.
type index struct {
	entrySize int8
	exists    bool  // the file is there
	synced    bool  // nothing was written since the last sync
	padded    bool  // the file is longer than its entries, with zeros or half an entry
	count     int32 // entries in the file
	pending   []byte
}

// entries is how many there are, on disk and pending.
func (x *index) entries() int { return int(x.count) + len(x.pending)/int(x.entrySize) }

// full says that no further entry fits into the configured size; the time index keeps
// one free for the entry that closing the segment adds.
func (x *index) full(maxBytes int32) bool {
	n := int(maxBytes) / int(x.entrySize)
	if x.entrySize == timeEntrySize {
		n--
	}
	return x.entries() >= n
}

func offsetEntry(b []byte, relative int32, position int32) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(relative))
	return binary.BigEndian.AppendUint32(b, uint32(position))
}

func timeEntry(b []byte, timestamp int64, relative int32) []byte {
	b = binary.BigEndian.AppendUint64(b, uint64(timestamp))
	return binary.BigEndian.AppendUint32(b, uint32(relative))
}

// Keys of entries: offsets of an offset index, timestamps or offsets of a time index,
// positions of an offset index.
func entryOffset(e []byte) int64   { return int64(int32(binary.BigEndian.Uint32(e))) }
func entryPosition(e []byte) int64 { return int64(int32(binary.BigEndian.Uint32(e[4:]))) }
func entryTime(e []byte) int64     { return int64(binary.BigEndian.Uint64(e)) }
func entryTimeOffset(e []byte) int64 {
	return int64(int32(binary.BigEndian.Uint32(e[8:])))
}

var blockPool = sync.Pool{New: func() any { return new([lookupBlock]byte) }}

// at copies entry i into e; file may be nil if all entries are pending.
func (x *index) at(file *FileRef, i int, e []byte) error {
	size := int(x.entrySize)
	if i >= int(x.count) {
		copy(e, x.pending[(i-int(x.count))*size:][:size])
		return nil
	}
	return readFull(file, e[:size], int64(i)*int64(size))
}

// floor finds the last entry whose key is at most target and copies it into e. It
// returns -1 if there is none, else the entry's number.
func (x *index) floor(file *FileRef, key func([]byte) int64, target int64, e []byte) (int, error) {
	size := int(x.entrySize)
	if p := len(x.pending) / size; p > 0 && key(x.pending) <= target {
		i := sort.Search(p, func(i int) bool { return key(x.pending[i*size:]) > target }) - 1
		copy(e, x.pending[i*size:][:size])
		return int(x.count) + i, nil
	}
	// Invariant: entries below lo have keys <= target, those from hi on have larger ones.
	lo, hi := 0, int(x.count)
	if hi == 0 {
		return -1, nil
	}
	perBlock := lookupBlock / size
	for hi-lo > perBlock {
		mid := int(uint(lo+hi) >> 1)
		if err := readFull(file, e[:size], int64(mid)*int64(size)); err != nil {
			return -1, err
		}
		if key(e) <= target {
			lo = mid
		} else {
			hi = mid
		}
	}
	block := blockPool.Get().(*[lookupBlock]byte)
	defer blockPool.Put(block)
	b := block[:(hi-lo)*size]
	if err := readFull(file, b, int64(lo)*int64(size)); err != nil {
		return -1, err
	}
	i := sort.Search(hi-lo, func(i int) bool { return key(b[i*size:]) > target }) - 1
	if i < 0 {
		return lo - 1, nil
	}
	copy(e, b[i*size:][:size])
	return lo + i, nil
}

// padding finds how many entries precede the zeros that Kafka preallocates and that are
// there until a segment is closed.
func (x *index) padding(file *FileRef) (int, error) {
	n := int(x.count)
	var e [timeEntrySize]byte
	zero := func(i int) (bool, error) {
		if err := x.at(file, i, e[:]); err != nil {
			return false, err
		}
		return [timeEntrySize]byte{} == e, nil
	}
	if n == 0 {
		return 0, nil
	}
	if z, err := zero(n - 1); err != nil || !z || n == 1 {
		return n, err
	}
	var err error
	first := sort.Search(n, func(i int) bool {
		z, zerr := zero(i)
		if zerr != nil {
			err = zerr
		}
		return z
	})
	return first, err
}
