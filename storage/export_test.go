package storage

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

// TestExport writes directories for Kafka's own tools to judge, if OTTLA_EXPORT names
// where: written/ made from nothing, then stopped cleanly; fixture/ the `clean` fixture
// taken over, appended to, and stopped cleanly.
func TestExport(t *testing.T) {
	dir := os.Getenv("OTTLA_EXPORT")
	if dir == "" {
		t.Skip("OTTLA_EXPORT is not set")
	}
	fs := vfs.OS()
	must(t, fs.MkdirAll(dir))
	exportWritten(t, fs, dir+"/written")
	must(t, os.CopyFS(dir+"/fixture", os.DirFS(dir+"/kafka")))
	exportFixture(t, fs, dir+"/fixture/data")
}

func exportWritten(t *testing.T, fs vfs.FS, dir string) {
	c := DefaultLogConfig()
	c.SegmentBytes, c.IndexIntervalBytes = 20_000, 500
	m := openManager(t, fs, nil, dir)
	write := func(l *Log) {
		for i := range 300 {
			pid := int64(i % 3)
			seq := int32(i / 3)
			switch {
			case i%10 == 9:
				for pid := range int64(2) {
					_, err := l.AppendAsLeader(endTxn(pid, 0, i%20 == 9, 0), int32(i/100), Coordinator, t0)
					must(t, err)
				}
				fallthrough
			default:
				o := record.NewOptions()
				o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = pid, 0, seq, pid < 2
				if pid == 2 && i%2 == 0 {
					o = record.NewOptions()
					o.Codec = record.Codec(1 + i/2%4)
				} else if pid == 2 {
					o.BaseSequence = seq / 2
				}
				_, err := l.AppendAsLeader(build(o, 1, t0+int64(i*37%100), 100+i), int32(i/100), Coordinator, t0)
				must(t, err)
			}
		}
		l.SetHighWatermark(l.LogEndOffset())
	}
	write(create(t, m, "plain", c))
	cut := create(t, m, "truncated", c)
	write(cut)
	_, err := cut.TruncateTo(200)
	must(t, err)
	for range 20 {
		_, err := cut.AppendAsLeader(batch(2, t0, 300), 5, Coordinator, t0)
		must(t, err)
	}
	del := create(t, m, "deleted", c)
	write(del)
	_, err = del.DeleteRecordsBefore(150)
	must(t, err)
	_, err = del.DeleteOldSegments(t0)
	must(t, err)
	c.Preallocate = true
	write(create(t, m, "allocated", c))
	create(t, m, "empty", c)
	killed := create(t, m, "killed", c)
	write(killed)
	must(t, m.unlock())
	m = openManager(t, fs, nil, dir)
	must(t, m.Close(context.Background(), 9))
}

func exportFixture(t *testing.T, fs vfs.FS, dir string) {
	m := openManager(t, fs, nil, dir)
	for _, topic := range []string{"plain", "one-batch", "empty", "txn", "idem", "trimmed", "compacted"} {
		l := m.Get(protocol.TopicPartition{Topic: topic})
		epoch := max(l.LatestEpoch(), 0)
		must(t, l.AssignEpochStart(epoch, l.LogEndOffset()))
		l.SetHighWatermark(l.LogEndOffset())
		for i := range 100 {
			b := record.NewBuilder(record.NewOptions())
			b.Append(t0+int64(i), []byte(fmt.Sprint("ottla", i)), []byte(fmt.Sprint("from ottla ", i)))
			_, err := l.AppendAsLeader(b.Build(), epoch, Coordinator, t0)
			must(t, err)
		}
		l.SetHighWatermark(l.LogEndOffset())
	}
	must(t, m.Close(context.Background(), 9))
}
