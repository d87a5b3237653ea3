package conformance

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// conn is one raw connection: requests are sent as the test builds them.
type conn struct {
	t    *testing.T
	c    net.Conn
	corr int32
}

func dial(t *testing.T, addr string) *conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &conn{t: t, c: c}
}

func connect(t *testing.T) *conn { t.Helper(); return dial(t, shared.addr) }

var formatter = kmsg.NewRequestFormatter(kmsg.FormatterClientID("conformance"))

// send writes one request and returns its correlation id.
func (c *conn) send(req kmsg.Request) int32 {
	c.t.Helper()
	c.corr++
	if _, err := c.c.Write(formatter.AppendRequest(nil, req, c.corr)); err != nil {
		c.t.Fatal(err)
	}
	return c.corr
}

// frame reads one response frame; io.EOF when the server closed the connection.
func (c *conn) frame(wait time.Duration) ([]byte, error) {
	c.c.SetReadDeadline(time.Now().Add(wait))
	var l [4]byte
	if _, err := io.ReadFull(c.c, l[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(l[:]))
	_, err := io.ReadFull(c.c, b)
	return b, err
}

// receive reads the answer to a request sent before and checks the order.
func (c *conn) receive(req kmsg.Request, corr int32) kmsg.Response {
	c.t.Helper()
	b, err := c.frame(20 * time.Second)
	if err != nil {
		c.t.Fatalf("%s v%d: %v", kmsg.NameForKey(req.Key()), req.GetVersion(), err)
	}
	if got := int32(binary.BigEndian.Uint32(b)); got != corr {
		c.t.Fatalf("correlation id %d, want %d", got, corr)
	}
	b = b[4:]
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if resp.IsFlexible() && req.Key() != 18 {
		if len(b) == 0 || b[0] != 0 {
			c.t.Fatalf("response header has tags: % x", b[:min(len(b), 8)])
		}
		b = b[1:]
	}
	if err := resp.ReadFrom(b); err != nil {
		c.t.Fatalf("%s v%d response: %v", kmsg.NameForKey(req.Key()), req.GetVersion(), err)
	}
	return resp
}

func (c *conn) do(req kmsg.Request) kmsg.Response {
	c.t.Helper()
	return c.receive(req, c.send(req))
}

// do sends one request of a version and returns the typed response.
func do[R kmsg.Response](c *conn, version int16, req kmsg.Request) R {
	c.t.Helper()
	req.SetVersion(version)
	return c.do(req).(R)
}

// closed checks that the server closes the connection without an answer.
func (c *conn) closed() {
	c.t.Helper()
	b, err := c.frame(5 * time.Second)
	var ne net.Error
	switch {
	case err == nil:
		c.t.Fatalf("an answer of %d bytes, want a closed connection", len(b))
	case errors.As(err, &ne) && ne.Timeout():
		c.t.Fatal("the connection stayed open")
	}
}

var names atomic.Int64

// unique makes a name no other test and no earlier run uses.
func unique(prefix string) string {
	return fmt.Sprintf("%s-%d-%d", prefix, time.Now().UnixNano()%1e12, names.Add(1))
}

// eq is the assertion of these tests.
func eq[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// createTopic makes a topic; cfg is name, value, name, value...
func createTopic(c *conn, name string, partitions int32, cfg ...string) {
	c.t.Helper()
	if r := tryCreate(c, name, partitions, 1, false, cfg...); r.ErrorCode != 0 {
		c.t.Fatalf("create %s: error %d %s", name, r.ErrorCode, deref(r.ErrorMessage))
	}
	awaitTopic(c, name, partitions)
}

// awaitTopic waits until every partition has a leader: Kafka answers
// CreateTopics before the broker has the partitions.
func awaitTopic(c *conn, name string, partitions int32) {
	c.t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		m := metadata(c, 12, name)
		if len(m.Topics) == 1 && m.Topics[0].ErrorCode == 0 && len(m.Topics[0].Partitions) == int(partitions) {
			ready := true
			for _, p := range m.Topics[0].Partitions {
				ready = ready && p.ErrorCode == 0 && p.Leader >= 0 && listOffset(c, name, p.Partition, -1).ErrorCode == 0
			}
			if ready {
				return
			}
		}
		if time.Now().After(deadline) {
			c.t.Fatalf("topic %s has no leaders after 10 s", name)
		}
	}
}

func tryCreate(c *conn, name string, partitions int32, rf int16, validate bool, cfg ...string) kmsg.CreateTopicsResponseTopic {
	c.t.Helper()
	req := kmsg.NewPtrCreateTopicsRequest()
	req.TimeoutMillis = 10000
	req.ValidateOnly = validate
	rt := kmsg.NewCreateTopicsRequestTopic()
	rt.Topic, rt.NumPartitions, rt.ReplicationFactor = name, partitions, rf
	for i := 0; i+1 < len(cfg); i += 2 {
		rc := kmsg.NewCreateTopicsRequestTopicConfig()
		rc.Name = cfg[i]
		if cfg[i+1] != nullValue {
			rc.Value = kmsg.StringPtr(cfg[i+1])
		}
		rt.Configs = append(rt.Configs, rc)
	}
	req.Topics = append(req.Topics, rt)
	r := do[*kmsg.CreateTopicsResponse](c, 7, req)
	if len(r.Topics) != 1 {
		c.t.Fatalf("CreateTopics answered %d topics, want 1", len(r.Topics))
	}
	return r.Topics[0]
}

// nullValue stands for a null config value.
const nullValue = "\x00null"

func metadata(c *conn, version int16, topics ...string) *kmsg.MetadataResponse {
	c.t.Helper()
	req := kmsg.NewPtrMetadataRequest()
	req.AllowAutoTopicCreation = false
	req.Topics = []kmsg.MetadataRequestTopic{}
	for _, name := range topics {
		mt := kmsg.NewMetadataRequestTopic()
		mt.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, mt)
	}
	return do[*kmsg.MetadataResponse](c, version, req)
}

func topicID(c *conn, name string) [16]byte {
	c.t.Helper()
	return metadata(c, 12, name).Topics[0].TopicID
}

func listOffset(c *conn, topic string, partition int32, ts int64) kmsg.ListOffsetsResponseTopicPartition {
	c.t.Helper()
	return listOffsetIso(c, topic, partition, ts, 0)
}

func listOffsetIso(c *conn, topic string, partition int32, ts int64, isolation int8) kmsg.ListOffsetsResponseTopicPartition {
	c.t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID, req.IsolationLevel = -1, isolation
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewListOffsetsRequestTopicPartition()
	rp.Partition, rp.Timestamp, rp.CurrentLeaderEpoch = partition, ts, -1
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	r := do[*kmsg.ListOffsetsResponse](c, 7, req)
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		c.t.Fatalf("ListOffsets answered %+v", r.Topics)
	}
	return r.Topics[0].Partitions[0]
}

func produce(c *conn, version int16, topic string, partition int32, records []byte) kmsg.ProduceResponseTopicPartition {
	c.t.Helper()
	return produceAcks(c, version, topic, partition, -1, records)
}

func produceRequest(topic string, partition int32, acks int16, records []byte) *kmsg.ProduceRequest {
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = acks, 10000
	rt := kmsg.NewProduceRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewProduceRequestTopicPartition()
	rp.Partition, rp.Records = partition, records
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return req
}

func produceAcks(c *conn, version int16, topic string, partition int32, acks int16, records []byte) kmsg.ProduceResponseTopicPartition {
	c.t.Helper()
	r := do[*kmsg.ProduceResponse](c, version, produceRequest(topic, partition, acks, records))
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		c.t.Fatalf("Produce answered %+v", r.Topics)
	}
	return r.Topics[0].Partitions[0]
}

// mustProduce appends and returns the base offset.
func mustProduce(c *conn, topic string, partition int32, records []byte) int64 {
	c.t.Helper()
	r := produce(c, 9, topic, partition, records)
	if r.ErrorCode != 0 {
		c.t.Fatalf("produce to %s: error %d %s", topic, r.ErrorCode, deref(r.ErrorMessage))
	}
	return r.BaseOffset
}

// want is one partition of a Fetch.
type want struct {
	partition int32
	offset    int64
	maxBytes  int32
}

type fetchOpts struct {
	version           int16
	maxWait, minBytes int32
	maxBytes          int32
	isolation         int8
	session, epoch    int32
	topicID           [16]byte
}

func fetchRequest(topic string, o fetchOpts, wants ...want) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID = -1
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = o.maxWait, o.minBytes, o.maxBytes
	req.IsolationLevel = o.isolation
	req.SessionID, req.SessionEpoch = o.session, o.epoch
	req.SetVersion(o.version)
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic, rt.TopicID = topic, o.topicID
	for _, w := range wants {
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.Partition, rp.FetchOffset, rp.PartitionMaxBytes = w.partition, w.offset, w.maxBytes
		rp.CurrentLeaderEpoch, rp.LastFetchedEpoch, rp.LogStartOffset = -1, -1, -1
		rt.Partitions = append(rt.Partitions, rp)
	}
	if len(wants) > 0 {
		req.Topics = append(req.Topics, rt)
	}
	return req
}

func plainFetch() fetchOpts {
	return fetchOpts{version: 12, maxWait: 100, minBytes: 1, maxBytes: 50 << 20, epoch: -1}
}

// fetch reads one partition without a session.
func fetch(c *conn, topic string, partition int32, offset int64) kmsg.FetchResponseTopicPartition {
	c.t.Helper()
	return fetchWith(c, topic, plainFetch(), want{partition, offset, 10 << 20})[0]
}

func fetchWith(c *conn, topic string, o fetchOpts, wants ...want) []kmsg.FetchResponseTopicPartition {
	c.t.Helper()
	req := fetchRequest(topic, o, wants...)
	r := c.do(req).(*kmsg.FetchResponse)
	if r.ErrorCode != 0 {
		c.t.Fatalf("Fetch: error %d", r.ErrorCode)
	}
	var out []kmsg.FetchResponseTopicPartition
	for _, rt := range r.Topics {
		out = append(out, rt.Partitions...)
	}
	return out
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// elapsed checks that f takes between lo and hi.
func elapsed(t *testing.T, what string, lo, hi time.Duration, f func()) {
	t.Helper()
	start := time.Now()
	f()
	if d := time.Since(start); d < lo || d > hi {
		t.Errorf("%s took %v, want %v to %v", what, d.Round(time.Millisecond), lo, hi)
	}
}

func contains(s, sub string) bool { return strings.Contains(strings.ToLower(s), strings.ToLower(sub)) }

// eventually waits for what Kafka does a moment after its answer.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within 10 s", what)
		}
	}
}
