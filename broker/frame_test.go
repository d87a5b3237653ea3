package broker

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/broker/api"
	"github.com/ottla/ottla/protocol"
)

// Case B04: what is not a Kafka frame closes that connection at once, without an answer, and no other.
func TestBadFramesCloseTheConnection(t *testing.T) {
	s := startTCP(t, Options{Rows: testRows(t, nil)})
	other := dial(t, s.addr)
	metadata := frame(kmsg.NewPtrMetadataRequest(), 1, 1)
	hugeArray := bytes.Clone(metadata)
	copy(hugeArray[len(hugeArray)-4:], []byte{0x7f, 0xff, 0xff, 0xff})
	for name, in := range map[string][]byte{
		"length 0":            {0, 0, 0, 0},
		"length -1":           {0xff, 0xff, 0xff, 0xff},
		"length over maximum": binary.BigEndian.AppendUint32(nil, 104857601),
		"http":                []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
		"tls client hello":    {0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3},
		"key and version":     lengthPrefixed(0, 3, 0, 1),
		"three bytes":         lengthPrefixed(0, 3, 0),
		"array of 2^31-1":     hugeArray,
		"unknown key":         lengthPrefixed(3, 0xe7, 0, 0, 0, 0, 0, 1, 0xff, 0xff),
		"key 4":               lengthPrefixed(0, 4, 0, 0, 0, 0, 0, 1, 0xff, 0xff),
		"controller key":      frame(kmsg.NewPtrVoteRequest(), 0, 1),
		"produce 2":           frame(kmsg.NewPtrProduceRequest(), 2, 1),
		"fetch 0":             frame(kmsg.NewPtrFetchRequest(), 0, 1),
		"metadata 99":         frame(kmsg.NewPtrMetadataRequest(), 99, 1),
		"null topics in v0":   lengthPrefixed(0, 3, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff),
	} {
		t.Run(name, func(t *testing.T) {
			before := s.logs.Len()
			c := dial(t, s.addr)
			c.send(in)
			c.SetReadDeadline(time.Now().Add(5 * time.Second))
			if got, err := io.ReadAll(c); len(got) > 0 || err != nil && !isReset(err) {
				t.Fatalf("read %x, %v; want the end", got, err)
			}
			if n := s.logs.Len() - before; n != 1 {
				t.Errorf("%d log lines, want one", n)
			}
		})
	}
	other.send(metadata)
	if id, _ := other.recv(); id != 1 {
		t.Fatalf("correlation id %d", id)
	}
}

// Case B04: odd but whole requests are answered.
func TestOddFramesAreAnswered(t *testing.T) {
	s := startTCP(t, Options{Rows: testRows(t, nil)})
	request := func() []byte { return frame(kmsg.NewPtrMetadataRequest(), 1, 7) }
	t.Run("trailing bytes", func(t *testing.T) {
		c := dial(t, s.addr)
		b := append(request(), 1, 2, 3, 4, 5)
		binary.BigEndian.PutUint32(b, uint32(len(b)-4))
		c.send(b)
		if id, _ := c.recv(); id != 7 {
			t.Fatal(id)
		}
	})
	t.Run("byte by byte", func(t *testing.T) {
		c := dial(t, s.addr)
		for _, b := range request() {
			c.send([]byte{b})
		}
		if id, _ := c.recv(); id != 7 {
			t.Fatal(id)
		}
	})
	t.Run("half close", func(t *testing.T) {
		c := dial(t, s.addr)
		c.send(request())
		if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if id, _ := c.recv(); id != 7 {
			t.Fatal(id)
		}
	})
	t.Run("two at once", func(t *testing.T) {
		c := dial(t, s.addr)
		c.send(append(request(), frame(kmsg.NewPtrMetadataRequest(), 1, 8)...))
		for _, want := range []int32{7, 8} {
			if id, _ := c.recv(); id != want {
				t.Fatal(id)
			}
		}
	})
}

// Case B04: a length up to the maximum is waited for, and takes no memory until bytes arrive.
func TestAnnouncedLengthAllocatesNothing(t *testing.T) {
	s := startTCP(t, Options{Rows: testRows(t, nil)})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		c := dial(t, s.addr)
		c.send(binary.BigEndian.AppendUint32(nil, 104857600))
		c.send([]byte{0, 0, 0, 9, 0, 0, 0, 1, 0xff, 0xff}) // Produce 9
		c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
			t.Fatalf("connection did not wait: %v", err)
		}
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 20*(trusted+64<<10) {
		t.Errorf("%d bytes allocated", n)
	}
}

// Case B01: ApiVersions of a version that is not known reaches its handler, and is answered without
// tags in the header.
func TestUnknownApiVersionsReachesItsHandler(t *testing.T) {
	var seen protocol.RequestHeader
	s := startTCP(t, Options{Rows: testRows(t, map[int16]api.Handler{
		protocol.ApiVersions: func(_ context.Context, c *api.Call, req kmsg.Request) (api.Reply, error) {
			seen = c.Header
			r := req.ResponseKind().(*kmsg.ApiVersionsResponse)
			r.ErrorCode = 35
			return api.Body(r), nil
		},
	})})
	c := dial(t, s.addr)
	c.send(lengthPrefixed(0, 18, 0, 127, 0, 0, 0, 9, 0xff, 0xff, 0))
	id, body := c.recv()
	if want := []byte{0, 35, 0, 0, 0, 0}; id != 9 || !bytes.Equal(body, want) {
		t.Fatalf("correlation %d, body %x, want %x", id, body, want)
	}
	if seen.Version != 127 || seen.ClientID != nil {
		t.Errorf("header %+v", seen)
	}
}
