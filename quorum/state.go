package quorum

import (
	"encoding/binary"
	"fmt"

	"github.com/ottla/ottla/protocol/record"
)

// state is what follows from the entries so far: all a snapshot needs beside the log itself.
type state struct {
	next   int64  // offset behind the last record
	epoch  int32  // of the last batch, 0 if there is none
	voters []byte // value of the last KRaftVoters record, nil if there is none
}

const (
	stateVersion = 1
	stateHead    = 1 + 8 + 4
)

func (s *state) encode() []byte {
	b := append(make([]byte, 0, stateHead+len(s.voters)), stateVersion)
	b = binary.BigEndian.AppendUint64(b, uint64(s.next))
	b = binary.BigEndian.AppendUint32(b, uint32(s.epoch))
	return append(b, s.voters...)
}

func decodeState(b []byte) (state, error) {
	if len(b) < stateHead {
		return state{}, fmt.Errorf("state of %d bytes, need %d", len(b), stateHead)
	}
	if b[0] != stateVersion {
		return state{}, fmt.Errorf("state of version %d, known is %d", b[0], stateVersion)
	}
	s := state{next: int64(binary.BigEndian.Uint64(b[1:])), epoch: int32(binary.BigEndian.Uint32(b[9:]))}
	if len(b) > stateHead {
		s.voters = append([]byte(nil), b[stateHead:]...)
	}
	return s, nil
}

// accept decides an entry: the batch as it goes into the log, or void = nil, because it was meant for another epoch
// or offset. It depends on nothing but the entries before, so every replica and every replay decides alike.
func (s *state) accept(term uint64, data []byte) (record.Batch, error) {
	b, rest, err := record.Next(data)
	if err != nil || len(rest) > 0 || b.Magic() != record.Magic2 {
		return nil, fmt.Errorf("entry of term %d for offset %d is no batch: %w", term, s.next, err)
	}
	if b.PartitionLeaderEpoch() != int32(term) || b.BaseOffset() != s.next {
		return nil, nil
	}
	voters, err := votersIn(b)
	if err != nil {
		return nil, err
	}
	if voters != nil {
		s.voters = voters
	}
	s.next, s.epoch = b.NextOffset(), b.PartitionLeaderEpoch()
	return b, nil
}
