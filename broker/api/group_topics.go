package api

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
)

// findTopic looks a topic up by what the request's version names it by: UNKNOWN_TOPIC_ID or
// UNKNOWN_TOPIC_OR_PARTITION.
func findTopic(image *metadata.Image, name string, id protocol.UUID, byID bool) (*metadata.Topic, protocol.ErrorCode) {
	if byID {
		if t := image.TopicByID(id); t != nil {
			return t, protocol.None
		}
		return nil, protocol.UnknownTopicID
	}
	if t := image.Topic(name); t != nil {
		return t, protocol.None
	}
	return nil, protocol.UnknownTopicOrPartition
}

func allExist(t *metadata.Topic, ps []kmsg.OffsetCommitRequestTopicPartition) bool {
	for i := range ps {
		if t.Partition(ps[i].Partition) == nil {
			return false
		}
	}
	return true
}
