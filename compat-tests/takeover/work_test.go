//go:build compat

package takeover

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The topics of the work: two that stay, one that is deleted, one that is compacted.
const (
	plainTopic     = "plain"
	compactTopic   = "compact"
	doomedTopic    = "doomed"
	txnTopic       = "txn"
	smallSegments  = "internal.segment.bytes=8192"
	smallIndexes   = "segment.index.bytes=4096"
	denseIndexes   = "index.interval.bytes=512"
	neverCompact   = "min.cleanable.dirty.ratio=1.0"
	alwaysCompact  = "min.cleanable.dirty.ratio=0.01"
	compactedTopic = "cleanup.policy=compact"
)

// work is somebody who uses a server.
type work struct {
	n    *node
	t    *testing.T
	cl   *kgo.Client
	rand *rand.Rand
}

func (n *node) work(seed uint64) *work {
	n.s.t.Helper()
	return &work{n, n.s.t, n.client(), rand.New(rand.NewPCG(seed, 1))}
}

func ask[R kmsg.Response](w *work, req kmsg.Request) R {
	w.t.Helper()
	resp, err := w.cl.Request(context.Background(), req)
	if err != nil {
		w.t.Fatalf("%s: %s: %v", w.n.name, kmsg.NameForKey(req.Key()), err)
	}
	return resp.(R)
}

func (w *work) check(what string, code int16, message *string) {
	w.t.Helper()
	if code != 0 {
		text := ""
		if message != nil {
			text = *message
		}
		w.t.Fatalf("%s: %s: error %d %s", w.n.name, what, code, text)
	}
}

func splitSetting(text string) (string, *string) {
	name, value, _ := bytes.Cut([]byte(text), []byte("="))
	v := string(value)
	return string(name), &v
}

func (w *work) createTopic(name string, partitions int32, settings ...string) {
	w.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, partitions, 1
	for _, s := range settings {
		c := kmsg.NewCreateTopicsRequestTopicConfig()
		c.Name, c.Value = splitSetting(s)
		rt.Configs = append(rt.Configs, c)
	}
	req.Topics = append(req.Topics, rt)
	r := ask[*kmsg.CreateTopicsResponse](w, req).Topics[0]
	w.check("create "+name, r.ErrorCode, r.ErrorMessage)
	must(w.t, w.n.awaitReady())
}

func (w *work) deleteTopic(name string) {
	w.t.Helper()
	req := kmsg.NewPtrDeleteTopicsRequest()
	rt := kmsg.NewDeleteTopicsRequestTopic()
	rt.Topic = &name
	req.Topics, req.TopicNames = append(req.Topics, rt), []string{name}
	r := ask[*kmsg.DeleteTopicsResponse](w, req).Topics[0]
	w.check("delete "+name, r.ErrorCode, r.ErrorMessage)
}

func (w *work) addPartitions(name string, count int32) {
	w.t.Helper()
	req := kmsg.NewPtrCreatePartitionsRequest()
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count = name, count
	req.Topics = append(req.Topics, rt)
	r := ask[*kmsg.CreatePartitionsResponse](w, req).Topics[0]
	w.check("partitions of "+name, r.ErrorCode, r.ErrorMessage)
	must(w.t, w.n.awaitReady())
}

func (w *work) alter(kind kmsg.ConfigResourceType, resource string, settings ...string) {
	w.t.Helper()
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	rr := kmsg.NewIncrementalAlterConfigsRequestResource()
	rr.ResourceType, rr.ResourceName = kind, resource
	for _, s := range settings {
		c := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		c.Name, c.Value = splitSetting(s)
		rr.Configs = append(rr.Configs, c)
	}
	req.Resources = append(req.Resources, rr)
	r := ask[*kmsg.IncrementalAlterConfigsResponse](w, req).Resources[0]
	w.check("settings of "+resource, r.ErrorCode, r.ErrorMessage)
}

func (w *work) deleteRecords(topic string, partition int32, before int64) {
	w.t.Helper()
	req := kmsg.NewPtrDeleteRecordsRequest()
	rt := kmsg.NewDeleteRecordsRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewDeleteRecordsRequestTopicPartition()
	rp.Partition, rp.Offset = partition, before
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	w.check("delete records of "+topic, ask[*kmsg.DeleteRecordsResponse](w, req).Topics[0].Partitions[0].ErrorCode, nil)
	w.awaitCheckpoint("log-start-offset-checkpoint", fmt.Sprintf("%s %d %d", topic, partition, before))
}

// awaitCheckpoint waits for a line: what a server has only in memory is lost when it is killed, with Kafka too.
func (w *work) awaitCheckpoint(file, line string) {
	w.t.Helper()
	for range 200 {
		text, err := os.ReadFile(filepath.Join(w.n.s.data(), file))
		if err == nil && strings.Contains(string(text), line+"\n") {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	w.t.Fatalf("%s never has %q", file, line)
}

func (w *work) commit(group, topic string, partition int32, offset int64) {
	w.t.Helper()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = group, -1
	rt := kmsg.NewOffsetCommitRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewOffsetCommitRequestTopicPartition()
	note := "by " + w.n.name
	rp.Partition, rp.Offset, rp.Metadata = partition, offset, &note
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	cl, err := kgo.NewClient(kgo.SeedBrokers(w.n.s.addr), kgo.MaxVersions(byName()))
	must(w.t, err)
	defer cl.Close()
	resp, err := req.RequestWith(context.Background(), cl)
	must(w.t, err)
	w.check("commit of "+group, resp.Topics[0].Partitions[0].ErrorCode, nil)
}

// codecs a producer can be told to use.
func codecs() []kgo.CompressionCodec {
	return []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()}
}

// record number i of a topic. Keys repeat, so that compaction has work; some values are null.
func (w *work) record(topic string, partition int32, i int) *kgo.Record {
	r := &kgo.Record{Topic: topic, Partition: partition, Key: fmt.Appendf(nil, "key-%d", i%37)}
	if i%11 != 0 {
		r.Value = fmt.Appendf(nil, "%s value %d %x", w.n.name, i, make([]byte, w.rand.IntN(120)))
	}
	if i%5 == 0 {
		r.Headers = []kgo.RecordHeader{{Key: "n", Value: fmt.Append(nil, i)}, {Key: "none"}}
	}
	return r
}

// produce writes records to the partitions of a topic with every codec, idempotently and not.
func (w *work) produce(topic string, partitions int32, each int) {
	w.t.Helper()
	for c, codec := range codecs() {
		opts := []kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(codec), kgo.ProducerLinger(0), kgo.MaxVersions(byName())}
		if c%2 == 0 {
			opts = append(opts, kgo.DisableIdempotentWrite())
		}
		cl, err := kgo.NewClient(append(opts, kgo.SeedBrokers(w.n.s.addr))...)
		must(w.t, err)
		for p := range partitions {
			for i := 0; i < each; {
				var some []*kgo.Record
				for range 1 + w.rand.IntN(12) {
					some = append(some, w.record(topic, p, i))
					i++
				}
				must(w.t, cl.ProduceSync(context.Background(), some...).FirstErr())
			}
		}
		cl.Close()
	}
}

// transactions writes some that are committed and some that are aborted.
func (w *work) transactions(topic string) {
	w.t.Helper()
	ctx := context.Background()
	cl := w.n.client(kgo.TransactionalID("work"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	for i := range 12 {
		must(w.t, cl.BeginTransaction())
		for j := range 5 {
			must(w.t, cl.ProduceSync(ctx, w.record(topic, 0, 10*i+j)).FirstErr())
		}
		end := kgo.TryCommit
		if i%3 == 1 {
			end = kgo.TryAbort
		}
		must(w.t, cl.EndTransaction(ctx, end))
	}
}

// consume makes a classic group that reads the topic to its end and commits.
func (w *work) consume(group, topic string, records int) {
	w.t.Helper()
	cl := w.n.client(kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.DisableAutoCommit(), kgo.MaxVersions(byName()))
	ctx := context.Background()
	for records > 0 {
		f := cl.PollFetches(ctx)
		must(w.t, f.Err())
		records -= f.NumRecords()
	}
	must(w.t, cl.CommitUncommittedOffsets(ctx))
	must(w.t, cl.LeaveGroupContext(ctx))
	cl.Close()
}
