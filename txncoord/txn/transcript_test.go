package txn

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

var rewrite = flag.Bool("rewrite", false, "write the transcripts anew; then read the difference")

// A transcript is commands about one transactional id, one a line, each followed by what it led to, indented.
//
//	level N                              transaction.version of the cluster
//	init [timeout=D] [version=N] [id=N epoch=N]    id and epoch are what the producer says it has
//	add PARTITIONS [version=N] [client=N]          partitions as topic-0,topic-1
//	verify PARTITIONS
//	end commit|abort [version=N]
//	fence                                the transaction has run out of time
//	complete                             all markers are written
//	advance DURATION
//	expire DURATION                      ids that nothing happened to for so long are forgotten
//	describe, list k=v...                state=A,B producer=N longer=D pattern=P
//	seek EPOCH                           the producer id has come to that epoch
//	reload                               all but the log is forgotten
//
// id= and epoch= stand for those that the producer was given last, and may be set on every request. The requests and
// codes are those of Apache Kafka 4.4: compat-tests/conformance plays the same files against it.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			old, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(old))
			if *rewrite {
				if err := os.WriteFile(f, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(old) {
				t.Errorf("differs; got:\n%s", got)
			}
		})
	}
}

// player is the coordinator of one transactional id.
type player struct {
	t     *testing.T
	trace strings.Builder
	store *Store
	log   []logged
	level int16
	now   int64 // ms
	fresh int64 // the next producer id
	// What the producer was given last.
	id    int64
	epoch int16
}

type logged struct{ key, value []byte }

const transactionalID = "x"

func play(t *testing.T, script string) string {
	p := &player{t: t, store: NewStore(), level: 2, now: 1_000_000}
	for _, line := range strings.Split(script, "\n") {
		if strings.HasPrefix(line, " ") {
			continue // an old answer
		}
		p.logf("%s", line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		p.command(words[0], words[1:])
	}
	return strings.TrimRight(p.trace.String(), "\n") + "\n"
}

func (p *player) logf(format string, args ...any) { fmt.Fprintf(&p.trace, format+"\n", args...) }

func (p *player) command(verb string, args []string) {
	var words []string
	o := map[string]string{}
	for _, a := range args {
		if k, v, ok := strings.Cut(a, "="); ok {
			o[k] = v
		} else {
			words = append(words, a)
		}
	}
	switch verb {
	case "level":
		p.level = int16(p.number(words[0]))
	case "advance":
		p.now += p.duration(words[0]).Milliseconds()
	case "reload":
		p.reload()
	case "init":
		p.init(o)
	case "add", "verify":
		p.partitions(verb == "verify", words[0], o)
	case "end":
		p.end(words[0] == "commit", o)
	case "seek":
		n := *p.store.Get(transactionalID)
		n.Epoch = int16(p.number(words[0]))
		p.id, p.epoch = n.ProducerID, n.Epoch
		p.write(Record{transactionalID, &n})
	case "fence":
		p.decide(false, func(c Call) Decision { return p.store.Fence(c, transactionalID) })
	case "complete":
		if n := p.store.Complete(p.now, p.store.Get(transactionalID)); n != nil {
			p.write(Record{transactionalID, n})
		}
	case "expire":
		if t := p.store.Get(transactionalID); t != nil && t.Expired(p.now, p.duration(words[0]).Milliseconds()) {
			p.write(Record{ID: transactionalID})
		}
	case "describe":
		d := p.store.Describe(transactionalID)
		p.logf("  < %d %s timeout=%d started=%v id=%d epoch=%d topics=%v", d.ErrorCode, d.State, d.TimeoutMillis, d.StartTimestamp >= 0, d.ProducerID, d.ProducerEpoch, d.Topics)
	case "list":
		p.list(o)
	default:
		p.t.Fatalf("unknown command %s", verb)
	}
}

func (p *player) init(o map[string]string) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.SetVersion(p.version(o, 5))
	id := transactionalID
	req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = &id, 60000, -1, -1
	if d, ok := o["timeout"]; ok {
		req.TransactionTimeoutMillis = int32(p.duration(d).Milliseconds())
	}
	if _, ok := o["epoch"]; ok {
		req.ProducerID, req.ProducerEpoch = p.producer(o)
	}
	if code := CheckInit(req, 900000); code != protocol.None {
		p.logf("  < %d", code)
		return
	}
	p.decide(true, func(c Call) Decision { return p.store.Init(c, req) })
}

func (p *player) partitions(verify bool, list string, o map[string]string) {
	a := &Adding{ID: transactionalID, ClientVersion: 2}
	if p.version(o, 4) < 4 {
		a.ClientVersion = 0
	}
	a.ProducerID, a.Epoch = p.producer(o)
	for _, s := range strings.Split(list, ",") {
		tp, err := protocol.ParseTopicPartition(s)
		if err != nil {
			p.t.Fatal(err)
		}
		a.Partitions = append(a.Partitions, tp)
	}
	if verify {
		missing, code := p.store.Verify(a)
		p.logf("  < %d missing=%v", code, missing)
		return
	}
	p.decide(false, func(c Call) Decision { return p.store.Add(c, a) })
}

func (p *player) end(commit bool, o map[string]string) {
	req := kmsg.NewPtrEndTxnRequest()
	req.SetVersion(p.version(o, 5))
	req.TransactionalID, req.Commit = transactionalID, commit
	req.ProducerID, req.ProducerEpoch = p.producer(o)
	p.decide(req.Version >= 5, func(c Call) Decision { return p.store.End(c, req) })
}

// decide carries a decision out, with a producer id if it asks for one.
func (p *player) decide(told bool, f func(Call) Decision) {
	c := Call{NowMs: p.now, Level: p.level, FreshID: NoProducerID}
	d := f(c)
	if d.NeedsID {
		if d.Next != nil {
			p.t.Fatal("something was decided without the producer id it needs")
		}
		c.FreshID = p.fresh
		p.fresh++
		d = f(c)
	}
	if d.Next != nil {
		p.write(Record{transactionalID, d.Next})
	}
	switch {
	case d.Code != protocol.None:
		if d.ProducerID != NoProducerID || d.Epoch != NoEpoch {
			p.t.Errorf("an error with producer id %d and epoch %d", d.ProducerID, d.Epoch)
		}
		p.logf("  < %d", d.Code)
	case told:
		p.id, p.epoch = d.ProducerID, d.Epoch
		p.logf("  < 0 id=%d epoch=%d", d.ProducerID, d.Epoch)
	default:
		p.logf("  < 0")
	}
}

// write logs a record and applies it.
func (p *player) write(r Record) {
	key, value := r.Encode(p.level)
	if size := len(key) + len(value); size > r.Size() {
		p.t.Errorf("a record of %d bytes was said to take %d", size, r.Size())
	}
	p.log = append(p.log, logged{key, value})
	p.store.Apply(r)
	p.logf("  record %s", show(r))
}

func show(r Record) string {
	t := r.Transaction
	if t == nil {
		return "tombstone"
	}
	s := fmt.Sprintf("%s id=%d epoch=%d client=%d", t.State, t.ProducerID, t.Epoch, t.ClientVersion)
	if t.PreviousProducerID != t.ProducerID {
		s += fmt.Sprintf(" previous=%d", t.PreviousProducerID)
	}
	if t.NextProducerID != NoProducerID {
		s += fmt.Sprintf(" next=%d", t.NextProducerID)
	}
	if t.StartMs != NoTime {
		s += fmt.Sprintf(" start=%v", time.Duration(t.StartMs-1_000_000)*time.Millisecond)
	}
	if len(t.Partitions) > 0 {
		s += fmt.Sprint(" partitions=", t.Partitions)
	}
	return s
}

func (p *player) reload() {
	p.store = NewStore()
	for _, l := range p.log {
		r, known, err := Decode(l.key, l.value)
		if err != nil || !known {
			p.t.Fatal(known, err)
		}
		p.store.Apply(r)
	}
	if t := p.store.Get(transactionalID); t != nil {
		p.logf("  loaded %s", show(Record{transactionalID, t}))
	}
}

func (p *player) list(o map[string]string) {
	req := kmsg.NewPtrListTransactionsRequest()
	req.SetVersion(2)
	req.DurationFilterMillis = -1
	if s := o["state"]; s != "" {
		req.StateFilters = strings.Split(s, ",")
	}
	if s, ok := o["producer"]; ok {
		req.ProducerIDFilters = []int64{int64(p.number(s))}
	}
	if s, ok := o["longer"]; ok {
		req.DurationFilterMillis = p.duration(s).Milliseconds()
	}
	if s, ok := o["pattern"]; ok {
		req.TransactionalIDPattern = &s
	}
	f, err := NewFilter(req)
	if err != nil {
		p.logf("  < %d", protocol.CodeOf(err))
		return
	}
	for _, l := range p.store.List(f, p.now) {
		p.logf("  < %s id=%d %s", l.TransactionalID, l.ProducerID, l.TransactionState)
	}
	p.logf("  < unknown=%v", f.Unknown)
}

func (p *player) version(o map[string]string, standard int16) int16 {
	if s, ok := o["version"]; ok {
		return int16(p.number(s))
	}
	return standard
}

func (p *player) producer(o map[string]string) (int64, int16) {
	id, epoch := p.id, p.epoch
	if s, ok := o["id"]; ok {
		id = int64(p.number(s))
	}
	if s, ok := o["epoch"]; ok {
		epoch = int16(p.number(s))
	}
	return id, epoch
}

func (p *player) number(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

func (p *player) duration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		p.t.Fatal(err)
	}
	return d
}
