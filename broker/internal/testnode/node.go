// Package testnode is a broker without a controller, for tests of the edge: real storage and
// replication under an image that the test writes itself.
package testnode

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/broker/api"
	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
	"github.com/ottla/ottla/replication"
	"github.com/ottla/ottla/storage"
)

// ID is the node's.
const ID = 1

// Node has the pieces that handlers call. Its Controller creates and deletes topics with as many
// partitions as asked and does nothing else.
type Node struct {
	Deps     *api.Deps
	Settings config.Layers
	t        testing.TB
	image    atomic.Pointer[metadata.Image]
	mu       sync.Mutex // of changes to the image
}

// Listeners are the broker's, with what they advertise.
var Listeners = []metadata.Endpoint{
	{Name: "PLAINTEXT", Host: "127.0.0.1", Port: 9092},
	{Name: "OUTSIDE", Host: "broker.example.com", Port: 19092},
}

// New is a node with one registered broker and no topics; settings are lines of a properties file.
func New(t testing.TB, fs vfs.FS, dir string, settings ...string) *Node {
	t.Helper()
	var lines config.Properties
	for i := 0; i < len(settings); i += 2 {
		lines = append(lines, config.Property{Name: settings[i], Value: settings[i+1]})
	}
	static, _, err := config.Load(config.Default(dir, lines))
	if err != nil {
		t.Fatal(err)
	}
	o := storage.DefaultOptions()
	o.ClusterID, o.NodeID = "97FBi3dPSISmFGpsmmYqQQ", ID
	logs, err := storage.Open(fs, []string{dir}, o)
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{t: t, Settings: config.Layers{Static: static}}
	n.image.Store(metadata.New())
	level := zap.NewAtomicLevel()
	n.Deps = &api.Deps{
		NodeID: ID, ClusterID: o.ClusterID, Log: zap.NewNop(), LogLevel: &level,
		Features:         []metadata.VersionRange{{Feature: metadata.GroupVersion, Min: 0, Max: 1}, {Feature: metadata.MetadataVersion, Min: 7, Max: 33}},
		Metadata:         n.image.Load,
		AwaitMetadata:    func(context.Context, int64) error { return nil },
		Config:           func() config.Layers { return n.Settings },
		ActiveController: func() int32 { return ID },
		Controller:       n.control,
		LogDirs:          logs,
	}
	n.Deps.Partitions = replication.New(replication.Options{NodeID: ID, Storage: logs, LogConfig: n.logConfig})
	t.Cleanup(func() {
		n.Deps.Partitions.Close()
		if err := logs.Close(context.Background(), 1); err != nil {
			t.Error(err)
		}
	})
	n.apply(&msg.FeatureLevelRecord{Name: metadata.MetadataVersion, FeatureLevel: metadata.LatestLevel}, n.broker())
	return n
}

func (n *Node) broker() *msg.RegisterBrokerRecord {
	b := msg.NewRegisterBrokerRecord()
	b.BrokerID, b.BrokerEpoch, b.Fenced, b.IncarnationID = ID, 1, false, protocol.NewUUID()
	for _, l := range Listeners {
		b.EndPoints = append(b.EndPoints, msg.RegisterBrokerRecordBrokerEndpoint{Name: l.Name, Host: l.Host, Port: l.Port})
	}
	return b
}

// logConfig honours the overrides that tests of the edge use.
func (n *Node) logConfig(overrides map[string]string) storage.LogConfig {
	c := storage.DefaultLogConfig()
	v := n.Settings.Topic(overrides)
	policy := v.List("cleanup.policy")
	c.CleanupCompact, c.CleanupDelete = slices.Contains(policy, "compact"), slices.Contains(policy, "delete")
	c.CompressionType = v.String("compression.type")
	c.SegmentBytes = v.Int("segment.bytes")
	c.MaxMessageBytes = v.Int("max.message.bytes")
	if v.String("message.timestamp.type") == "LogAppendTime" {
		c.MessageTimestampType = storage.LogAppendTime
	}
	return c
}

// apply replays records and publishes the image.
func (n *Node) apply(records ...metadata.Record) {
	n.t.Helper()
	n.mu.Lock()
	defer n.mu.Unlock()
	before := n.image.Load()
	d := metadata.NewDelta(before)
	for _, r := range records {
		if err := d.Replay(r); err != nil {
			n.t.Fatal(err)
		}
	}
	after, err := d.Apply(before.Offset+int64(len(records)), 1, 0)
	if err != nil {
		n.t.Fatal(err)
	}
	n.image.Store(after)
	if err := n.Deps.Partitions.Publish(d, after); err != nil {
		n.t.Fatal(err)
	}
}

// CreateTopic makes a topic that this node leads; overrides are names and values by turns.
func (n *Node) CreateTopic(name string, partitions int, overrides ...string) protocol.UUID {
	n.t.Helper()
	id := protocol.NewUUID()
	records := []metadata.Record{&msg.TopicRecord{Name: name, TopicID: id}}
	for i := 0; i < len(overrides); i += 2 {
		records = append(records, &msg.ConfigRecord{ResourceType: int8(metadata.TopicResource), ResourceName: name, Name: overrides[i], Value: &overrides[i+1]})
	}
	for i := range partitions {
		p := msg.NewPartitionRecord()
		p.PartitionID, p.TopicID, p.Leader, p.LeaderEpoch, p.PartitionEpoch = int32(i), id, ID, 0, 0
		p.Replicas, p.ISR, p.Directories = []int32{ID}, []int32{ID}, []protocol.UUID{protocol.UnassignedDir}
		records = append(records, p)
	}
	n.apply(records...)
	return id
}

// DeleteTopic takes a topic away.
func (n *Node) DeleteTopic(name string) {
	n.t.Helper()
	n.apply(&msg.RemoveTopicRecord{TopicID: n.image.Load().Topic(name).ID})
}

// MoveLeader makes another broker, registered on the way, a partition's leader.
func (n *Node) MoveLeader(topic string, partition, to int32) { n.change(topic, partition, to, to) }

// AddReplica gives a partition that this node leads a second replica that is in sync and never fetches.
func (n *Node) AddReplica(topic string, partition, on int32) {
	n.change(topic, partition, metadata.LeaderUnchanged, on)
}

func (n *Node) change(topic string, partition, leader, other int32) {
	n.t.Helper()
	image := n.image.Load()
	b := n.broker()
	b.BrokerID, b.EndPoints[0].Port, b.EndPoints[1].Port = other, 9093, 19093
	c := msg.NewPartitionChangeRecord()
	c.PartitionID, c.TopicID, c.Leader = partition, image.Topic(topic).ID, leader
	c.Replicas, c.ISR = []int32{ID, other}, []int32{ID, other}
	c.Directories = []protocol.UUID{image.Topic(topic).Partition(partition).Directory(ID), protocol.UnassignedDir}
	n.apply(b, c)
}

func (n *Node) control(_ context.Context, _ *api.Call, req kmsg.Request) (kmsg.Response, int64, error) {
	resp := req.ResponseKind()
	switch r := req.(type) {
	case *kmsg.CreateTopicsRequest:
		for _, t := range r.Topics {
			var overrides []string
			for _, c := range t.Configs {
				overrides = append(overrides, c.Name, *c.Value)
			}
			n.CreateTopic(t.Topic, max(1, int(t.NumPartitions)), overrides...)
		}
	case *kmsg.DeleteTopicsRequest:
		for _, name := range r.TopicNames {
			n.DeleteTopic(name)
		}
	}
	return resp, n.image.Load().Offset, nil
}
