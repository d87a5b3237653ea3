package cli

import (
	"context"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/ottla/ottla/protocol"
)

// positions knows where a member of a group stands in partitions that it was assigned but has had no record of. Kafka's
// consumer commits these positions with the others; the client library here commits only what was consumed.
type positions struct {
	mu     sync.Mutex
	latest bool // such partitions start at the end, not at the beginning
	held   map[protocol.TopicPartition]bool
	ends   map[protocol.TopicPartition]int64 // with latest: the ends when the partitions were assigned
}

func newPositions(reset string) *positions {
	return &positions{latest: reset != "earliest", held: map[protocol.TopicPartition]bool{}, ends: map[protocol.TopicPartition]int64{}}
}

// options are the callbacks that keep it informed.
func (p *positions) options() []kgo.Opt {
	return []kgo.Opt{
		kgo.OnPartitionsAssigned(func(_ context.Context, cl *kgo.Client, m map[string][]int32) { p.gained(cl, partitionsOf(m)) }),
		kgo.OnPartitionsRevoked(func(_ context.Context, _ *kgo.Client, m map[string][]int32) { p.lost(partitionsOf(m)) }),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, m map[string][]int32) { p.lost(partitionsOf(m)) }),
	}
}

func partitionsOf(m map[string][]int32) []protocol.TopicPartition {
	var tps []protocol.TopicPartition
	for topic, ps := range m {
		for _, n := range ps {
			tps = append(tps, protocol.TopicPartition{Topic: topic, Partition: n})
		}
	}
	sortPartitions(tps)
	return tps
}

func (p *positions) gained(cl *kgo.Client, tps []protocol.TopicPartition) {
	ends := map[protocol.TopicPartition]offsetAnswer{}
	if p.latest {
		c := &cluster{cl: cl, timeout: positionTimeout}
		ends, _ = c.listOffsets(tps, timeLatest) // without an answer there is nothing to commit
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, tp := range tps {
		p.held[tp] = true
		if end, ok := ends[tp]; ok && end.err == nil {
			p.ends[tp] = end.offset
		}
	}
}

func (p *positions) lost(tps []protocol.TopicPartition) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, tp := range tps {
		delete(p.held, tp)
		delete(p.ends, tp)
	}
}

// uncommitted lists positions in the partitions that are held, had no record (consumed has none) and have no committed
// offset.
func (p *positions) uncommitted(cl *kgo.Client, group string, consumed map[protocol.TopicPartition]bool) (map[string]map[int32]kgo.EpochOffset, error) {
	p.mu.Lock()
	var tps []protocol.TopicPartition
	for _, tp := range keysOf(p.held) {
		if !consumed[tp] {
			tps = append(tps, tp)
		}
	}
	ends := p.ends
	p.mu.Unlock()
	if len(tps) == 0 {
		return nil, nil
	}
	c := &cluster{cl: cl, timeout: positionTimeout}
	commits, err := c.committed(group)
	if err != nil {
		return nil, err
	}
	var starts map[protocol.TopicPartition]offsetAnswer
	if !p.latest {
		if starts, err = c.listOffsets(tps, timeEarliest); err != nil {
			return nil, err
		}
	}
	at := map[string]map[int32]kgo.EpochOffset{}
	for _, tp := range tps {
		if _, ok := commits[tp]; ok {
			continue
		}
		offset, ok := ends[tp]
		if start, known := starts[tp]; known && start.err == nil {
			offset, ok = start.offset, true
		}
		if !ok {
			continue
		}
		if at[tp.Topic] == nil {
			at[tp.Topic] = map[int32]kgo.EpochOffset{}
		}
		at[tp.Topic][tp.Partition] = kgo.EpochOffset{Epoch: -1, Offset: offset}
	}
	return at, nil
}
