package protocol

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// TopicPartition names one partition.
type TopicPartition struct {
	Topic     string
	Partition int32
}

// String is the name of the partition's directory: topic-partition.
func (tp TopicPartition) String() string {
	return tp.Topic + "-" + strconv.Itoa(int(tp.Partition))
}

// Compare orders by topic, then by partition number.
func (tp TopicPartition) Compare(o TopicPartition) int {
	if c := strings.Compare(tp.Topic, o.Topic); c != 0 {
		return c
	}
	return cmp.Compare(tp.Partition, o.Partition)
}

// ParseTopicPartition reads the form that String writes. The topic may hold dashes.
func ParseTopicPartition(s string) (TopicPartition, error) {
	i := strings.LastIndexByte(s, '-')
	if i <= 0 {
		return TopicPartition{}, fmt.Errorf("%q is not <topic>-<partition>", s)
	}
	n, err := strconv.ParseUint(s[i+1:], 10, 31)
	if err != nil {
		return TopicPartition{}, fmt.Errorf("%q is not <topic>-<partition>: %w", s, err)
	}
	return TopicPartition{Topic: s[:i], Partition: int32(n)}, nil
}
