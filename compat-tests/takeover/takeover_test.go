package takeover

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/ottla/ottla"
	"github.com/ottla/ottla/compat-tests/fixture"
	"github.com/ottla/ottla/config"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// directory is a fixture that was unpacked.
type directory struct {
	t    *testing.T
	name string
	path string
	// settings are lines of properties that win over those of the fixture.
	settings []string
}

func unpack(t *testing.T, name string) *directory {
	t.Helper()
	d := &directory{t: t, name: name, path: t.TempDir(), settings: []string{
		// Time has passed since the fixtures were made: nothing of them may expire.
		"log.cleaner.enable=false", "offsets.retention.minutes=2147483647", "producer.id.expiration.ms=2147483647",
		"transaction.abort.timed.out.transaction.cleanup.interval.ms=3600000",
	}}
	must(t, fixture.Unpack(name, d.path))
	return d
}

// properties are those the fixture was written under, with free ports and the directory's path.
func (d *directory) properties() config.Properties {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.path, "server.properties"))
	must(d.t, err)
	text = []byte(strings.ReplaceAll(string(text), "/tmp/store-fixtures/"+d.name, d.path))
	p, err := config.ParseProperties("server.properties", text)
	must(d.t, err)
	lines := append([]string{"listeners=PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0,CONTROLLER://127.0.0.1:0"}, d.settings...)
	for _, line := range lines {
		name, value, _ := strings.Cut(line, "=")
		p = append(p, config.Property{Name: name, Value: value})
	}
	return p
}

// server is ottla on a directory, in this process.
type server struct {
	*ottla.Server
	dir  *directory
	addr string
	logs *observer.ObservedLogs
}

func (d *directory) start() *server {
	d.t.Helper()
	static, _, err := config.Load(d.properties())
	must(d.t, err)
	core, logs := observer.New(zapcore.InfoLevel)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	srv, err := ottla.Start(ctx, ottla.Options{Config: static, Logger: zap.New(core)})
	if err != nil {
		for _, e := range logs.All() {
			d.t.Log(e.Level, e.Message, e.ContextMap())
		}
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() { srv.Close() })
	return &server{srv, d, srv.Addr("PLAINTEXT"), logs}
}

func (s *server) stop() {
	s.dir.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	must(s.dir.t, s.Shutdown(ctx))
}

func (d *directory) expected(name string) string {
	d.t.Helper()
	text, err := os.ReadFile(filepath.Join(d.path, "expected", name))
	must(d.t, err)
	return string(text)
}

// TestFixtures starts on each directory three times: as Kafka left it, after a clean stop of ours, and after
// one that was not clean. Each time it must serve exactly what Kafka served.
func TestFixtures(t *testing.T) {
	for _, name := range fixture.Names {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := unpack(t, name)
			for i, round := range []string{"taken over", "after a clean stop", "after an unclean stop"} {
				s := d.start()
				if got := s.ClusterID(); got != "b3R0bGEtZml4dHVyZS0wMQ" {
					t.Errorf("cluster id %s", got)
				}
				t.Run(round, func(t *testing.T) {
					s.checkOffsets(t)
					s.checkRecords(t)
				})
				if i == 0 {
					s.stop()
				} else {
					must(t, ignoreCancel(s.Close()))
				}
			}
		})
	}
}

// ignoreCancel: Close says what it did not wait for.
func ignoreCancel(err error) error {
	if err != nil && strings.Contains(err.Error(), context.Canceled.Error()) {
		return nil
	}
	return err
}

// lines are the lines of an expected file that are no comment.
func lines(text string) []string {
	var out []string
	for l := range strings.Lines(text) {
		if l = strings.TrimRight(l, "\n"); l != "" && l[0] != '#' {
			out = append(out, l)
		}
	}
	return out
}

func scan(t testing.TB, line, format string, into ...any) {
	t.Helper()
	if _, err := fmt.Sscanf(line, format, into...); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
}
