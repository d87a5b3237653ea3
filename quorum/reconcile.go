package quorum

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/raft"
	"go.uber.org/zap"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol/record"
)

// readChunk is how much of the log is read at a time.
const readChunk = 256 << 10

// reconcile brings Raft's store and the log of a lone voter into agreement and returns the state that the store's
// snapshot stands for.
//
// The log may lack the end of what the store has: it is not synced for each append, and the entries will be applied
// again. Whatever else differs was written by somebody else, so the log is right, and the store is made anew from it
// with a term that no epoch seen anywhere exceeds.
func reconcile(s *store, log metaLog, o *Options) (state, error) {
	epochs := []int32{log.LatestEpoch()}
	if o.FS != nil {
		q, err := readQuorumState(o.FS, o.Dir)
		if err != nil {
			return state{}, err
		}
		epochs = append(epochs, q.LeaderEpoch)
	}
	if s.cut > 0 {
		o.Logger.Info("Raft's store ended in an unfinished write", zap.Int64("bytes", s.cut))
	}
	highest := uint64(max(0, slices.Max(epochs)))
	if s.empty() {
		return rebuild(s, log, o, highest)
	}
	st, err := decodeState(s.snap.state)
	if err != nil {
		return state{}, storageError("read", s.path(storeFile), 0, err)
	}
	term, err := s.GetUint64([]byte(keyTerm))
	if err != nil {
		return state{}, storageError("read", s.path(storeFile), 0, err)
	}
	same, err := agree(st, s, log)
	if err != nil {
		return state{}, err
	}
	if !same {
		o.Logger.Info("The metadata log was written by another program since this one last had it; it is taken as it is",
			zap.Int64("offset", log.LogEndOffset()), zap.Uint64("epoch", highest))
		return rebuild(s, log, o, max(highest, term))
	}
	if highest > term {
		if err := s.SetUint64([]byte(keyTerm), highest); err != nil {
			return state{}, err
		}
	}
	return st, s.checkVoter(o.Self.ID)
}

// agree says whether the log is what the snapshot and a part of the entries behind it lead to.
func agree(st state, s *store, log metaLog) (bool, error) {
	end := log.LogEndOffset()
	if end < st.next {
		return false, fmt.Errorf("the metadata log ends at offset %d, but everything below %d was committed and synced: it has lost data", end, st.next)
	}
	if st.next > log.LogStartOffset() {
		last, err := batchAt(log, st.next-1)
		if err != nil || last.NextOffset() != st.next || last.PartitionLeaderEpoch() != st.epoch {
			return false, err
		}
	}
	var have []byte // of the log, from the next batch on
	for i := range s.entries {
		if st.next >= end {
			return true, nil
		}
		l := &s.entries[i]
		if l.Type != raft.LogCommand || len(l.Data) == 0 || l.Index <= s.snap.index {
			continue
		}
		b, err := st.accept(l.Term, l.Data)
		if err != nil {
			return false, storageError("read", s.path(storeFile), 0, err)
		}
		start := log.LogStartOffset()
		if b == nil || b.NextOffset() <= start {
			continue // void, or in a metadata snapshot by now
		}
		if len(have) < len(b) {
			if have, err = log.readBatches(max(start, b.BaseOffset()), max(readChunk, len(b))); err != nil {
				return false, err
			}
		}
		if !bytes.HasPrefix(have, b) {
			return false, nil
		}
		have = have[len(b):]
	}
	return st.next == end, nil
}

// batchAt is the batch that holds an offset.
func batchAt(log metaLog, offset int64) (record.Batch, error) {
	have, err := log.readBatches(offset, 1)
	if err != nil {
		return nil, err
	}
	b, _, err := record.Next(have)
	if err != nil {
		return nil, fmt.Errorf("metadata log at offset %d: %w", offset, err)
	}
	return b, nil
}

// rebuild makes the store new: one snapshot, as if everything in the log had been committed in term. A snapshot
// promises that the log is synced up to it.
func rebuild(s *store, log metaLog, o *Options, term uint64) (state, error) {
	if err := log.Flush(); err != nil {
		return state{}, asStorageError(err)
	}
	st := state{next: log.LogEndOffset()}
	if st.next > 0 {
		if err := st.scan(log, o); err != nil {
			return state{}, err
		}
	}
	if err := st.checkVoters(o.Self.ID); err != nil {
		return state{}, err
	}
	index := max(s.last(), s.snap.index) + 1
	id := strconv.Itoa(int(o.Self.ID))
	return st, s.reset(term, snapshot{
		index: index, term: term, configIndex: index, state: st.encode(),
		configuration: raft.Configuration{Servers: []raft.Server{{Suffrage: raft.Voter, ID: raft.ServerID(id), Address: raft.ServerAddress(id)}}},
	})
}

// scan fills in epoch and voters from the whole log and, where the log does not begin at 0, its newest snapshot.
func (st *state) scan(log metaLog, o *Options) error {
	if o.FS != nil && log.LogStartOffset() > 0 {
		voters, err := checkpointVoters(o.FS, o.Dir)
		if err != nil {
			return err
		}
		st.voters = voters
	}
	for offset := log.LogStartOffset(); offset < st.next; {
		chunk, err := log.readBatches(offset, readChunk)
		if err != nil {
			return err
		}
		for len(chunk) > 0 {
			var b record.Batch
			if b, chunk, err = record.Next(chunk); err != nil {
				return fmt.Errorf("metadata log at offset %d: %w", offset, err)
			}
			voters, err := votersIn(b)
			if err != nil {
				return fmt.Errorf("metadata log: %w", err)
			}
			if voters != nil {
				st.voters = voters
			}
			offset, st.epoch = b.NextOffset(), b.PartitionLeaderEpoch()
		}
	}
	return nil
}

// checkpointVoters is the KRaftVoters record of the newest metadata snapshot, nil if there is none. It is in the
// control batches that a snapshot begins with.
func checkpointVoters(fsys vfs.FS, dir string) ([]byte, error) {
	const suffix, headMax = ".checkpoint", 1 << 20
	entries, err := fsys.List(dir)
	if err != nil {
		return nil, storageError("list", dir, 0, err)
	}
	newest := ""
	for _, e := range entries { // sorted, and the names are fixed width numbers
		if strings.HasSuffix(e.Name, suffix) {
			newest = e.Name
		}
	}
	if newest == "" {
		return nil, nil
	}
	head, err := readFile(fsys, dir+"/"+newest, headMax)
	if err != nil {
		return nil, storageError("read", dir+"/"+newest, 0, err)
	}
	var voters []byte
	for len(head) > 0 {
		b, rest, err := record.Next(head)
		if err != nil || !b.IsControl() {
			break
		}
		v, err := votersIn(b)
		if err != nil {
			return nil, storageError("read", dir+"/"+newest, 0, err)
		}
		if v != nil {
			voters = v
		}
		head = rest
	}
	return voters, nil
}

// checkVoters refuses a log that belongs to a quorum of several controllers, or to another one.
func (st *state) checkVoters(self int32) error {
	if st.voters == nil {
		return nil
	}
	all, err := decodeVoters(st.voters)
	if err != nil {
		return fmt.Errorf("voters in the metadata log: %w", err)
	}
	for _, v := range all {
		if v.ID != self {
			return fmt.Errorf("the metadata log belongs to a quorum in which controller %d has a vote; this one is %d, and a quorum of several is not supported", v.ID, self)
		}
	}
	return nil
}

// checkVoter refuses a store that another controller made.
func (s *store) checkVoter(self int32) error {
	id := raft.ServerID(strconv.Itoa(int(self)))
	for _, server := range s.snap.configuration.Servers {
		if server.ID != id {
			return fmt.Errorf("%s belongs to controller %s, this one is %s", s.path(storeFile), server.ID, id)
		}
	}
	return nil
}
