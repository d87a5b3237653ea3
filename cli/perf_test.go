package cli

import (
	"context"
	"strings"
	"testing"
	"time"
)

func TestJavaDate(t *testing.T) {
	at := time.Date(2026, 3, 4, 15, 6, 7, 8_900_000, time.UTC)
	for pattern, want := range map[string]string{
		"yyyy-MM-dd HH:mm:ss:SSS": "2026-03-04 15:06:07:008",
		"dd.MM.yy hh.mm a":        "04.03.26 03.06 PM",
		"yyyy-MM-dd'T'HH:mm:ssZ":  "2026-03-04T15:06:07+0000",
	} {
		if got := javaDate(pattern)(at); got != want {
			t.Errorf("%s: %s, want %s", pattern, got, want)
		}
	}
}

func TestPerfStats(t *testing.T) {
	out, _ := printed(func(e *env) {
		s := newPerfStats(e, 4, 5*time.Second, false)
		for i, latency := range []time.Duration{1, 2, 3, 6} {
			s.record(latency*time.Millisecond, 1<<20, s.start.Add(time.Duration(i+2)*time.Second))
		}
	})
	if want := "4 records sent, 0.8 records/sec (0.80 MB/sec), 3.0 ms avg latency, 6.0 ms max latency.\n"; out != want {
		t.Errorf("progress is %q, want %q", out, want)
	}
	out, _ = printed(func(e *env) {
		s := newPerfStats(e, 4, time.Hour, false)
		for i := range 100 {
			s.record(time.Duration(i)*time.Millisecond, 10, s.start)
		}
		s.printTotal()
	})
	if !strings.HasPrefix(out, "100 records sent, ") ||
		!strings.HasSuffix(out, " 49.50 ms avg latency, 99.00 ms max latency, 50 ms 50th, 95 ms 95th, 99 ms 99th, 99 ms 99.9th.\n") {
		t.Errorf("the total is %q", out)
	}
}

func TestThrottle(t *testing.T) {
	start := time.Now()
	th := &throttle{start: start, rate: 1000}
	for i := range int64(20) {
		th.wait(t.Context(), i)
	}
	if d := time.Since(start); d < 15*time.Millisecond {
		t.Errorf("20 records at 1000 a second take %s", d)
	}
	(&throttle{start: start, rate: -1}).wait(t.Context(), 1<<40) // no limit: returns
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	(&throttle{start: start}).wait(ctx, 0) // none a second: until the end
}
