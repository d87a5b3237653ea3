package replica

// Conditions are what the leader's decisions need besides the replicas' positions.
type Conditions struct {
	Now      int64                // ms
	LagMax   int64                // replica.lag.time.max.ms
	MinISR   int                  // effective min.insync.replicas: never above the number of replicas
	Eligible func(*Follower) bool // its broker may be in ISRs: see Eligible
}

// Eligible is the usual test of a follower's broker: registered, neither fenced nor shutting down
// (active), and its fetches came from the registration that the metadata knows.
func Eligible(f *Follower, active bool, brokerEpoch int64) bool {
	return active && (f.BrokerEpoch == Unknown || f.BrokerEpoch == brokerEpoch)
}

// HighWatermark is where the high watermark goes: up to the smallest log end among the maximal ISR
// and the replicas about to join it. It never moves back, and not at all while the ISR is smaller
// than min.insync.replicas (KIP-966).
func (l *Leader) HighWatermark(logEnd, current int64, c *Conditions) (offset int64, moved bool) {
	if len(l.isr) < c.MinISR {
		return current, false
	}
	offset = logEnd
	for i := range l.followers {
		f := &l.followers[i]
		if f.LogEnd < offset && (l.maximal(f.ID) || f.caughtUp(logEnd, c.Now, c.LagMax) && c.Eligible(f)) {
			offset = f.LogEnd
		}
	}
	if offset <= current {
		return current, false
	}
	return offset, true
}

// LowWatermark is the smallest log start among the leader and the followers that count, which is
// what DeleteRecords waits for.
func (l *Leader) LowWatermark(logStart int64, alive func(id int32) bool) int64 {
	low := logStart
	for i := range l.followers {
		if f := &l.followers[i]; alive(f.ID) && f.LogStart < low {
			low = f.LogStart
		}
	}
	return low
}

// Fetch is a follower's fetch as the leader takes notice of it.
type Fetch struct {
	ID          int32
	Offset      int64 // everything below it is in the follower's log
	LogStart    int64
	BrokerEpoch int64 // Unknown if the fetch does not say
	Now         int64 // ms
	LeaderEnd   int64
}

// Fetched takes notice of a fetch. False: the sender is no replica, or its broker's epoch is older
// than one that was seen.
func (l *Leader) Fetched(r Fetch) bool {
	f := l.find(r.ID)
	if f == nil || f.BrokerEpoch != Unknown && r.BrokerEpoch != Unknown && r.BrokerEpoch < f.BrokerEpoch {
		return false
	}
	switch {
	case r.Offset >= r.LeaderEnd:
		f.LastCaughtUp = max(f.LastCaughtUp, r.Now)
	case r.Offset >= f.LeaderEnd:
		f.LastCaughtUp = max(f.LastCaughtUp, f.LastFetch)
	}
	f.LogStart, f.LogEnd = r.LogStart, r.Offset
	f.LeaderEnd = max(f.LeaderEnd, r.LeaderEnd)
	f.LastFetch, f.BrokerEpoch = r.Now, r.BrokerEpoch
	return true
}

// Expand is the ISR to ask the controller for because the replica has caught up: it has everything
// below the high watermark and reaches into this epoch. Nil if it stays out.
func (l *Leader) Expand(id int32, highWatermark int64, c *Conditions) []int32 {
	f := l.find(id)
	if f == nil || l.pending != nil || l.maximal(id) || !c.Eligible(f) || f.LogEnd < highWatermark || f.LogEnd < l.EpochStart {
		return nil
	}
	return append(append([]int32(nil), l.isr...), id)
}

// Shrink is the ISR to ask the controller for because replicas fell behind for too long. Nil if all
// may stay.
func (l *Leader) Shrink(logEnd int64, c *Conditions) []int32 {
	if l.pending != nil {
		return nil
	}
	var keep []int32
	for _, id := range l.isr {
		if f := l.find(id); f == nil || f.caughtUp(logEnd, c.Now, c.LagMax) {
			keep = append(keep, id)
		}
	}
	if len(keep) == len(l.isr) {
		return nil
	}
	return keep
}

// Propose notes that isr was asked for. One change is in flight at a time.
func (l *Leader) Propose(isr []int32) { l.pending = isr }

// Refused gives the change in flight up: the committed ISR stands.
func (l *Leader) Refused() { l.pending = nil }

// Committed takes the controller's answer to the change in flight. False: it is older than what is known.
func (l *Leader) Committed(isr []int32, partitionEpoch int32) bool {
	if partitionEpoch < l.partitionEpoch {
		return false
	}
	l.isr, l.pending, l.partitionEpoch = isr, nil, partitionEpoch
	return true
}
