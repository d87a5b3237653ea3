package api

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
)

// Resource types of the config APIs.
const (
	topicConfigs         = kmsg.ConfigResourceType(metadata.TopicResource)
	brokerConfigs        = kmsg.ConfigResourceType(metadata.BrokerResource)
	brokerLoggerConfigs  = kmsg.ConfigResourceType(metadata.BrokerLoggerResource)
	clientMetricsConfigs = kmsg.ConfigResourceType(metadata.ClientMetricsResource)
	groupConfigs         = kmsg.ConfigResourceType(metadata.GroupResource)
)

// DescribeConfigs 1 to 4.
//
//   - v1: synonyms (KIP-226); v3: types and documentation (KIP-569), both on request where there is a flag.
//   - A list of keys is a filter: unknown keys are left out, an empty list means all. Sensitive values are null.
//   - A broker answers for itself only; the empty broker name means the dynamic settings of all brokers.
//   - Groups and client metrics subscriptions need not exist.
func (h *handlers) describeConfigs(_ context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.DescribeConfigsRequest)
	resp := r.ResponseKind().(*kmsg.DescribeConfigsResponse)
	for i := range r.Resources {
		in := &r.Resources[i]
		out := kmsg.NewDescribeConfigsResponseResource()
		out.ResourceType, out.ResourceName, out.ErrorMessage = in.ResourceType, in.ResourceName, new(string)
		entries, err := h.configEntries(in)
		if err != nil {
			out.ErrorCode = int16(protocol.CodeOf(err))
			if m := protocol.MessageOf(err); m != nil {
				out.ErrorMessage = m
			}
		}
		for j := range entries {
			out.Configs = append(out.Configs, describedConfig(&entries[j], r))
		}
		resp.Resources = append(resp.Resources, out)
	}
	return Body(resp), nil
}

func (h *handlers) configEntries(in *kmsg.DescribeConfigsRequestResource) ([]config.Entry, error) {
	image := h.Metadata()
	switch in.ResourceType {
	case topicConfigs:
		if err := protocol.CheckTopicName(in.ResourceName); err != nil {
			return nil, err
		}
		if image.Topic(in.ResourceName) == nil {
			return nil, protocol.UnknownTopicOrPartition
		}
		return h.Config().Topic(image.Config(metadata.Resource{Type: metadata.TopicResource, Name: in.ResourceName})).Entries(in.ConfigNames), nil
	case brokerConfigs:
		if in.ResourceName == "" {
			return h.Config().BrokerDefaults(in.ConfigNames), nil
		}
		if err := h.isThisBroker(in.ResourceName, " or empty string, but"); err != nil {
			return nil, err
		}
		return h.Config().Broker().Entries(in.ConfigNames), nil
	case brokerLoggerConfigs:
		if in.ResourceName == "" {
			return nil, invalidRequest("Broker id must not be empty")
		}
		if err := h.isThisBroker(in.ResourceName, " but"); err != nil {
			return nil, err
		}
		return h.loggerEntries(in.ConfigNames), nil
	case clientMetricsConfigs:
		if in.ResourceName == "" {
			return nil, invalidRequest("Client metrics subscription name must not be empty")
		}
		return config.ClientMetrics(image.Config(metadata.Resource{Type: metadata.ClientMetricsResource, Name: in.ResourceName})).Entries(in.ConfigNames), nil
	case groupConfigs:
		if in.ResourceName == "" {
			return nil, invalidRequest("Group name must not be empty")
		}
		return h.Config().Group(image.Config(metadata.Resource{Type: metadata.GroupResource, Name: in.ResourceName})).Entries(in.ConfigNames), nil
	}
	return nil, invalidRequest(fmt.Sprintf("Resource type %d is not one that has settings", in.ResourceType))
}

// isThisBroker checks a broker resource's name; or continues the sentence in the message.
func (h *handlers) isThisBroker(name, or string) error {
	id, err := strconv.ParseInt(name, 10, 32)
	if err != nil {
		return invalidRequest("Broker id must be an integer, but it is: " + name)
	}
	if int32(id) != h.NodeID {
		return invalidRequest(fmt.Sprintf("Unexpected broker id, expected %d%s received %s", h.NodeID, or, name))
	}
	return nil
}

func invalidRequest(message string) error {
	return &protocol.Fault{Code: protocol.InvalidRequest, Message: message}
}

func describedConfig(e *config.Entry, r *kmsg.DescribeConfigsRequest) kmsg.DescribeConfigsResponseResourceConfig {
	c := kmsg.NewDescribeConfigsResponseResourceConfig()
	c.Name, c.Value, c.ReadOnly, c.IsDefault, c.IsSensitive = e.Name, e.Value, e.ReadOnly, e.Default, e.Sensitive
	c.Source, c.ConfigType = kmsg.ConfigSource(e.Source), kmsg.ConfigType(e.Type)
	if r.IncludeSynonyms {
		for _, s := range e.Synonyms {
			o := kmsg.NewDescribeConfigsResponseResourceConfigConfigSynonym()
			o.Name, o.Value, o.Source = s.Name, s.Value, kmsg.ConfigSource(s.Source)
			c.ConfigSynonyms = append(c.ConfigSynonyms, o)
		}
	}
	if r.IncludeDocumentation || e.Source == config.SourceBrokerLogger { // of a logger an empty text in any case
		c.Documentation = &e.Doc
	}
	return c
}

// rootLogger is the one logger there is; Kafka has one for every class.
const rootLogger = "root"

func (h *handlers) loggerEntries(names []string) []config.Entry {
	if len(names) > 0 && !slices.Contains(names, rootLogger) {
		return nil
	}
	level := strings.ToUpper(h.LogLevel.Level().String())
	return []config.Entry{{Name: rootLogger, Value: &level, Source: config.SourceBrokerLogger}}
}
