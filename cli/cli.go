// Package cli holds Kafka's command line tools, without the JVM: the flags, the output, the messages and the exit
// codes of Apache Kafka 4.4's kafka-topics, kafka-console-consumer and so on. One file a tool.
//
// Tools talk to a cluster only through its listeners (franz-go), so they work against any Kafka.
package cli

import (
	"fmt"
	"io"
	"strings"
)

// Run runs the tool called name ("topics", or "kafka-topics" or "kafka-topics.sh") with the arguments that follow it,
// and returns the exit code of the process. It never exits itself and reads nothing but stdin and the files named
// in args.
func Run(name string, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	t, ok := toolNamed(name)
	if !ok {
		fmt.Fprintf(stderr, "There is no tool called %q; the tools are: %s.\n", name, strings.Join(Names(), ", "))
		return 1
	}
	e := newEnv(t.name, args, stdin, stdout, stderr)
	defer e.flush()
	return t.run(e)
}

// Has reports whether Run knows the tool, under any of the three spellings Run accepts.
func Has(name string) bool {
	_, ok := toolNamed(name)
	return ok
}

// Names returns the tools, without Kafka's "kafka-" prefix, in alphabetical order.
func Names() []string {
	var names []string
	for _, t := range tools() {
		names = append(names, t.name)
	}
	return names
}

// tool is one row of the table of tools.
type tool struct {
	name string // without "kafka-"
	run  func(e *env) int
}

// tools is the table of everything Run can run, sorted by name.
func tools() []tool {
	return []tool{
		{"broker-api-versions", runBrokerAPIVersions},
		{"cluster", runCluster},
		{"configs", runConfigs},
		{"console-consumer", runConsoleConsumer},
		{"console-producer", runConsoleProducer},
		{"consumer-groups", runConsumerGroups},
		{"consumer-perf-test", runConsumerPerfTest},
		{"delete-records", runDeleteRecords},
		{"features", runFeatures},
		{"get-offsets", runGetOffsets},
		{"groups", runGroups},
		{"log-dirs", runLogDirs},
		{"metadata-quorum", runMetadataQuorum},
		{"producer-perf-test", runProducerPerfTest},
		{"storage", runStorage},
		{"topics", runTopics},
		{"verifiable-consumer", runVerifiableConsumer},
		{"verifiable-producer", runVerifiableProducer},
	}
}

func toolNamed(name string) (tool, bool) {
	name = strings.TrimSuffix(name, ".sh")
	name = strings.TrimPrefix(name, "kafka-")
	for _, t := range tools() {
		if t.name == name {
			return t, true
		}
	}
	return tool{}, false
}
