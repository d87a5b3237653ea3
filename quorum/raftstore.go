package quorum

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/raft"
)

// The store as hashicorp/raft wants it: raft.LogStore and raft.StableStore.
var (
	_ raft.LogStore    = (*store)(nil)
	_ raft.StableStore = (*store)(nil)
)

// FirstIndex is the index of the oldest entry, 0 if there is none.
func (s *store) FirstIndex() (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first, nil
}

// LastIndex is the index of the newest entry, 0 if there is none.
func (s *store) LastIndex() (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last(), nil
}

func (s *store) last() uint64 {
	if len(s.entries) == 0 {
		return 0
	}
	return s.first + uint64(len(s.entries)) - 1
}

// GetLog fills in one entry. Its data is shared and must not be changed.
func (s *store) GetLog(index uint64, l *raft.Log) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.entries) == 0 || index < s.first || index > s.last() {
		return raft.ErrLogNotFound
	}
	*l = s.entries[index-s.first]
	return nil
}

// StoreLog is StoreLogs of one.
func (s *store) StoreLog(l *raft.Log) error { return s.StoreLogs([]*raft.Log{l}) }

// StoreLogs appends entries durably; of a lone voter, entries without data wait for the next sync. The data is kept,
// not copied.
func (s *store) StoreLogs(logs []*raft.Log) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf = s.buf[:0]
	mustSync := !s.lone
	for _, l := range logs {
		if len(l.Extensions) > 0 {
			return fmt.Errorf("entry %d has extensions, which the store does not keep", l.Index)
		}
		if s.fs != nil {
			s.buf = appendEntry(s.buf, l)
		}
		mustSync = mustSync || len(l.Data) > 0
	}
	if err := s.write(); err != nil {
		return err
	}
	if mustSync {
		if err := s.sync(); err != nil {
			return err
		}
	}
	for _, l := range logs {
		if err := s.keepEntry(*l); err != nil {
			return err
		}
	}
	return nil
}

// keepEntry appends to memory. Entries are dense; Raft leaves a gap only behind a snapshot that replaces all of them.
func (s *store) keepEntry(l raft.Log) error {
	if len(s.entries) > 0 && l.Index != s.last()+1 {
		return fmt.Errorf("entry %d does not follow %d", l.Index, s.last())
	}
	if len(s.entries) == 0 {
		s.first = l.Index
	}
	s.entries = append(s.entries, l)
	return nil
}

// DeleteRange drops entries at one end: old ones that a snapshot covers, or new ones that another leader replaces.
// It need not be durable: entries that come back are dropped again, or replaced by frames behind this one.
func (s *store) DeleteRange(first, last uint64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropEntries(first, last)
	if s.err == nil && s.size-s.liveSize() > rewriteExcess {
		return s.rewrite()
	}
	s.buf = appendDrop(s.buf[:0], first, last)
	return s.write()
}

func (s *store) dropEntries(first, last uint64) {
	if len(s.entries) == 0 || last < s.first || first > s.last() {
		return
	}
	if first <= s.first {
		n := min(last-s.first+1, uint64(len(s.entries)))
		s.entries = append([]raft.Log(nil), s.entries[n:]...) // lets go of the dropped ones' data
		s.first += n
	} else {
		s.entries = slices.Delete(s.entries, int(first-s.first), len(s.entries))
	}
	if len(s.entries) == 0 {
		s.first, s.entries = 0, nil
	}
}

// liveSize is about what a rewritten file would hold.
func (s *store) liveSize() int64 {
	n := int64(len(fileHeader) + len(s.snap.state) + 1024)
	for i := range s.entries {
		n += int64(frameHead + 1 + entryHead + len(s.entries[i].Data))
	}
	return n
}

// Set stores a value. A vote is durable when Set returns; other values are at the latest when the next vote or entry is.
func (s *store) Set(key, value []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil && string(key) == keyTerm {
		// Raft panics if it cannot store its term. Nothing can be done under a term that is not stored: neither a
		// vote nor an entry is taken any more, and the fault has been reported.
		return nil
	}
	if old, ok := s.values[string(key)]; !ok || !bytes.Equal(old, value) {
		s.buf = appendValue(s.buf[:0], string(key), value)
		if err := s.write(); err != nil {
			if string(key) == keyTerm {
				return nil // as above
			}
			return err
		}
		s.values[string(key)] = bytes.Clone(value)
	}
	if string(key) == keyVote && !s.lone {
		return s.sync()
	}
	return nil
}

// Get returns a value, or an error whose text is "not found".
func (s *store) Get(key []byte) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.values[string(key)]; ok {
		return bytes.Clone(v), nil
	}
	return nil, errNotFound
}

// SetUint64 is Set of a number.
func (s *store) SetUint64(key []byte, v uint64) error { return s.Set(key, putUint64(v)) }

// GetUint64 is Get of a number.
func (s *store) GetUint64(key []byte) (uint64, error) {
	b, err := s.Get(key)
	if err != nil {
		return 0, err
	}
	if len(b) != 8 {
		return 0, fmt.Errorf("value %s has %d bytes, need 8", key, len(b))
	}
	return binary.BigEndian.Uint64(b), nil
}

func sortedKeys(m map[string][]byte) []string { return slices.Sorted(maps.Keys(m)) }
