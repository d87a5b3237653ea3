package conformance

import (
	"encoding/binary"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

func rawFrame(key, version int16, corr int32, rest ...byte) []byte {
	e := binary.BigEndian
	b := e.AppendUint16(nil, uint16(key))
	b = e.AppendUint16(b, uint16(version))
	b = e.AppendUint32(b, uint32(corr))
	b = append(b, rest...)
	return append(e.AppendUint32(nil, uint32(len(b))), b...)
}

// TestApiVersionsTooNew is case B01: KIP-511's fallback.
func TestApiVersionsTooNew(t *testing.T) {
	c := connect(t)
	c.c.Write(rawFrame(18, 127, 77, 0xff, 0xff, 0))
	b, err := c.frame(5 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	want := []byte{0, 0, 0, 77, 0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 5}
	if string(b) != string(want) {
		t.Errorf("% x, want % x", b, want)
	}
	req := kmsg.NewPtrApiVersionsRequest()
	eq(t, "without a software name", do[*kmsg.ApiVersionsResponse](c, 3, req).ErrorCode, 42)
	req.ClientSoftwareName, req.ClientSoftwareVersion = "conformance", "1"
	eq(t, "second ApiVersions", do[*kmsg.ApiVersionsResponse](c, 3, req).ErrorCode, 0)
}

// TestProduceAdvertisedFromZero is case B02 (KIP-896): advertised from 0 for
// librdkafka's sake, closed when really used.
func TestProduceAdvertisedFromZero(t *testing.T) {
	c := connect(t)
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "conformance", "1"
	r := do[*kmsg.ApiVersionsResponse](c, 3, req)
	found := false
	for _, k := range r.ApiKeys {
		if k.ApiKey == 0 {
			found = true
			eq(t, "Produce min", k.MinVersion, 0)
			eq(t, "Produce max", k.MaxVersion, 13)
		}
	}
	eq(t, "Produce advertised", found, true)

	for _, bad := range [][2]int16{{0, 0}, {0, 2}, {1, 0}, {3, 99}, {999, 0}} {
		c := connect(t)
		c.c.Write(rawFrame(bad[0], bad[1], 1, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
		c.closed()
	}
	topic := unique("b02")
	createTopic(c, topic, 1)
	eq(t, "Produce v3", produce(c, 3, topic, 0, one("x")).ErrorCode, 0)
}

// TestResponsesInOrder is case B03: one request at a time on a connection.
func TestResponsesInOrder(t *testing.T) {
	c := connect(t)
	topic := unique("b03")
	createTopic(c, topic, 1)
	o := plainFetch()
	o.maxWait = 1500
	f := fetchRequest(topic, o, want{0, 0, 1 << 20})
	m := kmsg.NewPtrMetadataRequest()
	m.Topics = []kmsg.MetadataRequestTopic{}
	m.SetVersion(12)
	elapsed(t, "both", 1300*time.Millisecond, 3*time.Second, func() {
		cf, cm := c.send(f), c.send(m)
		elapsed(t, "another connection", 0, 800*time.Millisecond, func() { metadata(connect(t), 12) })
		c.receive(f, cf)
		c.receive(m, cm)
	})
}

// TestBadFrames is case B04.
func TestBadFrames(t *testing.T) {
	bystander := connect(t)
	e := binary.BigEndian
	length := func(n uint32) []byte { return e.AppendUint32(nil, n) }
	for name, bytes := range map[string][]byte{
		"length 0":         length(0),
		"length -1":        length(0xffffffff),
		"length too large": length(104857601),
		"http":             []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"tls hello":        {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3, 0, 0, 0, 0, 0},
		"short header":     append(length(4), 0, 18, 0, 0),
		"impossible count": rawFrame(3, 1, 1, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff),
	} {
		t.Run(name, func(t *testing.T) {
			c := connect(t)
			c.c.Write(bytes)
			c.closed()
			metadata(bystander, 12)
		})
	}
	t.Run("largest length is waited for", func(t *testing.T) {
		c := connect(t)
		c.c.Write(length(104857600))
		c.c.Write(rawFrame(0, 9, 1)[4:])
		if _, err := c.frame(300 * time.Millisecond); err == nil || !err.(net.Error).Timeout() {
			t.Errorf("%v, want the server to wait", err)
		}
	})
	metadataV1 := rawFrame(3, 1, 9, 0xff, 0xff, 0, 0, 0, 0)
	answered := func(t *testing.T, c *conn) {
		t.Helper()
		b, err := c.frame(5 * time.Second)
		if err != nil || e.Uint32(b) != 9 {
			t.Errorf("%v % x, want an answer", err, b)
		}
	}
	t.Run("trailing bytes", func(t *testing.T) {
		c := connect(t)
		c.c.Write(rawFrame(3, 1, 9, 0xff, 0xff, 0, 0, 0, 0, 1, 2, 3, 4, 5))
		answered(t, c)
	})
	t.Run("slow bytes", func(t *testing.T) {
		c := connect(t)
		for _, b := range metadataV1 {
			c.c.Write([]byte{b})
			time.Sleep(10 * time.Millisecond) // the pace is what is tested
		}
		answered(t, c)
	})
	t.Run("half close", func(t *testing.T) {
		c := connect(t)
		c.c.Write(metadataV1)
		c.c.(*net.TCPConn).CloseWrite()
		answered(t, c)
	})
}
