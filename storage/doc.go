// Package storage keeps partitions' logs on disk exactly as Apache Kafka 4.4
// does, so that either can take over the other's directories.
//
// Log is one partition: segments with their indexes, producer state, leader
// epochs, high watermark. Manager owns the log directories and everything that
// happens to many logs: loading, recovery, checkpoints, retention, delayed
// deletion, compaction, shutdown. OpenLog opens one log without a Manager, for
// `__cluster_metadata-0`.
//
// Errors: rules of the log are *protocol.Fault or protocol.ErrorCode
// (OFFSET_OUT_OF_RANGE, OUT_OF_ORDER_SEQUENCE_NUMBER, ...). A failing disk is
// an error that wraps protocol.KafkaStorageError and the cause with its path;
// it takes the log's whole directory offline, and no other.
package storage
