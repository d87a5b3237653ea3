package storage

import (
	"archive/tar"
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
)

// The fixtures are directories that Apache Kafka 4.4 wrote, with what it says is in
// them: NAME.tar.gz and NAME.expected in testdata/kafka. See README.md there.

func unpack(t testing.TB, fs vfs.FS, name string) {
	t.Helper()
	f, err := os.Open("testdata/kafka/" + name + ".tar.gz")
	must(t, err)
	defer f.Close()
	z, err := gzip.NewReader(f)
	must(t, err)
	r := tar.NewReader(z)
	for {
		h, err := r.Next()
		if err == io.EOF {
			return
		}
		must(t, err)
		p := path.Join("/", h.Name)
		if h.Typeflag == tar.TypeDir {
			must(t, fs.MkdirAll(p))
			continue
		}
		must(t, fs.MkdirAll(path.Dir(p)))
		out, err := fs.Create(p)
		must(t, err)
		buf := make([]byte, 64<<10)
		zero := make([]byte, len(buf))
		for off := int64(0); ; {
			n, err := io.ReadFull(r, buf)
			if n > 0 && !bytes.Equal(buf[:n], zero[:n]) {
				_, werr := out.WriteAt(buf[:n], off)
				must(t, werr)
			}
			off += int64(n)
			if err != nil {
				must(t, out.Truncate(off))
				break
			}
		}
		must(t, out.Close())
		must(t, fs.SetModTime(p, h.ModTime))
	}
}

const fixtureCluster = "b3R0bGEtZml4dHVyZS0wMQ"

func fixtureOptions() Options {
	o := DefaultOptions()
	o.ClusterID, o.NodeID, o.ProducerIDExpires = fixtureCluster, 1, 0
	return o
}

func keepAll(protocol.TopicPartition, protocol.UUID) Decision {
	return Decision{Keep: true, Config: DefaultLogConfig()}
}

func loadFixture(t testing.TB, fs vfs.FS, dirs ...string) *Manager {
	t.Helper()
	m, err := Open(fs, dirs, fixtureOptions())
	must(t, err)
	must(t, m.Load(context.Background(), keepAll))
	for _, d := range m.Dirs() {
		must(t, d.Err)
	}
	for _, l := range m.Logs() {
		l.SetHighWatermark(l.LogEndOffset()) // as the only replica's leader does
	}
	return m
}

func TestFixtures(t *testing.T) {
	dirs := map[string][]string{"jbod": {"/data/a", "/data/b"}}
	for _, name := range []string{"clean", "killed", "torn", "swap", "jbod", "legacy"} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			unpack(t, fs, name)
			d := dirs[name]
			if d == nil {
				d = []string{"/data"}
			}
			for _, round := range []string{"taken over", "after a clean stop", "after an unclean stop"} {
				m := loadFixture(t, fs, d...)
				expect(t, m, name, round)
				if round == "after a clean stop" {
					must(t, m.unlock())
				} else {
					must(t, m.Close(context.Background(), 7))
				}
			}
		})
	}
}

// expect compares a loaded fixture with what Kafka said.
func expect(t *testing.T, m *Manager, name, round string) {
	t.Helper()
	f, err := os.Open("testdata/kafka/" + name + ".expected")
	must(t, err)
	defer f.Close()
	aborted := map[string][]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		w := strings.Fields(s.Text())
		var got string
		switch w[0] {
		case "offsets":
			got = offsetsLine(t, find(t, m, w[1], w[2]))
		case "records":
			got = recordsLine(t, find(t, m, w[1], w[2]), w[3])
		case "lookup":
			got = lookupLine(t, find(t, m, w[1], w[2]), w[3])
		case "aborted":
			aborted[w[1]] = append(aborted[w[1]], strings.Join(w[2:], " "))
			continue
		default:
			continue
		}
		if want := strings.Join(w, " "); got != want {
			t.Errorf("%s: got  %s\n\twant %s", round, got, want)
		}
	}
	for tp, want := range aborted {
		i := strings.LastIndexByte(tp, '-')
		if got := abortedLines(t, find(t, m, tp[:i], tp[i+1:])); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: aborted in %s:\n%s\nwant\n%s", round, tp, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func find(t *testing.T, m *Manager, topic, partition string) *Log {
	t.Helper()
	tp, err := protocol.ParseTopicPartition(topic + "-" + partition)
	must(t, err)
	l := m.Get(tp)
	if l == nil {
		t.Fatalf("no log of %s", tp)
	}
	return l
}

func offsetsLine(t *testing.T, l *Log) string {
	t.Helper()
	line := fmt.Sprintf("offsets %s %d %d %d %d", l.tp.Topic, l.tp.Partition, l.LogStartOffset(), l.LogEndOffset(), l.LastStableOffset())
	o, err := l.OffsetForTimestamp(MaxTimestamp, HighWatermark)
	must(t, err)
	return line + fmt.Sprintf(" %d@%d %d", o.Offset, o.Timestamp, l.LogStartOffset())
}

func lookupLine(t *testing.T, l *Log, target string) string {
	t.Helper()
	var ts int64
	_, err := fmt.Sscan(target, &ts)
	must(t, err)
	o, err := l.OffsetForTimestamp(ts, HighWatermark)
	must(t, err)
	return fmt.Sprintf("lookup %s %d %d %d %d", l.tp.Topic, l.tp.Partition, ts, o.Offset, o.Timestamp)
}

// recordsLine reads a log as a consumer does: number and digest of the records.
func recordsLine(t *testing.T, l *Log, isolation string) string {
	t.Helper()
	bound := HighWatermark
	if isolation == "read_committed" {
		bound = LastStable
	}
	count, sum := 0, sha256.New()
	from := l.LogStartOffset()
	for {
		skip := map[int64]bool{} // producers in an aborted transaction
		r, err := l.Read(from, 700, true, bound)
		must(t, err)
		if r.Size == 0 {
			break
		}
		for _, b := range batchesOf(t, &r) {
			from = b.LastOffset() + 1
			r.Aborted = slices.DeleteFunc(r.Aborted, func(a AbortedTxn) bool {
				begun := a.FirstOffset <= b.LastOffset()
				if begun {
					skip[a.ProducerID] = true
				}
				return begun
			})
			if b.IsControl() {
				delete(skip, b.ProducerID())
				continue
			}
			if skip[b.ProducerID()] && b.IsTransactional() {
				continue
			}
			records := b.Records(record.MaxDecompressed)
			if b.Magic() < record.Magic2 {
				records = b.Messages(record.MaxDecompressed)
			}
			for rec, err := range records {
				must(t, err)
				if rec.Offset < l.LogStartOffset() {
					continue
				}
				count++
				fmt.Fprintf(sum, "%d %d %d\n", rec.Offset, rec.Timestamp, b.PartitionLeaderEpoch())
			}
		}
		r.Release()
	}
	line := fmt.Sprintf("records %s %d %s %d", l.tp.Topic, l.tp.Partition, isolation, count)
	return line + " " + hex.EncodeToString(sum.Sum(nil))[:16]
}

func abortedLines(t *testing.T, l *Log) []string {
	t.Helper()
	var lines []string
	for _, s := range l.view().segments {
		entries, err := s.aborted()
		must(t, err)
		for _, a := range entries {
			lines = append(lines, fmt.Sprint(s.base, a.producerID, a.firstOffset, a.lastOffset, a.lastStable))
		}
	}
	return lines
}
