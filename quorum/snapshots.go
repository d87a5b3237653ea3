package quorum

import (
	"bytes"
	"fmt"
	"io"

	"github.com/hashicorp/raft"
)

// The store as hashicorp/raft wants it for snapshots: there is one at a time, and it is small, because the
// state itself is the metadata log.
type snapshots struct{ *store }

var _ raft.SnapshotStore = snapshots{}

// stateMax bounds what a snapshot may hold: the voters and two numbers.
const stateMax = 64 << 10

// Create begins the next snapshot; it takes the place of the old one when the sink is closed.
func (s snapshots) Create(_ raft.SnapshotVersion, index, term uint64, c raft.Configuration, configIndex uint64, _ raft.Transport) (raft.SnapshotSink, error) {
	return &snapshotSink{store: s.store, snap: snapshot{index: index, term: term, configuration: c, configIndex: configIndex}}, nil
}

// List is the one snapshot, or none.
func (s snapshots) List() ([]*raft.SnapshotMeta, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.empty() {
		return nil, nil
	}
	return []*raft.SnapshotMeta{s.snap.meta()}, nil
}

// Open returns the one snapshot if id is its.
func (s snapshots) Open(id string) (*raft.SnapshotMeta, io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.empty() || s.snap.id() != id {
		return nil, nil, fmt.Errorf("snapshot %s is gone", id)
	}
	return s.snap.meta(), io.NopCloser(bytes.NewReader(s.snap.state)), nil
}

func (s *snapshot) id() string { return fmt.Sprintf("%d-%d", s.term, s.index) }

func (s *snapshot) meta() *raft.SnapshotMeta {
	return &raft.SnapshotMeta{
		Version: raft.SnapshotVersionMax, ID: s.id(), Index: s.index, Term: s.term,
		Configuration: s.configuration, ConfigurationIndex: s.configIndex, Size: int64(len(s.state)),
	}
}

type snapshotSink struct {
	store *store
	snap  snapshot
}

func (k *snapshotSink) ID() string { return k.snap.id() }

func (k *snapshotSink) Write(p []byte) (int, error) {
	if len(k.snap.state)+len(p) > stateMax {
		return 0, fmt.Errorf("snapshot %s exceeds %d bytes", k.ID(), stateMax)
	}
	k.snap.state = append(k.snap.state, p...)
	return len(p), nil
}

// Close makes the snapshot the store's, durably.
func (k *snapshotSink) Close() error {
	s := k.store
	s.mu.Lock()
	defer s.mu.Unlock()
	s.buf = appendSnapshot(s.buf[:0], &k.snap)
	if err := s.write(); err != nil {
		return err
	}
	if err := s.sync(); err != nil {
		return err
	}
	s.snap = k.snap
	return nil
}

// Cancel forgets it.
func (k *snapshotSink) Cancel() error { return nil }
