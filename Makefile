# Everything one does with this repository. Only Go is needed, except by compat and bench (a JDK, Maven, Python, Node.js).

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
GOFLAGS_RELEASE = -trimpath -ldflags "-s -w -X main.version=$(VERSION)"
STATICCHECK = honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME ?= 20s
# Assertions about our own code (internal/invariant) are on in tests.
TAGS = -tags invariants

export CGO_ENABLED = 0

.PHONY: all build run test race lint fuzz compat bench generate clean

all: build test lint

# One static binary, bin/ottla. Called by the name of a Kafka tool it is that tool.
build:
	go build $(GOFLAGS_RELEASE) -o bin/ottla ./cmd/ottla

# A server on localhost:9092 with its data in ./ottla-data. ARGS adds arguments: make run ARGS=--memory
run: build
	./bin/ottla server $(ARGS)

test:
	go test $(TAGS) ./...

# The race detector needs a C compiler.
race:
	CGO_ENABLED=1 go test $(TAGS) -race ./...

# Format, vet, staticcheck, and the rules of this project (internal/lint: layers, bans in pure packages, sizes).
lint:
	@test -z "$$(gofmt -l .)" || { echo "not formatted with gofmt:"; gofmt -l .; exit 1; }
	go vet ./...
	go vet -tags invariants,compat ./...
	go run $(STATICCHECK) ./...
	go mod tidy -diff
	go test -count=1 ./internal/lint

# Every fuzz target for FUZZTIME.
fuzz:
	@set -e; for package in $$(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do \
		for target in $$(grep -ho '^func Fuzz[A-Za-z0-9_]*' $$package/*_test.go | sed 's/func //'); do \
			echo "fuzz $$package $$target"; \
			go test $$package -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME); \
		done; \
	done

# Other people's clients and tools against the binary; installs what it can. make compat ARGS="-run Quickstart"
compat:
	./compat-tests/run.sh $(ARGS)

# ottla beside Apache Kafka 4.4 and kfake on this machine, about ten minutes. make bench ARGS=-quick for a look.
bench: build
	./compat-tests/kafka-tool.sh install
	cd compat-tests/bench && go run . -ottla ../../bin/ottla $(ARGS)

# What is generated from the schemas in Kafka's jars.
generate:
	./compat-tests/kafka-tool.sh install
	go generate ./...

clean:
	rm -rf bin
