package api

import (
	"slices"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
)

// currentLeader tells a client where a partition went (KIP-951); epoch -1: not said.
type currentLeader struct {
	id, epoch int32
}

var noLeader = currentLeader{-1, -1}

// endpoint is a node a client is sent to.
type endpoint struct {
	id, port int32
	host     string
	rack     *string
}

// leaderHints collects where partitions went that a client looked for here, and the addresses of
// those brokers on the client's listener.
type leaderHints struct {
	view
	nodes []endpoint
}

// of is the leader of a partition that is not led here, if the error says so.
func (l *leaderHints) of(topic *metadata.Topic, partition int32, code protocol.ErrorCode) currentLeader {
	if code != protocol.NotLeaderOrFollower && code != protocol.FencedLeaderEpoch {
		return noLeader
	}
	p := topic.Partition(partition)
	if p == nil {
		return noLeader
	}
	l.add(p.Leader)
	return currentLeader{p.Leader, p.LeaderEpoch}
}

func (l *leaderHints) add(id int32) {
	b := l.image.Broker(id)
	if b == nil || b.Fenced || slices.ContainsFunc(l.nodes, func(e endpoint) bool { return e.id == id }) {
		return
	}
	if e, ok := b.Listener(l.listener); ok {
		l.nodes = append(l.nodes, endpoint{id, int32(e.Port), e.Host, b.Rack})
	}
}
