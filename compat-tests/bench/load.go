package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

func client(addr string, opts ...kgo.Opt) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(addr), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.RetryBackoffFn(func(int) time.Duration { return 2 * time.Millisecond })}, opts...)...)
}

// firstRecord waits for the port, makes the topic when asked to, and produces one record with acks=all.
func firstRecord(addr string, create bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		c, err := net.Dial("tcp", addr)
		if err == nil {
			c.Close()
			break
		}
		if ctx.Err() != nil {
			return err
		}
		time.Sleep(500 * time.Microsecond) // the resolution of the measurement
	}
	cl, err := client(addr, kgo.MetadataMinAge(10*time.Millisecond), kgo.DisableIdempotentWrite())
	if err != nil {
		return err
	}
	defer cl.Close()
	if create {
		if err := createTopic(ctx, cl, "first", 1); err != nil {
			return err
		}
	}
	return cl.ProduceSync(ctx, &kgo.Record{Topic: "first", Value: []byte("x")}).FirstErr()
}

func createTopic(ctx context.Context, cl *kgo.Client, name string, partitions int32) error {
	adm := kadm.NewClient(cl)
	for {
		_, err := adm.CreateTopic(ctx, partitions, 1, nil, name)
		if err == nil || ctx.Err() != nil {
			return err
		}
		time.Sleep(2 * time.Millisecond) // a starting server's first answers may be errors
	}
}

// measureThroughput produces and consumes o.mb megabytes of one record size.
func measureThroughput(o options, s *server, name string, size int, res *results) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	topic := fmt.Sprintf("throughput-%d-%d", size, rand.Int63())
	cl, err := client(s.addr, kgo.DefaultProduceTopic(topic), kgo.MaxBufferedRecords(200_000), kgo.ProducerBatchMaxBytes(1_000_000), kgo.ProducerLinger(5*time.Millisecond))
	if err != nil {
		return err
	}
	defer cl.Close()
	if err := createTopic(ctx, cl, topic, 1); err != nil {
		return err
	}
	n := o.mb << 20 / size
	gb := float64(n) * float64(size) / 1e9
	values := payloads(size)
	var failed atomic.Pointer[error]
	cpu, start := s.cpu(), time.Now()
	for i := range n {
		cl.Produce(ctx, &kgo.Record{Value: values[i%len(values)]}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.Store(&err)
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	if err := failed.Load(); err != nil {
		return *err
	}
	label := fmt.Sprintf("%d B records", size)
	res.add("produce "+label+", MB/s", name, gb*1000/time.Since(start).Seconds())
	res.add("produce "+label+", broker CPU s/GB", name, (s.cpu()-cpu).Seconds()/gb)

	reader, err := client(s.addr, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxPartitionBytes(10<<20))
	if err != nil {
		return err
	}
	defer reader.Close()
	cpu, start = s.cpu(), time.Now()
	for read := 0; read < n; {
		f := reader.PollFetches(ctx)
		if err := f.Err0(); err != nil {
			return err
		}
		read += f.NumRecords()
	}
	res.add("consume "+label+", MB/s", name, gb*1000/time.Since(start).Seconds())
	res.add("consume "+label+", broker CPU s/GB", name, (s.cpu()-cpu).Seconds()/gb)
	return nil
}

// payloads are values of one size with random content, so that nothing compresses them away.
func payloads(size int) [][]byte {
	rnd := rand.New(rand.NewSource(1))
	out := make([][]byte, 64)
	for i := range out {
		out[i] = make([]byte, size)
		rnd.Read(out[i])
	}
	return out
}

// measureLatency sends o.rate records a second, each on its own, and takes the
// time to the acknowledgement and to a consumer.
func measureLatency(o options, s *server, name string, res *results) error {
	ctx, cancel := context.WithTimeout(context.Background(), o.latencyFor+time.Minute)
	defer cancel()
	topic := fmt.Sprintf("latency-%d", rand.Int63())
	cl, err := client(s.addr, kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(0))
	if err != nil {
		return err
	}
	defer cl.Close()
	if err := createTopic(ctx, cl, topic, 1); err != nil {
		return err
	}
	reader, err := client(s.addr, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(500*time.Millisecond))
	if err != nil {
		return err
	}
	defer reader.Close()
	n := int(o.latencyFor.Seconds() * float64(o.rate))
	warm := n / 10
	begin := time.Now()
	var mu sync.Mutex
	var acks, ends []float64
	readErr := make(chan error, 1)
	go func() {
		for read := 0; read < n; {
			f := reader.PollFetches(ctx)
			if err := f.Err0(); err != nil {
				readErr <- err
				return
			}
			now := time.Since(begin)
			f.EachRecord(func(r *kgo.Record) {
				if read++; read > warm {
					ends = append(ends, ms(now-time.Duration(binary.BigEndian.Uint64(r.Value))))
				}
			})
		}
		readErr <- nil
	}()
	cpu := s.cpu()
	interval := time.Second / time.Duration(o.rate)
	for i := range n {
		time.Sleep(time.Until(begin.Add(time.Duration(i) * interval))) // the pace of the load
		value := make([]byte, 100)
		sent := time.Since(begin)
		binary.BigEndian.PutUint64(value, uint64(sent))
		cl.Produce(ctx, &kgo.Record{Value: value}, func(_ *kgo.Record, err error) {
			if d := time.Since(begin) - sent; err == nil && i >= warm {
				mu.Lock()
				acks = append(acks, ms(d))
				mu.Unlock()
			}
		})
	}
	if err := cl.Flush(ctx); err != nil {
		return err
	}
	if err := <-readErr; err != nil {
		return err
	}
	at := fmt.Sprintf("at %d/s, ", o.rate)
	res.add(at+"ack p50, ms", name, percentile(acks, 50))
	res.add(at+"ack p99, ms", name, percentile(acks, 99))
	res.add(at+"end to end p50, ms", name, percentile(ends, 50))
	res.add(at+"end to end p99, ms", name, percentile(ends, 99))
	res.add(at+"broker CPU, % of a core", name, 100*(s.cpu()-cpu).Seconds()/o.latencyFor.Seconds())
	return nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func percentile(v []float64, p int) float64 {
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[min(len(v)-1, len(v)*p/100)]
}
