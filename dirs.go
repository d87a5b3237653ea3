package ottla

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/storage"
)

// identify is the cluster's id as the log directories have it, and whether they
// are all new, in which case the id is new as well. Directories of another node or
// of two clusters are refused by name; unreadable ones are left to the storage
// manager, which takes them offline.
func identify(files vfs.FS, c *config.Static) (clusterID string, fresh bool, err error) {
	var first string // the directory that clusterID is from
	dirs := c.LogDirs
	for _, dir := range append([]string{c.MetadataLogDir}, dirs...) {
		p, err := storage.ReadMetaProperties(files, dir)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			if err := formattable(files, dir); err != nil {
				return "", false, err
			}
			continue
		case err != nil:
			return "", false, err
		case p.NodeID != c.NodeID:
			return "", false, fmt.Errorf("%s belongs to node %d, this is node %d: give each node its own log.dirs", dir, p.NodeID, c.NodeID)
		case clusterID != "" && p.ClusterID != clusterID:
			return "", false, fmt.Errorf("%s belongs to cluster %s and %s to cluster %s: all log.dirs must be of one cluster", first, clusterID, dir, p.ClusterID)
		}
		first, clusterID = dir, p.ClusterID
	}
	if clusterID == "" {
		return protocol.NewUUID().String(), true, nil
	}
	return clusterID, false, nil
}

// formattable refuses a directory that holds partitions but does not say whose they are: formatting it would
// put another cluster's metadata beside them.
func formattable(files vfs.FS, dir string) error {
	entries, err := files.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Dir {
			return fmt.Errorf("%s has no meta.properties but is not empty, there is %s: restore the file, or name an empty directory in log.dirs", dir, e.Name)
		}
	}
	return nil
}
