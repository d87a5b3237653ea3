package record

// ControlType is the second int16 of a control record's key.
type ControlType int16

const (
	Abort          ControlType = 0
	Commit         ControlType = 1
	LeaderChange   ControlType = 2
	SnapshotHeader ControlType = 3
	SnapshotFooter ControlType = 4
	KRaftVersion   ControlType = 5
	KRaftVoters    ControlType = 6
)
