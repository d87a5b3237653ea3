//go:build compat

package stock

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestKcat: produce with each codec it has, list, consume to the end, query.
func TestKcat(t *testing.T) {
	if _, err := exec.LookPath("kcat"); err != nil {
		missing(t, "kcat")
	}
	kcat := func(stdin string, args ...string) string {
		t.Helper()
		r := command(t, stdin, "kcat", append([]string{"-b", bootstrap}, args...)...)
		if r.code != 0 {
			t.Fatalf("kcat %v: exit code %d\n%s%s", args, r.code, r.stdout, r.stderr)
		}
		return r.stdout
	}
	topic := unique("kcat")
	createTopic(t, topic, 1)
	var want []string
	for _, codec := range []string{"none", "gzip", "snappy", "lz4", "zstd"} {
		kcat("key|"+codec+strings.Repeat("y", 200)+"\n", "-P", "-t", topic, "-z", codec, "-K", "|", "-H", "codec="+codec)
		want = append(want, fmt.Sprintf("%d key codec=%s", len(want), codec))
	}
	wantLines(t, "consumed", kcat("", "-C", "-t", topic, "-e", "-q", "-f", `%o %k %h\n`), want...)
	wantContains(t, "list", kcat("", "-L"), topic)
	wantContains(t, "query", kcat("", "-Q", "-t", topic+":0:-1"), "offset 5")
	group := unique("kcat-group")
	wantLines(t, "group", kcat("", "-G", group, "-X", "auto.offset.reset=earliest", "-c", "5", "-q", "-f", `%o %k %h\n`, topic), want...)
	idem := unique("kcat-idem")
	createTopic(t, idem, 1)
	kcat("a\nb\nc\n", "-P", "-t", idem, "-X", "enable.idempotence=true")
	wantLines(t, "idempotent", kcat("", "-C", "-t", idem, "-e", "-q"), "a", "b", "c")
}

// script runs a client written in another language and wants "ok" as its last line.
func script(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath(name); err != nil {
		missing(t, name)
	}
	cmd := exec.Command(name, append(args, bootstrap, unique(filepath.Base(dir)))...)
	cmd.Dir = dir
	timer := time.AfterFunc(4*time.Minute, func() { cmd.Process.Kill() })
	defer timer.Stop()
	out, err := cmd.CombinedOutput()
	if l := lines(string(out)); err != nil || len(l) == 0 || l[len(l)-1] != "ok" {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestConfluentPython: librdkafka through confluent-kafka-python.
func TestConfluentPython(t *testing.T) {
	python := os.Getenv("OTTLA_COMPAT_PYTHON")
	if python == "" {
		missing(t, "confluent-kafka (OTTLA_COMPAT_PYTHON)")
	}
	script(t, filepath.Join(compatDir, "python"), python, "client.py")
}

// TestKafkaJS: kafkajs on Node.js.
func TestKafkaJS(t *testing.T) {
	dir := filepath.Join(compatDir, "node")
	if _, err := os.Stat(filepath.Join(dir, "node_modules", "kafkajs")); err != nil {
		missing(t, "kafkajs")
	}
	script(t, dir, "node", "client.js")
}

// TestGoClients: franz-go and sarama, in a module of their own.
func TestGoClients(t *testing.T) {
	dir := filepath.Join(compatDir, "goclients")
	for _, client := range []string{"franz", "sarama"} {
		t.Run(client, func(t *testing.T) { script(t, dir, "go", "run", "./"+client) })
	}
}

// TestConnectStandalone: a stock Connect worker copies a file into a topic and
// the topic into another file.
func TestConnectStandalone(t *testing.T) {
	jars := os.Getenv("OTTLA_COMPAT_CONNECT")
	if jars == "" {
		missing(t, "Kafka Connect (OTTLA_COMPAT_CONNECT)")
	}
	dir := t.TempDir()
	topic := unique("connect")
	createTopic(t, topic, 1)
	put := func(name string, lines ...string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	in, out := put("in.txt", "alpha", "beta", "gamma"), filepath.Join(dir, "out.txt")
	worker := put("worker.properties", "bootstrap.servers="+bootstrap,
		"key.converter=org.apache.kafka.connect.storage.StringConverter", "value.converter=org.apache.kafka.connect.storage.StringConverter",
		"offset.storage.file.filename="+filepath.Join(dir, "offsets"), "offset.flush.interval.ms=1000", "listeners=http://127.0.0.1:0",
		"plugin.discovery=only_scan")
	source := put("source.properties", "name=src", "connector.class=org.apache.kafka.connect.file.FileStreamSourceConnector", "tasks.max=1", "file="+in, "topic="+topic)
	sink := put("sink.properties", "name=dst", "connector.class=org.apache.kafka.connect.file.FileStreamSinkConnector", "tasks.max=1", "file="+out, "topics="+topic)
	w := start(t, "java", "-Xmx256m", "-cp", filepath.Join(jars, "*"), "org.apache.kafka.connect.cli.ConnectStandalone", worker, source, sink)
	deadline := time.Now().Add(90 * time.Second)
	for {
		b, _ := os.ReadFile(out)
		if string(b) == "alpha\nbeta\ngamma\n" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the sink's file holds %q\n%s", b, strings.Join(w.lines(), "\n"))
		}
		time.Sleep(100 * time.Millisecond) // polls another process's file
	}
	w.kill()
}
