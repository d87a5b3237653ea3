package catalog

import (
	"slices"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

// CreateTopics 2 to 7. The topics that can be made are made together, in one atomic write (KIP-464 defaults,
// KIP-525 the answer says what was made).
func (c *Catalog) CreateTopics(r *kmsg.CreateTopicsRequest) (*kmsg.CreateTopicsResponse, Result, error) {
	if err := c.checkPartitionTotal(r); err != nil {
		return nil, Result{}, err
	}
	resp := r.ResponseKind().(*kmsg.CreateTopicsResponse)
	var records []metadata.Record
	twice := duplicates(r.Topics, func(t kmsg.CreateTopicsRequestTopic) string { return t.Topic })
	placer := c.newPlacer()
	for i := range r.Topics {
		t := &r.Topics[i]
		if slices.Contains(twice, t.Topic) {
			continue
		}
		out, recs, err := c.createTopic(t, placer)
		if err != nil {
			out = refusedTopic(t.Topic, int16(protocol.CodeOf(err)), protocol.MessageOf(err))
		}
		resp.Topics = append(resp.Topics, out)
		records = append(records, recs...)
	}
	for _, name := range twice {
		err := fault(protocol.InvalidRequest, "The topic stands in the request more than once")
		resp.Topics = append(resp.Topics, refusedTopic(name, int16(err.Code), protocol.MessageOf(err)))
	}
	if err := tooMany(records); err != nil {
		return nil, Result{}, err
	}
	if r.ValidateOnly {
		records = nil
	}
	return resp, Result{Records: records}, nil
}

// refusedTopic is the answer for a topic that was not made; its list of settings is empty, not null.
func refusedTopic(name string, code int16, message *string) kmsg.CreateTopicsResponseTopic {
	out := kmsg.NewCreateTopicsResponseTopic()
	out.Topic, out.NumPartitions, out.ReplicationFactor = name, -1, -1
	out.ErrorCode, out.ErrorMessage, out.Configs = code, message, []kmsg.CreateTopicsResponseTopicConfig{}
	return out
}

func (c *Catalog) checkPartitionTotal(r *kmsg.CreateTopicsRequest) error {
	total := 0
	for _, t := range r.Topics {
		switch {
		case len(t.ReplicaAssignment) > 0:
			total += len(t.ReplicaAssignment)
		case t.NumPartitions == -1:
			total += c.defaultPartitions()
		case t.NumPartitions > 0:
			total += int(t.NumPartitions)
		}
		if total > MaxRecords {
			return fault(protocol.PolicyViolation, "The request asks for more than %d partitions", MaxRecords)
		}
	}
	return nil
}

func (c *Catalog) static() config.Values  { return config.Layers{Static: c.o.Static}.Broker() }
func (c *Catalog) defaultPartitions() int { return int(c.static().Int("num.partitions")) }
func (c *Catalog) defaultReplicationFactor() int {
	return int(c.static().Int("default.replication.factor"))
}

func (c *Catalog) createTopic(t *kmsg.CreateTopicsRequestTopic, pl *placer) (kmsg.CreateTopicsResponseTopic, []metadata.Record, error) {
	out := kmsg.NewCreateTopicsResponseTopic()
	if err := c.checkNewName(t.Topic); err != nil {
		return out, nil, err
	}
	name := strings.Clone(t.Topic)
	settings, configs, err := c.creationConfigs(name, t.Configs)
	if err != nil {
		return out, nil, err
	}
	parts, err := c.creationPartitions(t, pl)
	if err != nil {
		return out, nil, err
	}
	id := c.o.NewID()
	records := append([]metadata.Record{&msg.TopicRecord{Name: name, TopicID: id}}, configs...)
	for n, p := range parts {
		records = append(records, p.Record(id, int32(n), c.settle().MetadataVersion()))
	}
	out.Topic, out.TopicID = name, id
	out.NumPartitions, out.ReplicationFactor = int32(len(parts)), int16(len(parts[0].Replicas))
	for _, e := range c.layers().Topic(settings).Entries(nil) {
		cfg := kmsg.NewCreateTopicsResponseTopicConfig()
		cfg.Name, cfg.Value, cfg.ReadOnly, cfg.Source, cfg.IsSensitive = e.Name, e.Value, e.ReadOnly, int8(e.Source), e.Sensitive
		if v, ok := settings[e.Name]; ok && !e.Sensitive { // as it was written; DescribeConfigs has the parsed value
			cfg.Value = &v
		}
		out.Configs = append(out.Configs, cfg)
	}
	return out, records, nil
}

// checkNewName: a name Kafka allows, not taken, and not the same as an existing one once '.' and '_' are taken for
// the same character, as they are in metric names.
func (c *Catalog) checkNewName(name string) error {
	if name == protocol.ClusterMetadataTopic {
		return fault(protocol.InvalidRequest, "Topic %s cannot be created", name)
	}
	image := c.settle()
	if image.Topic(name) != nil {
		return fault(protocol.TopicAlreadyExists, "Topic '%s' already exists.", name)
	}
	if err := protocol.CheckTopicName(name); err != nil {
		return err
	}
	if other := c.collision(name); other != "" {
		return fault(protocol.InvalidTopicException, "Topic '%s' collides with existing topic: %s", name, other)
	}
	return nil
}

// collision is an existing topic that differs only in '.' and '_', "" without one. It tries both characters at each
// place where there is one, as long as some topic begins like that.
func (c *Catalog) collision(name string) string {
	if !strings.ContainsAny(name, "._") {
		return ""
	}
	image := c.settle()
	var find func(head, rest string) string
	find = func(head, rest string) string {
		at := strings.IndexAny(rest, "._")
		if at < 0 {
			if t := image.Topic(head + rest); t != nil {
				return t.Name
			}
			return ""
		}
		for _, char := range []string{".", "_"} {
			longer := head + rest[:at] + char
			if !begins(image, longer) {
				continue
			}
			if found := find(longer, rest[at+1:]); found != "" {
				return found
			}
		}
		return ""
	}
	return find("", name)
}

// begins reports whether a topic's name begins with head.
func begins(image *metadata.Image, head string) bool {
	for t := range image.TopicsFrom(head) {
		return strings.HasPrefix(t.Name, head)
	}
	return false
}

// creationConfigs checks a new topic's settings and makes their records.
func (c *Catalog) creationConfigs(topic string, list []kmsg.CreateTopicsRequestTopicConfig) (map[string]string, []metadata.Record, error) {
	var nulls []string
	settings := map[string]string{}
	for _, cfg := range list {
		if cfg.Value == nil {
			nulls = append(nulls, cfg.Name)
			continue
		}
		settings[strings.Clone(cfg.Name)] = strings.Clone(*cfg.Value)
	}
	if len(nulls) > 0 {
		return nil, nil, fault(protocol.InvalidConfig, "Null value not supported for topic configs: %s", strings.Join(nulls, ","))
	}
	if len(settings) == 0 {
		return nil, nil, nil
	}
	for name, value := range settings {
		if err := checkValueSize(name, value); err != nil {
			return nil, nil, err
		}
	}
	if err := config.ValidateTopic(settings, c.layers()); err != nil {
		return nil, nil, err
	}
	records := settingRecords(metadata.Resource{Type: metadata.TopicResource, Name: topic}, settings)
	return settings, append(records, c.clearELR(records)...), nil
}

// creationPartitions places the new topic's replicas, or takes the assignment that the client made.
func (c *Catalog) creationPartitions(t *kmsg.CreateTopicsRequestTopic, pl *placer) ([]*metadata.Partition, error) {
	if len(t.ReplicaAssignment) > 0 {
		return c.assignedPartitions(t)
	}
	switch {
	case t.ReplicationFactor < -1 || t.ReplicationFactor == 0:
		return nil, fault(protocol.InvalidReplicationFactor, "Replication factor must be larger than 0, or -1 to use the default value.")
	case t.NumPartitions < -1 || t.NumPartitions == 0:
		return nil, fault(protocol.InvalidPartitions, "Number of partitions must be larger than 0, or -1 to use the default value.")
	}
	count, replicas := int(t.NumPartitions), int(t.ReplicationFactor)
	if count == -1 {
		count = c.defaultPartitions()
	}
	if replicas == -1 {
		replicas = c.defaultReplicationFactor()
	}
	return c.place(pl, count, replicas)
}

func (c *Catalog) place(pl *placer, count, replicas int) ([]*metadata.Partition, error) {
	if err := pl.check(replicas); err != nil {
		return nil, fault(protocol.InvalidReplicationFactor, "Unable to replicate the partition %d time(s): %s", replicas, text(err))
	}
	out := make([]*metadata.Partition, 0, count)
	for range count {
		p := c.newPartition(pl.place(replicas))
		if p == nil {
			return nil, fault(protocol.InvalidReplicationFactor,
				"Unable to replicate the partition %d time(s): All brokers are currently fenced or in controlled shutdown.", replicas)
		}
		out = append(out, p)
	}
	return out, nil
}

// newPartition is a partition led by the first of its replicas that is active, nil if none is.
func (c *Catalog) newPartition(replicas []int32) *metadata.Partition {
	p := &metadata.Partition{Replicas: slices.Clone(replicas), Directories: make([]protocol.UUID, len(replicas))}
	for i, id := range replicas {
		p.Directories[i] = c.defaultDir(id)
		if c.active(id) {
			p.ISR = append(p.ISR, id)
		}
	}
	if len(p.ISR) == 0 {
		return nil
	}
	p.Leader = p.ISR[0]
	return p
}

func (c *Catalog) assignedPartitions(t *kmsg.CreateTopicsRequestTopic) ([]*metadata.Partition, error) {
	if t.ReplicationFactor != -1 {
		return nil, fault(protocol.InvalidRequest, "With an assignment of replicas the replication factor must be -1, not %d", t.ReplicationFactor)
	}
	if t.NumPartitions != -1 {
		return nil, fault(protocol.InvalidRequest, "With an assignment of replicas the number of partitions must be -1, not %d", t.NumPartitions)
	}
	out := make([]*metadata.Partition, len(t.ReplicaAssignment))
	factor := 0
	seen := map[int32]bool{}
	for _, a := range t.ReplicaAssignment {
		if seen[a.Partition] {
			return nil, fault(protocol.InvalidReplicaAssignment, "Partition %d is assigned twice", a.Partition)
		}
		seen[a.Partition] = true
		p, err := c.assigned(a.Partition, a.Replicas, factor)
		if err != nil {
			return nil, err
		}
		factor = len(a.Replicas)
		if a.Partition >= 0 && int(a.Partition) < len(out) {
			out[a.Partition] = p
		}
	}
	if slices.Contains(out, nil) {
		return nil, fault(protocol.InvalidReplicaAssignment, "The partitions assigned must be numbered from 0 without gaps")
	}
	return out, nil
}

// assigned is a partition with the replicas that the client chose; factor is the replication factor it must have, 0
// for any.
func (c *Catalog) assigned(number int32, replicas []int32, factor int) (*metadata.Partition, error) {
	if err := c.checkAssignment(replicas, factor); err != nil {
		return nil, err
	}
	p := c.newPartition(replicas)
	if p == nil {
		return nil, fault(protocol.InvalidReplicaAssignment, "All brokers assigned to partition %d are fenced or in controlled shutdown", number)
	}
	return p, nil
}

func (c *Catalog) checkAssignment(replicas []int32, factor int) error {
	if len(replicas) == 0 {
		return fault(protocol.InvalidReplicaAssignment, "The assignment has an empty list of replicas")
	}
	image := c.settle()
	sorted := slices.Sorted(slices.Values(replicas))
	for i, id := range sorted {
		b := image.Broker(id)
		switch {
		case b == nil:
			return fault(protocol.InvalidReplicaAssignment, "The assignment names broker %d, which is not registered", id)
		case !hasUncordonedDir(b):
			return fault(protocol.InvalidReplicaAssignment, "The assignment names broker %d, whose log directories are all cordoned", id)
		case i > 0 && sorted[i-1] == id:
			return fault(protocol.InvalidReplicaAssignment, "The assignment names broker %d more than once", id)
		}
	}
	if factor > 0 && len(replicas) != factor {
		return fault(protocol.InvalidReplicaAssignment, "The assignment gives a partition %d replica(s), others have %d", len(replicas), factor)
	}
	return nil
}

// duplicates lists the names that appear more than once, in order of appearance.
func duplicates[T any](list []T, name func(T) string) []string {
	count := map[string]int{}
	var out []string
	for _, t := range list {
		n := name(t)
		if count[n]++; count[n] == 2 {
			out = append(out, n)
		}
	}
	return out
}
