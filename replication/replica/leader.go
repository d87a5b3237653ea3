// Package replica holds the rules of replication: what a leader concludes from its followers'
// fetches, and where a follower truncates. Pure: time comes in as ms, nothing is done here.
package replica

import "slices"

// Unknown stands for an offset or an epoch that has not been told yet.
const Unknown = -1

// Assignment is what the metadata says of a partition.
type Assignment struct {
	Replicas       []int32
	ISR            []int32
	LeaderEpoch    int32
	PartitionEpoch int32
}

// Follower is what the leader knows of one other replica.
type Follower struct {
	ID           int32
	LogStart     int64 // Unknown before its first fetch in this epoch
	LogEnd       int64 // its fetch offset; Unknown likewise
	LastFetch    int64 // ms
	LeaderEnd    int64 // the leader's log end at that fetch
	LastCaughtUp int64 // ms: it had everything the leader had at that time
	BrokerEpoch  int64 // as its fetches said; Unknown before the first, or if they did not
}

// caughtUp is Kafka's notion of a replica that may stay in sync.
func (f *Follower) caughtUp(leaderEnd, now, lagMax int64) bool {
	return f.LogEnd == leaderEnd || now-f.LastCaughtUp <= lagMax
}

// Leader is the leader's view of a partition. Invariants: while leading, the leader is in the ISR;
// followers are the other replicas, in assignment order. The zero value does not lead.
type Leader struct {
	Epoch      int32
	EpochStart int64 // log end when this node began to lead in Epoch

	leading        bool
	partitionEpoch int32
	isr            []int32 // as committed by the controller
	pending        []int32 // as asked of the controller; nil when nothing is in flight
	followers      []Follower
}

// Become starts or continues to lead as node. It reports whether the leader epoch is a new one, whose
// start the log has to note before anything is appended. A new leader knows nothing of its
// followers; one that is elected again keeps their positions and gives those in sync new time.
func (l *Leader) Become(node int32, a Assignment, logEnd, now int64) (newEpoch bool) {
	newEpoch = !l.leading || a.LeaderEpoch > l.Epoch
	if !newEpoch && a.PartitionEpoch < l.partitionEpoch {
		return false // an older state of the same epoch
	}
	var old []Follower
	if l.leading {
		old = l.followers
	}
	l.followers = nil
	for _, id := range a.Replicas {
		if id == node {
			continue
		}
		f := Follower{ID: id, LogStart: Unknown, LogEnd: Unknown, LeaderEnd: Unknown, BrokerEpoch: Unknown}
		if i := slices.IndexFunc(old, func(f Follower) bool { return f.ID == id }); i >= 0 {
			f = old[i]
		}
		if newEpoch {
			f.renew(l.leading, slices.Contains(a.ISR, id), logEnd, now)
		}
		l.followers = append(l.followers, f)
	}
	if newEpoch {
		l.Epoch, l.EpochStart = a.LeaderEpoch, logEnd
	}
	l.leading, l.isr, l.pending, l.partitionEpoch = true, a.ISR, nil, a.PartitionEpoch
	return newEpoch
}

// renew resets a follower's times at the beginning of a leader epoch. A replica that is not in sync
// does not hold the high watermark back and has to fetch before it counts again.
func (f *Follower) renew(reelected, inSync bool, logEnd, now int64) {
	f.LastFetch, f.LastCaughtUp = 0, 0
	if reelected {
		f.LeaderEnd = logEnd
	}
	if inSync {
		f.LastCaughtUp = now
		if reelected {
			f.LastFetch = now
		}
	}
}

// Resign forgets everything.
func (l *Leader) Resign() { *l = Leader{} }

// ISR is the committed one; not to be changed.
func (l *Leader) ISR() []int32 { return l.isr }

// Pending is the ISR that was asked for, nil when nothing is in flight.
func (l *Leader) Pending() []int32 { return l.pending }

// Alone reports whether there are no other replicas.
func (l *Leader) Alone() bool { return len(l.followers) == 0 }

// Follower is a copy of what is known of a replica.
func (l *Leader) Follower(id int32) (Follower, bool) {
	if f := l.find(id); f != nil {
		return *f, true
	}
	return Follower{}, false
}

func (l *Leader) find(id int32) *Follower {
	for i := range l.followers {
		if l.followers[i].ID == id {
			return &l.followers[i]
		}
	}
	return nil
}

// maximal reports whether a replica is in the ISR or would be, were the change in flight accepted:
// such a replica must hold the high watermark back either way (KIP-497).
func (l *Leader) maximal(id int32) bool {
	return slices.Contains(l.isr, id) || slices.Contains(l.pending, id)
}
