package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/ottla/ottla/protocol"
)

// javaError is an error under the name that Kafka's tools print for it, because scripts look for those names.
type javaError struct {
	class string
	msg   string
	cause error
}

func (e *javaError) Error() string { return e.msg }

func (e *javaError) Unwrap() error { return e.cause }

func (e *javaError) javaClass() string { return e.class }

const kafkaErrors = "org.apache.kafka.common.errors."

func illegalArgument(format string, a ...any) error {
	return &javaError{class: "java.lang.IllegalArgumentException", msg: fmt.Sprintf(format, a...)}
}

// brokerError is an error that a broker answered: its code, and its own message or the code's.
type brokerError struct {
	code protocol.ErrorCode
	msg  string
}

func (e *brokerError) Error() string { return e.msg }

func (e *brokerError) javaClass() string { return exceptionName(e.code) }

// coded turns a response's error code and message into an error, nil for code 0.
func coded(code int16, msg *string) error {
	if code == 0 {
		return nil
	}
	if msg != nil && *msg != "" {
		return &brokerError{protocol.ErrorCode(code), *msg}
	}
	return &brokerError{protocol.ErrorCode(code), codeMessage(protocol.ErrorCode(code))}
}

// codeOf is the code of a broker's error, or 0.
func codeOf(err error) protocol.ErrorCode {
	var b *brokerError
	if errors.As(err, &b) {
		return b.code
	}
	var k *kerr.Error
	if errors.As(err, &k) {
		return protocol.ErrorCode(k.Code)
	}
	return protocol.None
}

// codeMessage is the sentence that Kafka's clients have for a code. The client library keeps the same sentences,
// apart from those here.
func codeMessage(code protocol.ErrorCode) string {
	switch code {
	case protocol.NotLeaderOrFollower:
		return "For requests intended only for the leader, this error indicates that the broker is not the current " +
			"leader. For requests intended for any replica, this error indicates that the broker is not a replica " +
			"of the topic partition."
	case protocol.InvalidRecord:
		return "This record has failed the validation on broker and hence will be rejected."
	case protocol.InvalidGroupID:
		return "The group id is invalid."
	case protocol.TopicAuthorizationFailed:
		return "Topic authorization failed."
	case protocol.GroupAuthorizationFailed:
		return "Group authorization failed."
	}
	k, ok := kerr.ErrorForCode(int16(code)).(*kerr.Error)
	if !ok {
		return code.String()
	}
	if strings.HasSuffix(k.Description, ".") {
		return k.Description
	}
	return k.Description + "."
}

// exceptionName is the name of the exception that Kafka's Java client makes of a code: mostly the code's own name,
// with the exceptions listed.
func exceptionName(code protocol.ErrorCode) string {
	switch code {
	case protocol.UnknownServerError:
		return kafkaErrors + "UnknownServerException"
	case protocol.CorruptMessage:
		return kafkaErrors + "CorruptRecordException"
	case protocol.RequestTimedOut:
		return kafkaErrors + "TimeoutException"
	case protocol.MessageTooLarge:
		return kafkaErrors + "RecordTooLargeException"
	case protocol.RecordListTooLarge:
		return kafkaErrors + "RecordBatchTooLargeException"
	case protocol.TopicAlreadyExists:
		return kafkaErrors + "TopicExistsException"
	case protocol.InvalidConfig:
		return kafkaErrors + "InvalidConfigurationException"
	case protocol.TopicAuthorizationFailed, protocol.GroupAuthorizationFailed, protocol.ClusterAuthorizationFailed,
		protocol.TransactionalIDAuthorizationFailed, protocol.DelegationTokenAuthorizationFailed:
		return kafkaErrors + strings.TrimSuffix(camel(code), "Failed") + "Exception"
	case protocol.KafkaStorageError:
		return kafkaErrors + "KafkaStorageException"
	case protocol.SASLAuthenticationFailed:
		return kafkaErrors + "SaslAuthenticationException"
	case protocol.NonEmptyGroup:
		return kafkaErrors + "GroupNotEmptyException"
	}
	return kafkaErrors + strings.TrimSuffix(camel(code), "Exception") + "Exception"
}

// camel writes NOT_COORDINATOR as NotCoordinator.
func camel(code protocol.ErrorCode) string {
	var b strings.Builder
	for word := range strings.SplitSeq(code.String(), "_") {
		if word != "" {
			b.WriteString(word[:1] + strings.ToLower(word[1:]))
		}
	}
	return b.String()
}

// bareError is an exception without a message.
type bareError struct{ class string }

func (e *bareError) Error() string { return e.class }

func (e *bareError) javaClass() string { return e.class }

// className is what a Java stack trace calls an error.
func className(err error) string {
	var named interface{ javaClass() string }
	if errors.As(err, &named) {
		return named.javaClass()
	}
	if c := codeOf(err); c != protocol.None {
		return exceptionName(c)
	}
	if isTimeout(err) {
		return kafkaErrors + "TimeoutException"
	}
	return "org.apache.kafka.common.KafkaException"
}

func isTimeout(err error) bool {
	var n net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &n) && n.Timeout()
}

// trace is an error as Kafka's tools print it, without the frames of a stack: "class: message", then its causes.
func trace(err error) string {
	var b strings.Builder
	if bare, ok := err.(*bareError); ok {
		return bare.class + "\n"
	}
	b.WriteString(className(err) + ": " + err.Error() + "\n")
	for cause := errors.Unwrap(err); cause != nil; cause = errors.Unwrap(cause) {
		if _, named := cause.(interface{ javaClass() string }); named {
			b.WriteString("Caused by: " + className(cause) + ": " + cause.Error() + "\n")
		}
	}
	return b.String()
}
