package consumer

import (
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/groupcoord/group"
	"github.com/ottla/ottla/protocol"
)

func parseID(t *testing.T, s string) protocol.UUID {
	t.Helper()
	id, err := protocol.ParseUUID(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestRecordsOfKafka joins and leaves as a member did with Apache Kafka 4.4; what that wrote is what is written. The
// order of topics within a value is that of a hash table there.
func TestRecordsOfKafka(t *testing.T) {
	b := newBench(t)
	b.topics.topics = map[string]Topic{
		"goldcg-t": {"goldcg-t", parseID(t, "FxdfdHg_RQuLpn30rr90tA"), 3},
		"goldcg-u": {"goldcg-u", parseID(t, "KVWs77HTT46qfNbuRoitGQ"), 2},
	}
	b.now = time.UnixMilli(0x1a2332efdf9)
	req := kmsg.NewPtrConsumerGroupHeartbeatRequest()
	const id = "goldcg1796155047342"
	req.Version, req.Group, req.MemberID, req.RebalanceTimeoutMillis = 1, id, "m1", 30000
	req.SubscribedTopicNames = []string{"goldcg-u", "goldcg-t"}
	req.Topics = []kmsg.ConsumerGroupHeartbeatRequestTopic{}
	c := b.call()
	c.ClientID = "kgo"
	o, _, err := b.groups.Heartbeat(c, nil, req)
	if err != nil {
		t.Fatal(err)
	}
	b.carryOut(o)
	req.MemberEpoch = -1
	o, _, err = b.groups.Heartbeat(c, b.groups.Get(id), req)
	if err != nil {
		t.Fatal(err)
	}
	b.carryOut(o)
	const g = "0013676f6c64636731373936313535303437333432"
	want := [][2]string{
		{"0005" + g + "00026d31", "00000000046b676f0b2f3132372e302e302e310309676f6c6463672d7409676f6c6463672d7501000075300001000100"},
		{"0003" + g, "0000000000020100080b4cc5e683052e06"},
		{"0007" + g + "00026d31", "00000317175f74783f450b8ba67df4aebf74b4040000000000000001000000020029" + "55acefb1d34f8eaa7cd6ee4688ad190300000000000000010000"},
		{"0006" + g, "000000000002010008000001a2332efdf9"},
		{"0008" + g + "00026d31", "0000000000020000000000" + "03" + "17175f74783f450b8ba67df4aebf74b404000000000000000100000002" + "01000d04000000020000000200000002" + "2955acefb1d34f8eaa7cd6ee4688ad19030000000000000001" + "010009030000000200000002" + "0100"},
		{"0008" + g + "00026d31", ""}, {"0007" + g + "00026d31", ""}, {"0005" + g + "00026d31", ""},
		{"0003" + g, "00000000000300"}, {"0006" + g, "00000000000300"},
	}
	eq(t, "records", len(b.log), len(want))
	for i, r := range b.log {
		eq(t, "key", hex.EncodeToString(r.Key), want[i][0])
		eq(t, "value of "+want[i][0], hex.EncodeToString(r.Value), want[i][1])
	}
}

// TestUnreadableRecords: what cannot be read is an error, and nothing else.
func TestUnreadableRecords(t *testing.T) {
	b := newBench(t)
	b.topics.add("t", 3)
	b.client("m", "t").beat()
	for _, r := range b.log {
		for n := range r.Key {
			if _, err := NewGroups().Apply(group.Record{Key: r.Key[:n], Value: r.Value}); err == nil {
				t.Errorf("key %x cut to %d bytes was taken", r.Key, n)
			}
		}
		for n := 1; n < len(r.Value); n++ {
			if _, err := NewGroups().Apply(group.Record{Key: r.Key, Value: r.Value[:n]}); err == nil {
				t.Errorf("value %x cut to %d bytes was taken", r.Value, n)
			}
		}
	}
}

// TestPattern: RE2, and the whole of the name.
func TestPattern(t *testing.T) {
	for _, x := range []struct{ pattern, yes, no string }{
		{"a", "a", "ab ba"}, {"a|b", "a b", "ab"}, {"^a.*$", "a ab", "ba"}, {`\d+`, "12", "a1"}, {"(?i)A", "a A", "b"},
	} {
		re, err := compile(x.pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range strings.Fields(x.yes) {
			eq(t, x.pattern+" on "+s, re.MatchString(s), true)
		}
		for _, s := range strings.Fields(x.no) {
			eq(t, x.pattern+" on "+s, re.MatchString(s), false)
		}
	}
	for _, bad := range []string{"[", "(?=a)", ")(", `\1`} {
		if _, err := compile(bad); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}
