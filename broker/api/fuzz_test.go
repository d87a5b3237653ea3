package api_test

import (
	"context"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/broker/api"
	"github.com/ottla/ottla/protocol"
)

// FuzzHandlers: whatever decodes, no handler panics, and what it answers can be encoded.
func FuzzHandlers(f *testing.F) {
	keys := map[int16]bool{}
	for _, k := range []int16{protocol.Produce, protocol.Fetch, protocol.ListOffsets, protocol.ApiVersions, protocol.DeleteRecords, protocol.OffsetForLeaderEpoch,
		protocol.DescribeConfigs, protocol.DescribeLogDirs, protocol.DescribeCluster, protocol.DescribeProducers, protocol.ListConfigResources, protocol.DescribeTopicPartitions} {
		keys[k] = true
	}
	add := func(r kmsg.Request, v int16) {
		r.SetVersion(v)
		f.Add(kmsg.NewRequestFormatter(kmsg.FormatterClientID("test")).AppendRequest(nil, r, 1)[4:])
	}
	for k := range keys {
		a, _ := protocol.APIOf(k)
		for v := a.Min; v <= a.Max; v++ {
			add(kmsg.RequestForKey(k), v)
		}
	}
	for v := int16(3); v <= 12; v += 3 {
		add(produce("t", 0, -1, batch("a", "b")), v)
	}
	session := fetch(place{topic: "t"})
	session.SessionEpoch = 0
	add(session, 12)
	add(listOffset("t", 0, -1), 7)
	e := newEdge(f)
	id := e.CreateTopic("t", 2)
	add(fetch(place{topic: "t", id: id}), 13)
	f.Fuzz(func(t *testing.T, in []byte) {
		header, req, err := protocol.Decode(in)
		if err != nil || !keys[header.Key] {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		conn := e.conn
		reply, err := e.rows[header.Key].Handle(ctx, &api.Call{Header: header, Conn: &conn, Received: time.Now()}, req)
		switch {
		case err != nil:
		case reply.Frames() != nil:
			body := flatten(t, reply.Frames())
			if err := req.ResponseKind().ReadFrom(body); err != nil {
				t.Errorf("%s %d: %v", kmsg.NameForKey(header.Key), header.Version, err)
			}
		case reply.Body() != nil:
			resp := reply.Body()
			if header.Key != protocol.ApiVersions {
				resp.SetVersion(header.Version)
			}
			resp.AppendTo(nil)
		}
	})
}
