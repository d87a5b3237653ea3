package quorum

import (
	"encoding/binary"
	"fmt"

	"github.com/ottla/ottla/protocol/msg"
	"github.com/ottla/ottla/protocol/record"
)

// epochStart makes the control batch that begins an epoch: LeaderChange and, if voters is not nil, KRaftVersion 1
// with KRaftVoters, which belong together (KIP-853).
func epochStart(epoch int32, base int64, leader int32, all []Voter, voters []byte, nowMs int64) (record.Batch, error) {
	change := msg.NewLeaderChangeMessage()
	change.LeaderID = leader
	for _, v := range all {
		change.Voters = append(change.Voters, msg.LeaderChangeMessageVoter{VoterID: v.ID})
	}
	// Raft does not say who voted; whoever did is a voter.
	change.GrantingVoters = change.Voters
	value, err := msg.Append(nil, change, 0)
	if err != nil {
		return nil, err
	}
	o := record.NewOptions()
	o.PartitionLeaderEpoch, o.BaseOffset, o.Control = epoch, base, true
	b := record.NewBuilder(o)
	b.Append(nowMs, controlKey(record.LeaderChange), value)
	if voters != nil {
		version := msg.NewKRaftVersionRecord()
		version.KRaftVersion = 1
		if value, err = msg.Append(nil, version, 0); err != nil {
			return nil, err
		}
		b.Append(nowMs, controlKey(record.KRaftVersion), value)
		b.Append(nowMs, controlKey(record.KRaftVoters), voters)
	}
	return b.Build(), nil
}

func controlKey(t record.ControlType) []byte {
	return binary.BigEndian.AppendUint16([]byte{0, 0}, uint16(t))
}

// dataBatch makes one batch of metadata records.
func dataBatch(epoch int32, base int64, values [][]byte, nowMs int64) record.Batch {
	o := record.NewOptions()
	o.PartitionLeaderEpoch, o.BaseOffset = epoch, base
	b := record.NewBuilder(o)
	for _, v := range values {
		b.Append(nowMs, nil, v)
	}
	return b.Build()
}

// votersIn is the value of the last KRaftVoters record in a batch, nil if there is none.
func votersIn(b record.Batch) ([]byte, error) {
	if !b.IsControl() {
		return nil, nil
	}
	var voters []byte
	for r, err := range b.Records(MaxBatchBytes) {
		if err != nil {
			return nil, fmt.Errorf("control batch at offset %d: %w", b.BaseOffset(), err)
		}
		if len(r.Key) >= 4 && record.ControlType(binary.BigEndian.Uint16(r.Key[2:])) == record.KRaftVoters {
			voters = append([]byte(nil), r.Value...)
		}
	}
	return voters, nil
}

// encodeVoters is the value of a KRaftVoters record.
func encodeVoters(all []Voter) ([]byte, error) {
	m := msg.NewVotersRecord()
	for _, v := range all {
		rv := *msg.NewVotersRecordVoter()
		rv.VoterID, rv.VoterDirectoryID = v.ID, v.DirectoryID
		for _, e := range v.Endpoints {
			rv.Endpoints = append(rv.Endpoints, msg.VotersRecordEndpoint{Name: e.Name, Host: e.Host, Port: e.Port})
		}
		rv.KRaftVersionFeature.MinSupportedVersion, rv.KRaftVersionFeature.MaxSupportedVersion = 0, 1
		m.Voters = append(m.Voters, rv)
	}
	return msg.Append(nil, m, 0)
}

func decodeVoters(value []byte) ([]Voter, error) {
	m := msg.NewVotersRecord()
	if err := msg.Decode(value, m, 0); err != nil {
		return nil, err
	}
	all := make([]Voter, 0, len(m.Voters))
	for _, rv := range m.Voters {
		v := Voter{ID: rv.VoterID, DirectoryID: rv.VoterDirectoryID}
		for _, e := range rv.Endpoints {
			v.Endpoints = append(v.Endpoints, Endpoint{Name: e.Name, Host: e.Host, Port: e.Port})
		}
		all = append(all, v)
	}
	return all, nil
}
