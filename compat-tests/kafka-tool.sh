#!/usr/bin/env bash
# Runs Apache Kafka 4.4.0's own programs, straight from Maven Central.
#
#   kafka-tool.sh install            fetch the jars once (needs Maven and a JDK)
#   kafka-tool.sh TOOL [ARG...]      a command line tool by its short name, as in: kafka-tool.sh topics --list ...
#   kafka-tool.sh class NAME [ARG...]  any class on the class path
#   kafka-tool.sh node DIR PORT [K=V...]  one Kafka node on 127.0.0.1:PORT (and PORT+1), as the tests start ottla
#   kafka-tool.sh batch              many tool runs in one JVM: see ToolBatch.java
#   kafka-tool.sh tools              "NAME CLASS" lines, one a tool
#
# Jars: ${KAFKA_LIBS:-~/.cache/apache-kafka-4.4.0/libs}. JVM flags: KAFKA_HEAP_OPTS, KAFKA_OPTS. Log level: KAFKA_LOG_LEVEL.
set -euo pipefail

dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
libs=${KAFKA_LIBS:-$HOME/.cache/apache-kafka-4.4.0/libs}

tools() {
  local t=org.apache.kafka.tools
  cat <<LIST
acls $t.AclCommand
broker-api-versions $t.BrokerApiVersionsCommand
client-metrics $t.ClientMetricsCommand
cluster $t.ClusterTool
configs $t.ConfigCommand
connect-standalone org.apache.kafka.connect.cli.ConnectStandalone
console-consumer $t.consumer.ConsoleConsumer
console-producer $t.ConsoleProducer
console-share-consumer $t.consumer.ConsoleShareConsumer
consumer-groups $t.consumer.group.ConsumerGroupCommand
consumer-perf-test $t.ConsumerPerformance
delegation-tokens $t.DelegationTokenCommand
delete-records $t.DeleteRecordsCommand
dump-log $t.DumpLogSegments
e2e-latency $t.EndToEndLatency
features $t.FeatureCommand
get-offsets $t.GetOffsetShell
groups $t.GroupsCommand
leader-election $t.LeaderElectionCommand
log-dirs $t.LogDirsCommand
metadata-quorum $t.MetadataQuorumCommand
producer-perf-test $t.ProducerPerformance
reassign-partitions $t.reassign.ReassignPartitionsCommand
server kafka.Kafka
share-groups $t.consumer.group.ShareGroupCommand
storage kafka.tools.StorageTool
streams-groups $t.streams.StreamsGroupCommand
topics $t.TopicCommand
transactions $t.TransactionsCommand
verifiable-consumer $t.VerifiableConsumer
verifiable-producer $t.VerifiableProducer
LIST
}

install() {
  [ -e "$libs/.complete" ] && return 0
  mkdir -p "$libs"
  mvn -q -B -f "$dir/pom.xml" dependency:copy-dependencies -DoutputDirectory="$libs" >&2
  touch "$libs/.complete"
}

jvm() {
  install
  # shellcheck disable=SC2086
  exec java ${KAFKA_HEAP_OPTS:--Xmx256m} -XX:TieredStopAtLevel=1 -XX:+UseSerialGC \
    -Dlog4j2.configurationFile="$dir/log4j2.xml" ${KAFKA_OPTS:-} -cp "$libs/*" "$@"
}

node() { # directory, port, settings...
  local dir=$1 port=$2 file=$1/server.properties
  shift 2
  mkdir -p "$dir"
  printf '%s\n' process.roles=broker,controller node.id=1 controller.listener.names=CONTROLLER \
    "controller.quorum.bootstrap.servers=127.0.0.1:$((port + 1))" \
    "listeners=PLAINTEXT://127.0.0.1:$port,CONTROLLER://127.0.0.1:$((port + 1))" \
    "log.dirs=$dir/data" offsets.topic.replication.factor=1 group.initial.rebalance.delay.ms=0 \
    transaction.state.log.replication.factor=1 transaction.state.log.min.isr=1 "$@" >"$file"
  if [ ! -e "$dir/data/meta.properties" ]; then
    (jvm kafka.tools.StorageTool format --standalone -t "$(jvm kafka.tools.StorageTool random-uuid)" -c "$file") >&2
  fi
  jvm kafka.Kafka "$file"
}

case ${1:-} in
  ''|-h|--help) sed -n '2,12s/^# \{0,1\}//p' "$0"; exit 2 ;;
  install)      install ;;
  tools)        tools ;;
  class)        shift; jvm "$@" ;;
  node)         shift; node "$@" ;;
  batch)        jvm "$dir/ToolBatch.java" ;;
  *)
    class=$(tools | awk -v n="$1" '$1 == n { print $2 }')
    [ -n "$class" ] || { echo "kafka-tool.sh: there is no tool called $1; kafka-tool.sh tools lists them" >&2; exit 2; }
    shift
    jvm "$class" "$@" ;;
esac
