package replication

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
	"github.com/ottla/ottla/protocol/record"
	"github.com/ottla/ottla/storage"
)

// node is this broker in the tests.
const node = 1

// harness is a Manager over a storage, driven by metadata records.
type harness struct {
	t        testing.TB
	fs       vfs.FS
	dirs     []string
	storage  *storage.Manager
	manager  *Manager
	image    *metadata.Image
	changes  []Leadership
	offline  chan protocol.TopicPartition
	placed   chan placed
	defaults map[string]string // the broker's, for topics
}

type placed struct {
	tp  protocol.TopicPartition
	dir protocol.UUID
}

func newHarness(t testing.TB) *harness { return newHarnessOn(t, vfs.NewMem(), "/data") }

func newHarnessOn(t testing.TB, fs vfs.FS, dirs ...string) *harness {
	h := &harness{t: t, fs: fs, dirs: dirs, image: metadata.New(), defaults: map[string]string{}, offline: make(chan protocol.TopicPartition, 100), placed: make(chan placed, 100000)}
	h.open()
	t.Cleanup(h.close)
	return h
}

func (h *harness) open() {
	o := storage.DefaultOptions()
	o.ClusterID, o.NodeID = "replication-test", node
	o.OnDirFailure = func(d storage.DirState) { h.manager.DirFailed(d.ID, d.Err) }
	s, err := storage.Open(h.fs, h.dirs, o)
	if err != nil {
		h.t.Fatal(err)
	}
	h.storage = s
	h.manager = New(Options{
		NodeID: node, Storage: s, LogConfig: h.logConfig,
		OnLeadership: func(l Leadership) { h.changes = append(h.changes, l) },
		OnPlaced:     func(p *Partition, dir protocol.UUID) { h.placed <- placed{p.tp, dir} },
		OnOffline:    func(tp protocol.TopicPartition, _ error) { h.offline <- tp },
	})
}

func (h *harness) close() {
	h.manager.Close()
	if err := h.storage.Close(context.Background(), 1); err != nil {
		h.t.Error(err)
	}
}

// restart stops cleanly and starts again with the same metadata, leader epochs raised as a broker's
// return raises them.
func (h *harness) restart() {
	h.close()
	h.open()
	old := h.image
	h.image = metadata.New()
	var records []metadata.Record
	for t := range old.Topics() {
		records = append(records, &msg.TopicRecord{Name: t.Name, TopicID: t.ID})
		for n, p := range t.Partitions {
			records = append(records, partition(t.ID, int32(n), p.Leader, p.LeaderEpoch+2, p.ISR, p.Replicas...))
		}
	}
	for r, values := range old.Configs() {
		for k, v := range values {
			records = append(records, &msg.ConfigRecord{ResourceType: int8(r.Type), ResourceName: r.Name, Name: k, Value: &v})
		}
	}
	h.publish(records...)
}

// logConfig understands the few keys that the tests set.
func (h *harness) logConfig(overrides map[string]string) storage.LogConfig {
	c := storage.DefaultLogConfig()
	for _, values := range []map[string]string{h.defaults, overrides} {
		for k, v := range values {
			n, _ := strconv.Atoi(v)
			switch k {
			case "min.insync.replicas":
				c.MinInSyncReplicas = int32(n)
			case "max.message.bytes":
				c.MaxMessageBytes = int32(n)
			case "compression.type":
				c.CompressionType = v
			case "cleanup.policy":
				c.CleanupCompact = v == "compact" || v == "compact,delete"
				c.CleanupDelete = v == "delete" || v == "compact,delete"
			default:
				h.t.Fatalf("config %q", k)
			}
		}
	}
	return c
}

func (h *harness) publish(records ...metadata.Record) {
	h.t.Helper()
	d := metadata.NewDelta(h.image)
	for _, r := range records {
		if err := d.Replay(r); err != nil {
			h.t.Fatal(err)
		}
	}
	image, err := d.Apply(h.image.Offset+int64(len(records)), 1, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	h.image = image
	h.changes = nil
	if err := h.manager.Publish(d, image); err != nil {
		h.t.Fatal(err)
	}
}

// topicID is a topic's id in the tests: one a byte.
func topicID(n byte) protocol.UUID { return protocol.UUID{0: 7, 15: n} }

func partition(id protocol.UUID, n, leader, epoch int32, isr []int32, replicas ...int32) *msg.PartitionRecord {
	r := msg.NewPartitionRecord()
	r.PartitionID, r.TopicID, r.Leader, r.LeaderEpoch, r.PartitionEpoch = n, id, leader, epoch, epoch
	r.ISR, r.Replicas = isr, replicas
	for range replicas {
		r.Directories = append(r.Directories, protocol.UnassignedDir)
	}
	return r
}

// create publishes a topic whose partitions this broker leads alone, under epoch 0.
func (h *harness) create(name string, id protocol.UUID, partitions int, configs ...string) *Partition {
	h.t.Helper()
	records := []metadata.Record{&msg.TopicRecord{Name: name, TopicID: id}}
	for i := 0; i < len(configs); i += 2 {
		records = append(records, config(name, configs[i], configs[i+1]))
	}
	for n := range partitions {
		records = append(records, partition(id, int32(n), node, 0, []int32{node}, node))
	}
	h.publish(records...)
	return h.partition(name, 0)
}

func config(topic, name, value string) *msg.ConfigRecord {
	return &msg.ConfigRecord{ResourceType: int8(metadata.TopicResource), ResourceName: topic, Name: name, Value: &value}
}

// change is a partition change record with leader and ISR; the delta raises the epochs.
func change(id protocol.UUID, n, leader int32, isr ...int32) *msg.PartitionChangeRecord {
	r := msg.NewPartitionChangeRecord()
	r.PartitionID, r.TopicID, r.Leader, r.ISR = n, id, leader, isr
	return r
}

func (h *harness) partition(name string, n int32) *Partition {
	h.t.Helper()
	p, err := h.manager.Partition(protocol.TopicPartition{Topic: name, Partition: n})
	if err != nil {
		h.t.Fatal(err)
	}
	return p
}

// batch has one record a timestamp.
func batch(timestamps ...int64) []byte {
	b := record.NewBuilder(record.NewOptions())
	for _, ts := range timestamps {
		b.Append(ts, []byte("k"), []byte("value"))
	}
	return bytes.Clone(b.Build())
}

var clientAppend = AppendOptions{Acks: AllReplicas, Origin: storage.Client, LeaderEpoch: AnyEpoch}

func (h *harness) append(p *Partition, timestamps ...int64) AppendResult {
	h.t.Helper()
	r, err := p.Append(batch(timestamps...), clientAppend)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

// clientFetch is a consumer's.
func clientFetch(offset int64) FetchOptions {
	return FetchOptions{Offset: offset, MaxBytes: 1 << 20, MinOne: true, Bound: storage.HighWatermark, LeaderEpoch: AnyEpoch, LastFetchedEpoch: AnyEpoch}
}

// fetch is the bytes that a consumer reads.
func (h *harness) fetch(p *Partition, o FetchOptions) []byte {
	h.t.Helper()
	f, err := p.Fetch(o)
	if err != nil {
		h.t.Fatal(err)
	}
	defer f.Release()
	out := make([]byte, f.Size)
	for _, s := range f.Slices {
		if err := s.ReadFull(out); err != nil {
			h.t.Fatal(err)
		}
	}
	return out
}

func wantCode(t testing.TB, what string, err error, want protocol.ErrorCode) {
	t.Helper()
	if protocol.CodeOf(err) != want {
		t.Errorf("%s: %v, want %s", what, err, want)
	}
}

var errDisk = errors.New("the disk is gone")
