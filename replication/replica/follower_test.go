package replica

import "testing"

// epochs of a follower's log with end 100: 1 from 0, 3 from 40, 4 from 70.
var own = Log{End: 100, HighWatermark: 35, EndOf: func(epoch int32) EpochEnd {
	switch {
	case epoch >= 4:
		return EpochEnd{4, 100}
	case epoch == 3:
		return EpochEnd{3, 70}
	case epoch >= 1:
		return EpochEnd{1, 40}
	}
	return EpochEnd{Unknown, Unknown}
}}

func TestTruncate(t *testing.T) {
	f := func(name string, leader EpochEnd, want Truncation) {
		t.Helper()
		if got := Truncate(own, leader); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	f("the leader knows nothing", EpochEnd{Unknown, Unknown}, Truncation{35, true})
	f("same epoch, longer there", EpochEnd{4, 150}, Truncation{100, true})
	f("same epoch, shorter there", EpochEnd{4, 80}, Truncation{80, true})
	f("an older epoch, longer here", EpochEnd{3, 60}, Truncation{60, true})
	f("an older epoch, longer there", EpochEnd{3, 90}, Truncation{70, true})
	f("an epoch this log has not", EpochEnd{2, 50}, Truncation{40, false})
	f("an epoch before all of this log", EpochEnd{0, 20}, Truncation{20, true})
}

func TestDiverging(t *testing.T) {
	f := func(offset int64, epoch int32, end EpochEnd, diverging, known bool) {
		t.Helper()
		if d, k := Diverging(offset, epoch, end); d != diverging || k != known {
			t.Errorf("at %d in epoch %d, %+v: %v, %v", offset, epoch, end, d, k)
		}
	}
	f(50, 3, EpochEnd{3, 70}, false, true)
	f(70, 3, EpochEnd{3, 70}, false, true)
	f(71, 3, EpochEnd{3, 70}, true, true)
	f(50, 3, EpochEnd{1, 60}, true, true)
	f(50, 3, EpochEnd{Unknown, Unknown}, false, false)
}

func TestReposition(t *testing.T) {
	f := func(end, leaderStart, leaderEnd int64, want OutOfRange) {
		t.Helper()
		if got := Reposition(end, leaderStart, leaderEnd); got != want {
			t.Errorf("%d, leader [%d, %d): %+v", end, leaderStart, leaderEnd, got)
		}
	}
	f(100, 0, 80, OutOfRange{Offset: 80, Truncate: true})
	f(100, 120, 200, OutOfRange{Offset: 120, Restart: true})
	f(100, 50, 200, OutOfRange{Offset: 100})
}
