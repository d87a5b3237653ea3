package protocol

import "testing"

func TestCoordinatorPartition(t *testing.T) {
	// Values of Java's String.hashCode.
	for s, want := range map[string]int32{
		"": 0, "a": 97, "hello": 99162322, "group": 98629247, "my-group": -1906497762, "polygenelubricants": -2147483648,
		"é": 233, "日本": 835047, "😀": 1772899,
	} {
		if got := JavaHash(s); got != want {
			t.Errorf("hash of %q: %d, want %d", s, got, want)
		}
	}
	for key, want := range map[string]int32{"polygenelubricants": 0, "my-group": 12} { // the smallest hash, a negative one
		if got := CoordinatorPartition(key, 50); got != want {
			t.Errorf("partition of %q: %d, want %d", key, got, want)
		}
	}
}
