// Package api holds one file for every Kafka API that this server answers, named by its key, and
// the table of them all. A handler decodes nothing and writes nothing: it gets a request, calls
// one subsystem and gives back a reply.
package api

import (
	"context"
	"net/netip"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// Anonymous is the principal of a connection that did not authenticate.
const Anonymous = "User:ANONYMOUS"

// Conn describes the connection that a request came in on. All but the software fields are
// fixed when the connection opens; those are set by ApiVersions, on the connection's own goroutine.
type Conn struct {
	ID       uint64 // unique in this process
	Listener string // its name, as in listeners=
	Scope    protocol.Scope
	Local    netip.AddrPort
	Remote   netip.AddrPort
	// Principal is "Type:name", User:ANONYMOUS on a listener without authentication.
	Principal string
	// SoftwareName and SoftwareVersion are what the client says of itself (KIP-511), "unknown" before.
	SoftwareName, SoftwareVersion string
}

// ClientHost is the client's address as Kafka shows it: "/127.0.0.1".
func (c *Conn) ClientHost() string { return "/" + c.Remote.Addr().Unmap().WithZone("").String() }

// Call is one request's context. It is the handler's until it returns; the connection uses it again.
type Call struct {
	Header   protocol.RequestHeader
	Conn     *Conn
	Received time.Time
}

// Handler answers one request. It may block for as long as the API allows (long poll, group
// join); requests behind it on the same connection wait, those of other connections do not. ctx
// ends when the server stops. The error is a reason to close the connection without an answer; it
// is logged once. Produce and Fetch requests alias the frame and are used again: neither they
// nor their strings may be kept after the handler returned, nor appear in the reply.
type Handler func(ctx context.Context, c *Call, req kmsg.Request) (Reply, error)

// Reply is what a handler gives back: exactly one of the forms below.
type Reply struct {
	body   kmsg.Response
	later  <-chan kmsg.Response
	frames *Frames
}

// Body answers with a response.
func Body(r kmsg.Response) Reply { return Reply{body: r} }

// NoReply sends nothing: produce with acks=0.
func NoReply() Reply { return Reply{} }

// Later answers with the response that the channel delivers, once. Requests behind this one go
// on meanwhile; their answers wait, so that order is kept. The channel must have room for it,
// must deliver in bounded time, and a closed one closes the connection.
func Later(ch <-chan kmsg.Response) Reply { return Reply{later: ch} }

// Body is the response; nil for the other forms.
func (r Reply) Body() kmsg.Response { return r.body }

// Later is the channel of a delayed response; nil for the other forms.
func (r Reply) Later() <-chan kmsg.Response { return r.later }

// Frames is the encoded body with file slices; nil for the other forms.
func (r Reply) Frames() *Frames { return r.frames }

// IsNone says that nothing is to be sent.
func (r Reply) IsNone() bool { return r.body == nil && r.later == nil && r.frames == nil }
