// Package broker is the edge: it listens, frames, dispatches requests over the table of broker/api
// and writes the answers in order.
//
// One goroutine serves a connection: it reads a frame, calls the handler and writes the answer
// before it looks at the next frame. So requests of one connection are handled one at a time, as
// Kafka does, and a client that does not read holds back nobody but itself. A second goroutine exists only
// while an answer is delayed (produce waiting for replicas); it then writes that answer and those
// behind it. Nothing is allocated before a frame's length, API, version and bound are known to be good,
// and an idle connection holds no buffer but a small one.
package broker
