package protocol

import (
	"bytes"
	"encoding/binary"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// The table against what kafka-broker-api-versions prints of an Apache Kafka 4.4 broker.
func TestTableIsKafkas(t *testing.T) {
	golden, err := os.ReadFile("testdata/kafka-4.4-broker-api-versions.txt")
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`^(\w+)\((\d+)\): (?:(\d+)(?: to (\d+))?|UNSUPPORTED)`)
	seen := 0
	for text := range strings.Lines(string(golden)) {
		m := line.FindStringSubmatch(strings.TrimSpace(text))
		if m == nil {
			continue
		}
		seen++
		key, _ := strconv.Atoi(m[2])
		a, ok := APIOf(int16(key))
		if !ok || a.Name != m[1] || a.Key != int16(key) || a.Listeners&ScopeBroker == 0 {
			t.Errorf("%s: table has %+v", m[0], a)
			continue
		}
		if m[3] == "" { // no telemetry receiver is configured
			continue
		}
		low, _ := strconv.Atoi(m[3])
		high := low
		if m[4] != "" {
			high, _ = strconv.Atoi(m[4])
		}
		if a.Min != int16(low) || a.Max != int16(high) {
			t.Errorf("%s: table has %d to %d", m[0], a.Min, a.Max)
		}
	}
	brokers := 0
	for _, a := range APIs() {
		if a.Listeners&ScopeBroker != 0 {
			brokers++
		}
	}
	if seen != brokers {
		t.Errorf("golden has %d APIs, the table %d on broker listeners", seen, brokers)
	}
}

// The keys a 4.4 controller listener advertises, with their ranges.
func TestControllerTableIsKafkas(t *testing.T) {
	const golden = "1:4-18 17:0-1 18:0-5 19:2-7 20:1-6 29:1-3 30:1-3 31:1-3 32:1-4 33:0-2 36:0-2 37:0-3 38:1-3 39:1-2 40:1-2 41:1-3 43:0-2 44:0-1 45:0-1 46:0-0 49:0-1 " +
		"50:0-0 51:0-0 52:0-2 53:0-1 54:0-1 55:0-2 56:2-3 57:0-2 58:0-0 59:0-1 60:0-2 62:0-4 63:0-2 64:0-0 67:0-0 70:0-0 73:0-0 80:0-1 81:0-0 82:0-0 94:0-0"
	var got []string
	for _, a := range APIs() {
		if a.Listeners&ScopeController != 0 {
			got = append(got, strconv.Itoa(int(a.Key))+":"+strconv.Itoa(int(a.Min))+"-"+strconv.Itoa(int(a.Max)))
		}
	}
	if s := strings.Join(got, " "); s != golden {
		t.Errorf("have %s\nwant %s", s, golden)
	}
}

func TestAPIOf(t *testing.T) {
	for _, a := range APIs() {
		if got, ok := APIOf(a.Key); !ok || got != a {
			t.Errorf("APIOf(%d) = %+v, %v", a.Key, got, ok)
		}
	}
	for _, key := range []int16{-1, 4, 5, 6, 7, 95, 32767, -32768} {
		if a, ok := APIOf(key); ok {
			t.Errorf("APIOf(%d) = %+v", key, a)
		}
	}
	if a, _ := APIOf(Produce); a.Serves(2) || !a.Serves(3) || !a.Serves(13) || a.Serves(14) {
		t.Error("Produce serves 3 to 13")
	}
}

// Every request type in every version: a message that kmsg encodes with nothing set is decoded, which
// also checks that the shapes agree with kmsg's.
func TestDecodeDefaults(t *testing.T) {
	for _, a := range APIs() {
		for v := a.Min; v <= a.Max; v++ {
			req := kmsg.RequestForKey(a.Key)
			req.SetVersion(v)
			f := kmsg.NewRequestFormatter(kmsg.FormatterClientID("id")).AppendRequest(nil, req, 3)[4:]
			h, got, err := Decode(f)
			if !a.Serves(v) {
				if CodeOf(err) != UnsupportedVersion {
					t.Errorf("%s %d: %v", a.Name, v, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s %d: %v", a.Name, v, err)
				continue
			}
			if h.Key != a.Key || h.Version != v || h.CorrelationID != 3 || h.Client() != "id" || got.Key() != a.Key {
				t.Errorf("%s %d: header %+v", a.Name, v, h)
			}
		}
	}
}

func header(key, version int16, more ...byte) []byte {
	b := binary.BigEndian.AppendUint16(nil, uint16(key))
	b = binary.BigEndian.AppendUint16(b, uint16(version))
	b = binary.BigEndian.AppendUint32(b, 5)
	return append(append(b, 0xff, 0xff), more...)
}

func TestDecodeRefuses(t *testing.T) {
	for name, in := range map[string][]byte{
		"nothing":                       {},
		"short header":                  {0, 3, 0, 1, 0, 0, 0, 1, 0},
		"client id beyond the end":      {0, 3, 0, 1, 0, 0, 0, 1, 0, 9, 'a'},
		"header tags missing":           header(Metadata, 9),
		"null array":                    header(Metadata, 0, 0xff, 0xff, 0xff, 0xff),
		"array longer than the frame":   header(Metadata, 1, 0x7f, 0xff, 0xff, 0xff),
		"null string":                   header(Metadata, 1, 0, 0, 0, 1, 0xff, 0xff),
		"compact null array of strings": header(DescribeGroups, 5, 0, 0, 0, 0),
		"null bytes":                    header(SyncGroup, 0, 0, 1, 'g', 0, 0, 0, 1, 0, 1, 'm', 0, 0, 0, 1, 0, 1, 'm', 0xff, 0xff, 0xff, 0xff),
		"truncated varint":              header(Metadata, 12, 0, 0x80),
		"tag beyond the end":            header(Metadata, 12, 0, 1, 1, 0, 1, 9, 50),
		"tag of a later version":        header(Fetch, 16, append([]byte{0}, fetch16WithTag18()...)...),
		"known tag with a wrong size":   header(Fetch, 12, append([]byte{0}, fetchClusterID([]byte{1, 0, 3, 2, 'x', 0})...)...),
	} {
		if _, _, err := Decode(in); err == nil {
			t.Errorf("%s: accepted", name)
		} else if CodeOf(err) == UnsupportedVersion {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// fetch16WithTag18 is a Fetch 16 body whose partition has tag 1, which came with version 18.
func fetch16WithTag18() []byte {
	b := make([]byte, 4+4+4+1+4+4)     // wait, bytes, bytes, isolation, session, epoch
	b = append(b, 2)                   // one topic
	b = append(b, make([]byte, 16)...) // id
	b = append(b, 2)                   // one partition
	b = append(b, make([]byte, 4+4+8+4+8+4)...)
	b = append(b, 1, 1, 8)
	b = append(b, make([]byte, 8)...)
	return append(b, 0, 1, 1, 0) // tags of the topic, nothing forgotten, no rack, tags
}

func fetchClusterID(tags []byte) []byte {
	b := make([]byte, 4+4+4+4+1+4+4) // replica, wait, bytes, bytes, isolation, session, epoch
	return append(append(b, 1, 1, 1), tags...)
}

func TestDecodeAccepts(t *testing.T) {
	trailing := append(header(Metadata, 1, 0, 0, 0, 0), 1, 2, 3, 4, 5)
	if _, req, err := Decode(trailing); err != nil || req.(*kmsg.MetadataRequest).Topics == nil {
		t.Errorf("trailing bytes: %+v, %v", req, err)
	}
	if _, _, err := Decode(header(Fetch, 12, append([]byte{0}, fetchClusterID([]byte{1, 0, 2, 2, 'x'})...)...)); err != nil {
		t.Errorf("known tag: %v", err)
	}
	if _, _, err := Decode(header(Metadata, 12, 1, 77, 2, 1, 2, 1, 0, 0, 0)); err != nil {
		t.Errorf("unknown tag in the header: %v", err)
	}
	// Case B01: the one request of an unknown version that is answered.
	h, req, err := Decode(header(ApiVersions, 127, 0))
	if CodeOf(err) != UnsupportedVersion || req == nil || h.CorrelationID != 5 || h.Version != 127 {
		t.Errorf("ApiVersions 127: %+v, %v, %v", h, req, err)
	}
	if got := AppendResponseHeader(nil, h); !bytes.Equal(got, []byte{0, 0, 0, 5}) {
		t.Errorf("ApiVersions response header %x", got)
	}
	if got := AppendResponseHeader(nil, RequestHeader{Key: Metadata, Version: 9, CorrelationID: 5}); !bytes.Equal(got, []byte{0, 0, 0, 5, 0}) {
		t.Errorf("flexible response header %x", got)
	}
}

// Fields that old versions lack have Kafka's default, which kmsg does not set.
func TestDefaultsOfAbsentFields(t *testing.T) {
	decode := func(req kmsg.Request, v int16) kmsg.Request {
		req.SetVersion(v)
		_, got, err := Decode(kmsg.NewRequestFormatter().AppendRequest(nil, req, 0)[4:])
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	for v, want := range map[int16]bool{0: true, 3: true, 4: false, 12: false} {
		if got := decode(&kmsg.MetadataRequest{Topics: []kmsg.MetadataRequestTopic{}}, v).(*kmsg.MetadataRequest).AllowAutoTopicCreation; got != want {
			t.Errorf("Metadata %d allows creation: %v", v, got)
		}
	}
	if got := decode(kmsg.NewPtrListOffsetsRequest(), 9).(*kmsg.ListOffsetsRequest).TimeoutMillis; got != 0 {
		t.Errorf("ListOffsets 9 timeout %d", got)
	}
	u := kmsg.NewPtrUpdateFeaturesRequest()
	u.FeatureUpdates = []kmsg.UpdateFeaturesRequestFeatureUpdate{{Feature: "x"}}
	if got := decode(u, 0).(*kmsg.UpdateFeaturesRequest).FeatureUpdates[0].UpgradeType; got != 1 {
		t.Errorf("UpdateFeatures 0 upgrade type %d", got)
	}
}

// A client id that is sent again is not allocated again.
func TestClientIDIsShared(t *testing.T) {
	f := kmsg.NewRequestFormatter(kmsg.FormatterClientID("same")).AppendRequest(nil, kmsg.NewPtrHeartbeatRequest(), 0)[4:]
	first, _, err := ReadHeader(f, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(100, func() {
		h, _, _ := ReadHeader(f, first.ClientID)
		if h.ClientID != first.ClientID {
			t.Fatal("not shared")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Whatever the bytes, what a request takes in memory is bounded.
func TestMemoryIsBounded(t *testing.T) {
	big := make([]byte, 100<<20)
	for name, start := range map[string][]byte{
		"Metadata 9 of empty topics":  header(Metadata, 9, 0, 0x80, 0x80, 0x80, 0x20), // 64 Mi topics
		"Produce 9 of empty topics":   header(Produce, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0x80, 0x80, 0x80, 0x10),
		"Metadata 12 of unknown tags": header(Metadata, 12, 0, 1, 0, 0, 0x80, 0x80, 0x80, 0x10),
	} {
		frame := append(bytes.Clone(start), big...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := Decode(frame)
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 2*maxDecoded {
			t.Errorf("%s: %d MiB allocated, error %v", name, n>>20, err)
		}
	}
}
