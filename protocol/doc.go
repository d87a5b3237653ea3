// Package protocol is what every part of ottla says in Kafka's words: error codes, the table of APIs with their
// versions, request headers, the shape of every request (to bound a frame before it is decoded), and identifiers.
// It imports nothing of ottla.
package protocol
