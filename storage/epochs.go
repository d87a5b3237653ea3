package storage

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// epochs are a log's leader epochs, ascending in epoch and start offset. The file
// is written when the log is flushed or closed and after truncation, always synced:
// what it lacks after a crash is in the batches that recovery reads anyway.
type epochs struct {
	mu      sync.RWMutex
	entries []EpochEntry
	changes uint64 // since the log was opened
	written uint64 // how many of them the file has
}

// assign notes that epoch begins at offset. Entries at the end that contradict it go;
// an epoch that is already the latest one is left alone.
func (e *epochs) assign(epoch int32, offset int64) {
	if epoch < 0 || offset < 0 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(e.entries)
	if n > 0 && e.entries[n-1].Epoch == epoch && e.entries[n-1].StartOffset <= offset {
		return
	}
	for n > 0 && (e.entries[n-1].Epoch >= epoch || e.entries[n-1].StartOffset >= offset) {
		n--
	}
	e.entries = append(e.entries[:n], EpochEntry{epoch, offset})
	e.changes++
}

// truncateEnd drops the epochs that begin at or after offset.
func (e *epochs) truncateEnd(offset int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := len(e.entries)
	for n > 0 && e.entries[n-1].StartOffset >= offset {
		n--
	}
	if n < len(e.entries) {
		e.entries = e.entries[:n]
		e.changes++
	}
}

// truncateStart drops what ended before offset: the last epoch that begins at or
// before it then begins there.
func (e *epochs) truncateStart(offset int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := 0
	for n < len(e.entries) && e.entries[n].StartOffset <= offset {
		n++
	}
	if n == 0 || n == 1 && e.entries[0].StartOffset == offset {
		return
	}
	e.entries = slices.Delete(e.entries, 0, n-1)
	e.entries[0].StartOffset = offset
	e.changes++
}

func (e *epochs) clear() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.entries) > 0 {
		e.entries = nil
		e.changes++
	}
}

// latest is the newest epoch, -1 if there is none.
func (e *epochs) latest() int32 {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if n := len(e.entries); n > 0 {
		return e.entries[n-1].Epoch
	}
	return -1
}

// of is the epoch that offset belongs to, -1 if it is before all known ones.
func (e *epochs) of(offset int64) int32 {
	e.mu.RLock()
	defer e.mu.RUnlock()
	for i := len(e.entries) - 1; i >= 0; i-- {
		if e.entries[i].StartOffset <= offset {
			return e.entries[i].Epoch
		}
	}
	return -1
}

// end is where an epoch ends, in a log that ends at logEnd: the answer to
// OffsetForLeaderEpoch.
func (e *epochs) end(epoch int32, logEnd int64) EpochEnd {
	e.mu.RLock()
	defer e.mu.RUnlock()
	n := len(e.entries)
	if epoch == -1 || n == 0 || epoch > e.entries[n-1].Epoch {
		return EpochEnd{-1, -1}
	}
	if epoch == e.entries[n-1].Epoch {
		return EpochEnd{epoch, logEnd}
	}
	i := 0
	for e.entries[i].Epoch <= epoch {
		i++
	}
	if i == 0 {
		// Older than all we have: what it wrote is gone, it ended where we begin.
		return EpochEnd{epoch, e.entries[0].StartOffset}
	}
	return EpochEnd{e.entries[i-1].Epoch, e.entries[i].StartOffset}
}

func (e *epochs) list() []EpochEntry {
	e.mu.RLock()
	defer e.mu.RUnlock()
	return slices.Clone(e.entries)
}

// pending returns the file's text if it is not what is on disk, and a mark for wrote.
func (e *epochs) pending() (text []byte, mark uint64, dirty bool) {
	e.mu.RLock()
	defer e.mu.RUnlock()
	if e.changes == e.written {
		return nil, 0, false
	}
	return encodeEpochs(e.entries), e.changes, true
}

func (e *epochs) wrote(mark uint64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.written = max(e.written, mark)
}

func encodeEpochs(entries []EpochEntry) []byte {
	b := append([]byte("0\n"), strconv.Itoa(len(entries))...)
	b = append(b, '\n')
	for _, e := range entries {
		b = append(strconv.AppendInt(b, int64(e.Epoch), 10), ' ')
		b = append(strconv.AppendInt(b, e.StartOffset, 10), '\n')
	}
	return b
}

func decodeEpochs(text []byte) ([]EpochEntry, error) {
	lines, count, err := checkpointLines(text)
	if err != nil {
		return nil, err
	}
	entries := make([]EpochEntry, 0, count)
	for i, line := range lines {
		f := bytes.Fields(line)
		if len(f) != 2 {
			return nil, fmt.Errorf("entry %d: %q has %d fields, 2 expected", i, line, len(f))
		}
		epoch, err := strconv.ParseInt(string(f[0]), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("entry %d: epoch: %w", i, err)
		}
		offset, err := strconv.ParseInt(string(f[1]), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("entry %d: start offset: %w", i, err)
		}
		entries = append(entries, EpochEntry{int32(epoch), offset})
	}
	return entries, nil
}
