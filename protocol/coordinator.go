package protocol

import "unicode/utf8"

// CoordinatorPartition is the partition of an internal topic that the key belongs to: a group or
// transactional id. It is the hash of Java's strings, its sign bit dropped as Kafka does, modulo the count.
func CoordinatorPartition(key string, partitions int32) int32 {
	h := JavaHash(key)
	if h == -1<<31 {
		return 0
	}
	return max(h, -h) % partitions
}

// JavaHash is String.hashCode of Java: over UTF-16 code units, in 32 bits that wrap.
func JavaHash(s string) int32 {
	var h int32
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		i += size
		if r < 0x10000 {
			h = 31*h + r
			continue
		}
		r -= 0x10000
		h = 31*h + (0xd800 + r>>10)
		h = 31*h + (0xdc00 + r&0x3ff)
	}
	return h
}
