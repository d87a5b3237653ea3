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
func (h *handlers) incrementalAlterConfigs(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.IncrementalAlterConfigsRequest)
	var rest []kmsg.IncrementalAlterConfigsRequestResource
	var own []kmsg.IncrementalAlterConfigsResponseResource
	for i := range r.Resources {
		if in := &r.Resources[i]; in.ResourceType == brokerLoggerConfigs {
			own = append(own, h.alterLogger(in, r.ValidateOnly))
		} else {
			rest = append(rest, *in)
		}
	}
	resp := r.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	if len(rest) > 0 {
		r.Resources = rest
		answer, err := h.controller(ctx, c, r)
		if err != nil {
			return Reply{}, err
		}
		resp = answer.(*kmsg.IncrementalAlterConfigsResponse)
	}
	resp.Resources = append(resp.Resources, own...)
	return Body(resp), nil
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
