package cli

import (
	"context"
	"time"
)

// throttle holds a sender to a number of records a second.
type throttle struct {
	start time.Time
	rate  float64 // negative for no limit
}

// wait returns when the n-th record, from 0, may be followed by the next, or ctx ends. It sleeps a few milliseconds at
// a time, so records come in small bursts.
func (t *throttle) wait(ctx context.Context, n int64) {
	if t.rate < 0 {
		return
	}
	if t.rate == 0 {
		<-ctx.Done()
		return
	}
	due := t.start.Add(time.Duration(float64(n+1) / t.rate * float64(time.Second)))
	early := time.Until(due)
	if early < 2*time.Millisecond {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(early):
	}
}
