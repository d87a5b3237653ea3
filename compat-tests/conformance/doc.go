// Package conformance sends raw requests to a broker and checks the answers
// that Apache Kafka 4.4 gives to the same bytes.
//
// Without further settings the tests build and start ottla itself. With
// OTTLA_CONFORMANCE_TARGET=host:port they run against whatever listens there:
// an Apache Kafka 4.4 node must pass them too, which is how the expected
// values are kept honest. Tests that need to kill and restart the server run
// only when they started it.
package conformance
