package cli

import (
	"cmp"
	"math/bits"
	"slices"
	"unicode/utf16"
)

// hashOrder sorts elements into the order in which a Java HashMap gives back the string keys it was filled with, one
// by one. Kafka's tools print a topic's settings in that order, and people compare such lines.
func hashOrder[E any](elements []E, key func(E) string) {
	// A table has at least 16 buckets, twice as many whenever it gets more than three quarters full.
	buckets := uint32(16)
	if n := uint(len(elements)); n > 12 {
		buckets = uint32(1) << bits.Len(n*4/3)
		if uint(buckets/2)*3/4 >= n {
			buckets /= 2
		}
	}
	slices.SortStableFunc(elements, func(a, b E) int {
		return cmp.Compare(javaHash(key(a))&(buckets-1), javaHash(key(b))&(buckets-1))
	})
}

// javaHash is the hash that Java's HashMap makes of a string.
func javaHash(s string) uint32 {
	var h uint32
	for _, u := range utf16.Encode([]rune(s)) {
		h = 31*h + uint32(u)
	}
	return h ^ h>>16
}
