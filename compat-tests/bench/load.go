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
		if _, err := createTopic(ctx, cl, "first", 1); err != nil {
			return err
		}
	}
	return cl.ProduceSync(ctx, &kgo.Record{Topic: "first", Value: []byte("x")}).FirstErr()
}

func createTopic(ctx context.Context, cl *kgo.Client, name string, partitions int32) (id [16]byte, err error) {
	adm := kadm.NewClient(cl)
	for {
		r, err := adm.CreateTopic(ctx, partitions, 1, nil, name)
		if err == nil || ctx.Err() != nil {
			return r.ID, err
		}
		time.Sleep(2 * time.Millisecond) // a starting server's first answers may be errors
	}
}

// load is one throughput run.
type load struct {
	size, partitions, clients int
	part                      int // of the megabytes: 1 all, 2 half
	lz4                       bool
}

func (l load) String() string {
	s := fmt.Sprintf("%d B records", l.size)
	if l.partitions > 1 {
		s += fmt.Sprintf(", %d partitions", l.partitions)
	}
	if l.lz4 {
		s += ", lz4"
	}
	if l.clients > 1 {
		s += fmt.Sprintf(", %d connections", l.clients)
	}
	return s
}

func (l load) producer(addr, topic string) (*kgo.Client, error) {
	codec := kgo.NoCompression()
	if l.lz4 {
		codec = kgo.Lz4Compression()
	}
	return client(addr, kgo.DefaultProduceTopic(topic), kgo.ProducerBatchCompression(codec), kgo.MaxBufferedRecords(200_000/l.clients),
		kgo.ProducerBatchMaxBytes(1_000_000), kgo.ProducerLinger(5*time.Millisecond))
}

// measureThroughput produces and then consumes.
func measureThroughput(o options, s *server, name string, l load, res *results) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	topic := fmt.Sprintf("throughput-%d", rand.Int63())
	adm, err := client(s.addr)
	if err != nil {
		return err
	}
	defer adm.Close()
	if _, err := createTopic(ctx, adm, topic, int32(l.partitions)); err != nil {
		return err
	}
	n := o.mb << 20 / l.size / l.part
	gb := float64(n) * float64(l.size) / 1e9
	cpu, start := s.cpu(), time.Now()
	if err := produceAll(ctx, s.addr, topic, l, n); err != nil {
		return err
	}
	res.add("produce "+l.String()+", MB/s", name, gb*1000/time.Since(start).Seconds())
	res.add("produce "+l.String()+", broker CPU s/GB", name, (s.cpu()-cpu).Seconds()/gb)

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
	res.add("consume "+l.String()+", MB/s", name, gb*1000/time.Since(start).Seconds())
	res.add("consume "+l.String()+", broker CPU s/GB", name, (s.cpu()-cpu).Seconds()/gb)
	return nil
}

// produceAll sends n records from l.clients clients and waits for all acknowledgements.
func produceAll(ctx context.Context, addr, topic string, l load, n int) error {
	values := payloads(l.size)
	errs := make(chan error, l.clients)
	for c := range l.clients {
		go func() { errs <- produceSome(ctx, addr, topic, l, n/l.clients+min(1, max(0, n%l.clients-c)), values) }()
	}
	var first error
	for range l.clients {
		if err := <-errs; err != nil && first == nil {
			first = err
		}
	}
	return first
}

func produceSome(ctx context.Context, addr, topic string, l load, n int, values [][]byte) error {
	cl, err := l.producer(addr, topic)
	if err != nil {
		return err
	}
	defer cl.Close()
	var failed atomic.Pointer[error]
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

// measureLatency sends rate records a second, each on its own, and takes the
// time to the acknowledgement and to a consumer.
func measureLatency(o options, s *server, name string, rate int, res *results) error {
	ctx, cancel := context.WithTimeout(context.Background(), o.latencyFor+time.Minute)
	defer cancel()
	topic := fmt.Sprintf("latency-%d", rand.Int63())
	cl, err := client(s.addr, kgo.DefaultProduceTopic(topic), kgo.ProducerLinger(0))
	if err != nil {
		return err
	}
	defer cl.Close()
	if _, err := createTopic(ctx, cl, topic, 1); err != nil {
		return err
	}
	reader, err := client(s.addr, kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(500*time.Millisecond))
	if err != nil {
		return err
	}
	defer reader.Close()
	n := int(o.latencyFor.Seconds() * float64(rate))
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
	interval := time.Second / time.Duration(rate)
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
	at := fmt.Sprintf("at %d/s, ", rate)
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
