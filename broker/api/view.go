package api

import (
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
)

// view is metadata as seen through one listener: a broker without that listener is out of reach.
type view struct {
	image    *metadata.Image
	listener string
}

// leader is the partition's leader, or -1 and why a client cannot use it.
func (v view) leader(p *metadata.Partition) (int32, protocol.ErrorCode) {
	b := v.image.Broker(p.Leader)
	if b == nil {
		return metadata.NoLeader, protocol.LeaderNotAvailable
	}
	if _, ok := b.Listener(v.listener); !ok {
		return metadata.NoLeader, protocol.ListenerNotFound
	}
	return p.Leader, protocol.None
}

// offline are the replicas that cannot be read or written: broker gone, fenced or without the listener,
// or the replica's log directory failed.
func (v view) offline(p *metadata.Partition) []int32 {
	var out []int32
	for _, id := range p.Replicas {
		b := v.image.Broker(id)
		if b == nil || b.Fenced || !b.HasDir(p.Directory(id)) {
			out = append(out, id)
		} else if _, ok := b.Listener(v.listener); !ok {
			out = append(out, id)
		}
	}
	return out
}

// reachable are those brokers that have the listener.
func (v view) reachable(ids []int32) []int32 {
	out := make([]int32, 0, len(ids))
	for _, id := range ids {
		if b := v.image.Broker(id); b != nil && !b.Fenced {
			if _, ok := b.Listener(v.listener); ok {
				out = append(out, id)
			}
		}
	}
	return out
}
