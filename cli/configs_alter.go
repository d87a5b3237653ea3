package cli

import (
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	quotaKeys   = []string{"consumer_byte_rate", "controller_mutation_rate", "producer_byte_rate", "request_percentage"}
	ipQuotaKeys = []string{"connection_creation_rate"}
	scramKeys   = []string{"SCRAM-SHA-256", "SCRAM-SHA-512"}
)

func alterEntity(e *env, c *cluster, types, names []string, add clientConfig, drop []string) error {
	var err error
	switch types[0] {
	case entityUsers, entityClients:
		err = alterUserOrClient(c, types, names, add, drop)
	case entityIPs:
		if odd := unknownKeys(slices.Concat(keys(add), drop), ipQuotaKeys); len(odd) > 0 {
			return plainf("Only connection quota configs can be added for 'ips' using --bootstrap-server. Unexpected config names: %s", strings.Join(odd, ", "))
		}
		err = alterQuotas(c, types, names, add, drop)
	case entityLoggers:
		if err = checkLoggers(c, names[0], slices.Concat(drop, keys(add))); err == nil {
			err = c.alterConfigs(kmsg.ConfigResourceTypeBrokerLogger, names[0], add, drop)
		}
	default:
		kind, _ := resourceType(types[0], names[0])
		err = c.alterConfigs(kind, names[0], add, drop)
	}
	if err != nil {
		return err
	}
	if names[0] == "" {
		e.printf("Completed updating default config for %s in the cluster.\n", types[0])
	} else {
		e.printf("Completed updating config for %s %s.\n", strings.TrimSuffix(types[0], "s"), names[0])
	}
	return nil
}

// keys lists the keys of settings, sorted.
func keys(c clientConfig) []string { return slices.Sorted(maps.Keys(c)) }

// unknownKeys lists those of keys that none of the lists has.
func unknownKeys(keys []string, known ...[]string) []string {
	all := slices.Concat(known...)
	return slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return slices.Contains(all, k) })
}

// alterConfigs changes and gives up settings of one resource.
func (c *cluster) alterConfigs(kind kmsg.ConfigResourceType, name string, add clientConfig, drop []string) error {
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kind, name
	for _, k := range drop {
		entry := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		entry.Name, entry.Op = k, kmsg.IncrementalAlterConfigOpDelete
		r.Configs = append(r.Configs, entry)
	}
	for _, k := range keys(add) {
		entry := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
		entry.Name, entry.Op, entry.Value = k, kmsg.IncrementalAlterConfigOpSet, kmsg.StringPtr(add[k])
		r.Configs = append(r.Configs, entry)
	}
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	req.Resources = append(req.Resources, r)
	resp, err := request[*kmsg.IncrementalAlterConfigsResponse](c, "incrementalAlterConfigs", req)
	if err != nil {
		return asExecution(err)
	}
	for _, r := range resp.Resources {
		if err := coded(r.ErrorCode, r.ErrorMessage); err != nil {
			return asExecution(err)
		}
	}
	return nil
}

// checkLoggers refuses loggers that the broker does not have.
func checkLoggers(c *cluster, broker string, loggers []string) error {
	resources, err := c.describeConfigs(kmsg.ConfigResourceTypeBrokerLogger, []string{broker}, false)
	if err != nil {
		return asExecution(err)
	}
	var known []string
	for _, r := range resources {
		for _, l := range r.Configs {
			known = append(known, l.Name)
		}
	}
	if odd := unknownKeys(loggers, known); len(odd) > 0 {
		return plainf("Invalid broker logger(s): %s", strings.Join(odd, ","))
	}
	return nil
}

// alterUserOrClient changes quotas of users and clients, or SCRAM credentials of a user.
func alterUserOrClient(c *cluster, types, names []string, add clientConfig, drop []string) error {
	if types[0] == entityClients || len(types) == 2 {
		if odd := unknownKeys(keys(add), quotaKeys); len(odd) > 0 {
			return plainf("Only quota configs can be added for 'clients' using --bootstrap-server. Unexpected config names: %s", strings.Join(odd, ","))
		}
		if odd := unknownKeys(drop, quotaKeys); len(odd) > 0 {
			return plainf("Only quota configs can be deleted for 'clients' using --bootstrap-server. Unexpected config names: %s", strings.Join(odd, ","))
		}
		return alterQuotas(c, types, names, add, drop)
	}
	if odd := unknownKeys(keys(add), quotaKeys, scramKeys); len(odd) > 0 {
		return plainf("Only quota and SCRAM credential configs can be added for 'users' using --bootstrap-server. Unexpected config names: %s", strings.Join(odd, ","))
	}
	if odd := unknownKeys(drop, quotaKeys, scramKeys); len(odd) > 0 {
		return plainf("Only quota and SCRAM credential configs can be deleted for 'users' using --bootstrap-server. Unexpected config names: %s", strings.Join(odd, ","))
	}
	all := slices.Concat(keys(add), drop)
	scram := len(unknownKeys(all, quotaKeys)) > 0
	if scram && slices.Contains(names, "") {
		return plainf("The use of --entity-default or --user-defaults is not allowed with User SCRAM Credentials using --bootstrap-server.")
	}
	if scram && len(unknownKeys(all, scramKeys)) > 0 {
		return plainf("Cannot alter both quota and SCRAM credential configs simultaneously for 'users' using --bootstrap-server.")
	}
	if scram {
		return alterSCRAM(c, names[0], add, drop)
	}
	return alterQuotas(c, types, names, add, drop)
}

const (
	defaultIterations = 4096
	minIterations     = 4096
)

var credential = regexp.MustCompile(`^(?:iterations=(-?[0-9]*),)?password=(.*)$`)

// alterSCRAM sets and deletes the credentials of a user. The password is salted here; it never leaves the process.
func alterSCRAM(c *cluster, user string, add clientConfig, drop []string) error {
	req := kmsg.NewPtrAlterUserSCRAMCredentialsRequest()
	for _, name := range drop {
		d := kmsg.NewAlterUserSCRAMCredentialsRequestDeletion()
		d.Name, d.Mechanism = user, int8(slices.Index(scramKeys, name)+1)
		req.Deletions = append(req.Deletions, d)
	}
	for _, name := range keys(add) {
		u, err := upsertion(user, name, add[name])
		if err != nil {
			return err
		}
		req.Upsertions = append(req.Upsertions, u)
	}
	resp, err := request[*kmsg.AlterUserSCRAMCredentialsResponse](c, "alterUserScramCredentials", req)
	if err != nil {
		return asExecution(err)
	}
	for _, r := range resp.Results {
		if err := coded(r.ErrorCode, r.ErrorMessage); err != nil {
			return asExecution(err)
		}
	}
	return nil
}

// upsertion reads [iterations=N,]password=TEXT.
func upsertion(user, mechanism, text string) (kmsg.AlterUserSCRAMCredentialsRequestUpsertion, error) {
	u := kmsg.NewAlterUserSCRAMCredentialsRequestUpsertion()
	m := credential.FindStringSubmatch(text)
	if m == nil {
		return u, plainf("Invalid credential property %s=%s", strings.ReplaceAll(mechanism, "-", "_"), text)
	}
	u.Name, u.Mechanism, u.Iterations = user, int8(slices.Index(scramKeys, mechanism)+1), defaultIterations
	if m[1] != "" && m[1] != "-1" {
		n, err := strconv.ParseInt(m[1], 10, 32)
		if err != nil {
			return u, plainf("For input string: %q", m[1])
		}
		u.Iterations = int32(n)
	}
	if u.Iterations < minIterations {
		return u, plainf("Iterations %d is less than the minimum %d required for %s", u.Iterations, minIterations, mechanism)
	}
	u.Salt = []byte(rand.Text())
	var err error
	if u.Mechanism == 1 {
		u.SaltedPassword, err = pbkdf2.Key(sha256.New, m[2], u.Salt, int(u.Iterations), sha256.Size)
	} else {
		u.SaltedPassword, err = pbkdf2.Key(sha512.New, m[2], u.Salt, int(u.Iterations), sha512.Size)
	}
	return u, err
}
