package protocol

import "fmt"

// Topics that belong to the broker's own coordinators.
const (
	ConsumerOffsetsTopic  = "__consumer_offsets"
	TransactionStateTopic = "__transaction_state"
	ShareGroupStateTopic  = "__share_group_state"
	// ClusterMetadataTopic is the metadata log; it is not in the metadata itself.
	ClusterMetadataTopic = "__cluster_metadata"
)

// maxTopicName is the longest name whose partition directories fit in a file name.
const maxTopicName = 249

// IsInternalTopic says whether clients see the topic as internal.
func IsInternalTopic(name string) bool {
	return name == ConsumerOffsetsTopic || name == TransactionStateTopic || name == ShareGroupStateTopic
}

// CheckTopicName refuses a name that no topic may have, with INVALID_TOPIC_EXCEPTION.
func CheckTopicName(name string) error {
	switch {
	case name == "":
		return &Fault{InvalidTopicException, "Topic name is invalid: it is empty"}
	case name == "." || name == "..":
		return &Fault{InvalidTopicException, "Topic name is invalid: '.' and '..' are not allowed"}
	case len(name) > maxTopicName:
		return &Fault{InvalidTopicException, fmt.Sprintf("Topic name is invalid: it has %d characters, at most %d are allowed: %s", len(name), maxTopicName, name)}
	}
	for i := range len(name) {
		switch b := name[i]; {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z', '0' <= b && b <= '9', b == '.', b == '_', b == '-':
		default:
			return &Fault{InvalidTopicException, fmt.Sprintf("Topic name is invalid: %q has a character other than ASCII letters and digits, '.', '_' and '-'", name)}
		}
	}
	return nil
}
