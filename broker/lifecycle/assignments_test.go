package lifecycle

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/protocol"
)

// assigner is a controller that answers AssignReplicasToDirs; its fields are used by one goroutine at a time.
type assigner struct {
	fail     int // requests that get no answer
	refuse   map[int32]protocol.ErrorCode
	requests []time.Time
	sizes    []int
	told     map[Replica]protocol.UUID
}

func (c *assigner) do(_ context.Context, req kmsg.Request) (kmsg.Response, error) {
	c.requests = append(c.requests, time.Now())
	if c.fail > 0 {
		c.fail--
		return nil, errors.New("no controller")
	}
	r := req.(*kmsg.AssignReplicasToDirsRequest)
	resp := r.ResponseKind().(*kmsg.AssignReplicasToDirsResponse)
	if r.BrokerEpoch != 5 || r.BrokerID != 1 {
		resp.ErrorCode = int16(protocol.StaleBrokerEpoch)
		return resp, nil
	}
	n := 0
	for _, d := range r.Directories {
		outD := kmsg.AssignReplicasToDirsResponseDirectory{ID: d.ID}
		for _, t := range d.Topics {
			outT := kmsg.AssignReplicasToDirsResponseDirectoryTopic{TopicID: t.TopicID}
			for _, p := range t.Partitions {
				n++
				code := c.refuse[p.Partition]
				if code == 0 {
					c.told[Replica{t.TopicID, p.Partition}] = d.ID
				}
				outT.Partitions = append(outT.Partitions, kmsg.AssignReplicasToDirsResponseDirectoryTopicPartition{Partition: p.Partition, ErrorCode: int16(code)})
			}
			outD.Topics = append(outD.Topics, outT)
		}
		resp.Directories = append(resp.Directories, outD)
	}
	c.sizes = append(c.sizes, n)
	return resp, nil
}

func TestAssignments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &assigner{fail: 3, refuse: map[int32]protocol.ErrorCode{}, told: map[Replica]protocol.UUID{}}
		a := NewAssignments(1, func() int64 { return 5 }, c.do, zap.NewNop())
		topics, dirs := []protocol.UUID{{1}, {2}}, []protocol.UUID{{8}, {9}}
		for i := range int32(3000) {
			a.Placed(Replica{topics[i%2], i}, dirs[i%3%2])
		}
		a.Start()
		defer a.Close()
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(c.told) != 3000 || len(c.sizes) != 2 || c.sizes[0] != maxAssignments {
			t.Errorf("%d told, in requests of %v", len(c.told), c.sizes)
		}
		for r, dir := range c.told {
			if dir != dirs[r.Partition%3%2] || r.TopicID != topics[r.Partition%2] {
				t.Errorf("%+v in %v", r, dir)
			}
		}
		for i, want := range []time.Duration{100 * time.Millisecond, 200 * time.Millisecond, 400 * time.Millisecond} {
			if got := c.requests[i+1].Sub(c.requests[i]); got != want {
				t.Errorf("pause %d: %v, want %v", i, got, want)
			}
		}

		// What is not this broker's is not asked for again; what fails is.
		c.refuse[1], c.refuse[2] = protocol.UnknownTopicOrPartition, protocol.UnknownServerError
		c.sizes = nil
		for i := range int32(3) {
			a.Placed(Replica{topics[0], i}, dirs[1])
		}
		synctest.Wait()
		delete(c.refuse, 2)
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(c.told) == 0 || c.told[Replica{topics[0], 2}] != dirs[1] || len(a.waiting) != 0 {
			t.Errorf("requests of %v, %d wait", c.sizes, len(a.waiting))
		}
		if last := c.sizes[len(c.sizes)-1]; last != 1 {
			t.Errorf("the last request told %d", last)
		}
		before := len(c.requests)
		time.Sleep(time.Hour)
		if len(c.requests) != before {
			t.Error("requests without a reason")
		}
	})
}
