package api

import (
	"context"
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
)

// ListConfigResources 0 to 1.
//
//   - v0 lists client metrics subscriptions only (KIP-1000); v1 any type, none means all (KIP-1142).
//   - Topics and brokers are listed because they exist, the others because they have settings. An unknown
//     type refuses the whole request with UNSUPPORTED_VERSION.
func (h *handlers) listConfigResources(_ context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.ListConfigResourcesRequest)
	resp := r.ResponseKind().(*kmsg.ListConfigResourcesResponse)
	all := []metadata.ResourceType{metadata.GroupResource, metadata.ClientMetricsResource, metadata.BrokerLoggerResource,
		metadata.BrokerResource, metadata.TopicResource}
	var types []metadata.ResourceType
	for _, t := range r.ResourceTypes {
		if !slices.Contains(all, metadata.ResourceType(t)) {
			resp.ErrorCode = int16(protocol.UnsupportedVersion)
			return Body(resp), nil
		}
		types = append(types, metadata.ResourceType(t))
	}
	switch {
	case r.Version < 1:
		types = []metadata.ResourceType{metadata.ClientMetricsResource}
	case len(types) == 0:
		types = all
	}
	image := h.Metadata()
	for _, t := range all {
		if slices.Contains(types, t) {
			addConfigResources(resp, image, t)
		}
	}
	return Body(resp), nil
}

func addConfigResources(resp *kmsg.ListConfigResourcesResponse, image *metadata.Image, t metadata.ResourceType) {
	add := func(name string) {
		o := kmsg.NewListConfigResourcesResponseConfigResource()
		o.Name, o.Type = name, int8(t)
		resp.ConfigResources = append(resp.ConfigResources, o)
	}
	switch t {
	case metadata.TopicResource:
		for topic := range image.Topics() {
			add(topic.Name)
		}
	case metadata.BrokerResource, metadata.BrokerLoggerResource:
		for b := range image.Brokers() {
			if !b.Fenced {
				add(strconv.Itoa(int(b.ID)))
			}
		}
	default:
		for name := range image.ConfigsOf(t) {
			add(name)
		}
	}
}
