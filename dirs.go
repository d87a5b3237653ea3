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
