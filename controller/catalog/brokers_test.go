package catalog

import (
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
)

func TestRegistrationCodes(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*kmsg.BrokerRegistrationRequest)
		code   protocol.ErrorCode
	}{
		"as it should be":         {func(*kmsg.BrokerRegistrationRequest) {}, protocol.None},
		"other cluster":           {func(r *kmsg.BrokerRegistrationRequest) { r.ClusterID = "other" }, protocol.InconsistentClusterID},
		"live session":            {func(r *kmsg.BrokerRegistrationRequest) { r.BrokerID = 1 }, protocol.DuplicateBrokerRegistration},
		"ZooKeeper":               {func(r *kmsg.BrokerRegistrationRequest) { r.IsMigratingZkBroker = true }, protocol.BrokerIDNotRegistered},
		"no directories":          {func(r *kmsg.BrokerRegistrationRequest) { r.LogDirs = nil }, protocol.InvalidRegistration},
		"reserved directory":      {func(r *kmsg.BrokerRegistrationRequest) { r.LogDirs = [][16]byte{{15: 1}} }, protocol.InvalidRegistration},
		"directory twice":         {func(r *kmsg.BrokerRegistrationRequest) { r.LogDirs = append(r.LogDirs, r.LogDirs[0]) }, protocol.InvalidRegistration},
		"somebody's directory":    {func(r *kmsg.BrokerRegistrationRequest) { r.LogDirs = [][16]byte{dirOf(1)} }, protocol.InvalidRegistration},
		"metadata.version is old": {func(r *kmsg.BrokerRegistrationRequest) { r.Features[0].MaxSupportedVersion = 32 }, protocol.UnsupportedVersion},
		"no metadata.version":     {func(r *kmsg.BrokerRegistrationRequest) { r.Features = r.Features[1:] }, protocol.InvalidRegistration},
		"a feature left out":      {func(r *kmsg.BrokerRegistrationRequest) { r.Features = r.Features[:3] }, protocol.UnsupportedVersion},
		"a feature of its own": {func(r *kmsg.BrokerRegistrationRequest) {
			r.Features = append(r.Features, kmsg.BrokerRegistrationRequestFeature{Name: "x", MaxSupportedVersion: 9})
		}, protocol.None},
	} {
		k := newCluster(t, testOptions(t), 1)
		r := k.registration(2)
		c.change(r)
		next := k.c.NextOffset()
		got := k.do(r).(*kmsg.BrokerRegistrationResponse)
		if protocol.ErrorCode(got.ErrorCode) != c.code {
			t.Errorf("%s: %v, want %v", name, protocol.ErrorCode(got.ErrorCode), c.code)
		}
		if c.code == protocol.None && (got.BrokerEpoch != next || !k.c.settle().Broker(2).Fenced) {
			t.Errorf("%s: epoch %d at offset %d, %+v", name, got.BrokerEpoch, next, k.c.settle().Broker(2))
		}
	}
}

// TestSameIncarnation: a registration that comes again keeps epoch and state.
func TestSameIncarnation(t *testing.T) {
	k := newCluster(t, testOptions(t), 1)
	before := k.c.settle().Broker(1)
	r := k.registration(1)
	r.IncarnationID = before.Incarnation
	r.Listeners[0].Port = 1
	got := k.do(r).(*kmsg.BrokerRegistrationResponse)
	after := k.c.settle().Broker(1)
	if got.ErrorCode != 0 || got.BrokerEpoch != before.Epoch || after.Fenced || after.Listeners[0].Port != 1 {
		t.Errorf("%+v %+v", got, after)
	}
}

// TestHeartbeats walks the table of states and requests.
func TestHeartbeats(t *testing.T) {
	k := newCluster(t, testOptions(t), 1, 2)
	k.do(k.registration(3))
	beat := func(id int32, change func(*kmsg.BrokerHeartbeatRequest)) *kmsg.BrokerHeartbeatResponse {
		r := k.heartbeat(id)
		change(r)
		return k.do(r).(*kmsg.BrokerHeartbeatResponse)
	}
	if r := beat(9, func(*kmsg.BrokerHeartbeatRequest) {}); protocol.ErrorCode(r.ErrorCode) != protocol.StaleBrokerEpoch {
		t.Errorf("unknown broker: %+v", r)
	}
	if r := beat(3, func(r *kmsg.BrokerHeartbeatRequest) { r.BrokerEpoch-- }); protocol.ErrorCode(r.ErrorCode) != protocol.StaleBrokerEpoch {
		t.Errorf("old epoch: %+v", r)
	}
	if r := beat(3, func(r *kmsg.BrokerHeartbeatRequest) { r.CurrentMetadataOffset = r.BrokerEpoch - 1 }); r.IsCaughtUp || !r.IsFenced {
		t.Errorf("behind its registration: %+v", r)
	}
	if r := beat(3, func(r *kmsg.BrokerHeartbeatRequest) { r.WantFence = true }); !r.IsCaughtUp || !r.IsFenced {
		t.Errorf("not ready yet: %+v", r)
	}
	if r := beat(3, func(*kmsg.BrokerHeartbeatRequest) {}); r.IsFenced || r.ShouldShutdown {
		t.Errorf("ready: %+v", r)
	}
	if r := beat(3, func(r *kmsg.BrokerHeartbeatRequest) { r.WantFence = true }); !r.IsFenced {
		t.Errorf("wants to be fenced: %+v", r)
	}
	if r := beat(3, func(r *kmsg.BrokerHeartbeatRequest) { r.WantShutdown = true }); !r.ShouldShutdown || !r.IsFenced {
		t.Errorf("fenced and wants to stop: %+v", r)
	}
	beat(3, func(*kmsg.BrokerHeartbeatRequest) {})
	if r := beat(3, func(r *kmsg.BrokerHeartbeatRequest) { r.WantShutdown = true }); !r.ShouldShutdown {
		t.Errorf("leads nothing and wants to stop: %+v", r)
	}
}

// TestControlledShutdown: leadership moves, then the others must have seen it.
func TestControlledShutdown(t *testing.T) {
	k := newCluster(t, testOptions(t), 1, 2, 3)
	k.mustCreate("a", []int32{1, 2, 3})
	stop := k.heartbeat(1)
	stop.WantShutdown = true
	if r := k.do(stop).(*kmsg.BrokerHeartbeatResponse); r.ShouldShutdown || r.IsFenced {
		t.Errorf("begin: %+v", r)
	}
	if p := k.partition("a", 0); p.Leader != 2 || p.LeaderEpoch != 1 || !slices.Equal(p.ISR, []int32{2, 3}) {
		t.Errorf("leadership did not move: %+v", p)
	}
	if b := k.c.settle().Broker(1); !b.InControlledShutdown || b.Fenced {
		t.Errorf("%+v", b)
	}
	if r := k.do(stop).(*kmsg.BrokerHeartbeatResponse); r.ShouldShutdown {
		t.Errorf("brokers 2 and 3 have not seen it: %+v", r)
	}
	k.do(k.heartbeat(2))
	if r := k.do(stop).(*kmsg.BrokerHeartbeatResponse); r.ShouldShutdown {
		t.Errorf("broker 3 has not seen it: %+v", r)
	}
	k.do(k.heartbeat(3))
	if r := k.do(stop).(*kmsg.BrokerHeartbeatResponse); !r.ShouldShutdown || !r.IsFenced {
		t.Errorf("end: %+v", r)
	}
	// It comes back as another process, with its epoch as proof of the clean shutdown, when the old session has ended.
	r := k.registration(1)
	if code := k.do(r).(*kmsg.BrokerRegistrationResponse).ErrorCode; protocol.ErrorCode(code) != protocol.DuplicateBrokerRegistration {
		t.Errorf("too early: %v", protocol.ErrorCode(code))
	}
	k.now = k.now.Add(10 * time.Second)
	r.PreviousBrokerEpoch = k.c.settle().Broker(1).Epoch
	k.do(r)
	k.do(k.heartbeat(1))
	if b := k.c.settle().Broker(1); !b.Active() {
		t.Errorf("%+v", b)
	}
}

// TestSessionEnds: nine seconds after the last heartbeat the broker is fenced, and its id is free.
func TestSessionEnds(t *testing.T) {
	k := newCluster(t, testOptions(t), 1, 2)
	k.mustCreate("a", []int32{1, 2})
	end, ok := k.c.SessionEnd(1)
	if !ok || end.Sub(k.now) != 9*time.Second {
		t.Fatal(end, ok)
	}
	k.now = k.now.Add(9 * time.Second)
	k.do(k.heartbeat(2))
	if res := k.c.ExpireSession(1, k.now); len(res.Records) > 0 {
		t.Error("fenced too early")
	}
	k.now = k.now.Add(time.Millisecond)
	k.write(k.c.ExpireSession(1, k.now))
	p := k.partition("a", 0)
	if !k.c.settle().Broker(1).Fenced || p.Leader != 2 || !slices.Equal(p.ISR, []int32{2}) {
		t.Errorf("%+v %+v", k.c.settle().Broker(1), p)
	}
	if _, ok := k.c.SessionEnd(1); ok {
		t.Error("a fenced broker has a session")
	}
	if code := k.do(k.registration(1)).(*kmsg.BrokerRegistrationResponse).ErrorCode; code != 0 {
		t.Errorf("another process of the broker: %v", protocol.ErrorCode(code))
	}
}

// TestUncleanRestart: a lone replica that was killed leads again, but as one that may lack records (KIP-966).
func TestUncleanRestart(t *testing.T) {
	k := newCluster(t, testOptions(t), 1)
	k.mustCreate("a", []int32{1})
	k.now = k.now.Add(10 * time.Second)
	k.do(k.registration(1))
	if p := k.partition("a", 0); p.Leader != metadata.NoLeader || len(p.ISR)+len(p.ELR) != 0 || !slices.Equal(p.LastKnownELR, []int32{1}) {
		t.Errorf("after the registration: %+v", p)
	}
	k.do(k.heartbeat(1))
	if p := k.partition("a", 0); p.Leader != 1 || p.RecoveryState != metadata.Recovering || !slices.Equal(p.ISR, []int32{1}) || len(p.LastKnownELR) != 0 {
		t.Errorf("after the unfence: %+v", p)
	}
}

// TestOwnBroker: the broker in the controller's own process has no session from before, its process is gone.
func TestOwnBroker(t *testing.T) {
	k := newCluster(t, testOptions(t), 1, 2)
	for own, want := range map[int32]protocol.ErrorCode{1: protocol.None, 2: protocol.DuplicateBrokerRegistration} {
		o := k.c.o
		o.NodeID = own
		c := New(o, k.c.settle(), 2, k.c.NextOffset(), k.now)
		_, _, err := c.BrokerRegistration(k.registration(1), k.now)
		if protocol.CodeOf(err) != want {
			t.Errorf("controller %d, broker 1: %v", own, err)
		}
	}
}

func TestOfflineDirectory(t *testing.T) {
	k := newCluster(t, testOptions(t), 1, 2)
	k.mustCreate("a", []int32{1, 2})
	r := k.heartbeat(1)
	r.OfflineLogDirs = [][16]byte{dirOf(1)}
	k.do(r)
	if p := k.partition("a", 0); p.Leader != 2 || slices.Contains(p.ISR, 1) {
		t.Errorf("%+v", p)
	}
}

func TestUnregister(t *testing.T) {
	k := newCluster(t, testOptions(t), 1, 2)
	k.mustCreate("a", []int32{1, 2})
	r := kmsg.NewPtrUnregisterBrokerRequest()
	r.BrokerID = 9
	if code := k.do(r).(*kmsg.UnregisterBrokerResponse).ErrorCode; protocol.ErrorCode(code) != protocol.BrokerIDNotRegistered {
		t.Errorf("unknown broker: %v", protocol.ErrorCode(code))
	}
	r.BrokerID = 1
	if code := k.do(r).(*kmsg.UnregisterBrokerResponse).ErrorCode; code != 0 || k.c.settle().Broker(1) != nil || k.partition("a", 0).Leader != 2 {
		t.Errorf("%v %+v", protocol.ErrorCode(code), k.partition("a", 0))
	}
}

// TestAlterPartition has the codes in the order in which they are checked.
func TestAlterPartition(t *testing.T) {
	k := newCluster(t, testOptions(t), 1, 2, 3)
	k.mustCreate("a", []int32{1, 2, 3})
	topic := k.c.settle().Topic("a")
	ask := func(sender int32, change func(*kmsg.AlterPartitionRequest, *kmsg.AlterPartitionRequestTopicPartition), isr ...int32) kmsg.AlterPartitionResponseTopicPartition {
		p := k.partition("a", 0)
		r := newest(kmsg.NewPtrAlterPartitionRequest())
		r.BrokerID, r.BrokerEpoch = sender, k.c.settle().Broker(sender).Epoch
		in := kmsg.NewAlterPartitionRequestTopicPartition()
		in.LeaderEpoch, in.PartitionEpoch = p.LeaderEpoch, p.PartitionEpoch
		for _, id := range isr {
			in.NewEpochISR = append(in.NewEpochISR, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: id, BrokerEpoch: -1})
		}
		r.Topics = []kmsg.AlterPartitionRequestTopic{{TopicID: topic.ID}}
		change(r, &in)
		r.Topics[0].Partitions = append(r.Topics[0].Partitions, in)
		resp := k.do(r).(*kmsg.AlterPartitionResponse)
		if resp.ErrorCode != 0 {
			return kmsg.AlterPartitionResponseTopicPartition{ErrorCode: resp.ErrorCode}
		}
		return resp.Topics[0].Partitions[0]
	}
	type in = *kmsg.AlterPartitionRequestTopicPartition
	type req = *kmsg.AlterPartitionRequest
	for name, c := range map[string]struct {
		sender int32
		change func(req, in)
		isr    []int32
		code   protocol.ErrorCode
	}{
		"stale broker":            {1, func(r req, _ in) { r.BrokerEpoch-- }, []int32{1}, protocol.StaleBrokerEpoch},
		"unknown topic":           {1, func(r req, _ in) { r.Topics[0].TopicID = [16]byte{8} }, []int32{1}, protocol.UnknownTopicID},
		"unknown partition":       {1, func(_ req, p in) { p.Partition = 7 }, []int32{1}, protocol.UnknownTopicOrPartition},
		"leader epoch ahead":      {1, func(_ req, p in) { p.LeaderEpoch++ }, []int32{1}, protocol.NotController},
		"partition epoch ahead":   {1, func(_ req, p in) { p.PartitionEpoch++ }, []int32{1}, protocol.NotController},
		"leader epoch old":        {1, func(_ req, p in) { p.LeaderEpoch-- }, []int32{1}, protocol.FencedLeaderEpoch},
		"not the leader":          {2, func(_ req, p in) { p.PartitionEpoch-- }, []int32{2}, protocol.InvalidRequest},
		"partition epoch old":     {1, func(_ req, p in) { p.PartitionEpoch-- }, []int32{1}, protocol.InvalidUpdateVersion},
		"not a replica":           {1, func(req, in) {}, []int32{1, 9}, protocol.InvalidRequest},
		"twice":                   {1, func(req, in) {}, []int32{1, 1}, protocol.InvalidRequest},
		"without the leader":      {1, func(req, in) {}, []int32{2}, protocol.InvalidRequest},
		"recovering with two":     {1, func(_ req, p in) { p.LeaderRecoveryState = 1 }, []int32{1, 2}, protocol.InvalidRequest},
		"back to recovering":      {1, func(_ req, p in) { p.LeaderRecoveryState = 1 }, []int32{1}, protocol.InvalidRequest},
		"member of another epoch": {1, func(_ req, p in) { p.NewEpochISR[1].BrokerEpoch = 999 }, []int32{1, 2}, protocol.IneligibleReplica},
	} {
		if got := ask(c.sender, c.change, c.isr...); protocol.ErrorCode(got.ErrorCode) != c.code {
			t.Errorf("%s: %v, want %v", name, protocol.ErrorCode(got.ErrorCode), c.code)
		}
	}
	none := func(req, in) {}
	if got := ask(1, none, 1); got.ErrorCode != 0 || got.PartitionEpoch != 1 || got.LeaderEpoch != 0 || !slices.Equal(got.ISR, []int32{1}) {
		t.Errorf("shrink: %+v", got)
	}
	if got := ask(1, none, 1, 2, 3); got.ErrorCode != 0 || got.PartitionEpoch != 2 || len(k.partition("a", 0).ISR) != 3 {
		t.Errorf("expand: %+v", got)
	}
	if got := ask(1, none, 1, 2, 3); got.ErrorCode != 0 || got.PartitionEpoch != 2 {
		t.Errorf("no change: %+v", got)
	}
	fence := k.heartbeat(3)
	fence.WantFence = true
	k.do(fence)
	if got := ask(1, none, 1, 2, 3); protocol.ErrorCode(got.ErrorCode) != protocol.IneligibleReplica {
		t.Errorf("fenced member: %v", protocol.ErrorCode(got.ErrorCode))
	}
}

func TestElectLeaders(t *testing.T) {
	k := newCluster(t, testOptions(t), 1, 2)
	k.mustCreate("a", []int32{1, 2}, []int32{2, 1})
	elect := func(kind int8, topic string, n int32) protocol.ErrorCode {
		r := newest(kmsg.NewPtrElectLeadersRequest())
		r.ElectionType, r.Topics = kind, []kmsg.ElectLeadersRequestTopic{{Topic: topic, Partitions: []int32{n}}}
		resp := k.do(r).(*kmsg.ElectLeadersResponse)
		if p := resp.Topics[0].Partitions[0]; p.ErrorCode != 0 && p.ErrorMessage == nil {
			t.Errorf("%v without a message", protocol.ErrorCode(p.ErrorCode))
		}
		return protocol.ErrorCode(resp.Topics[0].Partitions[0].ErrorCode)
	}
	if code := elect(0, "a", 0); code != protocol.ElectionNotNeeded {
		t.Errorf("preferred leader leads: %v", code)
	}
	if code := elect(1, "a", 0); code != protocol.ElectionNotNeeded {
		t.Errorf("unclean with a leader: %v", code)
	}
	if code := elect(0, "a", 9); code != protocol.UnknownTopicOrPartition {
		t.Errorf("unknown partition: %v", code)
	}
	if code := elect(7, "a", 0); code != protocol.InvalidRequest {
		t.Errorf("unknown kind: %v", code)
	}
	none := newest(kmsg.NewPtrElectLeadersRequest())
	none.ElectionType, none.Topics = 7, []kmsg.ElectLeadersRequestTopic{}
	if r := k.do(none).(*kmsg.ElectLeadersResponse); r.ErrorCode != 0 {
		t.Errorf("unknown kind of nothing: %v", protocol.ErrorCode(r.ErrorCode))
	}
	fence := k.heartbeat(1)
	fence.WantFence = true
	k.do(fence)
	if code := elect(0, "a", 0); code != protocol.PreferredLeaderNotAvailable {
		t.Errorf("preferred leader is fenced: %v", code)
	}
	k.do(k.heartbeat(1))
	if code := elect(0, "a", 0); code != protocol.PreferredLeaderNotAvailable {
		t.Errorf("preferred leader is not in sync: %v", code)
	}
	stop := k.heartbeat(2)
	stop.WantFence = true
	k.do(stop)
	if p := k.partition("a", 0); p.Leader != metadata.NoLeader {
		t.Fatalf("%+v", p)
	}
	if code := elect(1, "a", 0); code != protocol.None || k.partition("a", 0).Leader != 1 || k.partition("a", 0).RecoveryState != metadata.Recovering {
		t.Errorf("unclean: %v %+v", code, k.partition("a", 0))
	}
}

func TestReassignment(t *testing.T) {
	k := newCluster(t, testOptions(t), 1, 2, 3)
	k.mustCreate("a", []int32{1, 2})
	move := func(replicas []int32) protocol.ErrorCode {
		r := newest(kmsg.NewPtrAlterPartitionAssignmentsRequest())
		r.AllowReplicationFactorChange = true
		r.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: "a", Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{{Replicas: replicas}}}}
		return protocol.ErrorCode(k.do(r).(*kmsg.AlterPartitionAssignmentsResponse).Topics[0].Partitions[0].ErrorCode)
	}
	if code := move(nil); code != protocol.NoReassignmentInProgress {
		t.Errorf("cancel nothing: %v", code)
	}
	if code := move([]int32{9}); code != protocol.InvalidReplicaAssignment {
		t.Errorf("unknown broker: %v", code)
	}
	if code := move([]int32{2, 3}); code != protocol.None {
		t.Fatal(code)
	}
	p := k.partition("a", 0)
	if !slices.Equal(p.Replicas, []int32{2, 3, 1}) || !slices.Equal(p.Adding, []int32{3}) || !slices.Equal(p.Removing, []int32{1}) || p.Leader != 1 {
		t.Errorf("moving: %+v", p)
	}
	list := k.c.ListPartitionReassignments(newest(kmsg.NewPtrListPartitionReassignmentsRequest()))
	if len(list.Topics) != 1 || !slices.Equal(list.Topics[0].Partitions[0].AddingReplicas, []int32{3}) {
		t.Errorf("%+v", list)
	}
	if code := move(nil); code != protocol.None || !slices.Equal(k.partition("a", 0).Replicas, []int32{2, 1}) || k.partition("a", 0).Reassigning() {
		t.Errorf("cancelled: %v %+v", code, k.partition("a", 0))
	}
	move([]int32{2, 3})
	r := newest(kmsg.NewPtrAlterPartitionRequest())
	r.BrokerID, r.BrokerEpoch = 1, k.c.settle().Broker(1).Epoch
	in := kmsg.NewAlterPartitionRequestTopicPartition()
	in.LeaderEpoch, in.PartitionEpoch = k.partition("a", 0).LeaderEpoch, k.partition("a", 0).PartitionEpoch
	for _, id := range []int32{1, 2, 3} {
		in.NewEpochISR = append(in.NewEpochISR, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: id, BrokerEpoch: -1})
	}
	r.Topics = []kmsg.AlterPartitionRequestTopic{{TopicID: k.c.settle().Topic("a").ID, Partitions: []kmsg.AlterPartitionRequestTopicPartition{in}}}
	if code := k.do(r).(*kmsg.AlterPartitionResponse).Topics[0].Partitions[0].ErrorCode; protocol.ErrorCode(code) != protocol.NewLeaderElected {
		t.Errorf("the move is complete: %v", protocol.ErrorCode(code))
	}
	if p := k.partition("a", 0); !slices.Equal(p.Replicas, []int32{2, 3}) || p.Leader != 2 || p.Reassigning() {
		t.Errorf("moved: %+v", p)
	}
}

func TestProducerIDs(t *testing.T) {
	k := newCluster(t, testOptions(t), 1)
	for want := int64(0); want < 3000; want += 1000 {
		r := kmsg.NewPtrAllocateProducerIDsRequest()
		r.BrokerID, r.BrokerEpoch = 1, k.c.settle().Broker(1).Epoch
		if got := k.do(r).(*kmsg.AllocateProducerIDsResponse); got.ErrorCode != 0 || got.ProducerIDStart != want || got.ProducerIDLen != 1000 {
			t.Errorf("%+v", got)
		}
	}
	r := kmsg.NewPtrAllocateProducerIDsRequest()
	r.BrokerID = 1
	if got := k.do(r).(*kmsg.AllocateProducerIDsResponse); protocol.ErrorCode(got.ErrorCode) != protocol.StaleBrokerEpoch {
		t.Errorf("%+v", got)
	}
}

func TestAssignReplicasToDirs(t *testing.T) {
	k := newCluster(t, testOptions(t), 1, 2)
	k.mustCreate("a", []int32{1, 2})
	topic := k.c.settle().Topic("a")
	assign := func(dir [16]byte, id [16]byte, n int32) protocol.ErrorCode {
		r := newest(kmsg.NewPtrAssignReplicasToDirsRequest())
		r.BrokerID, r.BrokerEpoch = 2, k.c.settle().Broker(2).Epoch
		r.Directories = []kmsg.AssignReplicasToDirsRequestDirectory{{ID: dir, Topics: []kmsg.AssignReplicasToDirsRequestDirectoryTopic{
			{TopicID: id, Partitions: []kmsg.AssignReplicasToDirsRequestDirectoryTopicPartition{{Partition: n}}}}}}
		return protocol.ErrorCode(k.do(r).(*kmsg.AssignReplicasToDirsResponse).Directories[0].Topics[0].Partitions[0].ErrorCode)
	}
	if code := assign(dirOf(2), [16]byte{5}, 0); code != protocol.UnknownTopicID {
		t.Error(code)
	}
	if code := assign(dirOf(2), topic.ID, 5); code != protocol.UnknownTopicOrPartition {
		t.Error(code)
	}
	if code := assign([16]byte{0: 7}, topic.ID, 0); code != protocol.None || slices.Contains(k.partition("a", 0).ISR, 2) || k.partition("a", 0).Directory(2) != (protocol.UUID{0: 7}) {
		t.Errorf("a directory that is not registered: %v %+v", code, k.partition("a", 0))
	}
}
