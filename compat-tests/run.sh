#!/usr/bin/env bash
# Runs other people's Kafka clients and tools against the real binary.
#
#   compat-tests/run.sh            install what is missing, then run everything
#   compat-tests/run.sh -run NAME  arguments go to go test
#
# Needs Go, a JDK with Maven, Python 3 and Node.js with npm; kcat is installed
# with apt-get where that is possible. What is fetched is kept in
# ${OTTLA_COMPAT_CACHE:-~/.cache/ottla-compat}. In CI (CI is set) a missing
# client is a failure; elsewhere its tests are skipped and say so.
set -euo pipefail
dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${OTTLA_COMPAT_CACHE:-$HOME/.cache/ottla-compat}
mkdir -p "$cache"

have() { command -v "$1" >/dev/null; }
say() { echo "compat: $*" >&2; }

apt_install() { # what to look for, package
  have "$1" && return
  if have apt-get && [ "$(id -u)" = 0 ]; then
    say "installing $2"
    apt-get install -y -qq "$2" >/dev/null 2>&1 || { apt-get update -qq && apt-get install -y -qq "$2" >/dev/null; }
  else
    say "$1 is not installed: its tests are skipped"
  fi
}

apt_install kcat kcat
apt_install java default-jdk-headless
apt_install mvn maven

if have java && have mvn; then
  "$dir/kafka-tool.sh" install
  connect=$cache/connect-3.9.1
  if [ ! -e "$connect/.complete" ]; then
    mvn -q -B -f "$dir/connect/pom.xml" dependency:copy-dependencies -DoutputDirectory="$connect" >&2 && touch "$connect/.complete"
  fi
  export OTTLA_COMPAT_CONNECT=$connect
fi

if have python3; then
  venv=$cache/venv-$(cksum "$dir/python/requirements.txt" | cut -d' ' -f1)
  if [ ! -e "$venv/.complete" ]; then
    python3 -m venv "$venv" && "$venv/bin/pip" -q install -r "$dir/python/requirements.txt" && touch "$venv/.complete"
  fi
  export OTTLA_COMPAT_PYTHON=$venv/bin/python
fi

if have npm && [ ! -e "$dir/node/node_modules/kafkajs" ]; then
  (cd "$dir/node" && npm ci --silent --no-fund --no-audit)
fi

# A Kafka node of our own: compat-tests/differential sends it what it sends to ottla.
if have java && have mvn && [ -z "${OTTLA_DIFF_KAFKA:-}" ]; then
  kafka=$(mktemp -d)
  taken() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
  port=$((20000 + RANDOM % 10000))
  while taken "$port" || taken $((port + 1)); do port=$((20000 + RANDOM % 10000)); done
  KAFKA_HEAP_OPTS=-Xmx768m "$dir/kafka-tool.sh" node "$kafka" "$port" >"$kafka/log" 2>&1 &
  pid=$!
  trap 'kill -9 "$pid" 2>/dev/null; wait "$pid" 2>/dev/null || true; rm -rf "$kafka"' EXIT
  for ((i = 0; i < 600; i++)); do
    if taken "$port"; then
      export OTTLA_DIFF_KAFKA=127.0.0.1:$port
      break
    fi
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.1
  done
  [ -n "${OTTLA_DIFF_KAFKA:-}" ] || { tail -5 "$kafka/log" >&2; say "Kafka did not start: the comparison with it is skipped"; }
fi

cd "$dir/.."
go test -tags compat -count=1 -timeout 60m "$@" ./compat-tests/...
