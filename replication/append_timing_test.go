package replication

import (
	"fmt"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
	"github.com/ottla/ottla/protocol/record"
	"github.com/ottla/ottla/storage"
)

// sized is a batch of about size bytes of values of valueSize bytes.
func sized(size, valueSize int) record.Batch {
	b := record.NewBuilder(record.NewOptions())
	value := make([]byte, valueSize)
	for b.Size()+valueSize+20 < size || b.Count() == 0 {
		b.Append(1700000000000, nil, value)
	}
	return b.Build()
}

func BenchmarkAppend(b *testing.B) {
	for _, disk := range []string{"mem", "os"} {
		for _, size := range []int{1100, 16 << 10, 64 << 10} {
			for _, value := range []int{100, 1000} {
				b.Run(fmt.Sprintf("%s/%dB/%dB", disk, size, value), func(b *testing.B) {
					fs, dir := vfs.FS(vfs.NewMem()), "/data"
					if disk == "os" {
						fs, dir = vfs.OS(), b.TempDir()
					}
					h := newHarnessOn(b, fs, dir)
					p := h.create("t", topicID(1), 1)
					batch := sized(size, value)
					b.SetBytes(int64(len(batch)))
					b.ReportAllocs()
					b.ResetTimer()
					for i := range b.N {
						batch.SetBaseOffset(0)
						if _, err := p.Append(batch, clientAppend); err != nil {
							b.Fatal(err)
						}
						if disk == "mem" && i%4096 == 4095 {
							b.StopTimer()
							if _, err := p.DeleteRecords(HighWatermarkOffset); err != nil {
								b.Fatal(err)
							}
							b.StartTimer()
						}
					}
				})
			}
		}
	}
}

// BenchmarkAppendWatched is an append that wakes a reader, who reads.
func BenchmarkAppendWatched(b *testing.B) {
	h := newHarnessOn(b, vfs.OS(), b.TempDir())
	p := h.create("t", topicID(1), 1)
	batch := sized(1100, 1000)
	w := NewWaiter()
	interests := []Interest{{Partition: p, Bound: storage.HighWatermark}}
	b.ReportAllocs()
	for range b.N {
		batch.SetBaseOffset(0)
		h.manager.Watch(w, interests, 1)
		r, err := p.Append(batch, clientAppend)
		if err != nil {
			b.Fatal(err)
		}
		<-w.Ready()
		h.manager.Unwatch(w)
		f, err := p.Fetch(clientFetch(r.BaseOffset))
		if err != nil || f.Size == 0 {
			b.Fatal(f.Size, err)
		}
		f.Release()
		interests[0].Seen = r.AwaitOffset
	}
}

// BenchmarkPublish is an image with so many new partitions, or changed ones.
func BenchmarkPublish(b *testing.B) {
	for _, disk := range []string{"mem", "os"} {
		for _, partitions := range []int{1000, 10000} {
			b.Run(fmt.Sprintf("%s/create/%d", disk, partitions), func(b *testing.B) {
				for range b.N {
					b.StopTimer()
					fs, dir := vfs.FS(vfs.NewMem()), "/data"
					if disk == "os" {
						fs, dir = vfs.OS(), b.TempDir()
					}
					h := newHarnessOn(b, fs, dir)
					records := many(partitions)
					b.StartTimer()
					h.publish(records...)
				}
			})
		}
	}
	b.Run("mem/epoch/10000", func(b *testing.B) {
		h := newHarness(b)
		h.publish(many(10000)...)
		var records []metadata.Record
		for t := range h.image.Topics() {
			for n := range t.Partitions {
				records = append(records, change(t.ID, int32(n), node))
			}
		}
		b.ResetTimer()
		for range b.N {
			h.publish(records...)
		}
	})
}

// many are the records of topics with ten partitions each.
func many(partitions int) []metadata.Record {
	var records []metadata.Record
	for n := range partitions / 10 {
		id := protocol.UUID{0: 8, 14: byte(n >> 8), 15: byte(n)}
		records = append(records, &msg.TopicRecord{Name: fmt.Sprintf("topic-%d", n), TopicID: id})
		for i := range int32(10) {
			records = append(records, partition(id, i, node, 0, []int32{node}, node))
		}
	}
	return records
}
