package takeover

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"github.com/ottla/ottla/protocol/record"
)

// Special timestamps of ListOffsets, and the one that asks for the last stable offset.
const (
	latest        = -1
	earliest      = -2
	maxTimestamp  = -3
	earliestLocal = -4
)

func (s *server) client(t testing.TB, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(s.addr)}, opts...)...)
	must(t, err)
	t.Cleanup(cl.Close)
	return cl
}

// listOffset asks for one offset: the answer as "offset@timestamp (leader epoch)".
func listOffset(t testing.TB, cl *kgo.Client, topic string, partition int32, ts int64, isolation int8) *kmsg.ListOffsetsResponseTopicPartition {
	t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.IsolationLevel = isolation
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewListOffsetsRequestTopicPartition()
	rp.Partition, rp.Timestamp, rp.CurrentLeaderEpoch = partition, ts, -1
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(context.Background(), cl)
	must(t, err)
	p := &resp.Topics[0].Partitions[0]
	if p.ErrorCode != 0 {
		t.Fatalf("ListOffsets %s-%d at %d: error %d", topic, partition, ts, p.ErrorCode)
	}
	return p
}

// checkOffsets compares with offsets.txt and list-offsets-by-timestamp.txt.
func (s *server) checkOffsets(t *testing.T) {
	cl := s.client(t)
	for _, line := range lines(s.dir.expected("offsets.txt")) {
		var topic string
		var partition int32
		var first, end, stable, local int64
		var largest string
		scan(t, line, "%s %d %d %d %d %s %d", &topic, &partition, &first, &end, &stable, &largest, &local)
		m := listOffset(t, cl, topic, partition, maxTimestamp, 0)
		got := fmt.Sprintf("%s %d %d %d %d %d@%d %d", topic, partition,
			listOffset(t, cl, topic, partition, earliest, 0).Offset, listOffset(t, cl, topic, partition, latest, 0).Offset,
			listOffset(t, cl, topic, partition, latest, 1).Offset, m.Offset, m.Timestamp, listOffset(t, cl, topic, partition, earliestLocal, 0).Offset)
		if got != line {
			t.Errorf("offsets: %s, Kafka %s", got, line)
		}
	}
	if s.dir.name != "clean" {
		return
	}
	for _, line := range lines(s.dir.expected("list-offsets-by-timestamp.txt")) {
		var ts int64
		scan(t, line, "%d ->", &ts)
		p := listOffset(t, cl, "timestamps", 0, ts, 0)
		epoch := "-"
		if p.LeaderEpoch >= 0 {
			epoch = fmt.Sprint(p.LeaderEpoch)
		}
		if got := fmt.Sprintf("%d -> %d@%d (%s)", ts, p.Offset, p.Timestamp, epoch); got != line {
			t.Errorf("by timestamp: %s, Kafka %s", got, line)
		}
	}
}

// wantRecords is what Kafka's consumer got, by partition, per topic.
func (d *directory) wantRecords(isolation string) map[string]map[int32][]string {
	d.t.Helper()
	want := map[string]map[int32][]string{}
	files, err := filepath.Glob(filepath.Join(d.path, "expected", "records", "*."+isolation+".jsonl"))
	must(d.t, err)
	for _, f := range files {
		text, err := os.ReadFile(f)
		must(d.t, err)
		topic := strings.TrimSuffix(filepath.Base(f), "."+isolation+".jsonl")
		want[topic] = map[int32][]string{}
		for _, l := range lines(string(text)) {
			var p int32
			scan(d.t, l, `{"p":%d`, &p)
			want[topic][p] = append(want[topic][p], l)
		}
	}
	for _, codec := range []string{"gzip", "snappy", "lz4", "zstd", "none"} {
		if same := want["codec-none"]; same != nil {
			want["recompress-"+codec] = same
		}
	}
	return want
}

func (s *server) checkRecords(t *testing.T) {
	levels := map[string]kgo.IsolationLevel{"read_uncommitted": kgo.ReadUncommitted(), "read_committed": kgo.ReadCommitted()}
	for name, level := range levels {
		want := s.dir.wantRecords(name)
		if len(want) == 0 {
			continue
		}
		old := want["legacy-v0"]
		delete(want, "legacy-v0")
		got := s.consume(t, want, kgo.FetchIsolationLevel(level))
		if old != nil { // franz-go reads no LZ4 of format 0
			want["legacy-v0"], got["legacy-v0"] = old, map[int32][]string{0: s.fetchOld(t, "legacy-v0")}
		}
		for topic, parts := range want {
			for p := range parts {
				compare(t, fmt.Sprintf("%s-%d %s", topic, p, name), got[topic][p], parts[p])
			}
			for p := range got[topic] {
				if parts[p] == nil {
					t.Errorf("%s-%d %s: %d records, Kafka none", topic, p, name, len(got[topic][p]))
				}
			}
		}
	}
}

func compare(t *testing.T, what string, got, want []string) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Errorf("%s: %d records, Kafka %d", what, len(got), len(want))
			return
		case i >= len(want):
			t.Errorf("%s: record %s, Kafka has no more", what, got[i])
			return
		case got[i] != want[i]:
			t.Errorf("%s: record %d\n%s\nKafka\n%s", what, i, got[i], want[i])
			return
		}
	}
}

// consume reads the topics from their start until as much has come as is wanted, and no more does.
func (s *server) consume(t *testing.T, want map[string]map[int32][]string, opts ...kgo.Opt) map[string]map[int32][]string {
	t.Helper()
	left := 0
	var topics []string
	got := map[string]map[int32][]string{}
	for topic, parts := range want {
		topics = append(topics, topic)
		got[topic] = map[int32][]string{}
		for _, records := range parts {
			left += len(records)
		}
	}
	cl := s.client(t, append(opts, kgo.ConsumeTopics(topics...), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchMaxWait(100*time.Millisecond))...)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for quiet := false; !quiet; {
		wait := ctx
		if left <= 0 { // a last look
			var done context.CancelFunc
			wait, done = context.WithTimeout(ctx, 200*time.Millisecond)
			defer done()
		}
		fetches := cl.PollFetches(wait)
		if ctx.Err() != nil {
			t.Errorf("%d records did not come", left)
			break
		}
		for _, e := range fetches.Errors() {
			if wait.Err() == nil {
				t.Errorf("%s-%d: %v", e.Topic, e.Partition, e.Err)
			}
		}
		quiet = left <= 0 && fetches.NumRecords() == 0
		left -= fetches.NumRecords()
		fetches.EachRecord(func(r *kgo.Record) {
			got[r.Topic][r.Partition] = append(got[r.Topic][r.Partition], recordLine(r))
		})
	}
	return got
}

// fetchOld reads partition 0 of a topic with formats 0 and 2.
func (s *server) fetchOld(t *testing.T, topic string) (out []string) {
	t.Helper()
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.SessionEpoch = 1<<20, -1
	rt := kmsg.NewFetchRequestTopic()
	rt.Topic = topic
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.PartitionMaxBytes = 1 << 20
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(context.Background(), s.client(t, kgo.MaxVersions(kversion.V3_0_0()))) // by name
	must(t, err)
	for rest := resp.Topics[0].Partitions[0].RecordBatches; len(rest) > 0; {
		var b record.Batch
		b, rest, err = record.Next(rest)
		must(t, err)
		kind, records := "NoTimestampType", b.Messages(record.MaxDecompressed)
		if b.Magic() == record.Magic2 {
			kind, records = b.TimestampType().String(), b.Records(record.MaxDecompressed)
		}
		for r, err := range records {
			must(t, err)
			epoch := "null"
			if b.PartitionLeaderEpoch() >= 0 {
				epoch = fmt.Sprint(b.PartitionLeaderEpoch())
			}
			out = append(out, fmt.Sprintf(`{"p":0,"o":%d,"le":%s,"ts":%d,"tt":"%s","k":%s,"v":%s}`, r.Offset, epoch, r.Timestamp, kind, shown(r.Key), shown(r.Value)))
		}
	}
	return out
}

// recordLine is a record as the expected files have it.
func recordLine(r *kgo.Record) string {
	epoch, ts, kind := "null", r.Timestamp.UnixMilli(), "CreateTime"
	if r.LeaderEpoch >= 0 {
		epoch = fmt.Sprint(r.LeaderEpoch)
	}
	switch r.Attrs.TimestampType() {
	case 1:
		kind = "LogAppendTime"
	case -1:
		kind, ts = "NoTimestampType", -1
	}
	var b strings.Builder
	fmt.Fprintf(&b, `{"p":%d,"o":%d,"le":%s,"ts":%d,"tt":"%s","k":%s,"v":%s`, r.Partition, r.Offset, epoch, ts, kind, shown(r.Key), shown(r.Value))
	for i, h := range r.Headers {
		sep := ","
		if i == 0 {
			sep = `,"h":[`
		}
		fmt.Fprintf(&b, "%s[%s,%s]", sep, shown([]byte(h.Key)), shown(h.Value))
	}
	if len(r.Headers) > 0 {
		b.WriteString("]")
	}
	return b.String() + "}"
}

func shown(v []byte) string {
	plain := true
	for _, c := range v {
		plain = plain && c >= 0x20 && c < 0x7f && c != '"' && c != '\\'
	}
	switch {
	case v == nil:
		return "null"
	case len(v) > 512:
		sum := sha256.Sum256(v)
		return fmt.Sprintf(`"sha256:%d:%s"`, len(v), hex.EncodeToString(sum[:]))
	case plain:
		return `"s:` + string(v) + `"`
	}
	return `"x:` + hex.EncodeToString(v) + `"`
}
