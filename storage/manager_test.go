package storage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

func openManager(t testing.TB, fs vfs.FS, change func(*Options), dirs ...string) *Manager {
	t.Helper()
	o := fixtureOptions()
	if change != nil {
		change(&o)
	}
	m, err := Open(fs, dirs, o)
	must(t, err)
	must(t, m.Load(context.Background(), keepAll))
	return m
}

func stop(t testing.TB, m *Manager) {
	t.Helper()
	must(t, m.Close(context.Background(), 42))
}

func create(t testing.TB, m *Manager, topic string, c LogConfig) *Log {
	t.Helper()
	l, err := m.Create(protocol.TopicPartition{Topic: topic}, protocol.UUID{7, topic[0]}, c, protocol.UUID{})
	must(t, err)
	return l
}

func text(t testing.TB, fs vfs.FS, name string) string {
	t.Helper()
	b, err := readFile(fs, name, 1<<20)
	must(t, err)
	return string(b)
}

func TestCleanStop(t *testing.T) {
	fs := vfs.NewMem()
	m := openManager(t, fs, nil, "/data")
	if m.LoadedCleanEpoch() != -1 {
		t.Error("a new directory has no epoch")
	}
	l := create(t, m, "a", smallConfig())
	must(t, l.AssignEpochStart(4, 0))
	for range 10 {
		lead(t, l, batch(2, t0, 60))
	}
	l.SetHighWatermark(12)
	_, err := l.DeleteRecordsBefore(3)
	must(t, err)
	create(t, m, "b", smallConfig())
	stop(t, m)

	for name, want := range map[string]string{
		recoveryPointFile: "0\n2\na 0 20\nb 0 0\n", logStartFile: "0\n1\na 0 3\n", highWatermarkFile: "0\n2\na 0 12\nb 0 0\n",
		cleanShutdownFile: `{"version":0,"brokerEpoch":42}`, "a-0/" + epochFile: "0\n2\n4 3\n0 6\n",
	} {
		if got := text(t, fs, "/data/"+name); name != "a-0/"+epochFile && got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if slices.Contains(files(t, fs, "/data"), lockFile) {
		t.Error("the lock file is still there")
	}
	m = openManager(t, fs, nil, "/data")
	if m.LoadedCleanEpoch() != 42 {
		t.Errorf("epoch %d of the clean stop", m.LoadedCleanEpoch())
	}
	l = m.Get(protocol.TopicPartition{Topic: "a"})
	if l.LogStartOffset() != 3 || l.HighWatermark() != 12 || l.LogEndOffset() != 20 || l.RecoveryPoint() != 20 {
		t.Errorf("start %d, high watermark %d, end %d, recovery point %d", l.LogStartOffset(), l.HighWatermark(), l.LogEndOffset(), l.RecoveryPoint())
	}
	if slices.Contains(files(t, fs, "/data"), cleanShutdownFile) {
		t.Error("the marker outlives the load")
	}
	must(t, m.unlock())
	// No marker now: unclean.
	m = openManager(t, fs, nil, "/data")
	if m.LoadedCleanEpoch() != -1 || m.Get(protocol.TopicPartition{Topic: "a"}).LogEndOffset() != 20 {
		t.Error("unclean start")
	}
	stop(t, m)
}

func TestWhoseDirectory(t *testing.T) {
	fs := vfs.NewMem()
	stop(t, openManager(t, fs, nil, "/data"))
	f := func(want string, change func(*Options), dirs ...string) {
		t.Helper()
		o := fixtureOptions()
		change(&o)
		_, err := Open(fs, dirs, o)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	f("belongs to cluster "+fixtureCluster+", this node is of cluster other", func(o *Options) { o.ClusterID = "other" }, "/data")
	f("belongs to node 1, this is node 2", func(o *Options) { o.NodeID = 2 }, "/data")
	f("never formatted", func(o *Options) { o.ClusterID = "" }, "/new")
}

func TestDirectoriesThatAreRefused(t *testing.T) {
	f := func(want string, prepare func(fs vfs.FS)) {
		t.Helper()
		fs := vfs.NewMem()
		stop(t, openManager(t, fs, nil, "/data"))
		prepare(fs)
		m, err := Open(fs, []string{"/data"}, fixtureOptions())
		if err == nil {
			err = m.Load(context.Background(), keepAll)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	f("lost+found", func(fs vfs.FS) { must(t, fs.Mkdir("/data/lost+found")) })
	f("entries", func(fs vfs.FS) { must(t, writeFile(fs, "/data/"+recoveryPointFile, []byte("0\n2\na 0 1\n"), false)) })
	f("version", func(fs vfs.FS) { must(t, writeFile(fs, "/data/"+highWatermarkFile, []byte("1\n0\n"), false)) })
	f("reserved", func(fs vfs.FS) {
		must(t, writeFile(fs, "/data/meta.properties", []byte("version=1\ncluster.id=c\nnode.id=1\ndirectory.id=AAAAAAAAAAAAAAAAAAAAAQ\n"), false))
	})
	f("locked", func(fs vfs.FS) {
		_, err := fs.Lock("/data/.lock")
		must(t, err)
	})
}

func TestStraysAndDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMem()
		m := openManager(t, fs, nil, "/data")
		m.Start()
		long := strings.Repeat("x", 249)
		for _, topic := range []string{"keep", "stray", long, "gone"} {
			lead(t, create(t, m, topic, smallConfig()), batch(1, t0, 10))
		}
		gone := m.Get(protocol.TopicPartition{Topic: "gone"})
		r, err := gone.Read(0, 1000, true, LogEnd)
		must(t, err)
		must(t, m.Delete(protocol.TopicPartition{Topic: "gone"}))
		must(t, m.Delete(protocol.TopicPartition{Topic: "gone"}))
		must(t, m.Delete(protocol.TopicPartition{Topic: long}))
		if len(batchesOf(t, &r)) != 1 {
			t.Error("a reader lost its slice")
		}
		r.Release()
		_, err = gone.Read(0, 1000, true, LogEnd)
		wantCode(t, err, protocol.NotLeaderOrFollower)
		_, err = gone.AppendAsLeader(batch(1, t0, 1), 0, Client, t0)
		wantCode(t, err, protocol.NotLeaderOrFollower)
		// At once there can be another of that name.
		if info := lead(t, create(t, m, "gone", smallConfig()), batch(1, t0, 10)); info.BaseOffset != 0 {
			t.Errorf("%+v", info)
		}
		count := func(suffix string) (n int) {
			for _, f := range files(t, fs, "/data") {
				if len(f) > 255 {
					t.Errorf("name of %d characters", len(f))
				}
				if strings.HasSuffix(f, suffix) {
					n++
				}
			}
			return n
		}
		if count("-delete") != 2 {
			t.Errorf("%v", files(t, fs, "/data"))
		}
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if count("-delete") != 2 {
			t.Error("deleted early")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if count("-delete") != 0 {
			t.Errorf("not deleted: %v", files(t, fs, "/data"))
		}
		must(t, m.Delete(protocol.TopicPartition{Topic: "gone"}))
		stop(t, m)

		m, err = Open(fs, []string{"/data"}, fixtureOptions())
		must(t, err)
		must(t, m.Load(context.Background(), func(tp protocol.TopicPartition, id protocol.UUID) Decision {
			return Decision{Keep: tp.Topic == "keep" && id == protocol.UUID{7, 'k'}, Config: smallConfig()}
		}))
		m.Start()
		if len(m.Logs()) != 1 || count("-stray") != 1 || count("-delete") != 1 {
			t.Errorf("%v", files(t, fs, "/data"))
		}
		time.Sleep(61 * time.Second)
		synctest.Wait()
		if count("-delete") != 0 || count("-stray") != 1 {
			t.Errorf("a restart forgot a deletion, or a stray went: %v", files(t, fs, "/data"))
		}
		stop(t, m)
	})
}

func TestBackground(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fs := vfs.NewMem()
		var starts []string
		m := openManager(t, fs, func(o *Options) {
			o.ProducerIDExpires = 2 * time.Hour
			o.FlushCheckInterval = time.Second
			o.OnLogStart = func(l *Log) { starts = append(starts, fmt.Sprint(l.TopicPartition(), l.LogStartOffset())) }
		}, "/data")
		m.Start()
		now := time.Now().UnixMilli()
		c := smallConfig()
		c.RetentionMs, c.FlushMs = 3600_000, 5000
		l := create(t, m, "a", c)
		for i := range 12 {
			lead(t, l, batch(1, now+int64(i), 200))
		}
		o := record.NewOptions()
		o.ProducerID, o.ProducerEpoch, o.BaseSequence = 1, 0, 0
		lead(t, l, build(o, 1, now, 10))
		l.SetHighWatermark(13)
		time.Sleep(36 * time.Second)
		synctest.Wait()
		if got := text(t, fs, "/data/"+highWatermarkFile); got != "0\n1\na 0 13\n" {
			t.Errorf("high watermarks: %q", got)
		}
		if l.RecoveryPoint() != 13 {
			t.Errorf("flush.ms: recovery point %d", l.RecoveryPoint())
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := text(t, fs, "/data/"+recoveryPointFile); got != "0\n1\na 0 13\n" {
			t.Errorf("recovery points: %q", got)
		}
		if len(l.Producers()) != 1 {
			t.Error("producer gone early")
		}
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		if l.LogStartOffset() != 13 || l.LogEndOffset() != 13 || l.SegmentCount() != 1 || len(starts) == 0 {
			t.Errorf("retention: [%d, %d), %d segments, told %v", l.LogStartOffset(), l.LogEndOffset(), l.SegmentCount(), starts)
		}
		if len(l.Producers()) != 0 {
			t.Error("the producer did not expire")
		}
		for _, f := range files(t, fs, "/data/a-0") {
			if strings.HasSuffix(f, deletedSuffix) {
				t.Errorf("%s is still there", f)
			}
		}
		stop(t, m)
	})
}

func TestSeveralDirectories(t *testing.T) {
	fs := vfs.NewMem()
	m := openManager(t, fs, nil, "/a", "/b")
	per := map[protocol.UUID]int{}
	for i := range 10 {
		per[create(t, m, fmt.Sprint("t", i), smallConfig()).DirID()]++
	}
	for _, d := range m.Dirs() {
		if per[d.ID] != 5 {
			t.Errorf("%v", per)
		}
	}
	_, err := m.Create(protocol.TopicPartition{Topic: "x"}, protocol.UUID{1}, smallConfig(), protocol.UUID{1, 2, 3})
	wantCode(t, err, protocol.LogDirNotFound)
	_, err = m.Create(protocol.TopicPartition{Topic: "t0"}, protocol.UUID{1}, smallConfig(), protocol.UUID{})
	wantCode(t, err, protocol.InconsistentTopicID)

	// A replica moves from one to the other.
	tp := protocol.TopicPartition{Topic: "t0"}
	l := m.Get(tp)
	lead(t, l, batch(3, t0, 10))
	other := m.Dirs()[0].ID
	if l.DirID() == other {
		other = m.Dirs()[1].ID
	}
	f, err := m.CreateFuture(tp, other)
	must(t, err)
	r, err := l.Read(0, 1000, true, LogEnd)
	must(t, err)
	_, err = f.AppendAsFollower(batchesOf(t, &r)[0], 0)
	must(t, err)
	r.Release()
	moved, err := m.Promote(tp)
	must(t, err)
	if m.Get(tp) != moved || moved.DirID() != other || moved.LogEndOffset() != 3 || m.Future(tp) != nil {
		t.Errorf("moved to %v, ends at %d", moved.DirID(), moved.LogEndOffset())
	}
	lead(t, moved, batch(1, t0, 10))
	stop(t, m)
	m = openManager(t, fs, nil, "/a", "/b")
	if l := m.Get(tp); l.DirID() != other || l.LogEndOffset() != 4 || len(m.Logs()) != 10 {
		t.Errorf("after restart: %v, %d", l.DirID(), l.LogEndOffset())
	}
	stop(t, m)
}

// TestNameUsedAgain: what checkpoints say of a deleted partition must not be taken for
// one of the same name that came after it.
func TestNameUsedAgain(t *testing.T) {
	fs := vfs.NewMem()
	m := openManager(t, fs, nil, "/data")
	l := create(t, m, "a", smallConfig())
	for range 10 {
		lead(t, l, batch(2, t0, 60))
	}
	l.SetHighWatermark(20)
	_, err := l.DeleteRecordsBefore(15)
	must(t, err)
	must(t, l.Flush())
	m.CheckpointLogStarts()
	m.CheckpointRecoveryPoints()
	must(t, m.Delete(l.TopicPartition()))
	l = create(t, m, "a", smallConfig())
	lead(t, l, batch(2, t0, 60))
	must(t, m.unlock()) // killed
	m = openManager(t, fs, nil, "/data")
	if l := m.Get(protocol.TopicPartition{Topic: "a"}); l.LogStartOffset() != 0 || l.LogEndOffset() != 2 || l.RecoveryPoint() != 0 {
		t.Errorf("[%d, %d), recovery point %d", l.LogStartOffset(), l.LogEndOffset(), l.RecoveryPoint())
	}
	stop(t, m)
}

func TestCloseGivesUp(t *testing.T) {
	fs := vfs.NewMem()
	m := openManager(t, fs, nil, "/data")
	lead(t, create(t, m, "a", smallConfig()), batch(1, t0, 10))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := m.Close(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if slices.Contains(files(t, fs, "/data"), cleanShutdownFile) {
		t.Error("marked as clean")
	}
	m = openManager(t, fs, nil, "/data")
	if l := m.Get(protocol.TopicPartition{Topic: "a"}); l.LogEndOffset() != 1 {
		t.Errorf("end %d", l.LogEndOffset())
	}
	stop(t, m)
}
