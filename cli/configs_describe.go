package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// resourceType is the kind of resource behind an entity type, and where settings come from that were changed on it.
func resourceType(entityType, name string) (kmsg.ConfigResourceType, kmsg.ConfigSource) {
	switch entityType {
	case entityTopics:
		return kmsg.ConfigResourceTypeTopic, kmsg.ConfigSourceDynamicTopicConfig
	case entityBrokers:
		if name == "" {
			return kmsg.ConfigResourceTypeBroker, kmsg.ConfigSourceDynamicDefaultBrokerConfig
		}
		return kmsg.ConfigResourceTypeBroker, kmsg.ConfigSourceDynamicBrokerConfig
	case entityLoggers:
		return kmsg.ConfigResourceTypeBrokerLogger, kmsg.ConfigSourceDynamicBrokerLoggerConfig
	case entityMetrics:
		return kmsg.ConfigResourceTypeClientMetrics, kmsg.ConfigSourceClientMetricsConfig
	}
	return kmsg.ConfigResourceTypeGroupConfig, kmsg.ConfigSourceGroupConfig
}

// sourceName is Kafka's name for where a value comes from.
func sourceName(s kmsg.ConfigSource) string {
	switch s {
	case kmsg.ConfigSourceDynamicTopicConfig:
		return "DYNAMIC_TOPIC_CONFIG"
	case kmsg.ConfigSourceDynamicBrokerConfig:
		return "DYNAMIC_BROKER_CONFIG"
	case kmsg.ConfigSourceDynamicDefaultBrokerConfig:
		return "DYNAMIC_DEFAULT_BROKER_CONFIG"
	case kmsg.ConfigSourceStaticBrokerConfig:
		return "STATIC_BROKER_CONFIG"
	case kmsg.ConfigSourceDefaultConfig:
		return "DEFAULT_CONFIG"
	case kmsg.ConfigSourceDynamicBrokerLoggerConfig:
		return "DYNAMIC_BROKER_LOGGER_CONFIG"
	case kmsg.ConfigSourceClientMetricsConfig:
		return "DYNAMIC_CLIENT_METRICS_CONFIG"
	case kmsg.ConfigSourceGroupConfig:
		return "DYNAMIC_GROUP_CONFIG"
	}
	return "UNKNOWN"
}

func describeEntity(e *env, c *cluster, types, names []string, all bool) error {
	switch types[0] {
	case entityUsers, entityClients:
		if err := describeQuotas(e, c, types, names); err != nil {
			return err
		}
		if slices.Contains(types, entityClients) || slices.Contains(names, "") {
			return nil
		}
		return describeSCRAM(e, c, names)
	case entityIPs:
		return describeQuotas(e, c, types, names)
	}
	return describeResources(e, c, types[0], names, all)
}

func describeResources(e *env, c *cluster, entityType string, names []string, all bool) error {
	if len(names) > 0 {
		names = names[:1]
		if err := checkTopicName(entityType, names[0]); err != nil {
			return err
		}
		if !all {
			ok, err := c.entityExists(entityType, names[0])
			if err != nil {
				return asExecution(err)
			}
			if !ok {
				e.printf("The %s '%s' doesn't exist and doesn't have dynamic config.\n", strings.TrimSuffix(entityType, "s"), names[0])
				return nil
			}
		}
	} else {
		var err error
		if names, err = c.entities(entityType); err != nil {
			return asExecution(err)
		}
	}
	for _, name := range names {
		if err := describeResource(e, c, entityType, name, all); err != nil {
			return err
		}
	}
	return nil
}

func describeResource(e *env, c *cluster, entityType, name string, all bool) error {
	kind, own := resourceType(entityType, name)
	switch {
	case name == "":
		e.printf("Default configs for %s in the cluster are:\n", entityType)
	case all:
		e.printf("All configs for %s %s are:\n", strings.TrimSuffix(entityType, "s"), name)
	default:
		e.printf("Dynamic configs for %s %s are:\n", strings.TrimSuffix(entityType, "s"), name)
	}
	resources, err := c.describeConfigs(kind, []string{name}, true)
	if err != nil {
		return asExecution(err)
	}
	for _, r := range resources {
		slices.SortFunc(r.Configs, func(a, b kmsg.DescribeConfigsResponseResourceConfig) int { return cmp.Compare(a.Name, b.Name) })
		for _, entry := range r.Configs {
			if all || entry.Source == own {
				printConfig(e, entry)
			}
		}
	}
	return nil
}

func printConfig(e *env, c kmsg.DescribeConfigsResponseResourceConfig) {
	var synonyms []string
	for _, s := range c.ConfigSynonyms {
		synonyms = append(synonyms, sourceName(s.Source)+":"+s.Name+"="+orNull(s.Value))
	}
	e.printf("  %s=%s sensitive=%t synonyms={%s}\n", c.Name, orNull(c.Value), c.IsSensitive, strings.Join(synonyms, ", "))
}

func orNull(s *string) string {
	if s == nil {
		return "null"
	}
	return *s
}

// checkTopicName refuses a topic's name that cannot be, before anybody is asked.
func checkTopicName(entityType, name string) error {
	if entityType != entityTopics {
		return nil
	}
	switch {
	case name == "":
		return plainf("Topic name is invalid: the empty string is not allowed")
	case name == "." || name == "..":
		return plainf("Topic name is invalid: '.' or '..' are not allowed")
	case len(name) > 249:
		return plainf("Topic name is invalid: the length of '%s' is longer than the max allowed length 249", name)
	}
	for _, r := range name {
		if !(r == '.' || r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return plainf("Topic name is invalid: '%s' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'", name)
		}
	}
	return nil
}

// entities lists the names of all entities of a type; for brokers with "", their default.
func (c *cluster) entities(entityType string) ([]string, error) {
	switch entityType {
	case entityTopics:
		return c.topicNames(true)
	case entityMetrics:
		return c.configResources(kmsg.ConfigResourceTypeClientMetrics)
	case entityGroups:
		groups, err := c.listGroups(nil, nil)
		if err != nil {
			return nil, err
		}
		var names []string
		for _, g := range groups {
			names = append(names, g.id)
		}
		configured, err := c.groupResources()
		for _, n := range configured {
			if !slices.Contains(names, n) {
				names = append(names, n)
			}
		}
		return names, err
	}
	brokers, err := c.brokers()
	var names []string
	for _, b := range brokers {
		names = append(names, strconv.Itoa(int(b.NodeID)))
	}
	return append(names, ""), err
}

func (c *cluster) entityExists(entityType, name string) (bool, error) {
	names, err := c.entities(entityType)
	return slices.Contains(names, name), err
}

// configResources lists the resources of one type that have settings (KIP-1142).
func (c *cluster) configResources(kind kmsg.ConfigResourceType) ([]string, error) {
	req := kmsg.NewPtrListConfigResourcesRequest()
	req.ResourceTypes = []int8{int8(kind)}
	resp, err := request[*kmsg.ListConfigResourcesResponse](c, "listConfigResources", req)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, r := range resp.ConfigResources {
		if r.Type == int8(kind) {
			names = append(names, r.Name)
		}
	}
	return names, coded(resp.ErrorCode, nil)
}

// groupResources lists the groups that have settings; none if the cluster does not say.
func (c *cluster) groupResources() ([]string, error) {
	names, err := c.configResources(kmsg.ConfigResourceTypeGroupConfig)
	if code := codeOf(err); unsupported(err) || code == protocol.UnsupportedVersion || code == protocol.ClusterAuthorizationFailed {
		return nil, nil
	}
	return names, err
}

// describeSCRAM shows which SCRAM credentials users have, all users if none is named.
func describeSCRAM(e *env, c *cluster, users []string) error {
	req := kmsg.NewPtrDescribeUserSCRAMCredentialsRequest()
	for _, u := range users {
		r := kmsg.NewDescribeUserSCRAMCredentialsRequestUser()
		r.Name = u
		req.Users = append(req.Users, r)
	}
	resp, err := request[*kmsg.DescribeUserSCRAMCredentialsResponse](c, "describeUserScramCredentials", req)
	if err == nil {
		err = coded(resp.ErrorCode, resp.ErrorMessage)
	}
	if unsupported(err) {
		return nil
	}
	if err != nil {
		return asExecution(err)
	}
	for _, r := range resp.Results {
		if protocol.ErrorCode(r.ErrorCode) == protocol.ResourceNotFound {
			continue
		}
		if err := coded(r.ErrorCode, r.ErrorMessage); err != nil {
			e.printf("Error retrieving SCRAM credential configs for user-principal '%s': %s: %s\n", r.User, className(err), err)
			continue
		}
		var infos []string
		for _, i := range r.CredentialInfos {
			infos = append(infos, fmt.Sprintf("%s=iterations=%d", scramName(i.Mechanism), i.Iterations))
		}
		e.printf("SCRAM credential configs for user-principal '%s' are %s\n", r.User, strings.Join(infos, ", "))
	}
	return nil
}

func scramName(mechanism int8) string {
	if mechanism == 1 {
		return "SCRAM-SHA-256"
	}
	return "SCRAM-SHA-512"
}
