package broker

import (
	"time"

	"go.uber.org/zap"

	"github.com/ottla/ottla/broker/api"
	"github.com/ottla/ottla/protocol"
)

// Options configure a Server. Names in comments are Kafka's properties.
type Options struct {
	Listeners []Listener
	Rows      []api.Row // of api.Table
	Logger    *zap.Logger

	MaxRequestBytes       int           // socket.request.max.bytes
	QueuedRequestBytesMax int64         // queued.max.request.bytes; 0 or less: no limit
	IdleTimeout           time.Duration // connections.max.idle.ms; 0: never
	Limits                Limits        // of connections
	SendBufferBytes       int           // socket.send.buffer.bytes; 0 or less: the system's choice
	ReceiveBufferBytes    int           // socket.receive.buffer.bytes; 0 or less: the system's choice
}

// Listener is one entry of listeners=.
type Listener struct {
	Name           string
	Scope          protocol.Scope
	Host           string // "" is every address
	Port           int    // 0: the system chooses, see Server.Port
	MaxConnections int    // listener.name.<name>.max.connections; 0: no limit of its own
}

func (o *Options) setDefaults() {
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	if o.MaxRequestBytes <= 0 {
		o.MaxRequestBytes = 100 << 20
	}
}
