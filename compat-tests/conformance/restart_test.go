package conformance

import (
	"crypto/rand"
	"os"
	"path/filepath"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestSurvivesKill: topics, configs, records, producer state and offsets after SIGKILL.
func TestSurvivesKill(t *testing.T) {
	p := own(t)
	c := dial(t, p.Addr)
	createTopic(c, "kept", 3, "retention.ms", "86400000")
	for i := range int32(3) {
		mustProduce(c, "kept", i, newBatch(r("a"), r("b")).encode())
	}
	idem := newBatch(r("x"))
	idem.pid, idem.pepoch, idem.seq = 77, 0, 0
	mustProduce(c, "kept", 0, idem.encode())
	findCoordinator(c, "g1")
	meta := "m"
	x := commitment{"kept", 1, 2, 0, &meta}
	eq(t, "commit", commit(c, 8, "g1", "", -1, x)[x], 0)
	eq(t, "commit", commit(c, 8, "g2", "", -1, x)[x], 0)
	del := kmsg.NewPtrDeleteGroupsRequest()
	del.Groups = []string{"g2"}
	eq(t, "delete g2", do[*kmsg.DeleteGroupsResponse](c, 2, del).Groups[0].ErrorCode, 0)

	p.Kill()
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	c = dial(t, p.Addr)
	awaitTopic(c, "kept", 3)
	eq(t, "config", deref(configOf(t, describeConfigs(c, 4, kmsg.ConfigResourceTypeTopic, "kept"), "retention.ms").Value), "86400000")
	eq(t, "log end", listOffset(c, "kept", 0, -1).Offset, 3)
	again := produce(c, 9, "kept", 0, idem.encode())
	eq(t, "duplicate known after the kill", again.ErrorCode, 0)
	eq(t, "its offset", again.BaseOffset, 2)
	eq(t, "log end", listOffset(c, "kept", 0, -1).Offset, 3)
	findCoordinator(c, "g1")
	// case B49
	var offsets *kmsg.OffsetFetchResponse
	eventually(t, "the coordinator has loaded", func() bool {
		req := kmsg.NewPtrOffsetFetchRequest()
		for _, g := range []string{"g1", "g2"} {
			rg := kmsg.NewOffsetFetchRequestGroup()
			rg.Group, rg.MemberEpoch = g, -1
			req.Groups = append(req.Groups, rg)
		}
		offsets = do[*kmsg.OffsetFetchResponse](c, 8, req)
		for _, g := range offsets.Groups {
			if g.ErrorCode == 14 || g.ErrorCode == 16 {
				return false
			}
		}
		return true
	})
	for _, g := range offsets.Groups {
		if g.Group == "g2" {
			eq(t, "g2's topics", len(g.Topics), 0)
			continue
		}
		eq(t, "g1's topics", len(g.Topics), 1)
		got := g.Topics[0].Partitions[0]
		eq(t, "offset", got.Offset, 2)
		eq(t, "leader epoch", got.LeaderEpoch, 0)
		eq(t, "metadata", deref(got.Metadata), "m")
	}
}

// TestDamagedTail is case B47.
func TestDamagedTail(t *testing.T) {
	for name, x := range map[string]struct {
		damage func(t *testing.T, path string)
		end    int64
	}{
		"junk appended": {func(t *testing.T, path string) {
			junk := make([]byte, 50)
			rand.Read(junk)
			write(t, path, append(readFile(t, path), junk...))
		}, 3},
		"ten bytes cut off": {func(t *testing.T, path string) {
			b := readFile(t, path)
			write(t, path, b[:len(b)-10])
		}, 2},
		"a byte of the second batch": {func(t *testing.T, path string) {
			b := readFile(t, path)
			b[len(b)/3+65] ^= 0xff
			write(t, path, b)
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := own(t)
			c := dial(t, p.Addr)
			createTopic(c, "torn", 1)
			createTopic(c, "whole", 1)
			for range 3 {
				mustProduce(c, "torn", 0, one("0123456789"))
				mustProduce(c, "whole", 0, one("0123456789"))
			}
			p.Kill()
			x.damage(t, filepath.Join(partitionDir(p, "torn", 0), "00000000000000000000.log"))
			for _, f := range []string{"recovery-point-offset-checkpoint", "replication-offset-checkpoint", "log-start-offset-checkpoint"} {
				os.Remove(filepath.Join(p.Data, f))
			}
			if err := p.Start(); err != nil {
				t.Fatal(err)
			}
			c = dial(t, p.Addr)
			awaitTopic(c, "torn", 1)
			eq(t, "log end", listOffset(c, "torn", 0, -1).Offset, x.end)
			eq(t, "the other partition", listOffset(c, "whole", 0, -1).Offset, 3)
			eq(t, "next append", mustProduce(c, "torn", 0, one("y")), x.end)
			got := split(t, fetch(c, "torn", 0, 0).RecordBatches)
			eq(t, "batches", len(got), int(x.end)+1)
			for _, b := range got {
				eq(t, "crc", b.crcOK, true)
			}
			eq(t, "epoch rose", got[len(got)-1].epoch > got[0].epoch, true)
		})
	}
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestRetentionKeepsOffsets is case B48.
func TestRetentionKeepsOffsets(t *testing.T) {
	p := own(t, "log.retention.check.interval.ms=200", "log.initial.task.delay.ms=100")
	c := dial(t, p.Addr)
	createTopic(c, "short", 1, "retention.ms", "1000")
	mustProduce(c, "short", 0, newBatch(r("a"), r("b")).encode())
	eventually(t, "retention", func() bool { return listOffset(c, "short", 0, -2).Offset == 2 })
	eq(t, "log end", listOffset(c, "short", 0, -1).Offset, 2)
	eq(t, "fetch at 0", fetch(c, "short", 0, 0).ErrorCode, 1)
	eq(t, "fetch at the start", fetch(c, "short", 0, 2).ErrorCode, 0)
	eq(t, "next offset", mustProduce(c, "short", 0, one("c")), 2)
}

// TestCleanShutdown: SIGTERM ends with exit code 0 and leaves the marker.
func TestCleanShutdown(t *testing.T) {
	p := own(t)
	c := dial(t, p.Addr)
	createTopic(c, "t", 1)
	mustProduce(c, "t", 0, one("x"))
	if err := p.Terminate(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(p.Data, ".kafka_cleanshutdown")); err != nil {
		t.Error(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	c = dial(t, p.Addr)
	awaitTopic(c, "t", 1)
	eq(t, "log end", listOffset(c, "t", 0, -1).Offset, 1)
}
