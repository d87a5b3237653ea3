package txn

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
	"github.com/ottla/ottla/storage"
)

var (
	walkSeed = flag.Uint64("walk.seed", 0, "play one walk")
	walks    = flag.Uint64("walks", 150, "how many random walks")
)

// TestWalk lets producers begin, write, end, be fenced, time out and retry while coordinators die between any two
// records and their markers go on arriving late. The partitions are real logs. What a read_committed consumer sees
// is compared with a model that knows only which transaction a record was written in and how that was decided.
func TestWalk(t *testing.T) {
	from, to := uint64(1), *walks
	if *walkSeed != 0 {
		from, to = *walkSeed, *walkSeed
	}
	for seed := from; seed <= to; seed++ {
		w := newWorld(t, seed)
		for range 400 {
			w.step()
		}
		w.settle()
		w.check(true)
	}
}

const (
	walkPartitions = 3
	walkProducers  = 4
	walkTimeoutMs  = 5000
)

// world is one coordinator, its log, the partitions and the producers.
type world struct {
	t     *testing.T
	seed  uint64
	rng   *rand.Rand
	trace []string
	now   int64
	fresh int64

	store   *Store
	log     []logged
	epoch   int32      // of the coordinator
	sending []*sending // markers on their way, those of dead coordinators too

	parts     [walkPartitions]*storage.Log
	names     []string
	producers []*writer // the first of each name is its newest instance

	// The model: every transaction that was begun has a number; how it was decided; what was acknowledged in it.
	current map[string]int // number of the open transaction of an id
	numbers int
	written int
	commits map[int]bool // decided ones only
	acked   map[int][]string
}

// sending is the markers of one prepared transaction.
type sending struct {
	t     *Transaction
	epoch int32
	left  []int // partitions
	stray bool  // a copy that the network kept
}

// writer is a producer that may have been replaced by a newer one with the same transactional id.
type writer struct {
	name     string
	v2       bool
	id       int64
	epoch    int16
	ready    bool // it has an id and nothing stands against going on
	txn      int  // the transaction it believes to be in; 0: none
	added    map[int]bool
	sequence map[int]int32
	ending   *kmsg.EndTxnRequest // its answer is awaited
	late     []lateBatch
	zombie   bool // another instance took over
}

// lateBatch was verified and has not been appended yet.
type lateBatch struct {
	partition int
	batch     record.Batch
	guard     storage.Guard
	value     string
	txn       int
}

func newWorld(t *testing.T, seed uint64) *world {
	w := &world{t: t, seed: seed, rng: rand.New(rand.NewPCG(seed, 1)), now: 1000, store: NewStore(),
		current: map[string]int{}, commits: map[int]bool{}, acked: map[int][]string{}}
	fs := vfs.NewMem()
	for i := range w.parts {
		w.parts[i] = openLog(t, fs, i)
	}
	for i := range walkProducers {
		w.names = append(w.names, fmt.Sprint("x", i))
		w.producers = append(w.producers, &writer{name: w.names[i], v2: i%2 == 0})
	}
	return w
}

func openLog(t *testing.T, fs vfs.FS, i int) *storage.Log {
	c := storage.DefaultLogConfig()
	c.SegmentBytes, c.IndexIntervalBytes = 2000, 100
	tp := protocol.TopicPartition{Topic: "t", Partition: int32(i)}
	l, err := storage.OpenLog(storage.LogOptions{FS: fs, Dir: "/d/" + tp.String(), TopicPartition: tp, TopicID: protocol.UUID{1},
		Config: c, Clean: true, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (w *world) note(format string, args ...any) {
	w.trace = append(w.trace, fmt.Sprintf(format, args...))
}

func (w *world) fatal(format string, args ...any) {
	w.t.Helper()
	for _, s := range w.trace[max(0, len(w.trace)-60):] {
		w.t.Log(s)
	}
	w.t.Fatalf("seed %d: "+format, append([]any{w.seed}, args...)...)
}

func (w *world) step() {
	w.now += w.rng.Int64N(100)
	p := w.producers[w.rng.IntN(len(w.producers))]
	switch n := w.rng.IntN(100); {
	case p.zombie && !p.ready && p.ending == nil:
		w.producers = slices.DeleteFunc(w.producers, func(o *writer) bool { return o == p && len(p.late) == 0 })
		w.arrive(p)
	case n < 6 && !p.zombie || !p.ready && p.ending == nil:
		w.init(p)
	case n < 45:
		w.produce(p)
	case n < 65:
		w.end(p)
	case n < 85:
		w.deliver()
	case n < 88:
		w.crash()
	case n < 91:
		w.timeouts()
	case n < 92:
		w.now += walkTimeoutMs
	case n < 96:
		w.arrive(p)
	default:
		w.check(false)
	}
}

// write logs the next state of a transaction; the coordinator may die right after.
func (w *world) write(n *Transaction) {
	r := Record{n.ID, n}
	key, value := r.Encode(2)
	w.log = append(w.log, logged{key, value})
	before := w.store.Get(n.ID)
	w.store.Apply(r)
	w.note("  record %s %s", n.ID, show(r))
	switch {
	case n.State == Ongoing && (before == nil || before.State != Ongoing):
		w.numbers++
		w.current[n.ID] = w.numbers
	case n.State.Prepared():
		if before.State == Ongoing {
			w.commits[w.current[n.ID]] = n.Commits()
			delete(w.current, n.ID)
		}
		w.send(n)
	}
}

func (w *world) send(n *Transaction) {
	s := &sending{t: n, epoch: w.epoch}
	for _, tp := range n.Partitions {
		s.left = append(s.left, int(tp.Partition))
	}
	w.sending = append(w.sending, s)
	if len(s.left) == 0 {
		w.complete(s)
	}
}

// deliver writes one marker of one transaction.
func (w *world) deliver() {
	if len(w.sending) == 0 {
		return
	}
	s := w.sending[w.rng.IntN(len(w.sending))]
	if len(s.left) == 0 {
		w.complete(s)
		return
	}
	i := w.rng.IntN(len(s.left))
	p := s.left[i]
	o := record.NewOptions()
	o.ProducerID, o.ProducerEpoch = s.t.ProducerID, s.t.Epoch
	kind := record.Abort
	if s.t.Commits() {
		kind = record.Commit
	}
	l := w.parts[p]
	_, err := l.AppendMarker(record.NewMarker(o, w.now, kind, s.epoch), 0, s.t.ClientVersion, w.now)
	w.note("marker of %s epoch %d, coordinator %d, to %d: %v", s.t.ID, s.t.Epoch, s.epoch, p, err)
	l.SetHighWatermark(l.LogEndOffset())
	switch protocol.CodeOf(err) {
	case protocol.None:
		if s.t.ClientVersion >= 2 && w.rng.IntN(4) == 0 {
			w.sending = append(w.sending, &sending{s.t, s.epoch, []int{p}, true})
		}
		s.left = slices.Delete(s.left, i, i+1)
		if len(s.left) == 0 && w.rng.IntN(4) > 0 {
			w.complete(s)
		}
	case protocol.InvalidProducerEpoch, protocol.TransactionCoordinatorFenced:
		if s.epoch == w.epoch && w.store.Get(s.t.ID) == s.t && !s.stray {
			w.fatal("the living coordinator was fenced: %v", err)
		}
		w.forget(s)
	default:
		w.fatal("marker: %v", err)
	}
}

func (w *world) forget(s *sending) {
	w.sending = slices.DeleteFunc(w.sending, func(o *sending) bool { return o == s })
}

// complete tells the coordinator, if it still is the one that sent the markers.
func (w *world) complete(s *sending) {
	w.forget(s)
	if s.stray {
		return
	}
	if n := w.store.Complete(w.now, s.t); n != nil {
		if s.epoch != w.epoch {
			w.fatal("a dead coordinator completed %s", s.t.ID)
		}
		w.write(n)
	}
}

// crash lets another coordinator take over. What the old one had sent is on its way.
func (w *world) crash() {
	w.note("coordinator %d takes over", w.epoch+1)
	w.epoch++
	w.store = NewStore()
	for _, l := range w.log {
		r, _, err := Decode(l.key, l.value)
		if err != nil {
			w.fatal("%v", err)
		}
		w.store.Apply(r)
	}
	for _, id := range w.names {
		if t := w.store.Get(id); t != nil && t.State.Prepared() {
			w.send(t)
		}
	}
}

func (w *world) call() Call { return Call{NowMs: w.now, Level: 2, FreshID: NoProducerID} }

func (w *world) decide(f func(Call) Decision) Decision {
	c := w.call()
	d := f(c)
	if d.NeedsID {
		c.FreshID = w.fresh
		w.fresh++
		d = f(c)
	}
	if d.Next != nil {
		w.write(d.Next)
	}
	return d
}

func (w *world) timeouts() {
	for _, id := range w.names {
		if t := w.store.Get(id); t != nil && t.TimedOut(w.now) {
			w.note("%s times out", id)
			w.decide(func(c Call) Decision { return w.store.Fence(c, id) })
		}
	}
}

// init is a new instance of the producer: what the old one has on its way still arrives.
func (w *world) init(p *writer) {
	if p.ready && len(w.producers) < 3*walkProducers && w.rng.IntN(2) == 0 {
		old := *p
		old.zombie, old.added, old.sequence = true, maps.Clone(p.added), maps.Clone(p.sequence)
		w.producers = append(w.producers, &old)
		p.late = nil
	}
	req := kmsg.NewPtrInitProducerIDRequest()
	req.SetVersion(5)
	req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = &p.name, walkTimeoutMs, -1, -1
	d := w.decide(func(c Call) Decision { return w.store.Init(c, req) })
	w.note("init %s: %d id %d epoch %d", p.name, d.Code, d.ProducerID, d.Epoch)
	p.ready, p.txn, p.ending = false, 0, nil
	if d.Code == protocol.None {
		p.renew(d)
		p.ready = true
	} else if d.Code != protocol.ConcurrentTransactions {
		w.fatal("init: %d", d.Code)
	}
}

// renew is a new producer id or epoch: sequences begin anew.
func (p *writer) renew(d Decision) {
	p.id, p.epoch, p.added, p.sequence = d.ProducerID, d.Epoch, map[int]bool{}, map[int]int32{}
}

// produce verifies a batch as the partition's leader does, and appends it, mostly.
func (w *world) produce(p *writer) {
	if !p.ready || p.ending != nil {
		return
	}
	n := w.rng.IntN(walkPartitions)
	l, tp := w.parts[n], protocol.TopicPartition{Topic: "t", Partition: int32(n)}
	a := &Adding{ID: p.name, ProducerID: p.id, Epoch: p.epoch, Partitions: []protocol.TopicPartition{tp}}
	if !p.v2 && !p.added[n] {
		if code := w.decide(func(c Call) Decision { return w.store.Add(c, a) }).Code; code != protocol.None {
			w.refused(p, "add", code)
			return
		}
		p.added[n], p.txn = true, w.current[p.name]
	}
	g, err := l.StartVerification(p.id, p.epoch, p.sequence[n], p.v2, w.now)
	if err == nil && g != storage.NoGuard {
		if p.v2 {
			a.ClientVersion = 2
			err = codeError(w.decide(func(c Call) Decision { return w.store.Add(c, a) }).Code)
			if err == nil {
				p.txn = w.current[p.name]
			}
		} else if missing, code := w.store.Verify(a); code != protocol.None || len(missing) > 0 {
			err = codeError(max(code, protocol.InvalidTxnState))
		}
	}
	if err != nil {
		w.refused(p, "verify", protocol.CodeOf(err))
		return
	}
	w.written++
	b := lateBatch{partition: n, guard: g, txn: p.txn, value: fmt.Sprintf("%s/%d/%d", p.name, p.txn, w.written)}
	b.batch = p.batch(n, b.value)
	if w.rng.IntN(6) == 0 {
		p.late = append(p.late, b) // the producer gives up waiting and aborts
		p.ready, p.ending = false, p.endRequest(false)
		w.note("%s delays %s", p.name, b.value)
		return
	}
	w.append(p, b)
}

func codeError(c protocol.ErrorCode) error {
	if c == protocol.None {
		return nil
	}
	return c
}

func (p *writer) batch(n int, value string) record.Batch {
	o := record.NewOptions()
	o.ProducerID, o.ProducerEpoch, o.BaseSequence, o.Transactional = p.id, p.epoch, p.sequence[n], true
	b := record.NewBuilder(o)
	b.Append(1, nil, []byte(value))
	return b.Build()
}

func (w *world) append(p *writer, b lateBatch) {
	l := w.parts[b.partition]
	_, err := l.AppendVerified(b.batch, 0, storage.Client, b.guard, w.now)
	l.SetHighWatermark(l.LogEndOffset())
	w.note("%s epoch %d appends %s to %d: %v", p.name, b.batch.ProducerEpoch(), b.value, b.partition, err)
	if err != nil {
		w.refused(p, "append", protocol.CodeOf(err))
		return
	}
	w.acked[b.txn] = append(w.acked[b.txn], b.value)
	if p.id == b.batch.ProducerID() && p.epoch == b.batch.ProducerEpoch() {
		p.sequence[b.partition]++
	}
}

// arrive lets a batch in that was held up. It may be accepted only while its transaction is open.
func (w *world) arrive(p *writer) {
	if len(p.late) == 0 {
		return
	}
	b := p.late[0]
	p.late = p.late[1:]
	ready := p.ready
	before := len(w.acked[b.txn])
	w.append(p, b)
	p.ready = ready
	if w.commits[b.txn] && len(w.acked[b.txn]) > before {
		w.fatal("%s came after its transaction was committed and was taken", b.value)
	}
}

// refused is what a producer makes of an error: it aborts, or begins anew if it was fenced.
func (w *world) refused(p *writer, what string, code protocol.ErrorCode) {
	w.note("%s: %s refused with %d", p.name, what, code)
	if code == protocol.ConcurrentTransactions {
		return
	}
	p.ready = false
}

func (p *writer) endRequest(commit bool) *kmsg.EndTxnRequest {
	req := kmsg.NewPtrEndTxnRequest()
	req.SetVersion(4)
	if p.v2 {
		req.SetVersion(5)
	}
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = p.name, p.id, p.epoch, commit
	return req
}

func (w *world) end(p *writer) {
	if p.ending == nil {
		if p.txn == 0 {
			return
		}
		p.ending = p.endRequest(w.rng.IntN(3) > 0)
	}
	req := p.ending
	d := w.decide(func(c Call) Decision { return w.store.End(c, req) })
	w.note("%s epoch %d ends transaction %d commit %v: %d", p.name, req.ProducerEpoch, p.txn, req.Commit, d.Code)
	if w.rng.IntN(5) == 0 {
		return // the answer is lost
	}
	switch d.Code {
	case protocol.ConcurrentTransactions:
		return
	case protocol.None:
		if committed, decided := w.commits[p.txn]; p.txn != 0 && (!decided || committed != req.Commit) {
			w.fatal("%s was told that transaction %d ended as it asked, commit=%v; decided=%v", p.name, p.txn, req.Commit, decided)
		}
		p.ready, p.txn, p.ending, p.added = p.v2 || len(p.late) == 0, 0, nil, map[int]bool{}
		if p.v2 {
			p.renew(d)
		}
	default:
		p.ready, p.txn, p.ending = false, 0, nil
	}
}

// settle lets everything come to its end.
func (w *world) settle() {
	for _, p := range w.producers {
		for len(p.late) > 0 {
			w.arrive(p)
		}
	}
	w.now += 2 * walkTimeoutMs
	w.timeouts()
	for i := 0; len(w.sending) > 0; i++ {
		if i > 10000 {
			w.fatal("markers never end")
		}
		w.deliver()
	}
	for _, id := range w.names {
		if t := w.store.Get(id); t != nil && !t.State.idle() {
			w.fatal("%s stays %s", id, t.State)
		}
	}
}

// check reads every partition as a read_committed consumer and compares with the model. At the end all of it is there.
func (w *world) check(end bool) {
	seen := map[string]int{}
	for i, l := range w.parts {
		if end && l.LastStableOffset() != l.LogEndOffset() {
			w.fatal("partition %d hangs at %d of %d", i, l.LastStableOffset(), l.LogEndOffset())
		}
		for _, v := range w.readCommitted(l) {
			seen[v]++
			if seen[v] > 1 {
				w.fatal("%s is read twice", v)
			}
			var txn int
			fmt.Sscanf(v[strings.IndexByte(v, '/')+1:], "%d", &txn)
			if committed, decided := w.commits[txn]; !decided || !committed {
				w.fatal("%s is read as committed; decided=%v", v, decided)
			}
		}
	}
	if !end {
		return
	}
	for txn, values := range w.acked {
		if w.commits[txn] {
			for _, v := range values {
				if seen[v] == 0 {
					w.fatal("%s was acknowledged and committed and is missing", v)
				}
			}
		}
	}
}

// readCommitted is a consumer: batches up to the last stable offset, without those of transactions that the answer
// names as aborted.
func (w *world) readCommitted(l *storage.Log) []string {
	var out []string
	for at := int64(0); ; {
		r, err := l.Read(at, 500, true, storage.LastStable)
		if err != nil {
			w.fatal("read: %v", err)
		}
		if r.Size == 0 {
			return out
		}
		buf := make([]byte, r.Slices[0].Length)
		if err := r.Slices[0].ReadFull(buf); err != nil {
			w.fatal("read: %v", err)
		}
		r.Release()
		aborted := map[int64]bool{}
		for len(buf) > 0 {
			b, rest, err := record.Next(buf)
			if err != nil {
				w.fatal("batch: %v", err)
			}
			buf, at = rest, b.NextOffset()
			for _, a := range r.Aborted {
				if a.FirstOffset <= b.LastOffset() {
					aborted[a.ProducerID] = true
				}
			}
			r.Aborted = slices.DeleteFunc(r.Aborted, func(a storage.AbortedTxn) bool { return a.FirstOffset <= b.LastOffset() })
			if b.IsControl() {
				if kind, _, err := b.ControlRecord(); err != nil || kind == record.Abort {
					delete(aborted, b.ProducerID())
				}
				continue
			}
			for rec, err := range b.Records(1 << 20) {
				if err != nil {
					w.fatal("record: %v", err)
				}
				if !aborted[b.ProducerID()] {
					out = append(out, string(rec.Value))
				}
			}
		}
	}
}
