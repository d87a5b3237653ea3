package rsm

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func arm(s *Shard[*list, string], ts ...Timer) {
	Do(context.Background(), s, func(m *list, _ time.Time) (int, Outcome[string]) {
		return 0, Outcome[string]{Timers: ts}
	})
}

func expired(s *Shard[*list, string]) []TimerKey {
	got, _ := Do(context.Background(), s, func(m *list, _ time.Time) ([]TimerKey, Outcome[string]) {
		return m.expired, Outcome[string]{}
	})
	return got
}

func key(a string) TimerKey { return TimerKey{Kind: 1, A: a} }

func TestTimersFallDueInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := active(t, options(&memLog{}))
		now := time.Now()
		at := func(k string, d time.Duration) Timer { return Timer{Key: key(k), At: now.Add(d)} }
		arm(s, at("c", 3*time.Second), at("a", time.Second), at("b", 2*time.Second), at("x", time.Second))
		arm(s, Timer{Key: key("x")})
		time.Sleep(2500 * time.Millisecond)
		synctest.Wait()
		want(t, "first two", expired(s), []TimerKey{key("a"), key("b")})
		time.Sleep(time.Second)
		synctest.Wait()
		want(t, "all", expired(s), []TimerKey{key("a"), key("b"), key("c")})
	})
}

func TestTimerMoves(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := active(t, options(&memLog{}))
		start := time.Now()
		arm(s, Timer{Key: key("later"), At: start.Add(time.Second)}, Timer{Key: key("sooner"), At: start.Add(time.Hour)})
		for range 20 { // as heartbeats do
			time.Sleep(500 * time.Millisecond)
			arm(s, Timer{Key: key("later"), At: time.Now().Add(time.Second)})
		}
		want(t, "kept alive", len(expired(s)), 0)
		arm(s, Timer{Key: key("sooner"), At: time.Now().Add(time.Millisecond)})
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		want(t, "moved forward", expired(s), []TimerKey{key("sooner")})
		time.Sleep(time.Second)
		synctest.Wait()
		want(t, "last", expired(s), []TimerKey{key("sooner"), key("later")})
	})
}

func TestLenientTimerGetsGrace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := active(t, options(&memLog{}))
		arm(s, Timer{Key: key("member"), At: time.Now().Add(time.Second), Lenient: true})
		time.Sleep(time.Second + lenientGrace/2)
		synctest.Wait()
		want(t, "in grace", len(expired(s)), 0)
		arm(s, Timer{Key: key("member"), At: time.Now().Add(time.Second), Lenient: true})
		time.Sleep(time.Second + lenientGrace - time.Millisecond)
		synctest.Wait()
		want(t, "grace again", len(expired(s)), 0)
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		want(t, "expired", len(expired(s)), 1)
	})
}

// What was queued before a timer fell due is decided before it, however long the log held the shard up.
func TestQueuedHeartbeatBeatsTheTimer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &memLog{gate: make(chan struct{}), entered: make(chan struct{}, 1)}
		s := active(t, options(l))
		arm(s, Timer{Key: key("member"), At: time.Now().Add(time.Second)})
		go write(s, "slow")
		<-l.entered
		time.Sleep(5 * time.Second) // falls due while the disk hangs
		synctest.Wait()
		s.Submit(func(*list, time.Time) Outcome[string] { // a heartbeat that arrived meanwhile
			return Outcome[string]{Timers: []Timer{{Key: key("member"), At: time.Now().Add(time.Second)}}}
		}, func(error) {})
		close(l.gate)
		synctest.Wait()
		want(t, "not expired", len(expired(s)), 0)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		want(t, "later it is", len(expired(s)), 1)
	})
}

func TestTimersDieWithTheirMachine(t *testing.T) {
	bubble(t, func(t *testing.T) {
		o := options(&memLog{})
		s := active(t, o)
		arm(s, Timer{Key: key("a"), At: time.Now().Add(time.Second)})
		s.Unload(2)
		s.Load(3)
		synctest.Wait()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		want(t, "expired", len(expired(s)), 0)
		want(t, "heap", len(o.Timers.heap), 0)
	})
}

func TestStopTimers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		o := options(&memLog{})
		s := active(t, o)
		arm(s, Timer{Key: key("a"), At: time.Now().Add(time.Second)})
		o.Timers.Stop()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		want(t, "expired", len(expired(s)), 0)
	})
}

func TestTimerOutcomeIsWritten(t *testing.T) {
	bubble(t, func(t *testing.T) {
		l := &memLog{}
		o := options(l)
		o.New = func() *list {
			return &list{expire: func(time.Time, TimerKey) Outcome[string] {
				return Outcome[string]{Records: []string{"expired"}}
			}}
		}
		s := active(t, o)
		arm(s, Timer{Key: key("a"), At: time.Now().Add(time.Second)})
		time.Sleep(2 * time.Second)
		synctest.Wait()
		want(t, "log", l.records(), []string{"expired"})
	})
}
