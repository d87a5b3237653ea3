package broker

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/broker/api"
	"github.com/ottla/ottla/broker/internal/testnode"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

// startNode serves real storage in dir, or in memory when dir is "".
func startNode(t testing.TB, dir string) (*testnode.Node, string) {
	t.Helper()
	fs := vfs.FS(vfs.NewMem())
	if dir != "" {
		fs = vfs.OS()
	} else {
		dir = "/data"
	}
	n := testnode.New(t, fs, dir)
	s := startTCP(t, Options{Rows: api.Table(n.Deps)})
	return n, s.addr
}

func produceFrame(topic string, acks int16, records []byte) []byte {
	return produceFrameTo(topic, 0, acks, records)
}

func produceFrameTo(topic string, partition int32, acks int16, records []byte) []byte {
	r := kmsg.NewPtrProduceRequest()
	r.Acks, r.TimeoutMillis = acks, 5000
	p := kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = partition, records
	x := kmsg.NewProduceRequestTopic()
	x.Topic, x.Partitions = topic, []kmsg.ProduceRequestTopicPartition{p}
	r.Topics = append(r.Topics, x)
	return frame(r, 9, 1)
}

func fetchFrame(topic string, partition int32, offset int64) []byte {
	r := kmsg.NewPtrFetchRequest()
	r.MaxBytes, r.MinBytes, r.MaxWaitMillis, r.SessionEpoch = 50<<20, 1, 500, -1
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.PartitionMaxBytes = partition, offset, 10<<20
	x := kmsg.NewFetchRequestTopic()
	x.Topic, x.Partitions = topic, []kmsg.FetchRequestTopicPartition{p}
	r.Topics = append(r.Topics, x)
	return frame(r, 12, 2)
}

func fetched(t testing.TB, body []byte) kmsg.FetchResponseTopicPartition {
	t.Helper()
	r := kmsg.NewPtrFetchResponse()
	r.SetVersion(12)
	if err := r.ReadFrom(body[1:]); err != nil { // after the header's tags
		t.Fatal(err)
	}
	return r.Topics[0].Partitions[0]
}

func recordBatch(size int) []byte {
	b := record.NewBuilder(record.NewOptions())
	b.Append(1, []byte("key"), bytes.Repeat([]byte("v"), size))
	return b.Build()
}

// What was produced comes back, small and large answers, from files by sendfile and from memory by
// copying.
func TestRecordsComeBack(t *testing.T) {
	for name, dir := range map[string]string{"files": t.TempDir(), "memory": ""} {
		t.Run(name, func(t *testing.T) {
			n, addr := startNode(t, dir)
			n.CreateTopic("t", 1)
			c := dial(t, addr)
			var want [][]byte
			for i, size := range []int{10, 100, 5_000, 40_000, 900_000, 1} {
				b := recordBatch(size)
				c.send(produceFrame("t", -1, b))
				if id, _ := c.recv(); id != 1 {
					t.Fatal(id)
				}
				stored := bytes.Clone(b)
				record.Batch(stored).SetBaseOffset(int64(i))
				record.Batch(stored).SetPartitionLeaderEpoch(0)
				want = append(want, stored)
			}
			for offset := range want {
				c.send(fetchFrame("t", 0, int64(offset)))
				_, body := c.recv()
				p := fetched(t, body)
				if p.ErrorCode != 0 || !bytes.Equal(p.RecordBatches, bytes.Join(want[offset:], nil)) {
					t.Fatalf("offset %d: code %d, %d bytes, want %d", offset, p.ErrorCode, len(p.RecordBatches), len(bytes.Join(want[offset:], nil)))
				}
			}
		})
	}
}

// An answer with many partitions, most of them small, some sent from the file.
func TestManyPartitionsInOneAnswer(t *testing.T) {
	n, addr := startNode(t, t.TempDir())
	const partitions = 300
	n.CreateTopic("t", partitions)
	c := dial(t, addr)
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.MinBytes, req.SessionEpoch = 50<<20, 1, -1
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic = "t"
	var want [][]byte
	for i := range int32(partitions) {
		size := 100 + int(i)*13
		if i%50 == 7 {
			size = 60_000 // more than is copied
		}
		b := recordBatch(size)
		c.send(produceFrameTo("t", i, -1, b))
		c.recv()
		record.Batch(b).SetPartitionLeaderEpoch(0)
		want = append(want, b)
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.PartitionMaxBytes = i, 1<<20
		topic.Partitions = append(topic.Partitions, p)
	}
	req.Topics = append(req.Topics, topic)
	c.send(frame(req, 12, 3))
	_, body := c.recv()
	r := kmsg.NewPtrFetchResponse()
	r.SetVersion(12)
	if err := r.ReadFrom(body[1:]); err != nil {
		t.Fatal(err)
	}
	for i, p := range r.Topics[0].Partitions {
		if int(p.Partition) != i || !bytes.Equal(p.RecordBatches, want[i]) {
			t.Fatalf("partition %d: %d bytes, want %d", p.Partition, len(p.RecordBatches), len(want[i]))
		}
	}
	if len(r.Topics[0].Partitions) != partitions {
		t.Errorf("%d partitions", len(r.Topics[0].Partitions))
	}
}

// Many readers and writers at once over real sockets; run with -race.
func TestManyConnections(t *testing.T) {
	n, addr := startNode(t, t.TempDir())
	n.CreateTopic("t", 1)
	const writers, each = 4, 50
	var work sync.WaitGroup
	for range writers {
		work.Go(func() {
			c := dial(t, addr)
			for range each {
				c.send(produceFrame("t", -1, recordBatch(20_000)))
				c.recv()
			}
		})
	}
	for range 3 {
		work.Go(func() {
			c := dial(t, addr)
			next := int64(0)
			for next < writers*each {
				c.send(fetchFrame("t", 0, next))
				_, body := c.recv()
				p := fetched(t, body)
				if p.ErrorCode != 0 {
					t.Errorf("offset %d: %v", next, protocol.ErrorCode(p.ErrorCode))
					return
				}
				for rest := p.RecordBatches; len(rest) > 0; {
					b, more, err := record.Next(rest)
					if err != nil || b.BaseOffset() != next || !b.VerifyCRC() {
						t.Errorf("at %d: %v, base %d", next, err, b.BaseOffset())
						return
					}
					next, rest = b.LastOffset()+1, more
				}
			}
		})
	}
	work.Wait()
}

// drop reads as a client does without looking at it.
func drop(b *testing.B, c net.Conn, n int) {
	if _, err := io.CopyN(io.Discard, c, int64(n)); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkProduce(b *testing.B) {
	for _, size := range []int{1_000, 16_000, 1_000_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			n, addr := startNode(b, b.TempDir())
			n.CreateTopic("t", 1)
			c := dial(b, addr)
			f := produceFrame("t", -1, recordBatch(size))
			c.send(f)
			_, body := c.recv()
			answer := lengthBytes + 4 + len(body)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				c.send(f)
				drop(b, c, answer)
			}
		})
	}
}

func BenchmarkFetch(b *testing.B) {
	for _, size := range []int{1_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			n, addr := startNode(b, b.TempDir())
			n.CreateTopic("t", 1)
			c := dial(b, addr)
			c.send(produceFrame("t", -1, recordBatch(size)))
			c.recv()
			f := fetchFrame("t", 0, 0)
			c.send(f)
			_, body := c.recv()
			answer := lengthBytes + 4 + len(body)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				c.send(f)
				drop(b, c, answer)
			}
		})
	}
}

// BenchmarkIdleConnection shows what a connection costs in memory that has been used and waits.
func BenchmarkIdleConnection(b *testing.B) {
	n, addr := startNode(b, b.TempDir())
	n.CreateTopic("t", 1)
	const conns = 500
	for b.Loop() {
		before := used()
		for range conns {
			c := dial(b, addr)
			c.send(produceFrame("t", -1, recordBatch(100_000)))
			c.recv()
			c.send(fetchFrame("t", 0, 0))
			c.recv()
		}
		b.ReportMetric(float64(used()-before)/conns, "B/conn")
	}
}

// used is heap and stacks after a collection, this process's clients included.
func used() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}
