package config

import "strings"

// goneWhy is what became of a property that Kafka once had or that belongs to one of its plugins, or "".
func goneWhy(name string) string {
	switch name {
	case "inter.broker.protocol.version", "log.message.format.version":
		return "Kafka 4.0 removed it; feature versions took its place"
	case "log.message.downconversion.enable", "log.message.timestamp.difference.max.ms", "offsets.commit.required.acks",
		"broker.id.generation.enable", "reserved.broker.max.id", "control.plane.listener.name",
		"controlled.shutdown.max.retries", "controlled.shutdown.retry.backoff.ms", "delegation.token.master.key",
		"leader.imbalance.per.broker.percentage", "auto.include.jmx.reporter", "group.coordinator.new.enable":

		return "Kafka 4 does not have it"
	case "super.users", "allow.everyone.if.no.acl.found":
		return whyACL
	}
	switch {
	case strings.HasPrefix(name, "zookeeper."):
		return "Kafka 4 has no ZooKeeper; the controllers keep the metadata"
	case strings.HasPrefix(name, "password.encoder."):
		return "Kafka 4 does not have it"
	case strings.HasPrefix(name, "rsm.config."), strings.HasPrefix(name, "rlmm.config."):
		return whyTiered
	}
	return ""
}
