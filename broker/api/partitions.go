package api

import (
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/replication"
)

// partition finds a partition by name: UNKNOWN_TOPIC_OR_PARTITION if there is none in the cluster,
// NOT_LEADER_OR_FOLLOWER if it is not on this broker, KAFKA_STORAGE_ERROR if its disk failed.
func (h *handlers) partition(tp protocol.TopicPartition) (*replication.Partition, error) {
	if h.Metadata().Topic(tp.Topic).Partition(tp.Partition) == nil {
		return nil, protocol.UnknownTopicOrPartition
	}
	return h.Partitions.Partition(tp)
}
