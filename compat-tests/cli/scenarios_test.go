//go:build compat

package cli

import (
	"regexp"
	"slices"
	"testing"

	"github.com/ottla/ottla/cli"
)

func TestTopics(t *testing.T) {
	scenario{commands: []string{
		"topics --bootstrap-server {b} --create --topic {p}-a --partitions 3 --config retention.ms=100000 --config cleanup.policy=compact",
		"topics --bootstrap-server {b} --create --topic {p}-a",
		"topics --bootstrap-server {b} --create --topic {p}-a --if-not-exists",
		"topics --bootstrap-server {b} --create --topic {p}.b_c",
		"topics --bootstrap-server {b} --create --topic {p}-x --config foo",
		"topics --bootstrap-server {b} --create --topic {p}-x --config foo=bar",
		"topics --bootstrap-server {b} --create --topic {p}-x --replication-factor 3",
		"topics --bootstrap-server {b} --create --topic {p}-x --replication-factor 40000",
		"topics --bootstrap-server {b} --create --topic {p}-x --partitions 0",
		"topics --bootstrap-server {b} --create --topic {p}-x --partitions many",
		"topics --bootstrap-server {b} --create --topic '{p} x'",
		"topics --bootstrap-server {b} --create --topic {p}-x --replica-assignment 1,1:1",
		"topics --bootstrap-server {b} --create --topic {p}-x --replica-assignment 1,7",
		"topics --bootstrap-server {b} --create --topic {p}-y --replica-assignment 1,1",
		"~topics --bootstrap-server {b} --list --topic {p}.*",
		"topics --bootstrap-server={b} --list --topic={p}-a",
		"topics -bootstrap-server {b} -list -topic {p}-a",
		"topics --bootstrap-server {b} --list --topic {p}-nothing",
		"topics --bootstrap-server {b} --list --topic a --topic b",
		"~topics --bootstrap-server {b} --describe --topic {p}.*",
		"topics --bootstrap-server {b} --describe --topic {p}-a,{p}-nothing --exclude-internal",
		"topics --bootstrap-server {b} --describe --topic {p}-a --topics-with-overrides",
		"topics --bootstrap-server {b} --describe --topic {p}-a --at-min-isr-partitions",
		"topics --bootstrap-server {b} --describe --topic {p}-a --under-min-isr-partitions",
		"topics --bootstrap-server {b} --describe --topic {p}-a --under-replicated-partitions",
		"topics --bootstrap-server {b} --describe --topic {p}-a --unavailable-partitions",
		"topics --bootstrap-server {b} --describe --topic {p}-nothing",
		"topics --bootstrap-server {b} --describe --topic {p}-nothing --if-exists",
		"topics --bootstrap-server {b} --describe --topic-id AAAA",
		"topics --bootstrap-server {b} --alter --topic {p}-y --partitions 5",
		"topics --bootstrap-server {b} --alter --topic {p}-y --partitions 2",
		"topics --bootstrap-server {b} --alter --topic {p}-y --partitions 6 --replica-assignment 1,1,1,1,1,1",
		"topics --bootstrap-server {b} --describe --topic {p}-y --partition-size-limit-per-response 2",
		"topics --bootstrap-server {b} --delete --topic {p}-y",
		"topics --bootstrap-server {b} --delete --topic {p}-y",
		"topics --bootstrap-server {b} --delete --topic {p}-y --if-exists",
		"topics --bootstrap-server {b} --delete --topic [",
		"topics --bootstrap-server {b} --delete --topic {p}.*",
	}}.run(t)
}

func TestTopicsCommandLine(t *testing.T) {
	scenario{commands: []string{
		"topics --bootstrap-server {b} --bogus",
		"topics --bootstrap-server",
		"topics --list",
		"topics --bootstrap-server nohost.invalid:1 --list",
		"topics --bootstrap-server 127.0.0.1 --list",
		"topics --version",
		"topics --list --describe --bootstrap-server {b}",
		"topics --list --partitions 3 --bootstrap-server {b}",
		"topics --bootstrap-server {b} --list --top x",
		"topics --bootstrap-server {b} --alter --topic x",
		"topics --bootstrap-server {b} --create --topic x --delete-config x --partitions 0",
		"topics --bootstrap-server {b} --create",
		"topics --bootstrap-server {b} --list --command-config {dir}/none",
		"topics --bootstrap-server {b} --describe --if-exists",
	}}.run(t)
}

func TestGetOffsetsAndDeleteRecords(t *testing.T) {
	scenario{
		files: map[string]string{
			"in":   "a:1\nb:2\nc:3\nd:4\ne:5\nf:6\ng:7\nh:8\n",
			"one":  `{"partitions":[{"topic":"{p}-a","partition":0,"offset":1},{"topic":"{p}-a","partition":1,"offset":-1}],"version":1}`,
			"far":  `{"partitions":[{"topic":"{p}-a","partition":0,"offset":100000}]}`,
			"dup":  `{"partitions":[{"topic":"{p}-a","partition":0,"offset":1},{"topic":"{p}-a","partition":0,"offset":2}]}`,
			"junk": "nojson", "v2": `{"version":2,"partitions":[]}`, "none": `{"version":1}`, "empty": `{"partitions":[]}`,
		},
		commands: []string{
			"topics --bootstrap-server {b} --create --topic {p}-a --partitions 3",
			"topics --bootstrap-server {b} --create --topic {p}-b",
			"console-producer --bootstrap-server {b} --topic {p}-a --reader-property parse.key=true --reader-property key.separator=: --timeout 0 <in",
			"get-offsets --bootstrap-server {b} --topic {p}.*",
			"get-offsets --bootstrap-server {b} --topic {p}-a --time earliest",
			"get-offsets --bootstrap-server {b} --topic {p}-b --time -3",
			"get-offsets --bootstrap-server {b} --topic {p}-a --time -4",
			"get-offsets --bootstrap-server {b} --topic {p}-a --time -5",
			"get-offsets --bootstrap-server {b} --topic {p}-a --time earliest-pending-upload",
			"get-offsets --bootstrap-server {b} --topic {p}-a --time 0",
			"get-offsets --bootstrap-server {b} --topic {p}-a --time 99999999999999",
			"get-offsets --bootstrap-server {b} --topic {p}-a --time -7",
			"get-offsets --bootstrap-server {b} --topic {p}-a --time soon",
			"get-offsets --bootstrap-server {b} --topic {p}-a --partitions 0,2",
			"get-offsets --bootstrap-server {b} --topic {p}-a --partitions 0,x",
			"get-offsets --bootstrap-server {b} --topic {p}-a --partitions 9",
			"get-offsets --bootstrap-server {b} --topic-partitions {p}-a:1-3,{p}-b,{p}-a:0",
			"get-offsets --bootstrap-server {b} --topic-partitions {p}-a:-2",
			"get-offsets --bootstrap-server {b} --topic-partitions {p}-a:2-",
			"get-offsets --bootstrap-server {b} --topic-partitions {p}-a:2-x",
			"get-offsets --bootstrap-server {b} --topic-partitions {p}-a --topic x",
			"get-offsets --bootstrap-server {b} --topic {p}-none",
			"get-offsets --bootstrap-server 127.0.0.1 --topic x",
			"get-offsets --topic x",
			"get-offsets --bogus",
			"~delete-records --bootstrap-server {b} --offset-json-file {dir}/one",
			"delete-records --bootstrap-server {b} --offset-json-file {dir}/far",
			"delete-records --bootstrap-server {b} --offset-json-file {dir}/dup",
			"delete-records --bootstrap-server {b} --offset-json-file {dir}/junk",
			"delete-records --bootstrap-server {b} --offset-json-file {dir}/v2",
			"delete-records --bootstrap-server {b} --offset-json-file {dir}/none",
			"delete-records --bootstrap-server {b} --offset-json-file {dir}/empty",
			"delete-records --bootstrap-server {b} --offset-json-file {dir}/absent",
			"delete-records --bootstrap-server {b}",
			"get-offsets --bootstrap-server {b} --topic {p}-a --time earliest",
			"topics --bootstrap-server {b} --delete --topic {p}.*",
		},
	}.run(t)
}

func TestBrokerAPIVersions(t *testing.T) {
	scenario{commands: []string{
		"broker-api-versions --bootstrap-server {b}",
		"broker-api-versions --bogus",
		"broker-api-versions --command-config x",
	}}.run(t)
}

func TestConsoleProducerAndConsumer(t *testing.T) {
	const all = " --formatter-property print.key=true --formatter-property print.headers=true --formatter-property print.partition=true" +
		" --formatter-property print.offset=true --formatter-property print.epoch=true --formatter-property print.timestamp=true"
	scenario{
		files: map[string]string{
			"kv":      "a:1\nb:2\nc\n",
			"lines":   "one\r\ntwo\n\nthree",
			"headers": "h1:v1,h2:v2\tk1\tvalue one\nh1:NULL\tNULL\tNULL\nNULL\tk2\tv\n",
			"props":   "client.id=from-file\n",
		},
		commands: []string{
			"topics --bootstrap-server {b} --create --topic {p}-a",
			"console-producer --bootstrap-server {b} --topic {p}-a --timeout 0 <lines",
			"console-producer --bootstrap-server {b} --topic {p}-a --timeout 0 --reader-property parse.key=true --reader-property key.separator=: <kv",
			"console-producer --bootstrap-server {b} --topic {p}-a --timeout 0 --reader-property parse.key=true --reader-property ignore.error=true <kv",
			"console-producer --bootstrap-server {b} --topic {p}-a --timeout 0 --property parse.key=true --property key.separator=: <kv",
			"console-producer --bootstrap-server {b} --topic {p}-a --property parse.key=true --reader-property key.separator=: <kv",
			"console-producer --bootstrap-server {b} --topic {p}-a --producer-property linger.ms=0 --max-partition-memory-bytes 3 <kv",
			"console-producer --bootstrap-server {b} --topic {p}-a --timeout 0 --reader-property parse.headers=true --reader-property parse.key=true --reader-property null.marker=NULL <headers",
			"console-producer --bootstrap-server {b} --topic {p}-a --reader-property parse.headers=true --reader-property headers.delimiter=, <kv",
			"console-producer --bootstrap-server {b} --topic {p}-a --timeout 0 --sync --compression-codec --batch-size 100 <kv",
			"console-producer --bootstrap-server {b} --topic {p}-a --timeout 0 --request-required-acks 1 --compression-codec zstd --producer.config {dir}/props <kv",
			"console-producer --bootstrap-server {b} --topic {p}-a --compression-codec foo <kv",
			"console-producer --bootstrap-server {b} --topic {p}-a --request-required-acks foo <kv",
			"console-producer --bootstrap-server {b} --topic {p}-a --line-reader foo <kv",
			"console-producer --bootstrap-server {b} <kv",
			"console-producer --topic {p}-a <kv",
			"console-producer --bootstrap-server {b} --topic {p}-a --bogus <kv",
			"console-producer --bootstrap-server {b} --topic {p}-a --batch-size x <kv",
			"console-consumer --bootstrap-server {b} --topic {p}-a --partition 0 --offset earliest --max-messages 20" + all,
			"console-consumer --bootstrap-server {b} --topic {p}-a --from-beginning --max-messages 5 --group {p}-g",
			"console-consumer --bootstrap-server {b} --include {p}.* --max-messages 3 --group {p}-g --enable-systest-events",
			"consumer-groups --bootstrap-server {b} --describe --group {p}-g",
			"console-consumer --bootstrap-server {b} --topic {p}-a --partition 0 --offset 3 --max-messages 2 --property print.value=false --property print.offset=true",
			"console-consumer --bootstrap-server {b} --topic {p}-a --partition 0 --timeout-ms 300",
			"console-consumer --bootstrap-server {b} --topic {p}-a --partition 0 --offset 100000 --timeout-ms 300",
			"console-consumer --bootstrap-server {b} --topic {p}-a --partition 0 --offset -3",
			"console-consumer --bootstrap-server {b} --topic {p}-a --group g --partition 0",
			"console-consumer --bootstrap-server {b} --topic {p}-a --offset 0",
			"console-consumer --bootstrap-server {b} --topic {p}-a --partition 0 --offset 0 --from-beginning",
			"console-consumer --bootstrap-server {b} --partition 0",
			"console-consumer --bootstrap-server {b} --topic a --include b",
			"console-consumer --topic a",
			"console-consumer --bootstrap-server {b} --topic {p}-a --partition 0 --isolation-level foo",
			"console-consumer --bootstrap-server {b} --topic {p}-a --partition 0 --formatter foo",
			"console-consumer --bootstrap-server {b} --topic {p}-a --partition 0 --offset 0 --max-messages 2 --value-deserializer org.apache.kafka.common.serialization.LongDeserializer",
			"console-consumer --bootstrap-server {b} --topic {p}-a --partition 0 --offset 0 --max-messages 2 --value-deserializer org.apache.kafka.common.serialization.LongDeserializer --skip-message-on-error",
			"console-consumer --bootstrap-server {b} --topic {p}-a --from-beginning --command-property auto.offset.reset=latest",
			"console-consumer --bootstrap-server {b} --topic {p}-a --partition 0 --offset 0 --max-messages 2 --formatter org.apache.kafka.tools.consumer.NoOpMessageFormatter",
			"console-consumer --bootstrap-server {b} --topic {p}-a --partition 0 --offset 0 --max-messages 2 --isolation-level read_committed --consumer.config {dir}/props",
			"topics --bootstrap-server {b} --delete --topic {p}-a",
		},
	}.run(t)
}

func TestResetOffsets(t *testing.T) {
	const reset = "~consumer-groups --bootstrap-server {b} --reset-offsets --group {p}-g "
	scenario{
		files: map[string]string{"in": "1\n2\n3\n4\n5\n6\n", "plan": "{p}-a,0,5\n{p}-b,0,0\n", "plan2": "{p}-g,{p}-a,0,5\n{p}-h,{p}-b,0,3\n"},
		commands: []string{
			"topics --bootstrap-server {b} --create --topic {p}-a",
			"topics --bootstrap-server {b} --create --topic {p}-b --partitions 2",
			"console-producer --bootstrap-server {b} --topic {p}-a --timeout 0 <in",
			reset + "--topic {p}-a --to-earliest",
			reset + "--topic {p}-a --topic {p}-b --to-latest --execute",
			"consumer-groups --bootstrap-server {b} --describe --group {p}-g",
			reset + "--all-topics --to-earliest --dry-run",
			reset + "--all-topics --shift-by -2 --dry-run",
			reset + "--all-topics --shift-by 30 --dry-run",
			reset + "--all-topics --to-offset 3 --dry-run",
			reset + "--topic {p}-a:0 --to-offset 4 --execute",
			reset + "--topic {p}-a:0 --topic {p}-b:1 --to-current --dry-run",
			reset + "--topic {p}-a --to-datetime 2020-01-01T00:00:00.000 --dry-run",
			reset + "--topic {p}-a --to-datetime 2120-01-01T00:00:00.000+01:00 --dry-run",
			reset + "--topic {p}-a --by-duration P10D --dry-run",
			reset + "--topic {p}-a --by-duration PT0S --dry-run",
			reset + "--topic {p}-a --by-duration xx --dry-run",
			reset + "--topic {p}-a --to-earliest --export --dry-run",
			reset + "--group {p}-h --topic {p}-a --to-earliest --export --dry-run",
			reset + "--from-file {dir}/plan --dry-run",
			reset + "--group {p}-h --from-file {dir}/plan2 --dry-run",
			reset + "--from-file {dir}/plan2 --execute",
			"~consumer-groups --bootstrap-server {b} --reset-offsets --group {p}-i --from-file {dir}/plan2 --dry-run",
			reset + "--from-file {dir}/none --dry-run",
			reset + "--topic {p}-none --to-earliest --dry-run",
			reset + "--topic {p}-a:9 --to-earliest --dry-run",
			reset + "--topic {p}-a:x --to-earliest --dry-run",
			reset + "--topic {p}-a: --to-earliest --dry-run",
			reset + "--to-earliest --dry-run",
			reset + "--all-topics --to-earliest --execute --dry-run",
			"~consumer-groups --bootstrap-server {b} --reset-offsets --group {p}-i --topic {p}-a --shift-by 1 --dry-run",
			"~consumer-groups --bootstrap-server {b} --reset-offsets --group {p}-i --all-topics --to-earliest --dry-run",
			"consumer-groups --bootstrap-server {b} --describe --group {p}-g",
			"consumer-groups --bootstrap-server {b} --describe --group {p}-g --verbose",
			"consumer-groups --bootstrap-server {b} --describe --group {p}-g --members",
			"consumer-groups --bootstrap-server {b} --describe --group {p}-g --members --verbose",
			"consumer-groups --bootstrap-server {b} --describe --group {p}-g --state",
			"consumer-groups --bootstrap-server {b} --describe --group {p}-g --state --verbose",
			"consumer-groups --bootstrap-server {b} --delete-offsets --group {p}-g --topic {p}-b:1",
			"consumer-groups --bootstrap-server {b} --delete-offsets --group {p}-g --topic {p}-b",
			"consumer-groups --bootstrap-server {b} --delete-offsets --group {p}-g --topic {p}-none",
			"consumer-groups --bootstrap-server {b} --delete-offsets --group {p}-i --topic {p}-a",
			"consumer-groups --bootstrap-server {b} --delete --group {p}-g",
			"consumer-groups --bootstrap-server {b} --delete --group {p}-g",
			"topics --bootstrap-server {b} --delete --topic {p}.*",
		},
	}.run(t)
}

func TestConsumerGroupsCommandLine(t *testing.T) {
	scenario{commands: []string{
		"consumer-groups --bootstrap-server {b} --describe --group {p}-none",
		"consumer-groups --bootstrap-server {b} --describe --group {p}-none --state",
		"consumer-groups --bootstrap-server {b} --describe --group x --state foo",
		"consumer-groups --bootstrap-server {b} --describe --group x --members --offsets",
		"consumer-groups --bootstrap-server {b} --list --group x",
		"consumer-groups --bootstrap-server {b} --list --members",
		"consumer-groups --bootstrap-server {b} --list --bogus",
		"consumer-groups --bootstrap-server {b} --list --timeout x",
		"consumer-groups --bootstrap-server nohost.invalid:1 --list",
		"consumer-groups --list",
		"consumer-groups --validate-regex a.*[",
		"consumer-groups --validate-regex a.*",
		"consumer-groups --bootstrap-server {b} --delete --group x --topic y",
	}}.run(t)
}

func TestConfigs(t *testing.T) {
	scenario{
		files: map[string]string{"more": "retention.ms=7777\nsegment.bytes=2000000\n"},
		commands: []string{
			"topics --bootstrap-server {b} --create --topic {p}-a",
			"configs --bootstrap-server {b} --describe --topic {p}-a",
			"configs --bootstrap-server {b} --describe --topic {p}-a --all",
			"configs --bootstrap-server {b} --alter --topic {p}-a --add-config retention.ms=5000,cleanup.policy=[compact,delete]",
			"configs --bootstrap-server {b} --alter --entity-type topics --entity-name {p}-a --add-config-file {dir}/more",
			"configs --bootstrap-server {b} --describe --entity-type topics --entity-name {p}-a",
			"configs --bootstrap-server {b} --alter --topic {p}-a --delete-config retention.ms,cleanup.policy",
			"configs --bootstrap-server {b} --alter --topic {p}-a --delete-config nope",
			"configs --bootstrap-server {b} --describe --topic {p}-a",
			"configs --bootstrap-server {b} --alter --topic {p}-a --add-config foo=bar",
			"configs --bootstrap-server {b} --alter --topic {p}-a --add-config foo",
			"configs --bootstrap-server {b} --alter --topic {p}-a --add-config 'fo o=1'",
			"configs --bootstrap-server {b} --alter --topic {p}-a --add-config retention.ms=-7",
			"configs --bootstrap-server {b} --alter --topic {p}-a --add-config-file {dir}/none",
			"configs --bootstrap-server {b} --alter --topic {p}-none --add-config retention.ms=1",
			"configs --bootstrap-server {b} --describe --topic {p}-none",
			"configs --bootstrap-server {b} --describe --topic '{p} a'",
			"configs --bootstrap-server {b} --describe --broker 1 --all",
			"configs --bootstrap-server {b} --describe --broker 7",
			"configs --bootstrap-server {b} --describe --broker x",
			"configs --bootstrap-server {b} --alter --broker 1 --add-config log.retention.ms=123456789",
			"configs --bootstrap-server {b} --describe --broker 1",
			"configs --bootstrap-server {b} --alter --broker 1 --delete-config log.retention.ms",
			"configs --bootstrap-server {b} --alter --broker-defaults --add-config log.retention.ms=223456789",
			"configs --bootstrap-server {b} --describe --entity-type brokers --entity-default",
			"configs --bootstrap-server {b} --describe --entity-type brokers",
			"configs --bootstrap-server {b} --alter --broker-defaults --delete-config log.retention.ms",
			"configs --bootstrap-server {b} --alter --broker 1 --add-config broker.id=3",
			"configs --bootstrap-server {b} --describe --group {p}-none",
			"configs --bootstrap-server {b} --describe --group {p}-none --all",
			"topics --bootstrap-server {b} --delete --topic {p}-a",
		},
	}.run(t)
}

func TestConfigsCommandLine(t *testing.T) {
	scenario{commands: []string{
		"configs --bootstrap-server {b} --describe --entity-type foo",
		"configs --bootstrap-server {b} --describe",
		"configs --bootstrap-server {b}",
		"configs --describe --topic x",
		"configs --bootstrap-server {b} --describe --alter --topic x",
		"configs --bootstrap-server {b} --describe --topic x --add-config a=b",
		"configs --bootstrap-server {b} --alter --topic x",
		"configs --bootstrap-server {b} --alter --entity-type topics --add-config a=b",
		"configs --bootstrap-server {b} --describe --topic x --entity-type topics",
		"configs --bootstrap-server {b} --describe --topic x --broker 1",
		"configs --bootstrap-server {b} --describe --entity-type topics --entity-default",
		"configs --bootstrap-server {b} --describe --entity-type broker-loggers",
		"configs --bootstrap-server {b} --alter --entity-type users --add-config producer_byte_rate=1",
		"configs --bootstrap-server {b} --alter --topic x --add-config a=b --add-config-file x",
		"configs --bootstrap-server {b} --bootstrap-controller {b} --describe --topic x",
		"configs --bogus",
	}}.run(t)
}

// optionName finds the options in a usage table.
var optionName = regexp.MustCompile(`(?m)^(?:\* |  )?(--[a-z.-]+)`)

// subcommands have options of their own.
var subcommands = map[string][]string{
	"features":        {"describe", "upgrade", "downgrade", "disable", "version-mapping", "feature-dependencies"},
	"metadata-quorum": {"describe", "add-controller", "remove-controller"},
	"storage":         {"info", "format", "version-mapping", "feature-dependencies", "random-uuid"},
}

// TestUsage checks that the tools have the options that Kafka's have; the words about them are their own.
func TestUsage(t *testing.T) {
	for _, tool := range cli.Names() {
		t.Run(tool, func(t *testing.T) {
			lines := [][]string{{"--help"}, nil}
			for _, sub := range subcommands[tool] {
				lines = append(lines, []string{sub, "--help"})
				if tool == "metadata-quorum" {
					lines[len(lines)-1] = append([]string{"--bootstrap-server", bootstrap}, lines[len(lines)-1]...)
				}
			}
			for _, args := range lines {
				theirs, mine := kafka.run(t, tool, "", args), ours(t, tool, "", args)
				a, b := options(theirs), options(mine)
				if !slices.Equal(a, b) || theirs.code != mine.code || (theirs.stdout == "") != (mine.stdout == "") {
					t.Errorf("%v exits with %d and has\n%v\nKafka's with %d and\n%v", args, mine.code, b, theirs.code, a)
				}
			}
		})
	}
}

func options(r result) []string {
	var names []string
	for _, m := range optionName.FindAllStringSubmatch(r.stdout+r.stderr, -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func TestStorage(t *testing.T) {
	const common = "process.roles=broker,controller\nnode.id=1\nlisteners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093\n" +
		"controller.listener.names=CONTROLLER\n"
	const cluster = " -t 97FBi3dPSISmFGpsmmYqQQ"
	scenario{
		files: map[string]string{
			"dynamic": common + "controller.quorum.bootstrap.servers=127.0.0.1:9093\nlog.dirs={dir}/d1\n",
			"more":    common + "controller.quorum.bootstrap.servers=127.0.0.1:9093\nlog.dirs={dir}/m1,{dir}/m2\n",
			"fixed":   common + "controller.quorum.voters=1@127.0.0.1:9093\nlog.dirs={dir}/f1\n",
		},
		commands: []string{
			"storage info -c {dir}/dynamic",
			"storage format -c {dir}/dynamic" + cluster,
			"storage format -c {dir}/dynamic" + cluster + " --standalone --feature foo=1",
			"storage format -c {dir}/dynamic" + cluster + " --standalone --feature share.version=9",
			"storage format -c {dir}/dynamic" + cluster + " --standalone --feature share",
			"storage format -c {dir}/dynamic" + cluster + " --standalone --feature metadata.version=25 --release-version 4.0",
			"storage format -c {dir}/dynamic" + cluster + " --standalone --release-version 9.9",
			"storage format -c {dir}/dynamic" + cluster + " --standalone",
			"storage format -c {dir}/dynamic" + cluster + " --standalone",
			"storage format -c {dir}/dynamic" + cluster + " --standalone --ignore-formatted",
			"storage info -c {dir}/dynamic",
			"storage format -c {dir}/fixed" + cluster + " --standalone",
			"storage format -c {dir}/fixed" + cluster + " --release-version 4.0",
			"~storage format -c {dir}/more" + cluster + " --feature share.version=1 --initial-controllers 1@127.0.0.1:9093:JEXY6aqzQY-32P5TStzaFg,2@127.0.0.1:9094:MvDxzVmcRsaTz33bUuRU6A",
			"storage format -c {dir}/none" + cluster,
			"storage format -c {dir}/more",
			"storage version-mapping",
			"storage version-mapping -r 4.1",
			"storage version-mapping -r x",
			"storage feature-dependencies --feature transaction.version=2",
			"storage feature-dependencies --feature transaction.version",
			"storage feature-dependencies --feature eligible.leader.replicas.version=1",
			"storage feature-dependencies --feature group.version=9",
		},
	}.run(t)
}

func TestMoreTools(t *testing.T) {
	scenario{commands: []string{
		"topics --bootstrap-server {b} --create --topic {p}-a --partitions 1",
		"log-dirs --bootstrap-server {b} --describe --topic-list {p}-a",
		"log-dirs --bootstrap-server {b} --describe --broker-list 1,9",
		"log-dirs --bootstrap-server {b} --describe --broker-list x",
		"log-dirs --bootstrap-server {b}",
		"groups --bootstrap-server {b} --list --group-type foo",
		"groups --bootstrap-server {b} --list --share --consumer",
		"groups --bootstrap-server {b}",
		"groups --list",
		"features --bootstrap-server {b} describe",
		"features --bootstrap-server {b} describe --node-id -1",
		"features --bootstrap-server {b} upgrade",
		"features --bootstrap-server {b} upgrade --feature metadata.version=99",
		"features --bootstrap-server {b} upgrade --feature metadata.version=x",
		"features --bootstrap-server {b} upgrade --release-version 9.9 --dry-run",
		"features --bootstrap-server {b} foo",
		"features --bootstrap-server {b}",
		"features describe",
		"features version-mapping --release-version 4.0",
		"features feature-dependencies --feature foo=2",
		"metadata-quorum --bootstrap-server {b} describe --status",
		"metadata-quorum --bootstrap-server {b} describe --replication --human-readable",
		"metadata-quorum --bootstrap-server {b} describe",
		"metadata-quorum --bootstrap-server {b} foo",
		"metadata-quorum describe --status",
		"metadata-quorum --bootstrap-server {b} add-controller",
		"metadata-quorum --bootstrap-server {b} remove-controller -i 9 -d AAAAAAAAAAAAAAAAAAAAAQ --dry-run --unregister",
		"cluster cluster-id --bootstrap-server {b}",
		"cluster cluster-id --bootstrap-server {b} --config {dir}/none",
		"cluster list-endpoints --bootstrap-server {b}",
		"cluster list-endpoints --bootstrap-server {b} --include-fenced-brokers",
		"cluster api-versions --bootstrap-server {b}",
		"consumer-perf-test --bootstrap-server {b} --topic {p}-a --num-records 1 --timeout 500 --group {p}-g",
		"consumer-perf-test --bootstrap-server {b} --topic {p}-a",
		"consumer-perf-test --topic {p}-a",
		"producer-perf-test --bootstrap-server {b} --topic {p}-a --num-records 100 --record-size 10 --throughput -1 --warmup-records 10",
		"get-offsets --bootstrap-server {b} --topic {p}-a",
		"topics --bootstrap-server {b} --delete --topic {p}-a",
	}}.run(t)
}
