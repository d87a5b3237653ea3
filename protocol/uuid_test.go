package protocol

import "testing"

func TestUUIDText(t *testing.T) {
	// Texts as Kafka 4.4 prints them.
	for text, want := range map[string]UUID{
		"AAAAAAAAAAAAAAAAAAAAAA": {},
		"AAAAAAAAAAAAAAAAAAAAAQ": MetadataTopicID,
		"97FBi3dPSISmFGpsmmYqQQ": {0xf7, 0xb1, 0x41, 0x8b, 0x77, 0x4f, 0x48, 0x84, 0xa6, 0x14, 0x6a, 0x6c, 0x9a, 0x66, 0x2a, 0x41},
	} {
		got, err := ParseUUID(text)
		if err != nil || got != want || got.String() != text {
			t.Errorf("%s: %v, %v", text, got, err)
		}
		if padded, err := ParseUUID(text + "=="); err != nil || padded != want {
			t.Errorf("%s==: %v, %v", text, padded, err)
		}
	}
	for _, bad := range []string{"", "x", "AAAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAA+A", "AAAAAAAAAAAAAAAAAAAAA=="} {
		if _, err := ParseUUID(bad); err == nil {
			t.Errorf("%q parsed", bad)
		}
	}
	for range 1000 {
		if u := NewUUID(); u.IsReserved() || u.String()[0] == '-' {
			t.Fatal(u)
		}
	}
}

func TestTopicPartitionText(t *testing.T) {
	for _, tp := range []TopicPartition{{"a", 0}, {"a-b-3", 12}, {"__consumer_offsets", 49}} {
		got, err := ParseTopicPartition(tp.String())
		if err != nil || got != tp {
			t.Errorf("%s: %v, %v", tp, got, err)
		}
	}
	for _, bad := range []string{"", "a", "-1", "a-", "a-b", "a-99999999999"} {
		if tp, err := ParseTopicPartition(bad); err == nil {
			t.Errorf("%q is %v", bad, tp)
		}
	}
}
