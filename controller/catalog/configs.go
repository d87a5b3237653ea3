package catalog

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

// maxConfigValue is the longest value of a setting.
const maxConfigValue = 32767

// Keys with rules of their own.
const (
	minISRKey       = "min.insync.replicas"
	cordonedDirsKey = "cordoned.log.dirs"
)

// IncrementalAlterConfigs 0 and 1 (KIP-339): settings are set, deleted, appended to, subtracted from. Each resource
// succeeds or fails for itself.
func (c *Catalog) IncrementalAlterConfigs(r *kmsg.IncrementalAlterConfigsRequest) (*kmsg.IncrementalAlterConfigsResponse, Result, error) {
	resp := r.ResponseKind().(*kmsg.IncrementalAlterConfigsResponse)
	twice := duplicates(r.Resources, func(x kmsg.IncrementalAlterConfigsRequestResource) string {
		return resourceKey(x.ResourceType, x.ResourceName)
	})
	var records []metadata.Record
	for i := range r.Resources {
		x := &r.Resources[i]
		res := metadata.Resource{Type: metadata.ResourceType(x.ResourceType), Name: strings.Clone(x.ResourceName)}
		var recs []metadata.Record
		err := checkResource(res, slices.Contains(twice, resourceKey(x.ResourceType, x.ResourceName)))
		if err == nil {
			recs, err = c.alterResource(res, x.Configs)
		}
		records = append(records, recs...)
		out := kmsg.NewIncrementalAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = x.ResourceType, x.ResourceName
		out.ErrorCode, out.ErrorMessage = int16(protocol.CodeOf(err)), protocol.MessageOf(err)
		resp.Resources = append(resp.Resources, out)
	}
	res, err := c.alterResult(records, r.ValidateOnly)
	return resp, res, err
}

// AlterConfigs 0 to 2 (KIP-133): the settings named replace all others of the resource.
func (c *Catalog) AlterConfigs(r *kmsg.AlterConfigsRequest) (*kmsg.AlterConfigsResponse, Result, error) {
	resp := r.ResponseKind().(*kmsg.AlterConfigsResponse)
	twice := duplicates(r.Resources, func(x kmsg.AlterConfigsRequestResource) string {
		return resourceKey(x.ResourceType, x.ResourceName)
	})
	var records []metadata.Record
	for i := range r.Resources {
		x := &r.Resources[i]
		res := metadata.Resource{Type: metadata.ResourceType(x.ResourceType), Name: strings.Clone(x.ResourceName)}
		var recs []metadata.Record
		err := checkResource(res, slices.Contains(twice, resourceKey(x.ResourceType, x.ResourceName)))
		if err == nil {
			recs, err = c.replaceResource(res, x.Configs)
		}
		records = append(records, recs...)
		out := kmsg.NewAlterConfigsResponseResource()
		out.ResourceType, out.ResourceName = x.ResourceType, x.ResourceName
		out.ErrorCode, out.ErrorMessage = int16(protocol.CodeOf(err)), protocol.MessageOf(err)
		resp.Resources = append(resp.Resources, out)
	}
	res, err := c.alterResult(records, r.ValidateOnly)
	return resp, res, err
}

func (c *Catalog) alterResult(records []metadata.Record, validateOnly bool) (Result, error) {
	records = append(records, c.clearELR(records)...)
	if err := tooMany(records); err != nil {
		return Result{}, err
	}
	if validateOnly {
		records = nil
	}
	return Result{Records: records}, nil
}

func resourceKey(t kmsg.ConfigResourceType, name string) string { return strconv.Itoa(int(t)) + name }

func checkResource(r metadata.Resource, twice bool) error {
	if twice {
		return fault(protocol.InvalidRequest, "Each resource must appear at most once.")
	}
	switch r.Type {
	case metadata.TopicResource, metadata.BrokerResource, metadata.ClientMetricsResource, metadata.GroupResource:
		return nil
	}
	return fault(protocol.InvalidRequest, "Resource type %d has no settings that can be altered here", r.Type)
}

// alterResource works out the settings that the operations lead to.
func (c *Catalog) alterResource(res metadata.Resource, ops []kmsg.IncrementalAlterConfigsRequestResourceConfig) ([]metadata.Record, error) {
	if twice := duplicates(ops, func(o kmsg.IncrementalAlterConfigsRequestResourceConfig) string { return o.Name }); len(twice) > 0 {
		return nil, fault(protocol.InvalidRequest, "Setting %s stands in the request more than once", twice[0])
	}
	var nulls []string
	for _, o := range ops {
		if o.Value == nil && o.Op != kmsg.IncrementalAlterConfigOpDelete {
			nulls = append(nulls, o.Name)
		}
	}
	if len(nulls) > 0 {
		return nil, fault(protocol.InvalidRequest, "Null value not supported for : %s", strings.Join(nulls, ", "))
	}
	now := c.settle().Config(res)
	changes := map[string]*string{}
	for _, o := range ops {
		value, err := c.operate(res, now, &o)
		if err != nil {
			return nil, err
		}
		changes[strings.Clone(o.Name)] = value
	}
	return c.changeSettings(res, now, changes)
}

// operate is the value of a setting after one operation, nil for none.
func (c *Catalog) operate(res metadata.Resource, now map[string]string, o *kmsg.IncrementalAlterConfigsRequestResourceConfig) (*string, error) {
	switch o.Op {
	case kmsg.IncrementalAlterConfigOpSet:
		v := strings.Clone(*o.Value)
		return &v, nil
	case kmsg.IncrementalAlterConfigOpDelete:
		return nil, nil
	case kmsg.IncrementalAlterConfigOpAppend, kmsg.IncrementalAlterConfigOpSubtract:
	default:
		return nil, fault(protocol.InvalidRequest, "Operation %d on setting %s is not known", o.Op, o.Name)
	}
	key := config.Find(config.Scope(res.Type), o.Name)
	if key == nil || key.Type != config.List || res.Type == metadata.ClientMetricsResource { // Kafka's controller does not know the types of the latter
		return nil, fault(protocol.InvalidConfig, "Setting %s is not a list: nothing can be appended to it or subtracted from it", o.Name)
	}
	current, ok := now[o.Name]
	if !ok && !key.Null {
		current = key.Default
	}
	entries := slices.DeleteFunc(strings.Split(current, ","), func(s string) bool { return s == "" })
	for _, e := range strings.Split(*o.Value, ",") {
		at := slices.Index(entries, e)
		switch {
		case o.Op == kmsg.IncrementalAlterConfigOpAppend && at < 0:
			entries = append(entries, strings.Clone(e))
		case o.Op == kmsg.IncrementalAlterConfigOpSubtract && at >= 0:
			entries = slices.Delete(entries, at, at+1)
		}
	}
	v := strings.Join(entries, ",")
	return &v, nil
}

// replaceResource is the legacy way: what is not named is deleted.
func (c *Catalog) replaceResource(res metadata.Resource, configs []kmsg.AlterConfigsRequestResourceConfig) ([]metadata.Record, error) {
	if twice := duplicates(configs, func(o kmsg.AlterConfigsRequestResourceConfig) string { return o.Name }); len(twice) > 0 {
		return nil, fault(protocol.InvalidRequest, "Setting %s stands in the request more than once", twice[0])
	}
	now := c.settle().Config(res)
	changes := map[string]*string{}
	for name := range now {
		changes[name] = nil
	}
	var nulls []string
	for _, o := range configs {
		if o.Value == nil {
			nulls = append(nulls, o.Name)
			continue
		}
		v := strings.Clone(*o.Value)
		changes[strings.Clone(o.Name)] = &v
	}
	if len(nulls) > 0 {
		return nil, fault(protocol.InvalidRequest, "Null value not supported for : %s", strings.Join(nulls, ", "))
	}
	return c.changeSettings(res, now, changes)
}

// changeSettings checks the settings a resource is about to have and makes the records for what changes. Broker
// settings are written even when they stay the same: brokers read their files again on it.
func (c *Catalog) changeSettings(res metadata.Resource, now map[string]string, changes map[string]*string) ([]metadata.Record, error) {
	after := maps.Clone(now)
	if after == nil {
		after = map[string]string{}
	}
	var records []metadata.Record
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		value := changes[name]
		if err := c.checkChange(res, name, value); err != nil {
			return nil, err
		}
		old, had := now[name]
		same := value == nil && !had || value != nil && had && *value == old
		if value == nil {
			delete(after, name)
		} else {
			after[name] = *value
		}
		if !same || res.Type == metadata.BrokerResource {
			records = append(records, &msg.ConfigRecord{ResourceType: int8(res.Type), ResourceName: res.Name, Name: name, Value: value})
		}
	}
	if err := c.validate(res, after); err != nil {
		return nil, err
	}
	return records, nil
}

// checkChange has the rules about single keys.
func (c *Catalog) checkChange(res metadata.Resource, name string, value *string) error {
	broker := res.Type == metadata.BrokerResource
	switch {
	case broker && name == minISRKey && c.elr() && res.Name != "":
		return fault(protocol.InvalidConfig, "Broker-level min.insync.replicas cannot be altered while ELR is enabled.")
	case broker && name == minISRKey && c.elr() && value == nil:
		return fault(protocol.InvalidConfig, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.")
	case broker && name == cordonedDirsKey && c.settle().MetadataVersion() < metadata.CordonedDirsLevel:
		return fault(protocol.InvalidConfig, "cordoned.log.dirs needs metadata.version %d", metadata.CordonedDirsLevel)
	case value != nil:
		return checkValueSize(name, *value)
	}
	return nil
}

func checkValueSize(name, value string) error {
	if len(value) > maxConfigValue {
		return fault(protocol.InvalidConfig, "The value of %s has %d bytes, at most %d are allowed", name, len(value), maxConfigValue)
	}
	return nil
}

// validate checks the whole set of a resource's settings.
func (c *Catalog) validate(res metadata.Resource, settings map[string]string) error {
	switch res.Type {
	case metadata.TopicResource:
		if res.Name == "" {
			return fault(protocol.InvalidRequest, "Default topic resources are not allowed.")
		}
		if err := protocol.CheckTopicName(res.Name); err != nil {
			return err
		}
		if err := config.ValidateTopic(settings, c.layers()); err != nil {
			return err
		}
		if c.settle().Topic(res.Name) == nil {
			return fault(protocol.UnknownTopicOrPartition, "The topic '%s' does not exist.", res.Name)
		}
		return nil
	case metadata.BrokerResource:
		return c.validateBroker(res.Name, settings)
	case metadata.ClientMetricsResource:
		if res.Name == "" {
			return fault(protocol.InvalidRequest, "A client metrics subscription needs a name")
		}
		return config.ValidateClientMetrics(settings)
	case metadata.GroupResource:
		if res.Name == "" {
			return fault(protocol.InvalidRequest, "Default group resources are not allowed.")
		}
		return config.ValidateGroup(settings, c.layers())
	}
	return fault(protocol.InvalidRequest, "Resource type %d is not known", res.Type)
}

func (c *Catalog) validateBroker(name string, settings map[string]string) error {
	if name == "" {
		return config.ValidateBroker(settings, false, c.layers())
	}
	id, err := strconv.ParseInt(name, 10, 32)
	switch {
	case err != nil:
		return fault(protocol.InvalidRequest, "Broker name %s is not a number", name)
	case id < 0:
		return fault(protocol.InvalidRequest, "Broker id %d is negative", id)
	case c.settle().Broker(int32(id)) == nil && c.settle().Controller(int32(id)) == nil && int32(id) != c.o.NodeID:
		return fault(protocol.BrokerIDNotRegistered, "No node with id %d found.", id)
	}
	return config.ValidateBroker(settings, true, c.layers())
}

// settingRecords makes one record a setting, by name.
func settingRecords(res metadata.Resource, settings map[string]string) []metadata.Record {
	var out []metadata.Record
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		value := settings[name]
		out = append(out, &msg.ConfigRecord{ResourceType: int8(res.Type), ResourceName: res.Name, Name: name, Value: &value})
	}
	return out
}
