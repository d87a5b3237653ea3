package catalog

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

const testCluster = "b3R0bGEtZml4dHVyZS0wMQ"

// fresh are the features of a fresh Kafka 4.4 cluster.
var fresh = []metadata.VersionRange{
	metadata.SupportedMetadataVersion(), metadata.SupportedKRaftVersion(),
	{Feature: metadata.ELRVersion, Max: 1}, {Feature: metadata.GroupVersion, Max: 1}, {Feature: metadata.ShareVersion, Max: 2},
	{Feature: metadata.StreamsVersion, Max: 1}, {Feature: metadata.TransactionVersion, Max: 2},
}

func testStatic(t testing.TB, overrides ...string) *config.Static {
	t.Helper()
	p := config.Default("unused", nil)
	for _, o := range overrides {
		prop, err := config.ParseOverride(o)
		if err != nil {
			t.Fatal(err)
		}
		p = append(p, prop)
	}
	s, _, err := config.Load(p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func testOptions(t testing.TB, overrides ...string) Options {
	id := uint32(0)
	return Options{
		NodeID: 100, ClusterID: testCluster, Static: testStatic(t, overrides...), Supported: fresh,
		Rand: rand.New(rand.NewPCG(1, 2)), SessionTimeout: 9 * time.Second,
		NewID: func() (u protocol.UUID) { id++; u[0] = 0x10; binary.BigEndian.PutUint32(u[12:], id); return u },
	}
}

// cluster is a catalog with a twin that is told only of the encoded records.
type cluster struct {
	t     testing.TB
	c     *Catalog
	now   time.Time
	twin  *metadata.Image
	wrote []metadata.Record // by the last request
}

// newCluster has these brokers, registered and unfenced.
func newCluster(t testing.TB, o Options, brokers ...int32) *cluster {
	t.Helper()
	k := &cluster{t: t, now: time.Unix(1_700_000_000, 0), twin: metadata.New()}
	k.c = New(o, metadata.New(), 1, 0, k.now)
	k.write(k.c.Activation(nil, false))
	for _, id := range brokers {
		k.join(id)
	}
	return k
}

// write applies what was decided, and checks that others who read the log see the same.
func (k *cluster) write(res Result) {
	k.t.Helper()
	k.wrote = res.Records
	d := metadata.NewDelta(k.twin)
	for _, r := range res.Records {
		level := k.c.settle().MetadataVersion()
		b, err := metadata.EncodeRecord(nil, r, metadata.VersionFor(r, level))
		if err != nil {
			k.t.Fatal(err)
		}
		copied, _, err := metadata.DecodeRecord(b)
		if err != nil {
			k.t.Fatal(err)
		}
		if !isMarker(copied) {
			if err := d.Replay(copied); err != nil {
				k.t.Fatal(err)
			}
		}
		if err := k.c.Apply(k.c.NextOffset(), r); err != nil {
			k.t.Fatal(err)
		}
	}
	var err error
	if k.twin, err = d.Apply(k.c.NextOffset()-1, 1, 0); err != nil {
		k.t.Fatal(err)
	}
	k.check()
}

// do sends a request and writes what it decides. The version must be set unless the newest is meant.
func (k *cluster) do(req kmsg.Request) kmsg.Response {
	k.t.Helper()
	resp, res, err, known := k.c.Decide(req, k.now)
	if !known {
		k.t.Fatalf("%T has no rule", req)
	}
	if err != nil {
		if len(res.Records) > 0 {
			k.t.Fatalf("%T is refused with %v and writes %d records", req, err, len(res.Records))
		}
		resp = Refuse(req, err)
	}
	k.write(res)
	return resp
}

func newest[R kmsg.Request](r R) R {
	r.SetVersion(r.MaxVersion())
	return r
}

func dirOf(id int32) [16]byte { return [16]byte{0: 0xdd, 15: byte(id)} }

func (k *cluster) registration(id int32) *kmsg.BrokerRegistrationRequest {
	r := newest(kmsg.NewPtrBrokerRegistrationRequest())
	r.BrokerID, r.ClusterID, r.IncarnationID = id, testCluster, [16]byte{0: 1, 14: byte(k.c.NextOffset()), 15: byte(id)}
	r.LogDirs, r.PreviousBrokerEpoch = [][16]byte{dirOf(id)}, -1
	l := kmsg.NewBrokerRegistrationRequestListener()
	l.Name, l.Host, l.Port = "PLAINTEXT", "localhost", uint16(9000+id)
	r.Listeners = append(r.Listeners, l)
	for _, f := range fresh {
		feature := kmsg.NewBrokerRegistrationRequestFeature()
		feature.Name, feature.MinSupportedVersion, feature.MaxSupportedVersion = f.Feature, f.Min, f.Max
		r.Features = append(r.Features, feature)
	}
	return r
}

// heartbeat is one of a broker that has seen everything.
func (k *cluster) heartbeat(id int32) *kmsg.BrokerHeartbeatRequest {
	r := newest(kmsg.NewPtrBrokerHeartbeatRequest())
	r.BrokerID, r.CurrentMetadataOffset = id, k.c.NextOffset()-1
	if b := k.c.settle().Broker(id); b != nil {
		r.BrokerEpoch = b.Epoch
	}
	return r
}

func (k *cluster) join(id int32) {
	k.t.Helper()
	if code := k.do(k.registration(id)).(*kmsg.BrokerRegistrationResponse).ErrorCode; code != 0 {
		k.t.Fatalf("registration of broker %d: %v", id, protocol.ErrorCode(code))
	}
	if r := k.do(k.heartbeat(id)).(*kmsg.BrokerHeartbeatResponse); r.ErrorCode != 0 || r.IsFenced {
		k.t.Fatalf("heartbeat of broker %d: %+v", id, r)
	}
}

func (k *cluster) partition(topic string, n int32) *metadata.Partition {
	k.t.Helper()
	p := k.c.settle().Topic(topic).Partition(n)
	if p == nil {
		k.t.Fatalf("no partition %s-%d", topic, n)
	}
	return p
}

// check holds after every write.
func (k *cluster) check() {
	k.t.Helper()
	image := k.c.settle()
	if g, w := dump(image), dump(k.twin); !slices.Equal(g, w) {
		for i := range min(len(g), len(w)) {
			if g[i] != w[i] {
				k.t.Fatalf("the controller has %s, who reads the log %s", g[i], w[i])
			}
		}
		k.t.Fatalf("the controller has %d records, who reads the log %d", len(g), len(w))
	}
	for t := range image.Topics() {
		for n, p := range t.Partitions {
			if why := k.wrong(image, p); why != "" {
				k.t.Fatalf("%s-%d: %s: %+v", t.Name, n, why, p)
			}
		}
	}
}

// wrong says which invariant of a partition does not hold.
func (k *cluster) wrong(image *metadata.Image, p *metadata.Partition) string {
	all := slices.Concat(p.ISR, p.ELR)
	switch {
	case len(p.Replicas) == 0 || len(p.Directories) != len(p.Replicas):
		return "replicas and directories"
	case !containsAll(p.Replicas, p.ISR): // a replica that was moved away may stay eligible, as in Kafka; nobody elects it
		return "a member of the ISR that is no replica"
	case len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all):
		return "ISR and ELR overlap"
	case p.Leader != metadata.NoLeader && !slices.Contains(p.ISR, p.Leader):
		return "the leader is not in the ISR"
	case p.Leader != metadata.NoLeader && (image.Broker(p.Leader) == nil || image.Broker(p.Leader).Fenced):
		return "the leader is fenced" // one that said it would stop and then goes on may lead again, as in Kafka
	case !containsAll(p.Replicas, p.Adding) || !containsAll(p.Replicas, p.Removing):
		return "reassignment"
	}
	return ""
}

// dump is an image as text, record by record.
func dump(i *metadata.Image) []string {
	out := []string{fmt.Sprint(i.Offset)}
	for r := range i.Records() {
		b, err := metadata.EncodeRecord(nil, r, metadata.VersionFor(r, i.MetadataVersion()))
		if err != nil {
			panic(err)
		}
		out = append(out, fmt.Sprintf("%s %x", r.(msg.Message).Schema(), b))
	}
	return out
}
