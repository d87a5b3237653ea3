package catalog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
)

var testTime = time.Unix(1_700_000_000, 0)

// TestRandomWalk sends random requests of brokers that come and go. After every write the image of who only reads the
// log is the controller's, the partitions' invariants hold, epochs do not fall, and no leader is elected outside
// ISR and ELR unless the record says so. In the end everything goes through a snapshot and back.
func TestRandomWalk(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			o := testOptions(t)
			o.Rand = rand.New(rand.NewPCG(seed, 1))
			w := &walk{cluster: newCluster(t, o, 1, 2, 3, 4), r: rand.New(rand.NewPCG(seed, 2))}
			for range 1500 {
				w.step()
			}
			var file bytes.Buffer
			image := w.c.settle()
			if err := metadata.WriteSnapshot(&file, image); err != nil {
				t.Fatal(err)
			}
			again, err := metadata.ReadSnapshot(&file, image.ID())
			if err != nil || !slices.Equal(dump(again), dump(image)) {
				t.Fatalf("a snapshot of it reads back otherwise: %v", err)
			}
			if w.writes < 500 {
				t.Errorf("only %d of the steps wrote anything", w.writes)
			}
		})
	}
}

type walk struct {
	*cluster
	r      *rand.Rand
	made   int
	writes int
}

func (w *walk) step() {
	before := w.c.settle()
	w.wrote = nil
	w.now = w.now.Add(time.Duration(w.r.IntN(3000)) * time.Millisecond)
	switch w.r.IntN(12) {
	case 0:
		w.made++
		w.create(w.r.IntN(5) == 0, creation(fmt.Sprintf("t%d", w.made), int32(1+w.r.IntN(4)), int16(1+w.r.IntN(4))))
	case 1:
		w.remove()
	case 2, 3:
		w.do(w.registration(w.broker()))
	case 4, 5, 6, 7:
		r := w.heartbeat(w.broker())
		r.WantFence, r.WantShutdown = w.r.IntN(8) == 0, w.r.IntN(6) == 0
		w.do(r)
	case 8:
		w.write(w.c.ExpireSession(w.broker(), w.now))
	case 9, 10:
		w.changeISR()
	case 11:
		w.operate()
	}
	if len(w.wrote) > 0 {
		w.writes++
	}
	w.compare(before)
}

func (w *walk) broker() int32 { return int32(1 + w.r.IntN(5)) }

// topic is any topic, nil if there is none.
func (w *walk) topic() *metadata.Topic {
	all := slices.Collect(w.c.settle().Topics())
	if len(all) == 0 {
		return nil
	}
	return all[w.r.IntN(len(all))]
}

func (w *walk) remove() {
	if t := w.topic(); t != nil && w.c.settle().TopicCount() > 6 {
		r := newest(kmsg.NewPtrDeleteTopicsRequest())
		r.Topics = []kmsg.DeleteTopicsRequestTopic{{TopicID: t.ID}}
		w.do(r)
	}
}

// changeISR is a leader's request, now and then with what it must not contain.
func (w *walk) changeISR() {
	t := w.topic()
	if t == nil {
		return
	}
	n := w.r.IntN(len(t.Partitions))
	p := t.Partitions[n]
	b := w.c.settle().Broker(p.Leader)
	if b == nil {
		return
	}
	r := newest(kmsg.NewPtrAlterPartitionRequest())
	r.BrokerID, r.BrokerEpoch = b.ID, b.Epoch
	in := kmsg.NewAlterPartitionRequestTopicPartition()
	in.Partition, in.LeaderEpoch, in.PartitionEpoch = int32(n), p.LeaderEpoch, p.PartitionEpoch-int32(w.r.IntN(10)/9)
	for _, id := range p.Replicas {
		if id == b.ID || w.r.IntN(2) == 0 {
			in.NewEpochISR = append(in.NewEpochISR, kmsg.AlterPartitionRequestTopicPartitionNewEpochISR{BrokerID: id, BrokerEpoch: -1})
		}
	}
	r.Topics = []kmsg.AlterPartitionRequestTopic{{TopicID: t.ID, Partitions: []kmsg.AlterPartitionRequestTopicPartition{in}}}
	w.do(r)
}

// operate is what an operator does.
func (w *walk) operate() {
	t := w.topic()
	if t == nil {
		return
	}
	n := int32(w.r.IntN(len(t.Partitions)))
	switch w.r.IntN(6) {
	case 0:
		r := newest(kmsg.NewPtrElectLeadersRequest())
		r.ElectionType, r.Topics = int8(w.r.IntN(2)), []kmsg.ElectLeadersRequestTopic{{Topic: t.Name, Partitions: []int32{n}}}
		w.do(r)
	case 1:
		r := newest(kmsg.NewPtrCreatePartitionsRequest())
		r.Topics = []kmsg.CreatePartitionsRequestTopic{{Topic: t.Name, Count: int32(len(t.Partitions) + w.r.IntN(2))}}
		w.do(r)
	case 2:
		w.alter(metadata.TopicResource, t.Name, set("unclean.leader.election.enable", fmt.Sprint(w.r.IntN(2) == 0)))
	case 3:
		w.alter(metadata.TopicResource, t.Name, set("min.insync.replicas", fmt.Sprint(1+w.r.IntN(3))))
	default:
		r := newest(kmsg.NewPtrAlterPartitionAssignmentsRequest())
		r.AllowReplicationFactorChange = true
		p := kmsg.AlterPartitionAssignmentsRequestTopicPartition{Partition: n}
		if w.r.IntN(3) > 0 {
			p.Replicas = []int32{1, 2, 3, 4, 5}
			w.r.Shuffle(5, func(i, j int) { p.Replicas[i], p.Replicas[j] = p.Replicas[j], p.Replicas[i] })
			p.Replicas = p.Replicas[:1+w.r.IntN(3)]
		}
		r.Topics = []kmsg.AlterPartitionAssignmentsRequestTopic{{Topic: t.Name, Partitions: []kmsg.AlterPartitionAssignmentsRequestTopicPartition{p}}}
		w.do(r)
	}
}

// compare is the step from one image to the next.
func (w *walk) compare(before *metadata.Image) {
	for t := range before.Topics() {
		after := w.c.settle().TopicByID(t.ID)
		if after == nil {
			continue
		}
		for n, p := range t.Partitions {
			if why := regressed(p, after.Partitions[n]); why != "" {
				w.t.Fatalf("%s-%d: %s: %+v became %+v", t.Name, n, why, p, after.Partitions[n])
			}
		}
	}
}

func regressed(p, q *metadata.Partition) string {
	switch {
	case q.PartitionEpoch < p.PartitionEpoch || q.LeaderEpoch < p.LeaderEpoch:
		return "an epoch fell"
	case p != q && q.PartitionEpoch == p.PartitionEpoch:
		return "it changed under the same epoch"
	case q.Leader != p.Leader && q.LeaderEpoch == p.LeaderEpoch:
		return "another leader under the same epoch"
	case !slices.Equal(q.Replicas, p.Replicas):
		return "" // a move that is complete: its leader is in the ISR that the old one proposed
	case q.Leader != p.Leader && q.Leader != metadata.NoLeader && q.RecoveryState == metadata.Recovered &&
		!slices.Contains(p.ISR, q.Leader) && !slices.Contains(p.ELR, q.Leader):
		return "a leader that may lack records is not marked"
	}
	return ""
}

// TestRefuse: every request the catalog has a rule for has a refusal, and carries the code.
func TestRefuse(t *testing.T) {
	k := newCluster(t, testOptions(t), 1)
	for _, req := range []kmsg.Request{
		&kmsg.CreateTopicsRequest{Topics: []kmsg.CreateTopicsRequestTopic{{}}}, &kmsg.DeleteTopicsRequest{TopicNames: []string{"a"}},
		&kmsg.CreatePartitionsRequest{Topics: []kmsg.CreatePartitionsRequestTopic{{}}}, &kmsg.AlterConfigsRequest{Resources: []kmsg.AlterConfigsRequestResource{{}}},
		&kmsg.IncrementalAlterConfigsRequest{Resources: []kmsg.IncrementalAlterConfigsRequestResource{{}}}, &kmsg.ElectLeadersRequest{},
		&kmsg.UpdateFeaturesRequest{FeatureUpdates: []kmsg.UpdateFeaturesRequestFeatureUpdate{{}}}, &kmsg.AlterPartitionAssignmentsRequest{}, &kmsg.ListPartitionReassignmentsRequest{},
		&kmsg.AllocateProducerIDsRequest{}, &kmsg.BrokerRegistrationRequest{}, &kmsg.BrokerHeartbeatRequest{}, &kmsg.UnregisterBrokerRequest{},
		&kmsg.AlterPartitionRequest{}, &kmsg.AssignReplicasToDirsRequest{}, &kmsg.ControllerRegistrationRequest{},
	} {
		newest(req)
		if _, _, _, known := k.c.Decide(req, k.now); !known {
			t.Errorf("%T has no rule", req)
		}
		resp := Refuse(req, protocol.NotController)
		if resp == nil {
			t.Errorf("%T has no refusal", req)
			continue
		}
		if text := fmt.Sprintf("%+v", resp); !bytes.Contains([]byte(text), []byte("ErrorCode:41")) {
			t.Errorf("%T: %s", req, text)
		}
	}
	if Refuse(&kmsg.FetchRequest{}, protocol.NotController) != nil {
		t.Error("a refusal of Fetch")
	}
}
