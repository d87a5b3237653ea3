//go:build compat

package differential

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// side is one of the two servers while a script runs on it.
type side struct {
	t     *testing.T
	name  string // kafka or ottla
	addr  string
	mu    sync.Mutex
	conns []*conn
	marks *masks
	steps []step
	by    map[string]int // label -> index in steps
	main  *conn
}

// step is one answer: its lines are what is compared.
type step struct {
	label   string
	api     string
	key     int16
	version int16
	lines   []line
}

func newSide(t *testing.T, name, addr string) *side {
	return &side{t: t, name: name, addr: addr, marks: newMasks(), by: map[string]int{}}
}

func (s *side) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		c.c.Close()
	}
}

// fail ends the script on this side.
func (s *side) fail(format string, args ...any) {
	s.t.Errorf(s.name+": "+format, args...)
	runtime.Goexit()
}

// kafka says whether this is the original, which takes a moment to apply what it has answered.
func (s *side) kafka() bool { return s.name == "kafka" }

// settle gives Kafka's broker time to apply what its controller has committed.
func (s *side) settle() {
	if s.kafka() {
		time.Sleep(100 * time.Millisecond)
	}
}

// n is a name for this run.
func (s *side) n(prefix string) string { return prefix + "." + suffix }

// conn is one raw connection.
type conn struct {
	s    *side
	c    net.Conn
	corr int32
}

func (s *side) dial() *conn {
	nc, err := net.Dial("tcp", s.addr)
	if err != nil {
		s.fail("%v", err)
	}
	c := &conn{s: s, c: nc}
	s.mu.Lock()
	s.conns = append(s.conns, c)
	s.mu.Unlock()
	return c
}

// shared is the connection of the script; a new one when the last was closed.
func (s *side) shared() *conn {
	if s.main == nil {
		s.main = s.dial()
	}
	return s.main
}

var formatter = kmsg.NewRequestFormatter(kmsg.FormatterClientID("differential"))

func (c *conn) send(req kmsg.Request) error {
	c.corr++
	_, err := c.c.Write(formatter.AppendRequest(nil, req, c.corr))
	return err
}

func (c *conn) frame(wait time.Duration) ([]byte, error) {
	c.c.SetReadDeadline(time.Now().Add(wait))
	var l [4]byte
	if _, err := io.ReadFull(c.c, l[:]); err != nil {
		return nil, err
	}
	b := make([]byte, binary.BigEndian.Uint32(l[:]))
	_, err := io.ReadFull(c.c, b)
	return b, err
}

// outcome is the answer to one request: a response, or what came instead.
type outcome struct {
	resp    kmsg.Response
	instead string
}

func (c *conn) receive(req kmsg.Request, wait time.Duration) outcome {
	b, err := c.frame(wait)
	var ne net.Error
	switch {
	case errors.As(err, &ne) && ne.Timeout():
		return outcome{instead: "no answer"}
	case err != nil:
		return outcome{instead: "closed"}
	case len(b) < 4 || int32(binary.BigEndian.Uint32(b)) != c.corr:
		return outcome{instead: "wrong correlation id"}
	}
	b = b[4:]
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if resp.IsFlexible() && req.Key() != 18 {
		if len(b) == 0 || b[0] != 0 {
			return outcome{instead: fmt.Sprintf("a header with tags: % x", b[:min(len(b), 8)])}
		}
		b = b[1:]
	}
	if err := resp.ReadFrom(b); err != nil {
		return outcome{instead: fmt.Sprintf("not decodable (%d bytes): %v", len(b), err)}
	}
	return outcome{resp: resp}
}

const patience = 10 * time.Second

// do sends a request on the script's connection and records the answer under a label.
// The response is nil when there was none.
func do[R kmsg.Response](s *side, label string, version int16, req kmsg.Request) R {
	r := doOn[R](s.shared(), label, version, req)
	if s.last().closed() {
		s.main = nil
	}
	return r
}

func doOn[R kmsg.Response](c *conn, label string, version int16, req kmsg.Request) R {
	o := c.exchange(version, req, patience)
	c.s.record(label, req, o)
	r, _ := o.resp.(R)
	return r
}

// ask is do without recording.
func ask[R kmsg.Response](s *side, version int16, req kmsg.Request) R {
	o := s.shared().exchange(version, req, patience)
	if o.resp == nil {
		s.fail("%s v%d: %s", apiName(req.Key()), version, o.instead)
	}
	return o.resp.(R)
}

func (c *conn) exchange(version int16, req kmsg.Request, wait time.Duration) outcome {
	req.SetVersion(version)
	if err := c.send(req); err != nil {
		return outcome{instead: "closed"}
	}
	return c.receive(req, wait)
}

// later sends a request on a connection of its own; wait records the answer.
func (s *side) later(version int16, req kmsg.Request) *pending {
	c := s.dial()
	p := &pending{s: s, req: req, done: make(chan outcome, 1)}
	go func() { p.done <- c.exchange(version, req, 30*time.Second) }()
	return p
}

type pending struct {
	s    *side
	req  kmsg.Request
	done chan outcome
	got  *outcome
}

// answer waits without recording.
func (p *pending) answer() kmsg.Response {
	if p.got == nil {
		o := <-p.done
		p.got = &o
	}
	return p.got.resp
}

func (p *pending) wait(label string) kmsg.Response {
	p.answer()
	p.s.record(label, p.req, *p.got)
	return p.got.resp
}

// bytes sends a frame as it is and records whether an answer came.
func (s *side) bytes(label string, frame []byte) {
	c := s.dial()
	c.c.Write(frame)
	b, err := c.frame(patience)
	var ne net.Error
	what := fmt.Sprintf("answer % x", b[:min(len(b), 64)])
	if errors.As(err, &ne) && ne.Timeout() {
		what = "no answer"
	} else if err != nil {
		what = "closed"
	}
	s.note(label, "outcome", what)
}

// record keeps an answer for the comparison.
func (s *side) record(label string, req kmsg.Request, o outcome) {
	st := step{label: label, api: apiName(req.Key()), key: req.Key(), version: req.GetVersion()}
	s.mu.Lock()
	defer s.mu.Unlock()
	if o.resp == nil {
		st.lines = []line{{"outcome", o.instead, false}}
	} else {
		st.lines = s.marks.render(s, label, o.resp)
	}
	s.add(st)
}

// note records a fact the script found out by itself.
func (s *side) note(label, what string, value any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.add(step{label: label, lines: []line{{what, fmt.Sprint(value), false}}})
}

// add keeps a step; the caller holds mu.
func (s *side) add(st step) {
	if st.api != "" {
		st.label = fmt.Sprintf("%s: %s v%d", st.label, st.api, st.version)
	}
	for n, label := 2, st.label; ; n++ {
		if _, taken := s.by[st.label]; !taken {
			break
		}
		st.label = fmt.Sprintf("%s (%d)", label, n)
	}
	s.by[st.label] = len(s.steps)
	s.steps = append(s.steps, st)
}

func (s *side) last() *step { return &s.steps[len(s.steps)-1] }

func (st *step) closed() bool {
	return len(st.lines) == 1 && st.lines[0].path == "outcome"
}

// window is the versions of an API that Kafka 4.4 has, as Kafka's node says itself.
func (s *side) window(key int16) (lo, hi int16) {
	for _, k := range windows() {
		if k.ApiKey == key {
			return k.MinVersion, k.MaxVersion
		}
	}
	s.fail("%s is not advertised by Kafka", apiName(key))
	return 0, 0
}

var windows = sync.OnceValue(func() []kmsg.ApiVersionsResponseApiKey {
	s := newSide(nil, "kafka", kafkaAddr)
	defer s.close()
	return s.versions()
})

// built are the APIs that ottla advertises.
var built = sync.OnceValue(func() map[int16]bool {
	s := newSide(nil, "ottla", ottlaAddr)
	defer s.close()
	keys := map[int16]bool{}
	for _, k := range s.versions() {
		keys[k.ApiKey] = true
	}
	return keys
})

func (s *side) versions() []kmsg.ApiVersionsResponseApiKey {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "differential", "1"
	return ask[*kmsg.ApiVersionsResponse](s, 4, req).ApiKeys
}

// each runs f for every version of an API.
func (s *side) each(key int16, f func(v int16)) {
	lo, hi := s.window(key)
	for v := lo; v <= hi; v++ {
		f(v)
	}
}

func apiName(key int16) string { return kmsg.NameForKey(key) }
