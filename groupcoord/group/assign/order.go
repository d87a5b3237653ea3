package assign

import (
	"encoding/binary"
	"slices"

	"github.com/ottla/ottla/protocol"
)

// Kafka's uniform assignor goes through members and topics in the order of Java's hash tables. Who gets the odd
// partition follows from it, so the same order is taken here: by bucket, the table being the smallest one that is
// filled to three quarters at most. Equal buckets go by the names' own order, where Java has that of insertion.

// hashed sorts in that order.
func hashed[T any](xs []T, hash func(T) int32, compare func(a, b T) int) {
	size := 16
	for 4*len(xs) > 3*size {
		size *= 2
	}
	bucket := func(x T) uint32 {
		h := uint32(hash(x))
		return (h ^ h>>16) & uint32(size-1)
	}
	slices.SortFunc(xs, func(a, b T) int {
		if x, y := bucket(a), bucket(b); x != y {
			if x < y {
				return -1
			}
			return 1
		}
		return compare(a, b)
	})
}

// idHash is the hash of a topic id in Java.
func idHash(id protocol.UUID) int32 {
	x := binary.BigEndian.Uint64(id[:8]) ^ binary.BigEndian.Uint64(id[8:])
	return int32(uint32(x>>32) ^ uint32(x))
}

// signedIDs orders ids as Java compares them: two signed halves.
func signedIDs(a, b protocol.UUID) int {
	for _, half := range [2]int{0, 8} {
		x, y := int64(binary.BigEndian.Uint64(a[half:])), int64(binary.BigEndian.Uint64(b[half:]))
		if x != y {
			if x < y {
				return -1
			}
			return 1
		}
	}
	return 0
}
