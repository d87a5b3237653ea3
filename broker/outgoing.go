package broker

import (
	"encoding/binary"
	"errors"
	"net"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/broker/api"
	"github.com/ottla/ottla/protocol"
)

// maxDelayed bounds the answers of one connection that wait behind a delayed one. Clients have
// five requests in flight.
const maxDelayed = 64

// errNoAnswer is a delayed response that will not come.
var errNoAnswer = errors.New("delayed response abandoned")

// outgoing writes a connection's answers in request order. Usually the connection's own goroutine
// writes them; once an answer is delayed, a second goroutine takes over until it has caught up.
type outgoing struct {
	conn    net.Conn
	buffers *buffers
	files   fileSender

	mu      sync.Mutex
	changed sync.Cond // a delayed answer was written, or writing ended
	delayed []answer  // oldest first; the writer goroutine is at the first
	writing bool      // the writer goroutine runs
	err     error     // why nothing more can be written
	gone    bool      // abandon was called
	quit    chan struct{}
}

type answer struct {
	header protocol.RequestHeader
	reply  api.Reply
}

func (o *outgoing) init(conn net.Conn, b *buffers) {
	o.conn, o.buffers, o.files = conn, b, newFileSender(conn)
	o.changed.L = &o.mu
}

// send writes a reply, now or after those before it. It is called by one goroutine only.
func (o *outgoing) send(h protocol.RequestHeader, r api.Reply) error {
	if r.IsNone() {
		return nil
	}
	if o.queued() {
		return o.enqueue(answer{h, r})
	}
	if later := r.Later(); later != nil {
		select {
		case resp, ok := <-later:
			return o.deliver(h, resp, ok)
		default:
			return o.enqueue(answer{h, r})
		}
	}
	return o.write(h, r)
}

func (o *outgoing) queued() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.writing
}

// enqueue leaves an answer to the writer goroutine, started if there is none.
func (o *outgoing) enqueue(a answer) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.delayed) >= maxDelayed {
		o.changed.Wait()
	}
	if o.err != nil {
		discard(a)
		return o.err
	}
	o.delayed = append(o.delayed, a)
	if !o.writing {
		o.writing = true
		o.quit = make(chan struct{})
		if o.gone {
			close(o.quit)
		}
		go o.drain(o.quit)
	}
	return nil
}

// drain is the writer goroutine: it ends when nothing is delayed any more.
func (o *outgoing) drain(quit <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.delayed) > 0 {
		a, failed := o.delayed[0], o.err
		o.mu.Unlock()
		err := o.resolve(a, failed, quit)
		o.mu.Lock()
		if err != nil && o.err == nil {
			o.err = err
			o.conn.Close() // ends the read that the connection's goroutine may be in
		}
		o.delayed[0] = answer{}
		o.delayed = o.delayed[1:]
		o.changed.Broadcast()
	}
	o.delayed = nil
	o.writing = false
	o.changed.Broadcast()
}

func (o *outgoing) resolve(a answer, failed error, quit <-chan struct{}) error {
	if failed != nil {
		discard(a)
		return failed
	}
	if later := a.reply.Later(); later != nil {
		select {
		case resp, ok := <-later:
			return o.deliver(a.header, resp, ok)
		case <-quit:
			return net.ErrClosed
		}
	}
	return o.write(a.header, a.reply)
}

// abandon closes the connection and gives up on delayed answers: there is nobody to read them.
func (o *outgoing) abandon() {
	o.mu.Lock()
	if !o.gone && o.quit != nil {
		close(o.quit)
	}
	o.gone = true
	o.mu.Unlock()
	o.conn.Close()
}

// finish waits until nothing is delayed any more, so that all files are given back.
func (o *outgoing) finish() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.writing {
		o.changed.Wait()
	}
}

func discard(a answer) {
	if f := a.reply.Frames(); f != nil {
		f.Release()
	}
}

func (o *outgoing) deliver(h protocol.RequestHeader, resp kmsg.Response, ok bool) error {
	if !ok {
		return errNoAnswer
	}
	return o.write(h, api.Body(resp))
}

func (o *outgoing) write(h protocol.RequestHeader, r api.Reply) error {
	if f := r.Frames(); f != nil {
		defer f.Release()
		return o.writeFrames(h, f)
	}
	return o.writeBody(h, r.Body())
}

// writeBody encodes a response behind its length and header and writes it at once.
func (o *outgoing) writeBody(h protocol.RequestHeader, resp kmsg.Response) error {
	if h.Key != protocol.ApiVersions { // which chooses its own
		resp.SetVersion(h.Version)
	}
	buf := o.buffers.get(lengthBytes)
	defer o.buffers.put(buf)
	buf.b = protocol.AppendResponseHeader(buf.b, h)
	buf.b = resp.AppendTo(buf.b)
	binary.BigEndian.PutUint32(buf.b, uint32(len(buf.b)-lengthBytes))
	_, err := o.conn.Write(buf.b)
	return err
}
