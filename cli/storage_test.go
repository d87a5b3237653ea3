package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/storage"
)

// serverConfig writes a properties file for a node with a directory that is not there yet.
func serverConfig(t *testing.T, more string) (file, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	file = filepath.Join(t.TempDir(), "server.properties")
	text := "process.roles=broker,controller\nnode.id=7\nlisteners=PLAINTEXT://:9092,CONTROLLER://:9093\n" +
		"controller.listener.names=CONTROLLER\nlog.dirs=" + dir + "\n" + more
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, dir
}

// What is formatted can be read back: who it is for, the features, the voters.
func TestStorageFormat(t *testing.T) {
	const cluster = "4L6g3nShT-eMCtK--X86sw"
	file, dir := serverConfig(t, "controller.quorum.bootstrap.servers=localhost:9093\n")
	code, out, errs := outcome("storage", "format", "-t", cluster, "-c", file, "--standalone", "--release-version", "4.0-IV3")
	if code != 0 || errs != "" {
		t.Fatalf("format exits with %d: %s", code, errs)
	}
	if want := "Formatting dynamic metadata voter directory " + dir + " with metadata.version 4.0-IV3.\n"; !strings.HasSuffix(out, want) {
		t.Errorf("format says %q and not %q at the end", out, want)
	}
	p, err := storage.ReadMetaProperties(vfs.OS(), dir)
	if err != nil || p.ClusterID != cluster || p.NodeID != 7 {
		t.Errorf("meta.properties has %+v, %v", p, err)
	}
	id := metadata.SnapshotID{}
	text, err := os.ReadFile(filepath.Join(dir, "__cluster_metadata-0", id.Name()))
	if err != nil {
		t.Fatal(err)
	}
	image, err := metadata.ReadSnapshot(bytes.NewReader(text), id)
	if err != nil {
		t.Fatal(err)
	}
	level, err := parseMetadataVersion("4.0-IV3", false)
	if err != nil {
		t.Fatal(err)
	}
	if got := image.Features(); !slices.Contains(got, metadata.Level{Feature: metadata.MetadataVersion, Level: level}) ||
		!slices.Contains(got, metadata.Level{Feature: metadata.KRaftVersion, Level: 1}) {
		t.Errorf("the features are %v", got)
	}
	if v := image.Voters(); len(v) != 1 || v[0].VoterID != 7 || v[0].VoterDirectoryID != p.DirectoryID || v[0].Endpoints[0].Port != 9093 {
		t.Errorf("the voters are %+v", v)
	}

	code, _, errs = outcome("storage", "format", "-t", cluster, "-c", file, "--standalone")
	want := "Log directory " + dir + " is already formatted. Use --ignore-formatted to ignore this directory and format the others.\n"
	if code != 1 || errs != want {
		t.Errorf("a second format exits with %d and says %q", code, errs)
	}
	code, out, errs = outcome("storage", "format", "-t", cluster, "-c", file, "--standalone", "-g")
	if code != 0 || out != "All of the log directories are already formatted.\n" {
		t.Errorf("format --ignore-formatted exits with %d and says %q, %q", code, out, errs)
	}
}

func TestStorageFormatRefuses(t *testing.T) {
	tests := []struct {
		name, more string
		args       []string
		want       string
	}{
		{"no way to find the first controllers", "controller.quorum.bootstrap.servers=localhost:9093\n", nil,
			"you must specify one of the following: --standalone, --initial-controllers, or --no-initial-controllers."},
		{"two ways", "controller.quorum.voters=7@localhost:9093\n", []string{"--standalone"}, "You cannot specify controller.quorum.voters and"},
		{"an unknown feature", "controller.quorum.voters=7@localhost:9093\n", []string{"--feature", "foo=1"}, "Unsupported feature: foo."},
		{"a quorum that cannot grow at level 1", "controller.quorum.voters=7@localhost:9093\n", []string{"--feature", "kraft.version=1"},
			"Cannot set kraft.version to 1 unless controller.quorum.voters is empty"},
		{"a quorum that can grow at level 0", "controller.quorum.bootstrap.servers=localhost:9093\n", []string{"-s", "-f", "kraft.version=0"},
			"Cannot set kraft.version to 0 if controller.quorum.voters is empty"},
		{"voters that cannot be read", "controller.quorum.bootstrap.servers=localhost:9093\n", []string{"-I", "7@localhost"},
			"Failed to parse dynamic voter ID in 7@localhost"},
		{"release and level", "controller.quorum.voters=7@localhost:9093\n", []string{"-r", "4.0-IV3", "-f", "metadata.version=25"},
			"Use --release-version instead of --feature metadata.version=X to avoid ambiguity."},
	}
	for _, tt := range tests {
		file, dir := serverConfig(t, tt.more)
		code, _, errs := outcome("storage", append([]string{"format", "-t", "4L6g3nShT-eMCtK--X86sw", "-c", file}, tt.args...)...)
		if code != 1 || !strings.Contains(errs, tt.want) {
			t.Errorf("%s: exits with %d and says %q", tt.name, code, errs)
		}
		if _, err := os.Stat(filepath.Join(dir, "meta.properties")); err == nil {
			t.Errorf("%s: %s is formatted", tt.name, dir)
		}
	}
}
