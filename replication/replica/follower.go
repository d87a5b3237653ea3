package replica

// EpochEnd is where a leader epoch ends in some log; an epoch or offset of Unknown: it is not known
// and later than all that are.
type EpochEnd struct {
	Epoch  int32
	Offset int64
}

// Diverging is the leader's test of a follower's fetch (KIP-595): the end of the follower's last
// epoch in the leader's log. True: the logs differ, and end is to be told to the follower. known is
// false when the leader cannot tell, which is OFFSET_OUT_OF_RANGE.
func Diverging(fetchOffset int64, lastFetchedEpoch int32, end EpochEnd) (diverging, known bool) {
	if end.Epoch == Unknown || end.Offset == Unknown {
		return false, false
	}
	return end.Epoch < lastFetchedEpoch || end.Offset < fetchOffset, true
}

// Log is what a follower's truncation needs to know of its own log.
type Log struct {
	End           int64
	HighWatermark int64
	// EndOf is the end of the largest known epoch not above the asked one.
	EndOf func(epoch int32) EpochEnd
}

// Truncation is where a follower cuts its log, and whether it may go on fetching from there: if not,
// it has to ask about the epoch it is left with.
type Truncation struct {
	Offset int64
	Done   bool
}

// Truncate is what a follower does about the leader's statement of where an epoch ends, in answer to
// OffsetForLeaderEpoch or as a fetch's DivergingEpoch (KIP-101, KIP-279).
func Truncate(l Log, leader EpochEnd) Truncation {
	if leader.Offset == Unknown {
		return Truncation{l.HighWatermark, true}
	}
	if leader.Epoch == Unknown {
		return Truncation{min(leader.Offset, l.End), true}
	}
	own := l.EndOf(leader.Epoch)
	switch {
	case own.Offset == Unknown:
		return Truncation{min(leader.Offset, l.End), true}
	case own.Epoch != leader.Epoch:
		return Truncation{min(own.Offset, l.End), false}
	}
	return Truncation{min(leader.Offset, own.Offset, l.End), true}
}

// FetchStart is where a new follower begins: at its log's end if any epoch is known, else at its
// high watermark, above which nothing can be checked.
func FetchStart(logEnd, highWatermark int64, latestEpoch int32) int64 {
	if latestEpoch == Unknown {
		return highWatermark
	}
	return logEnd
}

// OutOfRange is what a follower does when the leader refuses its fetch offset: cut to Offset when
// its log is too long, or start anew at Offset when the leader's begins after it ends; else it just
// goes on at Offset.
type OutOfRange struct {
	Offset   int64
	Truncate bool
	Restart  bool
}

// Reposition decides it from both logs' bounds.
func Reposition(logEnd, leaderStart, leaderEnd int64) OutOfRange {
	switch {
	case leaderEnd < logEnd:
		return OutOfRange{Offset: leaderEnd, Truncate: true}
	case leaderStart > logEnd:
		return OutOfRange{Offset: leaderStart, Restart: true}
	}
	return OutOfRange{Offset: logEnd}
}

// FollowerHighWatermark is a follower's high watermark after a fetch.
func FollowerHighWatermark(logEnd, leaderHighWatermark int64) int64 {
	return min(logEnd, leaderHighWatermark)
}
