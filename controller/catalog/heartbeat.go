package catalog

import (
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

// state of a broker as heartbeats see it.
type state int8

const (
	fenced state = iota
	unfenced
	shuttingDown
	shutDownNow
)

// BrokerHeartbeat 0 to 2 (KIP-631; failed directories KIP-858, cordoned ones KIP-1066).
func (c *Catalog) BrokerHeartbeat(r *kmsg.BrokerHeartbeatRequest, now time.Time) (*kmsg.BrokerHeartbeatResponse, Result, error) {
	b, err := c.checkEpoch(r.BrokerID, r.BrokerEpoch)
	if err != nil {
		return nil, Result{}, err
	}
	s := c.sessions[b.ID]
	s.contact = now
	from := c.state(b, s)
	to := c.nextState(from, b, s, r)
	records := c.move(b, from, to)
	s.metadataOffset = r.CurrentMetadataOffset
	records = append(records, c.offlineDirs(b, r.OfflineLogDirs)...)
	records = append(records, c.cordonedDirs(b, r.CordonedLogDirs)...)
	if to == shuttingDown && s.shutdownOffset < 0 {
		s.shutdownOffset = c.next + int64(len(records)) - 1
	}
	resp := r.ResponseKind().(*kmsg.BrokerHeartbeatResponse)
	resp.IsCaughtUp = r.CurrentMetadataOffset >= s.registered
	resp.IsFenced = to == fenced || to == shutDownNow
	resp.ShouldShutdown = to == shutDownNow
	return resp, Result{Records: records, Divisible: true}, nil
}

func (c *Catalog) state(b *metadata.Broker, s *session) state {
	switch {
	case s.shutdownOffset >= 0:
		return shuttingDown
	case b.Fenced:
		return fenced
	}
	return unfenced
}

func (c *Catalog) nextState(from state, b *metadata.Broker, s *session, r *kmsg.BrokerHeartbeatRequest) state {
	switch from {
	case fenced:
		switch {
		case r.WantShutdown:
			return shutDownNow
		case !r.WantFence && r.CurrentMetadataOffset >= s.registered:
			return unfenced
		}
		return fenced
	case unfenced:
		switch {
		case r.WantFence && r.WantShutdown:
			return shutDownNow
		case r.WantFence:
			return fenced
		case r.WantShutdown && c.leads(b.ID):
			return shuttingDown
		case r.WantShutdown:
			return shutDownNow
		}
		return unfenced
	}
	if c.leads(b.ID) || s.shutdownOffset > c.lowestActiveOffset() {
		return shuttingDown
	}
	return shutDownNow
}

// move is what a change of state writes.
func (c *Catalog) move(b *metadata.Broker, from, to state) []metadata.Record {
	if from == to {
		return nil
	}
	switch to {
	case unfenced:
		return c.unfence(b)
	case shuttingDown:
		return c.beginShutdown(b)
	}
	return c.fence(b)
}

func registrationChange(b *metadata.Broker) *msg.BrokerRegistrationChangeRecord {
	r := msg.NewBrokerRegistrationChangeRecord()
	r.BrokerID, r.BrokerEpoch = b.ID, b.Epoch
	return r
}

// offlineDirs: every replica in a directory that has failed leaves its ISR, then the registration loses the directory.
func (c *Catalog) offlineDirs(b *metadata.Broker, failed [][16]byte) []metadata.Record {
	var gone, left []protocol.UUID
	for _, dir := range b.LogDirs {
		if slices.Contains(failed, [16]byte(dir)) {
			gone = append(gone, dir)
		} else {
			left = append(left, dir)
		}
	}
	if len(gone) == 0 || c.settle().MetadataVersion() < metadata.DirectoriesLevel {
		return nil
	}
	at := c.partitions(func(p *metadata.Partition) bool {
		return slices.Contains(p.Replicas, b.ID) && slices.Contains(gone, p.Directory(b.ID))
	})
	records := c.leave(at, leaving(b.ID))
	r := registrationChange(b)
	r.LogDirs = left
	return append(records, r)
}

// cordonedDirs takes over which directories get no new replicas; null is not known yet.
func (c *Catalog) cordonedDirs(b *metadata.Broker, dirs [][16]byte) []metadata.Record {
	if dirs == nil || c.settle().MetadataVersion() < metadata.CordonedDirsLevel {
		return nil
	}
	cordoned := make([]protocol.UUID, len(dirs))
	for i, d := range dirs {
		cordoned[i] = d
	}
	slices.SortFunc(cordoned, func(a, b protocol.UUID) int { return slices.Compare(a[:], b[:]) })
	if b.CordonedDirs != nil && slices.Equal(cordoned, b.CordonedDirs) {
		return nil
	}
	r := registrationChange(b)
	r.CordonedLogDirs = cordoned
	return []metadata.Record{r}
}
