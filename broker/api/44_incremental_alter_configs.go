package api

import (
	"context"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap/zapcore"

	"github.com/ottla/ottla/protocol"
)

// IncrementalAlterConfigs 0 to 1 (KIP-339).
//
//   - The controller decides, except on log levels (resource type 8), which this broker changes itself
//     (KIP-412) and does not keep over a restart.
//   - A broker takes changes of its own settings and of those of all brokers, not of another's.
func (h *handlers) incrementalAlterConfigs(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.IncrementalAlterConfigsRequest)
	var rest []kmsg.IncrementalAlterConfigsRequestResource
	resp := r.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	resp.Resources = make([]kmsg.IncrementalAlterConfigsResponseResource, len(r.Resources))
	var forwarded []int // where the answers of the controller go
	for i := range r.Resources {
		in, out := &r.Resources[i], &resp.Resources[i]
		if in.ResourceType == brokerLoggerConfigs {
			*out = h.alterLogger(in, r.ValidateOnly)
		} else if err := h.ownBrokerConfigs(c, in.ResourceType, in.ResourceName); err != nil {
			out.ResourceType, out.ResourceName = in.ResourceType, in.ResourceName
			out.ErrorCode, out.ErrorMessage = int16(protocol.CodeOf(err)), protocol.MessageOf(err)
		} else {
			rest, forwarded = append(rest, *in), append(forwarded, i)
		}
	}
	if len(rest) > 0 {
		r.Resources = rest
		answer, err := h.controller(ctx, c, r)
		if err != nil {
			return Reply{}, err
		}
		for i, out := range answer.(*kmsg.IncrementalAlterConfigsResponse).Resources {
			resp.Resources[forwarded[i]] = out
		}
	}
	return Body(resp), nil
}

// ownBrokerConfigs checks that a resource, if it is a broker, is this one or stands for all. Controllers take changes
// for any broker.
func (h *handlers) ownBrokerConfigs(c *Call, kind kmsg.ConfigResourceType, name string) error {
	if kind != brokerConfigs || name == "" || c.Conn.Scope == onController {
		return nil
	}
	return h.isThisBroker(name, " or empty string, but")
}

func (h *handlers) alterLogger(in *kmsg.IncrementalAlterConfigsRequestResource, validateOnly bool) kmsg.IncrementalAlterConfigsResponseResource {
	out := kmsg.NewIncrementalAlterConfigsResponseResource()
	out.ResourceType, out.ResourceName = in.ResourceType, in.ResourceName
	level, err := h.checkLogger(in)
	if err != nil {
		out.ErrorCode, out.ErrorMessage = int16(protocol.CodeOf(err)), protocol.MessageOf(err)
	} else if level != nil && !validateOnly {
		h.LogLevel.SetLevel(*level)
	}
	return out
}

// checkLogger is the level that the changes lead to, nil if there are none.
func (h *handlers) checkLogger(in *kmsg.IncrementalAlterConfigsRequestResource) (*zapcore.Level, error) {
	if in.ResourceName == "" {
		return nil, invalidRequest("Broker id must not be empty")
	}
	if err := h.isThisBroker(in.ResourceName, " but"); err != nil {
		return nil, err
	}
	var level *zapcore.Level
	for _, c := range in.Configs {
		switch {
		case c.Value == nil && c.Op != kmsg.IncrementalAlterConfigOpDelete:
			return nil, invalidRequest("No value is given for logger " + c.Name)
		case c.Op == kmsg.IncrementalAlterConfigOpAppend || c.Op == kmsg.IncrementalAlterConfigOpSubtract:
			return nil, invalidRequest("A log level can be set or deleted, not appended to or subtracted from")
		case c.Name != rootLogger:
			return nil, &protocol.Fault{Code: protocol.InvalidConfig, Message: fmt.Sprintf("Logger %s does not exist", c.Name)}
		case c.Op == kmsg.IncrementalAlterConfigOpDelete:
			return nil, invalidRequest("The log level of the root logger cannot be deleted")
		}
		l, ok := logLevel(c.Value)
		if !ok {
			return nil, &protocol.Fault{Code: protocol.InvalidConfig, Message: fmt.Sprintf(
				"%s is not a log level; those are TRACE, DEBUG, INFO, WARN, ERROR and FATAL", deref(c.Value))}
		}
		level = &l
	}
	return level, nil
}

// logLevel turns Kafka's name of a level into ours, which has no TRACE.
func logLevel(name *string) (zapcore.Level, bool) {
	switch strings.ToUpper(deref(name)) {
	case "TRACE", "DEBUG":
		return zapcore.DebugLevel, true
	case "INFO":
		return zapcore.InfoLevel, true
	case "WARN":
		return zapcore.WarnLevel, true
	case "ERROR":
		return zapcore.ErrorLevel, true
	case "FATAL":
		return zapcore.FatalLevel, true
	}
	return 0, false
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
