package rsm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// memLog is a log in memory whose committed offset the test moves.
type memLog struct {
	mu        sync.Mutex
	batches   [][]string
	end       int64
	committed int64
	manual    bool // the test commits
	watch     []watch
	refuse    error // Writable
	failNext  error // Append
	skew      int64 // added to the end that Append claims
	gate      chan struct{}
	entered   chan struct{}
}

type watch struct {
	end  int64
	done func(error)
}

func (l *memLog) Writable(int32) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.refuse
}

func (l *memLog) Append(_ int32, base int64, rs []string) (int64, error) {
	if l.gate != nil {
		l.entered <- struct{}{}
		<-l.gate
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.failNext; err != nil {
		l.failNext = nil
		return 0, err
	}
	if base != l.end {
		return 0, fmt.Errorf("base %d, end %d", base, l.end)
	}
	l.batches = append(l.batches, slices.Clone(rs))
	l.end += int64(len(rs))
	if !l.manual {
		l.committed = l.end
	}
	return l.end + l.skew, nil
}

func (l *memLog) OnCommit(end int64, done func(error)) {
	l.mu.Lock()
	if l.committed < end {
		l.watch = append(l.watch, watch{end, done})
		l.mu.Unlock()
		return
	}
	l.mu.Unlock()
	done(nil)
}

func (l *memLog) commit(to int64, err error) {
	l.mu.Lock()
	l.committed = max(l.committed, to)
	var now []watch
	l.watch = slices.DeleteFunc(l.watch, func(w watch) bool {
		if w.end <= to || err != nil {
			now = append(now, w)
			return true
		}
		return false
	})
	l.mu.Unlock()
	for _, w := range now {
		w.done(err)
	}
}

func (l *memLog) records() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Concat(l.batches...)
}

func (l *memLog) load(_ context.Context, _ int32, apply func(int64, string) error) (int64, error) {
	for i, r := range l.records() {
		if err := apply(int64(i), r); err != nil {
			return 0, err
		}
	}
	return int64(len(l.records())), nil
}

// list is the machine under test: the records it has applied.
type list struct {
	got     []string
	offsets []int64
	expired []TimerKey
	expire  func(now time.Time, k TimerKey) Outcome[string]
}

func (m *list) Apply(o int64, r string) error {
	if r == "poison" {
		return errors.New("cannot read it")
	}
	m.got, m.offsets = append(m.got, r), append(m.offsets, o)
	return nil
}

func (m *list) Expire(now time.Time, k TimerKey) Outcome[string] {
	m.expired = append(m.expired, k)
	if m.expire != nil {
		return m.expire(now, k)
	}
	return Outcome[string]{}
}

func options(l *memLog) Options[*list, string] {
	return Options[*list, string]{
		Name: "test-0", New: func() *list { return &list{} }, Load: l.load, Log: l,
		Timers: NewTimers(), CommitTimeout: 5 * time.Second, ReloadBackoff: 100 * time.Millisecond,
	}
}

func active(t *testing.T, o Options[*list, string]) *Shard[*list, string] {
	t.Helper()
	s := NewShard(o)
	s.Load(1)
	synctest.Wait()
	if st, _ := s.State(); st != Active {
		t.Fatalf("state %v after load", st)
	}
	t.Cleanup(s.Close)
	return s
}

func write(s *Shard[*list, string], rs ...string) (int, error) {
	return Do(context.Background(), s, func(m *list, _ time.Time) (int, Outcome[string]) {
		return len(m.got), Outcome[string]{Records: rs}
	})
}

func read(s *Shard[*list, string]) ([]string, error) {
	return Do(context.Background(), s, func(m *list, _ time.Time) ([]string, Outcome[string]) {
		return slices.Clone(m.got), Outcome[string]{}
	})
}

// bubble runs f in a synctest bubble.
func bubble(t *testing.T, f func(t *testing.T)) { t.Helper(); synctest.Test(t, f) }

func want[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("%s: %v, want %v", what, got, want)
	}
}

func TestWritesThenReads(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &memLog{}
		s := active(t, options(l))
		write(s, "a", "b")
		write(s, "c")
		got, err := read(s)
		want(t, "read", got, []string{"a", "b", "c"})
		want(t, "err", err, nil)
		want(t, "batches", l.batches, [][]string{{"a", "b"}, {"c"}})
	})
}

func TestLoadReplaysThenServes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &memLog{batches: [][]string{{"x", "y"}}, end: 2, committed: 2}
		o := options(l)
		o.Loaded = func(m *list, _ time.Time) Outcome[string] { return Outcome[string]{Records: []string{"repaired"}} }
		s := active(t, o)
		got, _ := read(s)
		want(t, "read", got, []string{"x", "y", "repaired"})
		n, _ := Do(context.Background(), s, func(m *list, _ time.Time) ([]int64, Outcome[string]) {
			return m.offsets, Outcome[string]{}
		})
		want(t, "offsets", n, []int64{0, 1, 2})
	})
}

func TestQueuedOperationsShareOneAppend(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &memLog{gate: make(chan struct{}), entered: make(chan struct{}, 10)}
		s := active(t, options(l))
		errs := make(chan error, 10)
		op := func(r string) { go func() { _, err := write(s, r); errs <- err }() }
		op("first")
		<-l.entered
		for i := range 5 {
			op(fmt.Sprint(i))
			synctest.Wait()
		}
		close(l.gate)
		for range 6 {
			want(t, "err", <-errs, nil)
		}
		want(t, "batches", l.batches, [][]string{{"first"}, {"0", "1", "2", "3", "4"}})
	})
}

func TestAloneIsABatchOfItsOwn(t *testing.T) {
	boom := errors.New("refused")
	bubble(t, func(t *testing.T) {
		l := &memLog{gate: make(chan struct{}), entered: make(chan struct{}, 10)}
		s := active(t, options(l))
		type result struct {
			r   string
			err error
		}
		results := make(chan result, 10)
		op := func(r string, alone bool) {
			go func() {
				_, err := Do(context.Background(), s, func(*list, time.Time) (int, Outcome[string]) {
					return 0, Outcome[string]{Records: []string{r}, Alone: alone}
				})
				results <- result{r, err}
			}()
			synctest.Wait()
		}
		op("first", false)
		<-l.entered
		for _, r := range []string{"a", "b", "alone", "refused", "c", "d"} {
			op(r, r == "alone" || r == "refused")
		}
		for range 3 { // first, a and b, alone
			l.gate <- struct{}{}
			<-l.entered
		}
		l.mu.Lock()
		l.failNext = boom
		l.mu.Unlock()
		close(l.gate)
		for range 7 {
			if r := <-results; (r.err != nil) != (r.r == "refused") {
				t.Errorf("%s: %v", r.r, r.err)
			}
		}
		want(t, "batches", l.batches, [][]string{{"first"}, {"a", "b"}, {"alone"}, {"c", "d"}})
		got, _ := read(s)
		want(t, "machine", got, []string{"first", "a", "b", "alone", "c", "d"})
	})
}

func TestReplyWaitsForCommit(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &memLog{manual: true}
		s := active(t, options(l))
		var order []string
		done := make(chan string, 3)
		go func() { write(s, "a"); done <- "write a" }()
		synctest.Wait()
		go func() { read(s); done <- "read" }()
		synctest.Wait()
		go func() { write(s, "b"); done <- "write b" }()
		synctest.Wait()
		if len(done) != 0 {
			t.Fatal("answered before the commit")
		}
		l.commit(1, nil)
		synctest.Wait()
		want(t, "answers", len(done), 2)
		order = append(order, <-done, <-done)
		slices.Sort(order)
		want(t, "order", order, []string{"read", "write a"})
		l.commit(2, nil)
		want(t, "last", <-done, "write b")
	})
}

func TestUncommittedTailHoldsReadsBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &memLog{manual: true, batches: [][]string{{"x"}}, end: 1}
		s := active(t, options(l))
		done := make(chan []string, 1)
		go func() { got, _ := read(s); done <- got }()
		synctest.Wait()
		want(t, "answered", len(done), 0)
		l.commit(1, nil)
		want(t, "read", <-done, []string{"x"})
	})
}

func TestCommitTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &memLog{manual: true}
		s := active(t, options(l))
		start := time.Now()
		_, err := write(s, "a")
		want(t, "err", err, ErrCommitTimeout)
		want(t, "after", time.Since(start), 5*time.Second)
		go func() { time.Sleep(time.Second); l.commit(1, nil) }()
		got, err := read(s)
		want(t, "record stays", got, []string{"a"})
		want(t, "err", err, nil)
	})
}

func TestRefusedBeforeAnythingIsApplied(t *testing.T) {
	boom := errors.New("not enough replicas")
	f := func(name string, arrange func(l *memLog)) {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				l := &memLog{}
				s := active(t, options(l))
				write(s, "a")
				arrange(l)
				var inTurn error
				_, err := Do(context.Background(), s, func(m *list, _ time.Time) (int, Outcome[string]) {
					return 0, Outcome[string]{Records: []string{"b"}, Refused: func(err error) Outcome[string] {
						inTurn = err
						m.expired = append(m.expired, TimerKey{A: "touched"})
						return Outcome[string]{}
					}}
				})
				want(t, "err", err, boom)
				want(t, "refused", inTurn, boom)
				l.mu.Lock()
				l.refuse = nil
				l.mu.Unlock()
				st, _ := s.State()
				want(t, "state", st, Active)
				write(s, "c")
				got, _ := read(s)
				want(t, "machine", got, []string{"a", "c"})
				want(t, "log", l.records(), []string{"a", "c"})
			})
		})
	}
	f("not writable", func(l *memLog) { l.refuse = boom })
	f("append fails", func(l *memLog) { l.failNext = boom })
}

func TestAppliedButNotLoggedFailsAndReloads(t *testing.T) {
	boom := errors.New("disk")
	bubble(t, func(t *testing.T) {
		l := &memLog{gate: make(chan struct{}), entered: make(chan struct{}, 10)}
		o := options(l)
		var unloaded []error
		o.Unloaded = func(_ *list, err error) { unloaded = append(unloaded, err) }
		var failures int
		o.Failed = func(int32, error) { failures++ }
		s := active(t, o)
		errs := make(chan error, 3)
		go func() { _, err := write(s, "kept"); errs <- err }()
		<-l.entered
		for _, r := range []string{"lost 1", "lost 2"} {
			go func() { _, err := write(s, r); errs <- err }()
			synctest.Wait()
		}
		l.gate <- struct{}{}
		<-l.entered
		l.mu.Lock()
		l.failNext = boom
		l.mu.Unlock()
		close(l.gate)
		got := []error{<-errs, <-errs, <-errs}
		slices.SortFunc(got, func(a, b error) int {
			if a == b {
				return 0
			} else if a == nil {
				return -1
			}
			return 1
		})
		want(t, "answers", got, []error{nil, boom, boom})
		st, _ := s.State()
		want(t, "state", st, Failed)
		_, err := read(s)
		want(t, "while failed", err, ErrNotActive)
		time.Sleep(time.Second)
		after, err := read(s)
		want(t, "reloaded", after, []string{"kept"})
		want(t, "err", err, nil)
		want(t, "unloaded", unloaded, []error{ErrNotActive})
		want(t, "failures", failures, 1)
	})
}

func TestWrongOffsetFails(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &memLog{skew: 1}
		o := options(l)
		o.ReloadBackoff = 0
		s := active(t, o)
		if _, err := write(s, "a"); err == nil {
			t.Fatal("answered as written")
		}
		st, _ := s.State()
		want(t, "state", st, Failed)
		l.skew = 0
		s.Load(2)
		synctest.Wait()
		got, _ := read(s)
		want(t, "reloaded by the next election", got, []string{"a"})
	})
}

func TestUnreadableRecordFailsTheLoad(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &memLog{batches: [][]string{{"poison"}}, end: 1, committed: 1}
		o := options(l)
		var fails atomic.Int32
		o.Failed = func(int32, error) { fails.Add(1) }
		s := NewShard(o)
		defer s.Close()
		s.Load(1)
		time.Sleep(1650 * time.Millisecond) // 0, 100, 300, 700, 1500 ms
		synctest.Wait()
		want(t, "tries", fails.Load(), 5)
	})
}

func TestEpochs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &memLog{}
		o := options(l)
		loads := 0
		o.Load = func(ctx context.Context, e int32, f func(int64, string) error) (int64, error) {
			loads++
			return l.load(ctx, e, f)
		}
		s := NewShard(o)
		defer s.Close()
		_, err := read(s)
		want(t, "never loaded", err, ErrNotActive)
		s.Load(5)
		synctest.Wait()
		s.Load(5)
		s.Load(4)
		synctest.Wait()
		want(t, "older loads ignored", loads, 1)
		s.Unload(4)
		_, err = read(s)
		want(t, "older unload ignored", err, nil)
		s.Load(6)
		_, err = read(s)
		if err != nil && err != ErrLoading {
			t.Fatal(err)
		}
		synctest.Wait()
		want(t, "newer load", loads, 2)
		s.Unload(7)
		_, err = read(s)
		want(t, "unloaded", err, ErrNotActive)
		_, e := s.State()
		want(t, "epoch", e, 7)
	})
}

func TestWhileLoading(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &memLog{}
		o := options(l)
		gate := make(chan struct{})
		o.Load = func(ctx context.Context, e int32, f func(int64, string) error) (int64, error) {
			select {
			case <-gate:
				return l.load(ctx, e, f)
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
		s := NewShard(o)
		s.Load(1)
		_, err := read(s)
		want(t, "loading", err, ErrLoading)
		s.Unload(1) // cancels the load
		_, err = read(s)
		want(t, "unloaded", err, ErrNotActive)
		s.Load(2)
		close(gate)
		synctest.Wait()
		_, err = read(s)
		want(t, "loaded", err, nil)
		s.Close()
		_, err = read(s)
		want(t, "closed", err, ErrClosed)
		s.Load(3)
		st, _ := s.State()
		want(t, "for good", st, Closed)
	})
}

func TestUnloadAnswersEverybody(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &memLog{gate: make(chan struct{}), entered: make(chan struct{}, 10), manual: true}
		o := options(l)
		unloaded := 0
		o.Unloaded = func(*list, error) { unloaded++ }
		s := active(t, o)
		errs := make(chan error, 3)
		go func() { _, err := write(s, "a"); errs <- err }()
		<-l.entered
		go func() { _, err := write(s, "b"); errs <- err }()
		go func() { _, err := read(s); errs <- err }()
		synctest.Wait()
		s.Unload(2)
		want(t, "queued 1", <-errs, ErrNotActive)
		want(t, "queued 2", <-errs, ErrNotActive)
		want(t, "machine still in its turn", unloaded, 0)
		close(l.gate)
		want(t, "in its turn", <-errs, ErrNotActive)
		synctest.Wait()
		want(t, "unloaded", unloaded, 1)
	})
}

func TestLostLeadershipFailsTheWaiting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &memLog{manual: true}
		o := options(l)
		o.ReloadBackoff = 0
		s := active(t, o)
		errs := make(chan error, 1)
		go func() { _, err := write(s, "a"); errs <- err }()
		synctest.Wait()
		l.commit(0, errors.New("no longer the leader"))
		want(t, "err", <-errs, ErrNotActive)
	})
}

func TestSizes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &memLog{gate: make(chan struct{}), entered: make(chan struct{}, 10)}
		o := options(l)
		o.Size, o.MaxBatchBytes = func(r string) int { return len(r) }, func() int { return 4 }
		s := active(t, o)
		errs := make(chan error, 10)
		go func() { _, err := write(s, "f"); errs <- err }()
		<-l.entered
		for _, r := range []string{"aa", "bb", "c", "too big"} {
			go func() { _, err := write(s, r); errs <- err }()
			synctest.Wait()
		}
		go func() {
			_, err := Do(context.Background(), s, func(m *list, _ time.Time) (int, Outcome[string]) {
				return 0, Outcome[string]{Records: []string{"d1", "d2", "d3", "d4", "d5"}, Divisible: true}
			})
			errs <- err
		}()
		synctest.Wait()
		close(l.gate)
		refused := 0
		for range 6 {
			if err := <-errs; err == ErrTooLarge {
				refused++
			} else if err != nil {
				t.Fatal(err)
			}
		}
		want(t, "refused", refused, 1)
		want(t, "records", l.records(), []string{"f", "aa", "bb", "c", "d1", "d2", "d3", "d4", "d5"})
		for _, b := range l.batches {
			n := 0
			for _, r := range b {
				n += len(r)
			}
			if n > 4 {
				t.Fatalf("batch too large: %q", b)
			}
		}
		got, _ := read(s)
		want(t, "machine", got, l.records())
	})
}

func TestPanicFailsTheShardOnly(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &memLog{}
		s := active(t, options(l))
		write(s, "a")
		_, err := Do(context.Background(), s, func(m *list, _ time.Time) (int, Outcome[string]) { panic("bug") })
		want(t, "err", err, ErrNotActive)
		time.Sleep(time.Second)
		got, err := read(s)
		want(t, "reloaded", got, []string{"a"})
		want(t, "err", err, nil)
	})
}

func TestManyCallers(t *testing.T) {
	l := &memLog{}
	o := options(l)
	s := NewShard(o)
	defer s.Close()
	s.Load(1)
	for {
		if st, _ := s.State(); st == Active {
			break
		}
		time.Sleep(time.Millisecond)
	}
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 500 {
				id := fmt.Sprintf("%d-%d", g, i)
				if i%3 == 0 {
					done := make(chan error, 1)
					s.Submit(func(*list, time.Time) Outcome[string] {
						return Outcome[string]{Records: []string{id}, Then: func(err error) { done <- err }}
					}, func(err error) { done <- err })
					if err := <-done; err != nil {
						t.Error(err)
					}
					continue
				}
				if _, err := write(s, id); err != nil {
					t.Error(err)
				}
				got, err := read(s)
				if err != nil || !slices.Contains(got, id) {
					t.Errorf("%s written and not read: %v", id, err)
				}
			}
		})
	}
	wg.Wait()
	got, _ := read(s)
	want(t, "machine equals log", slices.Equal(got, l.records()), true)
	want(t, "count", len(got), 4000)
}
