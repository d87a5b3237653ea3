package group

import (
	"encoding/binary"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestParseOldVersions(t *testing.T) {
	k := kmsg.OffsetCommitKey{Version: 0, Group: "g", Topic: "t", Partition: 1}
	f := func(version int16, epoch int32, expire int64) {
		t.Helper()
		v := kmsg.OffsetCommitValue{Version: version, Offset: 5, LeaderEpoch: 7, ExpireTimestamp: 8, CommitTimestamp: 6, Metadata: "m"}
		p, err := Parse(Record{Key: k.AppendTo(nil), Value: v.AppendTo(nil)})
		if err != nil {
			t.Fatal(err)
		}
		if p.Committed.LeaderEpoch != epoch || p.Committed.ExpireTimestamp != expire || p.Committed.Offset != 5 {
			t.Errorf("version %d: %+v", version, p.Committed)
		}
	}
	f(0, None, None)
	f(1, None, 8)
	f(2, None, None)
	f(3, 7, None)
	f(4, 7, None)

	g := kmsg.GroupMetadataKey{Version: 2, Group: "g"}
	for version := int16(0); version <= 4; version++ {
		v := kmsg.GroupMetadataValue{Version: version, ProtocolType: "x", CurrentStateTimestamp: 9,
			Members: []kmsg.GroupMetadataValueMember{{MemberID: "m", SessionTimeoutMillis: 10, RebalanceTimeoutMillis: 20}}}
		p, err := Parse(Record{Key: g.AppendTo(nil), Value: v.AppendTo(nil)})
		if err != nil {
			t.Fatal(err)
		}
		since, rebalance := int64(9), int32(20)
		if version < 2 {
			since = None
		}
		if version < 1 {
			rebalance = 10
		}
		if m := p.Metadata; m.CurrentStateTimestamp != since || m.Members[0].RebalanceTimeoutMillis != rebalance {
			t.Errorf("version %d: %+v", version, m)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, r := range map[string]Record{
		"no key": {}, "short key": {Key: []byte{0}}, "cut offset key": {Key: []byte{0, 1, 0, 9}}, "cut group key": {Key: []byte{0, 2, 0}},
		"short value":    {Key: MetadataTombstone("g").Key, Value: []byte{0}},
		"future value":   {Key: MetadataTombstone("g").Key, Value: []byte{0, 5, 0, 0}},
		"future offset":  {Key: OffsetTombstone(OffsetKey{"g", "t", 0}).Key, Value: []byte{0, 5, 0, 0}},
		"negative value": {Key: OffsetTombstone(OffsetKey{"g", "t", 0}).Key, Value: []byte{0xff, 0xff}},
		"cut value":      {Key: OffsetTombstone(OffsetKey{"g", "t", 0}).Key, Value: []byte{0, 3, 0}},
	} {
		if _, err := Parse(r); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	p, err := Parse(Record{Key: []byte{0, 3, 0, 1, 'g'}, Value: []byte{0, 0}})
	if err != nil || p.Unknown != 3 {
		t.Errorf("a kind of another version: %+v, %v", p, err)
	}
}

func FuzzParse(f *testing.F) {
	v := kmsg.GroupMetadataValue{ProtocolType: "consumer", Members: []kmsg.GroupMetadataValueMember{{MemberID: "m"}}}
	g := MetadataRecord("g", &v)
	o := OffsetRecord(OffsetKey{"g", "t", 1}, Committed{Offset: 1, ExpireTimestamp: None, Metadata: "m"})
	f.Add(g.Key, g.Value)
	f.Add(o.Key, o.Value)
	f.Add(o.Key, []byte(nil))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		p, err := Parse(Record{Key: key, Value: value})
		if err == nil && p.Offset == nil && p.Group == nil && p.Unknown != int16(binary.BigEndian.Uint16(key)) {
			t.Fatalf("nothing parsed of % x", key)
		}
	})
}
