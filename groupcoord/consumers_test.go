package groupcoord

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group/classic"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

// imageWith has one topic.
func imageWith(t testing.TB, name string, partitions int32) *metadata.Image {
	d := metadata.NewDelta(metadata.New())
	id := protocol.UUID{1: 1}
	rs := []metadata.Record{&msg.TopicRecord{Name: name, TopicID: id}}
	for p := range partitions {
		rs = append(rs, &msg.PartitionRecord{PartitionID: p, TopicID: id, Replicas: []int32{1}, ISR: []int32{1}, Leader: 1, Directories: []protocol.UUID{{2: 1}}})
	}
	for _, r := range rs {
		if err := d.Replay(r); err != nil {
			t.Fatal(err)
		}
	}
	image, err := d.Apply(1, 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func (b *testBroker) consume(g, member string, epoch int32) *kmsg.ConsumerGroupHeartbeatResponse {
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	req.Version, req.Group, req.MemberID, req.MemberEpoch, req.RebalanceTimeoutMillis = 1, g, member, epoch, 30000
	req.SubscribedTopicNames, req.Topics = []string{"t"}, []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	return b.ConsumerGroupHeartbeat(context.Background(), Client{ID: "c", Host: "/h"}, req)
}

func (b *testBroker) listed(g string) string {
	for _, x := range b.ListGroups(context.Background(), kmsg.NewPtrListGroupsRequest()).Groups {
		if x.Group == g {
			return x.GroupType + " " + x.GroupState
		}
	}
	return "none"
}

// TestConsumerGroupLife: a consumer group survives its coordinator, its members' sessions end, its offsets expire, and it goes.
func TestConsumerGroupLife(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		b := leading(t, 1)
		b.mu.Lock()
		b.image = imageWith(t, "t", 4)
		b.mu.Unlock()
		eq(t, "offsets first", b.commit("g", "t", 0, 5), protocol.None)
		eq(t, "a classic one", b.listed("g"), "classic Empty")
		r := b.consume("g", "m", 0)
		eq(t, "joins", protocol.ErrorCode(r.ErrorCode), protocol.None)
		eq(t, "epoch", r.MemberEpoch, 2)
		eq(t, "partitions", len(r.Assignment.Topics[0].Partitions), 4)
		eq(t, "converted", b.listed("g"), "consumer Stable")
		eq(t, "an outsider", b.commit("g", "t", 0, 6), protocol.UnknownMemberID)
		b.crash()
		synctest.Wait()
		eq(t, "loaded", b.listed("g"), "consumer Stable")
		eq(t, "goes on", b.consume("g", "m", 2).MemberEpoch, 2)
		offsets, _ := b.fetch("g")
		eq(t, "offsets", offsets, "t-0=5 ")
		eq(t, "delete", b.DeleteGroup(context.Background(), "g"), protocol.NonEmptyGroup)
		time.Sleep(b.conf.Consumer.Session + time.Second)
		eq(t, "its session ended", b.listed("g"), "consumer Empty")
		time.Sleep(25 * time.Hour)
		eq(t, "expired", b.listed("g"), "none")
		offsets, _ = b.fetch("g")
		eq(t, "no offsets", offsets, "")
	})
}

// TestDowngrade: when only classic members stay, the group is a classic one that rebalances at once.
func TestDowngrade(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		b := leading(t, 1)
		b.mu.Lock()
		b.image = imageWith(t, "t", 4)
		b.mu.Unlock()
		b.consume("g", "m", 0)
		sub := kmsg.NewConsumerMemberMetadata()
		sub.Topics = []string{"t"}
		req := kmsg.NewPtrJoinGroupRequest()
		req.Version, req.Group, req.ProtocolType, req.SessionTimeoutMillis, req.RebalanceTimeoutMillis = 3, "g", "consumer", 10000, 20000
		req.Protocols = []kmsg.JoinGroupRequestProtocol{{Name: "range", Metadata: sub.AppendTo(nil)}}
		r := b.JoinGroup(context.Background(), Client{ID: "c", Host: "/h"}, req)
		eq(t, "joins", protocol.ErrorCode(r.ErrorCode), protocol.None)
		b.consume("g", "m", -1)
		synctest.Wait()
		eq(t, "type and state", b.listed("g"), "classic "+classic.PreparingRebalance.String())
		eq(t, "its member is told", b.beat("g", r.MemberID, r.Generation), protocol.RebalanceInProgress)
		b.crash()
		synctest.Wait()
		eq(t, "loaded", b.listed("g"), "classic Stable")
	})
}
