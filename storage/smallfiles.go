package storage

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
)

// encodePartitionMetadata is the text of partition.metadata: no newline at its end.
func encodePartitionMetadata(topicID protocol.UUID) []byte {
	return []byte("version: 0\ntopic_id: " + topicID.String())
}

func decodePartitionMetadata(text string) (protocol.UUID, error) {
	var id protocol.UUID
	version, rest, _ := strings.Cut(text, "\n")
	if v, ok := strings.CutPrefix(strings.TrimRight(version, " \r"), "version:"); !ok || strings.TrimSpace(v) != "0" {
		return id, fmt.Errorf("first line %q, \"version: 0\" expected", version)
	}
	line, _, _ := strings.Cut(rest, "\n")
	v, ok := strings.CutPrefix(line, "topic_id:")
	if !ok {
		return id, fmt.Errorf("second line %q, \"topic_id: ...\" expected", line)
	}
	id, err := protocol.ParseUUID(strings.TrimSpace(v))
	if err == nil && id.IsZero() {
		err = errors.New("topic_id is the zero id")
	}
	return id, err
}

// readPartitionMetadata returns the topic id of a partition's directory; zero if there
// is no file, or an empty or cut off one as a crash may leave: it is not synced before the
// first flush.
func readPartitionMetadata(fsys vfs.FS, dir string) (protocol.UUID, error) {
	name := filepath.Join(dir, partitionMetadataFile)
	text, err := readFile(fsys, name, smallFileMax)
	if errors.Is(err, fs.ErrNotExist) || err == nil && cutOff(strings.Trim(string(text), "\x00")) {
		return protocol.UUID{}, nil
	}
	if err != nil {
		return protocol.UUID{}, err
	}
	id, err := decodePartitionMetadata(string(text))
	if err != nil {
		return id, fmt.Errorf("%s: %w", name, err)
	}
	return id, nil
}

// cutOff says that text is the beginning of a partition.metadata file, without all of the id.
func cutOff(text string) bool {
	const head, id = "version: 0\ntopic_id: ", 22
	return len(text) < len(head)+id && (strings.HasPrefix(head, text) || strings.HasPrefix(text, head))
}

// cleanShutdown is the content of .kafka_cleanshutdown.
type cleanShutdown struct {
	Version     int   `json:"version"`
	BrokerEpoch int64 `json:"brokerEpoch"`
}

func encodeCleanShutdown(brokerEpoch int64) []byte {
	return []byte(`{"version":0,"brokerEpoch":` + strconv.FormatInt(brokerEpoch, 10) + `}`)
}

// readCleanShutdown looks for the marker of a clean stop. Its presence alone says that the
// stop was clean; the epoch is -1 if it cannot be read.
func readCleanShutdown(fsys vfs.FS, dir string) (clean bool, brokerEpoch int64, err error) {
	text, err := readFile(fsys, filepath.Join(dir, cleanShutdownFile), smallFileMax)
	if errors.Is(err, fs.ErrNotExist) {
		return false, -1, nil
	}
	if err != nil {
		return false, -1, err
	}
	return true, decodeCleanShutdown(text), nil
}

// removeCleanShutdown takes the marker away, durably: it must not come back after a crash
// and vouch for that one.
func removeCleanShutdown(fsys vfs.FS, dir string) error {
	if err := removeIfThere(fsys, filepath.Join(dir, cleanShutdownFile)); err != nil {
		return err
	}
	return fsys.SyncDir(dir)
}

func decodeCleanShutdown(text []byte) int64 {
	c := cleanShutdown{BrokerEpoch: -1}
	if json.Unmarshal(text, &c) != nil {
		return -1
	}
	return c.BrokerEpoch
}
