package ottla

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ottla/ottla/metadata"
)

// A directory that Apache Kafka wrote may hold what this version cannot enforce or run. All of it is
// kept, and handed back to Kafka as it is; the log names it once, at start.

// registeredFeatures are the features this broker registers with. A level that the cluster was finalised at
// is accepted as far as Kafka 4.4 has it, so that the directory can be taken over; no other level above what is
// built is.
func (n *node) registeredFeatures(image *metadata.Image) []metadata.VersionRange {
	list := slices.Clone(n.features())
	for i := range list {
		f := &list[i]
		if level := image.Feature(f.Feature); level > f.Max && metadata.KafkaSupports(f.Feature, level) {
			f.Max = level
		}
	}
	return list
}

// nameUnserved writes the one line about what is kept only.
func (n *node) nameUnserved() {
	image := n.loader.Current()
	list := slices.Concat(n.unservedFeatures(image), unservedSecurity(image), unservedConfigs(image))
	if len(list) > 0 {
		n.log.Warn("Kept as they are, but neither enforced nor run by this version: " + strings.Join(list, ", "))
	}
}

func (n *node) unservedFeatures(image *metadata.Image) (out []string) {
	for _, f := range n.features() {
		if level := image.Feature(f.Feature); level > f.Max {
			out = append(out, fmt.Sprintf("%s %d", f.Feature, level))
		}
	}
	return out
}

// unservedSecurity counts what decides who may do what, and how much.
func unservedSecurity(image *metadata.Image) (out []string) {
	count := func(n int, one, many string) {
		if n == 1 {
			many = one
		}
		if n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, many))
		}
	}
	acls, quotas, tokens := 0, 0, 0
	for range image.ACLs() {
		acls++
	}
	for range image.Quotas() {
		quotas++
	}
	for range image.Tokens() {
		tokens++
	}
	var users []string
	for c := range image.SCRAMs() {
		if !slices.Contains(users, c.Name) {
			users = append(users, c.Name)
		}
	}
	count(acls, "ACL", "ACLs")
	count(quotas, "entity's quotas", "entities' quotas")
	count(len(users), "SCRAM user", "SCRAM users")
	count(tokens, "delegation token", "delegation tokens")
	return out
}

// unservedConfigs names the resources with settings that nothing reads.
func unservedConfigs(image *metadata.Image) (out []string) {
	for name := range image.ConfigsOf(metadata.ClientMetricsResource) {
		out = append(out, "client metrics subscription "+name)
	}
	return out
}
