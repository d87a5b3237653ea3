package storage

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
)

// MetaProperties is a log directory's meta.properties, version 1: whose it is.
type MetaProperties struct {
	ClusterID   string        // empty only in a version 0 file
	NodeID      int32         // -1 only in a version 0 file
	DirectoryID protocol.UUID // zero if not assigned yet
}

// smallFileMax bounds what is read of meta.properties, partition.metadata and the like.
const smallFileMax = 1 << 20

// ReadMetaProperties reads dir/meta.properties; an error wrapping fs.ErrNotExist if
// there is none. Version 0, with broker.id, is understood as well.
func ReadMetaProperties(fs vfs.FS, dir string) (MetaProperties, error) {
	name := filepath.Join(dir, metaPropertiesFile)
	text, err := readFile(fs, name, smallFileMax)
	if err != nil {
		return MetaProperties{}, err
	}
	p, err := decodeMetaProperties(string(text))
	if err != nil {
		return p, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// WriteMetaProperties writes dir/meta.properties durably, version 1.
func WriteMetaProperties(fs vfs.FS, dir string, p MetaProperties) error {
	return writeAtomic(fs, filepath.Join(dir, metaPropertiesFile), encodeMetaProperties(p, time.Now()))
}

func encodeMetaProperties(p MetaProperties, now time.Time) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "#\n#%s\n", now.UTC().Format("Mon Jan 02 15:04:05 MST 2006"))
	fmt.Fprintf(&b, "node.id=%d\nversion=1\ncluster.id=%s\n", p.NodeID, p.ClusterID)
	if !p.DirectoryID.IsZero() {
		fmt.Fprintf(&b, "directory.id=%s\n", p.DirectoryID)
	}
	return []byte(b.String())
}

func decodeMetaProperties(text string) (MetaProperties, error) {
	p := MetaProperties{NodeID: -1}
	values := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := property(line); ok {
			values[key] = value
		}
	}
	version := values["version"]
	idKey := "node.id"
	switch version {
	case "0":
		idKey = "broker.id"
	case "1":
		if values["cluster.id"] == "" || values["node.id"] == "" {
			return p, fmt.Errorf("version 1 needs cluster.id and node.id")
		}
	default:
		return p, fmt.Errorf("version %q, 0 or 1 expected", version)
	}
	p.ClusterID = values["cluster.id"]
	if s := values[idKey]; s != "" {
		id, err := strconv.ParseInt(s, 10, 32)
		if err != nil || id < 0 {
			return p, fmt.Errorf("%s %q is no id", idKey, s)
		}
		p.NodeID = int32(id)
	}
	if s := values["directory.id"]; s != "" {
		id, err := protocol.ParseUUID(s)
		if err != nil {
			return p, fmt.Errorf("directory.id: %w", err)
		}
		if id.IsReserved() {
			return p, fmt.Errorf("directory.id %s is one of the reserved ids", s)
		}
		p.DirectoryID = id
	}
	return p, nil
}

// property splits a line of a Java properties file, as far as ids need it: a key
// ends at '=', ':' or white space; a backslash takes the next character as it is.
func property(line string) (key, value string, ok bool) {
	line = strings.Trim(line, " \t\f\r\n")
	if line == "" || line[0] == '#' || line[0] == '!' {
		return "", "", false
	}
	end := strings.IndexAny(line, "=: \t\f")
	if end < 0 {
		return line, "", true
	}
	value = strings.TrimLeft(line[end:], " \t\f")
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], " \t\f")
	}
	return line[:end], strings.ReplaceAll(value, `\`, ""), true
}
