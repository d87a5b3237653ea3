package main

import (
	"context"
	"fmt"
	"io"
	"math/rand"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	commitsMeasured     = 5000
	connectionsMeasured = 1000
	partitionsMeasured  = 1000
)

// measureCommits commits one offset at a time, as a consumer that commits after each poll does.
func measureCommits(s *server, name string, res *results) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cl, err := client(s.addr)
	if err != nil {
		return err
	}
	defer cl.Close()
	topic := fmt.Sprintf("commits-%d", rand.Int63())
	id, err := createTopic(ctx, cl, topic, 1)
	if err != nil {
		return err
	}
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group, req.Generation = topic, -1
	rt, rp := kmsg.NewOffsetCommitRequestTopic(), kmsg.NewOffsetCommitRequestTopicPartition()
	rt.Topic, rt.TopicID = topic, id // the version decides which one counts
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	commit := func(offset int) error {
		req.Topics[0].Partitions[0].Offset = int64(offset)
		resp, err := req.RequestWith(ctx, cl)
		if err != nil {
			return err
		}
		if code := resp.Topics[0].Partitions[0].ErrorCode; code != 0 {
			return fmt.Errorf("error code %d", code)
		}
		return nil
	}
	for commit(0) != nil { // until the coordinator is there
		if ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(50 * time.Millisecond)
	}
	cpu, start := s.cpu(), time.Now()
	for i := range commitsMeasured {
		if err := commit(i); err != nil {
			return err
		}
	}
	res.add("offset commits, 1/s", name, commitsMeasured/time.Since(start).Seconds())
	res.add("offset commits, broker CPU µs each", name, float64((s.cpu()-cpu).Microseconds())/commitsMeasured)
	return nil
}

// measureSize adds partitions, starts the server again with them, and then adds idle connections.
func measureSize(o options, s *server, name string, res *results) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cl, err := client(s.addr)
	if err != nil {
		return err
	}
	defer cl.Close()
	start := time.Now()
	if _, err := createTopic(ctx, cl, fmt.Sprintf("many-%d", rand.Int63()), partitionsMeasured); err != nil {
		return err
	}
	res.add(fmt.Sprintf("CreateTopics with %d partitions, ms", partitionsMeasured), name, ms(time.Since(start)))
	s.terminate()
	start = time.Now()
	if err := s.start(); err != nil {
		return err
	}
	if err := firstRecord(s.addr, false); err != nil {
		return err
	}
	res.add(fmt.Sprintf("first acknowledged record with %d partitions, ms", partitionsMeasured), name, ms(time.Since(start)))
	time.Sleep(min(o.idle, 10*time.Second))
	before := s.rssMB()
	res.add(fmt.Sprintf("idle memory with %d partitions, MB", partitionsMeasured), name, before)
	conns, err := idleConnections(s.addr, connectionsMeasured)
	for _, c := range conns {
		defer c.Close()
	}
	if err != nil {
		return err
	}
	time.Sleep(time.Second) // what it costs to accept is not what is measured
	res.add(fmt.Sprintf("memory for an idle connection, KB (of %d)", connectionsMeasured), name, (s.rssMB()-before)*1024/connectionsMeasured)
	return nil
}

// idleConnections opens connections that have asked one thing, ApiVersions, and are quiet since.
func idleConnections(addr string, n int) ([]net.Conn, error) {
	req := kmsg.NewPtrApiVersionsRequest()
	frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("idle")).AppendRequest(nil, req, 1)
	var conns []net.Conn
	for range n {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return conns, err
		}
		conns = append(conns, c)
		if _, err := c.Write(frame); err != nil {
			return conns, err
		}
		var length [4]byte
		if _, err := io.ReadFull(c, length[:]); err != nil {
			return conns, err
		}
		size := int64(length[0])<<24 | int64(length[1])<<16 | int64(length[2])<<8 | int64(length[3])
		if _, err := io.CopyN(io.Discard, c, size); err != nil {
			return conns, err
		}
	}
	return conns, nil
}
