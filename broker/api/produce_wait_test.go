package api_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// acks=-1 waits for the replicas without a goroutine, until the request's timeout or the end of the leadership.
func TestProduceWaitsForReplicas(t *testing.T) {
	for name, c := range map[string]struct {
		meantime func(*edge) // after a second
		timeout  int32
		want     protocol.ErrorCode
		ms       int64
	}{
		"nobody fetches":   {nil, 3000, protocol.RequestTimedOut, 3000},
		"no time":          {nil, 0, protocol.RequestTimedOut, 0},
		"leader moves":     {func(e *edge) { e.MoveLeader("t", 0, 2) }, 3000, protocol.NotLeaderOrFollower, 1000},
		"topic is deleted": {func(e *edge) { e.DeleteTopic("t") }, 3000, protocol.UnknownTopicOrPartition, 1000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEdge(t)
				e.CreateTopic("t", 2)
				e.AddReplica("t", 0, 2)
				if c.meantime != nil {
					time.AfterFunc(time.Second, func() { c.meantime(e) })
				}
				req := produce("t", 0, -1, batch("a"))
				other := kmsg.NewProduceRequestTopicPartition()
				other.Partition, other.Records = 1, batch("b") // answered at once, sent with the other
				req.Topics[0].Partitions = append(req.Topics[0].Partitions, other)
				req.TimeoutMillis = c.timeout
				start := time.Now()
				r := ask[*kmsg.ProduceResponse](e, req, 9)
				if got := time.Since(start).Milliseconds(); got != c.ms {
					t.Errorf("answered after %d ms, want %d", got, c.ms)
				}
				p := r.Topics[0].Partitions
				if got := protocol.ErrorCode(p[0].ErrorCode); got != c.want {
					t.Errorf("%v, want %v", got, c.want)
				}
				if p[1].ErrorCode != 0 || p[1].BaseOffset != 0 {
					t.Errorf("the other partition: %+v", p[1])
				}
			})
		})
	}
}
