// Package takeover moves data directories between Apache Kafka 4.4 and ottla: what Kafka wrote is served by ottla as
// Kafka served it, and (with the build tag compat, which needs a JVM) what ottla wrote is served by Kafka.
package takeover
