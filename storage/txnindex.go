package storage

import (
	"encoding/binary"
	"fmt"
)

// The transaction index lists a segment's aborted transactions, in the order of their
// markers: int16 version 0, int64 producer id, int64 first offset, int64 last offset
// (the marker's), int64 last stable offset at that moment.
const txnEntrySize = 34

// abortedEntry is one of them.
type abortedEntry struct {
	producerID  int64
	firstOffset int64
	lastOffset  int64
	lastStable  int64
}

func (a abortedEntry) append(b []byte) []byte {
	b = binary.BigEndian.AppendUint16(b, 0)
	b = binary.BigEndian.AppendUint64(b, uint64(a.producerID))
	b = binary.BigEndian.AppendUint64(b, uint64(a.firstOffset))
	b = binary.BigEndian.AppendUint64(b, uint64(a.lastOffset))
	return binary.BigEndian.AppendUint64(b, uint64(a.lastStable))
}

// decodeAborted reads a whole transaction index and checks that it is one of a segment
// that begins at base.
func decodeAborted(b []byte, base int64) ([]abortedEntry, error) {
	if len(b)%txnEntrySize != 0 {
		return nil, fmt.Errorf("transaction index of %d bytes: not a multiple of %d", len(b), txnEntrySize)
	}
	entries := make([]abortedEntry, 0, len(b)/txnEntrySize)
	last := base - 1
	for ; len(b) > 0; b = b[txnEntrySize:] {
		// A version above 0 is read as 0: newer ones only add to the end of the file.
		if v := int16(binary.BigEndian.Uint16(b)); v < 0 {
			return nil, fmt.Errorf("transaction index entry %d: version %d", len(entries), v)
		}
		a := abortedEntry{
			producerID:  int64(binary.BigEndian.Uint64(b[2:])),
			firstOffset: int64(binary.BigEndian.Uint64(b[10:])),
			lastOffset:  int64(binary.BigEndian.Uint64(b[18:])),
			lastStable:  int64(binary.BigEndian.Uint64(b[26:])),
		}
		if a.lastOffset <= last {
			return nil, fmt.Errorf("transaction index entry %d: last offset %d after %d", len(entries), a.lastOffset, last)
		}
		last = a.lastOffset
		entries = append(entries, a)
	}
	return entries, nil
}
