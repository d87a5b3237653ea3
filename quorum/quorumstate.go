package quorum

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
)

// The file `quorum-state` is where Kafka keeps leader, epoch and vote. Raft's store is what counts here; the file is
// written so that Kafka can take the directory over, and read to learn whether it had it in between.
const (
	quorumStateFile = "quorum-state"
	quorumStateMax  = 64 << 10
)

// quorumState is version 1 of the file's JSON (version 0 has more fields, which are not needed).
type quorumState struct {
	LeaderID         int32         `json:"leaderId"`
	LeaderEpoch      int32         `json:"leaderEpoch"`
	VotedID          int32         `json:"votedId"`
	VotedDirectoryID protocol.UUID `json:"votedDirectoryId"`
	DataVersion      int16         `json:"data_version"`
}

// readQuorumState returns epoch -1 if there is no file.
func readQuorumState(fsys vfs.FS, dir string) (quorumState, error) {
	path := dir + "/" + quorumStateFile
	b, err := readFile(fsys, path, quorumStateMax)
	if errors.Is(err, fs.ErrNotExist) {
		return quorumState{LeaderID: -1, LeaderEpoch: -1, VotedID: -1}, nil
	}
	if err != nil {
		return quorumState{}, storageError("read", path, 0, err)
	}
	var q quorumState
	if err := json.Unmarshal(b, &q); err != nil {
		return quorumState{}, storageError("read", path, 0, err)
	}
	if q.DataVersion < 0 || q.DataVersion > 1 {
		return quorumState{}, storageError("read", path, 0, fmt.Errorf("data_version %d, known are 0 and 1", q.DataVersion))
	}
	return q, nil
}

// writeQuorumState replaces the file durably.
func writeQuorumState(fsys vfs.FS, dir string, q quorumState) error {
	path := dir + "/" + quorumStateFile
	q.DataVersion = 1
	b, err := json.Marshal(q)
	if err != nil {
		return err
	}
	f, err := createSynced(fsys, dir, quorumStateFile, quorumStateFile+".tmp", b)
	if err != nil {
		return storageError("write", path, 0, err)
	}
	return f.Close()
}

// readFile reads a file of at most limit bytes; of a larger one the beginning.
func readFile(fsys vfs.FS, path string, limit int64) ([]byte, error) {
	f, err := fsys.OpenRead(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	size, err := f.Size()
	if err != nil {
		return nil, err
	}
	b := make([]byte, min(size, limit))
	if n, err := f.ReadAt(b, 0); n < len(b) {
		return nil, err
	}
	return b, nil
}

// createSynced writes a file under a temporary name, makes it durable, and gives it its own.
func createSynced(fsys vfs.FS, dir, name, temporary string, content []byte) (vfs.File, error) {
	f, err := fsys.Create(dir + "/" + temporary)
	if err != nil {
		return nil, err
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt(content, 0)
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = fsys.Rename(dir+"/"+temporary, dir+"/"+name)
	}
	if err == nil {
		err = fsys.SyncDir(dir)
	}
	if err != nil {
		_ = f.Close() // the first error is the one that matters
		return nil, err
	}
	return f, nil
}
