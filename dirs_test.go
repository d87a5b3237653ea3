package ottla

import (
	"strings"
	"testing"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/storage"
)

// TestIdentify: new directories get a new cluster, known ones keep theirs, and what belongs to somebody else,
// or does not say to whom, is refused by name.
func TestIdentify(t *testing.T) {
	const mine, other = "b3R0bGEtYmVuY2gtMDAwMQ", "b3R0bGEtYmVuY2gtMDAwMg"
	owned := func(fs vfs.FS, dir, cluster string, node int32) {
		t.Helper()
		if err := fs.MkdirAll(dir); err != nil {
			t.Fatal(err)
		}
		if err := storage.WriteMetaProperties(fs, dir, storage.MetaProperties{ClusterID: cluster, NodeID: node, DirectoryID: protocol.NewUUID()}); err != nil {
			t.Fatal(err)
		}
	}
	for name, x := range map[string]struct {
		make  func(fs vfs.FS)
		id    string // "": a new one
		wrong string // a part of the refusal
	}{
		"new":             {func(vfs.FS) {}, "", ""},
		"known":           {func(fs vfs.FS) { owned(fs, "/a", mine, 1); owned(fs, "/b", mine, 1) }, mine, ""},
		"one is new":      {func(fs vfs.FS) { owned(fs, "/a", mine, 1) }, mine, ""},
		"another node":    {func(fs vfs.FS) { owned(fs, "/a", mine, 7) }, "", "/a belongs to node 7"},
		"another cluster": {func(fs vfs.FS) { owned(fs, "/a", mine, 1); owned(fs, "/b", other, 1) }, "", "/b to cluster " + other},
		"nameless": {func(fs vfs.FS) {
			if err := fs.MkdirAll("/a/__cluster_metadata-0"); err != nil {
				t.Fatal(err)
			}
		}, "", "/a has no meta.properties"},
	} {
		t.Run(name, func(t *testing.T) {
			fs := vfs.NewMem()
			x.make(fs)
			id, fresh, err := identify(fs, &config.Static{NodeID: 1, LogDirs: []string{"/a", "/b"}, MetadataLogDir: "/a"})
			switch {
			case x.wrong != "":
				if err == nil || !strings.Contains(err.Error(), x.wrong) {
					t.Errorf("%v, want %q", err, x.wrong)
				}
			case err != nil:
				t.Error(err)
			case x.id != "" && (id != x.id || fresh), x.id == "" && !fresh:
				t.Errorf("cluster %s, fresh %v", id, fresh)
			}
		})
	}
}
