//go:build compat

package takeover

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/ottla/ottla/protocol/record"
)

// view is everything a client can learn of a server, one fact a line: it must not depend on which server it is.
type view struct {
	t     testing.TB
	cl    *kgo.Client
	old   *kgo.Client // names topics in Fetch
	lines []string
}

func (n *node) view() []string {
	n.s.t.Helper()
	v := &view{t: n.s.t, cl: n.client(kgo.MaxVersions(kversion.V3_9_0())), old: n.client(kgo.MaxVersions(kversion.V3_0_0()))}
	v.features()
	topics := v.topics()
	for _, t := range topics {
		for _, p := range t.partitions {
			v.offsets(t.name, p)
			if !strings.HasPrefix(t.name, "__") {
				v.batches(t.name, p)
				v.producers(t.name, p)
			}
		}
	}
	v.configs(topics)
	v.groups()
	slices.Sort(v.lines)
	return v.lines
}

func (v *view) add(format string, args ...any) {
	v.lines = append(v.lines, fmt.Sprintf(format, args...))
}

func request[R kmsg.Response](v *view, req kmsg.Request) R {
	v.t.Helper()
	resp, err := v.cl.Request(context.Background(), req)
	if err != nil {
		v.t.Fatalf("%s: %v", kmsg.NameForKey(req.Key()), err)
	}
	return resp.(R)
}

func (v *view) features() {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "view", "1"
	for _, f := range request[*kmsg.ApiVersionsResponse](v, req).FinalizedFeatures {
		v.add("feature %s %d", f.Name, f.MaxVersionLevel)
	}
}

type viewTopic struct {
	name       string
	partitions []int32
}

func (v *view) topics() (list []viewTopic) {
	resp := request[*kmsg.MetadataResponse](v, kmsg.NewPtrMetadataRequest())
	v.add("cluster %s", *resp.ClusterID)
	for _, t := range resp.Topics {
		x := viewTopic{name: *t.Topic}
		v.add("topic %s %x internal %t", x.name, t.TopicID, t.IsInternal)
		for _, p := range t.Partitions {
			v.add("partition %s %d leader %d replicas %v isr %v", x.name, p.Partition, p.Leader, p.Replicas, p.ISR)
			x.partitions = append(x.partitions, p.Partition)
		}
		list = append(list, x)
	}
	return list
}

func (v *view) offsets(topic string, p int32) {
	if strings.HasPrefix(topic, "__") { // coordinators write by themselves
		return
	}
	m := listOffset(v.t, v.cl, topic, p, maxTimestamp, 0)
	v.add("offsets %s %d: %d to %d, stable %d, largest timestamp %d at %d, local %d", topic, p,
		listOffset(v.t, v.cl, topic, p, earliest, 0).Offset, listOffset(v.t, v.cl, topic, p, latest, 0).Offset,
		listOffset(v.t, v.cl, topic, p, latest, 1).Offset, m.Timestamp, m.Offset, listOffset(v.t, v.cl, topic, p, earliestLocal, 0).Offset)
}

// batches reads a partition from its start, byte for byte.
func (v *view) batches(topic string, p int32) {
	first, end := listOffset(v.t, v.cl, topic, p, earliest, 0).Offset, listOffset(v.t, v.cl, topic, p, latest, 1).Offset
	for _, a := range v.fetch(topic, p, first).AbortedTransactions {
		v.add("aborted %s %d: producer %d from %d", topic, p, a.ProducerID, a.FirstOffset)
	}
	for at := first; at < end; {
		rest := v.fetch(topic, p, at).RecordBatches
		if len(rest) == 0 {
			v.t.Fatalf("%s-%d: nothing at %d of %d", topic, p, at, end)
		}
		for len(rest) > 0 {
			b, tail, err := record.Next(rest)
			if err != nil {
				break // cut off by the limit
			}
			rest = tail
			if b.LastOffset() < at {
				continue
			}
			sum := sha256.Sum256(b)
			v.add("batch %s %d %012d to %d: %d records, epoch %d, producer %d, crc ok %t, %s", topic, p, b.BaseOffset(), b.LastOffset(),
				b.Count(), b.PartitionLeaderEpoch(), b.ProducerID(), b.VerifyCRC(), hex.EncodeToString(sum[:6]))
			at = b.NextOffset()
		}
	}
}

func (v *view) fetch(topic string, p int32, at int64) *kmsg.FetchResponseTopicPartition {
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.SessionEpoch, req.IsolationLevel, req.ReplicaID = 1<<20, -1, 1, -1
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes, rp.CurrentLeaderEpoch = p, at, 1<<20, -1
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(context.Background(), v.old)
	must(v.t, err)
	out := &resp.Topics[0].Partitions[0]
	if out.ErrorCode != 0 {
		v.t.Fatalf("Fetch %s-%d at %d: error %d", topic, p, at, out.ErrorCode)
	}
	return out
}

func (v *view) producers(topic string, p int32) {
	req := kmsg.NewPtrDescribeProducersRequest()
	rt := kmsg.NewDescribeProducersRequestTopic()
	rt.Topic, rt.Partitions = topic, []int32{p}
	req.Topics = append(req.Topics, rt)
	for _, x := range request[*kmsg.DescribeProducersResponse](v, req).Topics[0].Partitions[0].ActiveProducers {
		v.add("producer %s %d: %d epoch %d, sequence %d at %d, coordinator %d, transaction from %d", topic, p, x.ProducerID, x.ProducerEpoch,
			x.LastSequence, x.LastTimestamp, x.CoordinatorEpoch, x.CurrentTxnStartOffset)
	}
}

// Sources of a setting that somebody made at run time: of a topic, of one broker, of all brokers.
var dynamicSources = []kmsg.ConfigSource{kmsg.ConfigSourceDynamicTopicConfig, kmsg.ConfigSourceDynamicBrokerConfig, kmsg.ConfigSourceDynamicDefaultBrokerConfig}

func (v *view) configs(topics []viewTopic) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	add := func(kind kmsg.ConfigResourceType, name string) {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName = kind, name
		req.Resources = append(req.Resources, r)
	}
	for _, t := range topics {
		add(kmsg.ConfigResourceTypeTopic, t.name)
	}
	add(kmsg.ConfigResourceTypeBroker, "1")
	for _, r := range request[*kmsg.DescribeConfigsResponse](v, req).Resources {
		for _, c := range r.Configs {
			if slices.Contains(dynamicSources, c.Source) {
				v.add("config %s %s: %s=%s (%s)", r.ResourceType, r.ResourceName, c.Name, *c.Value, c.Source)
			}
		}
	}
}

func (v *view) groups() {
	for _, g := range request[*kmsg.ListGroupsResponse](v, kmsg.NewPtrListGroupsRequest()).Groups {
		state := g.GroupState
		if g.GroupType != "classic" { // whose members are there for Kafka only
			state = "of type " + g.GroupType
		}
		v.add("group %s: %s %s", g.Group, g.ProtocolType, state)
		req := kmsg.NewPtrOffsetFetchRequest()
		rg := kmsg.NewOffsetFetchRequestGroup()
		rg.Group = g.Group
		req.Groups, req.Group = append(req.Groups, rg), g.Group
		resp := request[*kmsg.OffsetFetchResponse](v, req)
		for _, t := range resp.Groups[0].Topics {
			for _, p := range t.Partitions {
				v.add("committed %s %s %d: %d, epoch %d, %q, error %d", g.Group, t.Topic, p.Partition, p.Offset, p.LeaderEpoch, *p.Metadata, p.ErrorCode)
			}
		}
	}
}

// same compares two views line by line.
func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	miss := 0
	for _, pair := range []struct {
		word string
		a, b []string
	}{{"missing", want, got}, {"too much", got, want}} {
		for _, l := range pair.a {
			if _, found := slices.BinarySearch(pair.b, l); !found {
				if miss++; miss < 30 {
					t.Errorf("%s: %s: %s", what, pair.word, l)
				}
			}
		}
	}
	if miss >= 30 {
		t.Errorf("%s: %d differences", what, miss)
	}
}
