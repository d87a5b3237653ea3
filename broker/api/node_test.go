package api_test

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/broker/api"
	"github.com/ottla/ottla/broker/internal/testnode"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

// edge calls handlers as the connection does, but for the socket.
type edge struct {
	*testnode.Node
	t    testing.TB
	rows map[int16]api.Row
	conn api.Conn
}

func newEdge(t testing.TB, settings ...string) *edge {
	t.Helper()
	n := testnode.New(t, vfs.NewMem(), "/data", settings...)
	e := &edge{Node: n, t: t, rows: map[int16]api.Row{}, conn: api.Conn{ID: 1, Listener: "PLAINTEXT", Scope: protocol.ScopeBroker,
		Remote: netip.MustParseAddrPort("127.0.0.1:5000"), Principal: api.Anonymous}}
	for _, r := range api.Table(n.Deps) {
		e.rows[r.Key] = r
	}
	return e
}

// reply sends a request through its wire form, so that versions drop what they do not carry.
func (e *edge) reply(req kmsg.Request, version int16) (api.Reply, error) {
	e.t.Helper()
	req.SetVersion(version)
	header, got, err := protocol.Decode(kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")).AppendRequest(nil, req, 1)[4:])
	if err != nil {
		e.t.Fatal(err)
	}
	conn := e.conn
	return e.rows[req.Key()].Handle(context.Background(), &api.Call{Header: header, Conn: &conn, Received: time.Now()}, got)
}

// ask waits for the answer and takes it through its wire form too.
func ask[R kmsg.Response](e *edge, req kmsg.Request, version int16) R {
	e.t.Helper()
	reply, err := e.reply(req, version)
	if err != nil {
		e.t.Fatal(err)
	}
	var body []byte
	switch resp := reply.Body(); {
	case reply.Frames() != nil:
		body = flatten(e.t, reply.Frames())
	case reply.Later() != nil:
		resp = <-reply.Later()
		fallthrough
	default:
		resp.SetVersion(version)
		body = resp.AppendTo(nil)
	}
	req.SetVersion(version)
	resp := req.ResponseKind()
	if err := resp.ReadFrom(body); err != nil {
		e.t.Fatal(err)
	}
	return resp.(R)
}

// flatten puts the content of files in its place.
func flatten(t testing.TB, f *api.Frames) []byte {
	t.Helper()
	defer f.Release()
	var out []byte
	at := api.Headroom
	for _, p := range f.Files {
		out = append(out, f.Bytes[at:p.At]...)
		b := make([]byte, p.Slice.Length)
		if err := p.Slice.ReadFull(b); err != nil {
			t.Fatal(err)
		}
		out, at = append(out, b...), p.At
	}
	return append(out, f.Bytes[at:]...)
}

// batch is an uncompressed batch with one record a value.
func batch(values ...string) []byte {
	b := record.NewBuilder(record.NewOptions())
	for i, v := range values {
		b.Append(1000+int64(i), nil, []byte(v))
	}
	return b.Build()
}

func produce(topic string, partition int32, acks int16, records []byte) *kmsg.ProduceRequest {
	r := kmsg.NewPtrProduceRequest()
	r.Acks, r.TimeoutMillis = acks, 5000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, records
	t := kmsg.NewProduceRequestTopic()
	t.Topic, t.Partitions = topic, []kmsg.ProduceRequestTopicPartition{p}
	r.Topics = []kmsg.ProduceRequestTopic{t}
	return r
}

// put appends and checks that it worked; the base offset.
func (e *edge) put(topic string, partition int32, records []byte) int64 {
	e.t.Helper()
	p := ask[*kmsg.ProduceResponse](e, produce(topic, partition, -1, records), 9).Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		e.t.Fatalf("produce: %v", protocol.ErrorCode(p.ErrorCode))
	}
	return p.BaseOffset
}
