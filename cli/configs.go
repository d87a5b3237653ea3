package cli

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/ottla/ottla/config"
)

// The entity types of kafka-configs.
const (
	entityTopics  = "topics"
	entityClients = "clients"
	entityUsers   = "users"
	entityBrokers = "brokers"
	entityLoggers = "broker-loggers"
	entityIPs     = "ips"
	entityMetrics = "client-metrics"
	entityGroups  = "groups"
)

var entityTypes = []string{entityLoggers, entityTopics, entityClients, entityUsers, entityBrokers, entityIPs, entityMetrics, entityGroups}

// entityFlags are the options that name a type and an entity at once, in Kafka's order; entityDefaults name a type
// and its default entity.
var (
	entityFlags = [][2]string{{"topic", entityTopics}, {"client", entityClients}, {"user", entityUsers}, {"broker", entityBrokers},
		{"broker-logger", entityLoggers}, {"ip", entityIPs}, {"client-metrics", entityMetrics}, {"group", entityGroups}}
	entityDefaults = [][2]string{{"client-defaults", entityClients}, {"user-defaults", entityUsers},
		{"broker-defaults", entityBrokers}, {"ip-defaults", entityIPs}}
)

// plain is an error whose message alone goes to stderr.
type plain struct{ msg string }

func (e *plain) Error() string { return e.msg }

func plainf(format string, a ...any) error { return &plain{fmt.Sprintf(format, a...)} }

// runConfigs is kafka-configs: describe and alter the settings of topics, brokers, groups, users and so on.
func runConfigs(e *env) int {
	p, code, done, err := e.parse("Describes and alters the settings of topics, brokers, clients, users, groups and so on.", configsOptions())
	if done {
		return code
	}
	if err == nil {
		err = configsAction(e, p)
	}
	switch {
	case err == nil:
		return 0
	case e.orUsage(p, err):
	case isPlain(err):
		e.errorln(err)
	default:
		e.errorf("Error while executing config command with args '%s'\n%s", strings.Join(e.args, " "), trace(err))
	}
	return 1
}

func isPlain(err error) bool {
	var p *plain
	var o *optionError
	return errors.As(err, &p) || errors.As(err, &o)
}

func configsOptions() []option {
	keys := func(s config.Scope) string {
		var names []string
		for _, k := range config.Keys(s) {
			if !k.Internal && (s != config.ScopeBroker || k.Mode != config.ReadOnly) {
				names = append(names, "\t"+k.Name)
			}
		}
		return "\n" + strings.Join(names, "\n")
	}
	quotas := "\n\tconsumer_byte_rate\n\tcontroller_mutation_rate\n\tproducer_byte_rate\n\trequest_percentage"
	return []option{
		{name: "bootstrap-server", arg: requiredArg, hint: "server to connect to", doc: "host:port of a broker, or several separated by commas."},
		{name: "bootstrap-controller", arg: requiredArg, hint: "controller to connect to", doc: "host:port of a controller, or several separated by commas."},
		{name: "command-config", arg: requiredArg, hint: "command config property file", doc: "Properties file with settings for the connection."},
		{name: "alter", doc: "Change settings."},
		{name: "describe", doc: "Show settings that were changed, or with --all, all."},
		{name: "all", doc: "With --describe: also what nobody changed."},
		{name: "entity-type", arg: requiredArg, doc: "What to describe or alter: " + strings.Join(entityTypes, ", ") + "."},
		{name: "entity-name", arg: requiredArg, doc: "Its name: of a topic, client, user, broker (its id), ip, client-metrics resource or group."},
		{name: "entity-default", doc: "In place of a name: the default for clients, users, brokers or ips."},
		{name: "add-config", arg: requiredArg, doc: "Settings to change: k1=v1,k2=[v1,v2],k3=v3. Square brackets keep a value with commas together. Of topics:" +
			keys(config.ScopeTopic) + "\nOf brokers:" + keys(config.ScopeBroker) + "\nOf users:\n\tSCRAM-SHA-256\n\tSCRAM-SHA-512" + quotas +
			"\nOf clients:" + quotas + "\nOf ips:\n\tconnection_creation_rate\nOf client-metrics:" + keys(config.ScopeClientMetrics) +
			"\nOf groups:" + keys(config.ScopeGroup) + "\nUsers and clients together mean a client of that user."},
		{name: "add-config-file", arg: requiredArg, doc: "Properties file of settings to change."},
		{name: "delete-config", arg: requiredArg, split: ",", doc: "Settings to give up: k1,k2."},
		{name: "topic", arg: requiredArg, doc: "A topic's name."},
		{name: "client", arg: requiredArg, doc: "A client's id."},
		{name: "client-defaults", doc: "The default for all clients."},
		{name: "user", arg: requiredArg, doc: "A user's name."},
		{name: "user-defaults", doc: "The default for all users."},
		{name: "broker", arg: requiredArg, doc: "A broker's id."},
		{name: "broker-defaults", doc: "The default for all brokers."},
		{name: "broker-logger", arg: requiredArg, doc: "A broker's id, for the levels of its loggers."},
		{name: "ip", arg: requiredArg, doc: "An IP address."},
		{name: "ip-defaults", doc: "The default for all IP addresses."},
		{name: "group", arg: requiredArg, doc: "A group's id."},
		{name: "client-metrics", arg: requiredArg, doc: "A client-metrics resource's name."},
	}
}

// entityTypesOf lists the types that the command line names, by --entity-type and then by shorter options.
func entityTypesOf(p *parsed) []string {
	types := slices.Clone(p.list("entity-type"))
	for _, f := range slices.Concat(entityFlags, entityDefaults) {
		if p.has(f[0]) {
			types = append(types, f[1])
		}
	}
	return types
}

// entityNamesOf lists the names in the same order; "" stands for a default.
func entityNamesOf(p *parsed) []string {
	var names []string
	given := p.list("entity-name")
	for _, o := range p.order {
		switch {
		case o == "entity-default":
			names = append(names, "")
		case o == "entity-name" && len(given) > 0:
			names = append(names, given[0])
			given = given[1:]
		}
	}
	for _, f := range entityFlags {
		if p.has(f[0]) {
			names = append(names, p.str(f[0]))
		}
	}
	for _, f := range entityDefaults {
		if p.has(f[0]) {
			names = append(names, "")
		}
	}
	return names
}

// checkConfigs refuses combinations of options that Kafka refuses, in Kafka's order.
func checkConfigs(p *parsed, types, names []string) error {
	if p.has("alter") == p.has("describe") {
		return &usageError{"Command must include exactly one action: --describe, --alter"}
	}
	if err := refuseWith(p, "describe", "add-config", "delete-config"); err != nil {
		return err
	}
	var twice []string
	for i, t := range types {
		if slices.Contains(types[:i], t) && !slices.Contains(twice, t) {
			twice = append(twice, t)
		}
	}
	if len(twice) > 0 {
		return plainf("Duplicate entity type(s) specified: %s", strings.Join(twice, ","))
	}
	if !p.hasAny("bootstrap-server", "bootstrap-controller") {
		return plainf("Either --bootstrap-server or --bootstrap-controller must be specified.")
	}
	for _, t := range types {
		if !slices.Contains(entityTypes, t) {
			return plainf("Invalid entity type %s, the entity type must be one of %s with a --bootstrap-server or --bootstrap-controller argument",
				t, strings.Join(entityTypes, ", "))
		}
	}
	if len(types) == 0 {
		return plainf("At least one entity type must be specified")
	}
	if len(types) > 1 && !(len(types) == 2 && slices.Contains(types, entityUsers) && slices.Contains(types, entityClients)) {
		return plainf("Only 'users' and 'clients' entity types may be specified together")
	}
	if p.hasAny("entity-name", "entity-type", "entity-default") {
		for _, f := range slices.Concat(entityFlags, entityDefaults) {
			if p.has(f[0]) {
				return plainf("--entity-{type,name,default} should not be used in conjunction with specific entity flags")
			}
		}
	}
	if p.has("bootstrap-server") && p.has("bootstrap-controller") {
		return plainf("Only one of --bootstrap-server or --bootstrap-controller can be specified")
	}
	if err := checkEntityNames(types, names); err != nil {
		return err
	}
	if p.has("describe") {
		return checkDescribe(p, types, names)
	}
	return checkAlter(p, types, names)
}

func checkEntityNames(types, names []string) error {
	for _, n := range names {
		if n == "" {
			continue
		}
		switch types[0] {
		case entityBrokers, entityLoggers:
			if _, err := strconv.ParseInt(n, 10, 32); err != nil {
				return plainf("The entity name for %s must be a valid integer broker id, but it is: %s", types[0], n)
			}
		case entityIPs:
			if _, err := net.LookupHost(n); err != nil {
				return plainf("The entity name for %s must be a valid IP or resolvable host, but it is: %s", types[0], n)
			}
		}
	}
	return nil
}

// hasDefaults reports whether entities of the types have a default entity.
func hasDefaults(types []string) bool {
	return slices.ContainsFunc(types, func(t string) bool {
		return t == entityUsers || t == entityClients || t == entityBrokers || t == entityIPs
	})
}

func isNamed(names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return n != "" })
}

func checkDescribe(p *parsed, types, names []string) error {
	if !hasDefaults(types) && p.has("entity-default") {
		return plainf("--entity-default must not be specified with --describe of %s", strings.Join(types, ","))
	}
	if slices.Contains(types, entityLoggers) && !isNamed(names) {
		return plainf("An entity name must be specified with --describe of %s", strings.Join(types, ","))
	}
	return nil
}

func checkAlter(p *parsed, types, names []string) error {
	if hasDefaults(types) {
		if len(names) == 0 {
			return plainf("An entity-name or default entity must be specified with --alter of users, clients, brokers or ips")
		}
	} else if !isNamed(names) {
		return plainf("An entity name must be specified with --alter of %s", strings.Join(types, ","))
	}
	if p.has("add-config") && p.has("add-config-file") {
		return plainf("Only one of --add-config or --add-config-file must be specified")
	}
	if !p.hasAny("add-config", "add-config-file", "delete-config") {
		return plainf("At least one of --add-config, --add-config-file, or --delete-config must be specified with --alter")
	}
	return nil
}

func configsAction(e *env, p *parsed) error {
	types, names := entityTypesOf(p), entityNamesOf(p)
	if err := checkConfigs(p, types, names); err != nil {
		return err
	}
	if p.has("alter") && len(types) != len(names) {
		return plainf("An entity name must be specified for every entity type")
	}
	conf, err := loadConfig(p.str("command-config"))
	if err != nil {
		return err
	}
	c, err := e.connectEither(conf, p.str("bootstrap-server"), p.str("bootstrap-controller"))
	if err = firstError(err, p.err); err != nil {
		return err
	}
	defer c.close()
	if p.has("describe") {
		return describeEntity(e, c, types, names, p.has("all"))
	}
	add, err := configsToAdd(p)
	if err = firstError(err, p.err); err != nil {
		return err
	}
	var drop []string
	for _, k := range p.list("delete-config") {
		drop = append(drop, strings.TrimSpace(k))
	}
	return alterEntity(e, c, types, names, add, drop)
}

// configsToAdd reads --add-config-file or --add-config.
func configsToAdd(p *parsed) (clientConfig, error) {
	add, err := loadConfig(p.str("add-config-file"))
	if err != nil {
		return nil, err
	}
	if p.has("add-config") {
		if add, err = parseAddConfig(p.str("add-config")); err != nil {
			return nil, err
		}
	}
	for k := range add {
		for _, r := range k {
			if !strings.ContainsRune("$abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", r) {
				return nil, plainf("Invalid character found for config key: %s", k)
			}
		}
	}
	return add, nil
}

// parseAddConfig reads k1=v1,k2=[v1,v2],k3=v3. Separators inside brackets do not separate.
func parseAddConfig(s string) (clientConfig, error) {
	add := clientConfig{}
	for _, entry := range splitOutside(s, ',') {
		kv := splitOutside(entry, '=')
		if len(kv) != 2 {
			return nil, plainf(`Invalid entity config: all configs to be added must be in the format "key=val" or  "key=[val1,val2]" to group values which contain commas.`)
		}
		add[strings.TrimSpace(kv[0])] = strings.TrimSpace(strings.NewReplacer("[", "", "]", "").Replace(kv[1]))
	}
	return add, nil
}

// splitOutside splits at separators that are not inside of square brackets: those after which the next bracket, if
// there is one, opens.
func splitOutside(s string, sep byte) []string {
	var parts []string
	start := 0
	for i := range len(s) {
		if s[i] != sep {
			continue
		}
		rest := s[i+1:]
		if b := strings.IndexAny(rest, "[]"); b >= 0 && rest[b] == ']' {
			continue
		}
		parts = append(parts, s[start:i])
		start = i + 1
	}
	return append(parts, s[start:])
}
