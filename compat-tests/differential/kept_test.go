//go:build compat

package differential

import "regexp"

// kept is a difference on purpose; docs/DIVERGENCES.md says the same to people.
type kept struct {
	label, path string // regular expressions
	why         string
}

var keptDifferences = []kept{
	// What differs between any two nodes.
	{`DescribeConfigs v`, `Configs\["(advertised\.listeners|listeners|log\.dirs|controller\.quorum\.bootstrap\.servers)"\].*Value `, "the addresses and directories of this run"},
	{`one logger`, `Configs\["root"\]\.Value`, "the log level of this run"},

	// What is not built.
	{`ApiVersions v`, `"(group|share|streams|transaction)\.version"|FinalizedFeatures\.length`, "finalized as far as they are built"},
	{`type 2: FindCoordinator v6`, `ErrorCode kafka 42 ottla 35`, "share groups are not built"},
	{`listener\.name\.external\.ssl`, ``, "TLS is not built"},
	{`broker`, `listener\.name\.external\.ssl|Configs\.length`, "the same, afterwards"},

	// Where Kafka stumbles, and says UNKNOWN_SERVER_ERROR or nothing.
	{`neither name nor id: Metadata v`, `ErrorCode kafka -1 ottla 42`, "INVALID_REQUEST"},
	{`an empty name: DescribeTopicPartitions`, ``, "INVALID_TOPIC_EXCEPTION for that name, the others are answered"},
	{`^\d+ \[\{(4|-1) retention.ms 5\}\]`, `Error(Code|Message) kafka (-1|null) ottla`, "INVALID_REQUEST for an unknown operation"},
	{`a resource twice: AlterConfigs`, ``, "INVALID_REQUEST, instead of no answer"},

	// What is named twice in one request.
	{`same partition twice: DeleteRecords`, ``, "every entry counts, not only the last"},
}

func isKept(k step, path, kafka, ottla string) bool {
	for _, x := range keptDifferences {
		if regexp.MustCompile(x.label).MatchString(k.label) && regexp.MustCompile(x.path).MatchString(path+" kafka "+kafka+" ottla "+ottla) {
			tally.kept++
			return true
		}
	}
	return false
}
