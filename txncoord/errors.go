package txncoord

import (
	"context"
	"errors"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/rsm"
)

// codeOf turns why an operation did not get through into what clients are told: they know the coordinator's
// errors, not those of the partition under it.
func codeOf(err error) protocol.ErrorCode {
	switch {
	case err == nil:
		return protocol.None
	case errors.Is(err, rsm.ErrLoading):
		return protocol.CoordinatorLoadInProgress
	case errors.Is(err, rsm.ErrNotActive):
		return protocol.NotCoordinator
	case errors.Is(err, rsm.ErrClosed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return protocol.CoordinatorNotAvailable
	case errors.Is(err, rsm.ErrTooLarge):
		return protocol.UnknownServerError
	}
	switch code := protocol.CodeOf(err); code {
	case protocol.UnknownTopicOrPartition, protocol.NotEnoughReplicas, protocol.NotEnoughReplicasAfterAppend, protocol.RequestTimedOut:
		return protocol.CoordinatorNotAvailable
	case protocol.NotLeaderOrFollower, protocol.KafkaStorageError:
		return protocol.NotCoordinator
	case protocol.MessageTooLarge, protocol.RecordListTooLarge:
		return protocol.UnknownServerError
	default:
		return code
	}
}
