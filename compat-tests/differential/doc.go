// Package differential sends the same requests to Apache Kafka 4.4 and to ottla
// and compares the answers field by field.
//
// OTTLA_DIFF_KAFKA=host:port names a Kafka node made for this: one combined
// node, node.id 1, group.initial.rebalance.delay.ms=0, replication factors of
// the internal topics 1 (compat-tests/run.sh starts one). Without it every test
// is skipped. ottla is built and started by the tests, or named by
// OTTLA_DIFF_OTTLA=host:port.
//
// A test is a script that runs on both servers at once. What differs by nature
// is masked (ids, clocks, addresses); differences kept on purpose are listed in
// kept_test.go with the reason, and in docs/DIVERGENCES.md. OTTLA_DIFF_MESSAGES=1
// compares error messages as well.
package differential
