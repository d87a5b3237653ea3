package quorum

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
)

// store is Raft's log, its term and vote, and its snapshot in one append-only file (see frame.go for the bytes).
//
// What Raft may still ask for is also in memory, so that reading never fails: hashicorp/raft panics when it does.
// The file is the history of that memory: opening replays it up to the first frame that is not whole, which
// after a crash is where the writes stopped that had not been synced. A sync therefore makes everything before
// it durable as well, and only what someone is told about is synced by itself:
//
//	entries   before they count as stored,
//	votes     before they are cast; the term is then durable too,
//	snapshots before entries are dropped for them.
//
// A lone voter tells nobody about its vote or about the entries that Raft makes for itself, so these wait for the next
// sync, which is that of the LeaderChange batch.
//
// After the first failed write or sync nothing is written any more, and everything but the term answers the error:
// what a failed sync left on the disk is unknown until the next open.
type store struct {
	fs   vfs.FS // nil: memory only
	dir  string
	lone bool

	mu      sync.Mutex
	file    vfs.File
	size    int64
	synced  bool // nothing was written since the last sync
	err     error
	fault   func(error) // gets err, once, with mu held; nil before Raft runs
	buf     []byte
	values  map[string][]byte
	first   uint64 // index of entries[0]; 0 if there are none
	entries []raft.Log
	cut     int64 // bytes behind the last whole frame when the file was opened
	snap    snapshot
}

// snapshot is what Raft no longer has entries for.
type snapshot struct {
	index, term   uint64 // 0, 0: none
	configuration raft.Configuration
	configIndex   uint64
	state         []byte // of the state machine, see state.go
}

const (
	storeFile     = "log"
	storeFileNew  = "log.new"
	rewriteExcess = 128 << 10 // bytes of dead frames that make a rewrite worthwhile
	keepBuffer    = 64 << 10
)

// Raft's keys, see the const block of its raft.go.
const (
	keyTerm = "CurrentTerm"
	keyVote = "LastVoteCand" // written behind LastVoteTerm
)

// errNotFound's text is what Raft compares.
var errNotFound = errors.New("not found")

// openStore reads dir/log. If it is not there the store is empty, and nothing is written before reset.
func openStore(fsys vfs.FS, dir string, lone bool) (*store, error) {
	s := &store{fs: fsys, dir: dir, lone: lone, values: map[string][]byte{}}
	if fsys == nil {
		return s, nil
	}
	f, err := fsys.Open(s.path(storeFile))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, storageError("open", s.path(storeFile), 0, err)
	}
	if err := s.load(f); err != nil {
		_ = f.Close() // the first error is the one that matters
		return nil, err
	}
	return s, nil
}

func (s *store) path(name string) string { return s.dir + "/" + name }

// load replays a file and cuts it behind its last whole frame.
func (s *store) load(f vfs.File) error {
	size, err := f.Size()
	if err != nil {
		return storageError("size", f.Name(), 0, err)
	}
	buf := make([]byte, size)
	if n, err := f.ReadAt(buf, 0); n < len(buf) {
		return storageError("read", f.Name(), int64(n), err)
	}
	if !bytes.HasPrefix(buf, []byte(fileHeader)) {
		return storageError("read", f.Name(), 0, errors.New("this is no Raft store of a version known here"))
	}
	good, err := s.replay(buf)
	if err != nil {
		return storageError("read", f.Name(), int64(good), err)
	}
	if s.empty() {
		return storageError("read", f.Name(), int64(good), errors.New("the store's snapshot is damaged; without the directory "+
			s.dir+" a lone controller builds it anew from its metadata log"))
	}
	if s.cut = size - int64(good); s.cut > 0 {
		if err := f.Truncate(int64(good)); err != nil {
			return storageError("truncate", f.Name(), int64(good), err)
		}
	}
	s.file, s.size = f, int64(good)
	return nil
}

// onFault says who is told of the error after which nothing is written.
func (s *store) onFault(tell func(error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = tell
	if s.err != nil {
		tell(s.err)
	}
}

// empty says that nothing was ever stored.
func (s *store) empty() bool { return s.snap.index == 0 }

// reset replaces everything by a term and a snapshot, atomically and durably.
func (s *store) reset(term uint64, snap snapshot) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values = map[string][]byte{keyTerm: putUint64(term)}
	s.first, s.entries, s.snap = 0, nil, snap
	return s.rewrite()
}

// close syncs and closes the file.
func (s *store) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	err := s.sync()
	if cerr := s.file.Close(); err == nil && cerr != nil {
		err = storageError("close", s.path(storeFile), s.size, cerr)
	}
	s.file = nil
	if s.err == nil {
		s.err = storageError("write", s.path(storeFile), s.size, fs.ErrClosed)
	}
	return err
}

// write appends what is in buf.
func (s *store) write() error {
	if s.err != nil {
		return s.err
	}
	if s.fs == nil {
		return nil
	}
	if _, err := s.file.WriteAt(s.buf, s.size); err != nil {
		return s.fail("write", s.size, err)
	}
	s.size += int64(len(s.buf))
	s.synced = false
	if cap(s.buf) > keepBuffer {
		s.buf = nil
	}
	return nil
}

func (s *store) sync() error {
	if s.err != nil || s.file == nil || s.synced {
		return s.err
	}
	if err := s.file.Sync(); err != nil {
		return s.fail("sync", s.size, err)
	}
	s.synced = true
	return nil
}

// fail makes an error the last one.
func (s *store) fail(op string, offset int64, err error) error {
	s.err = storageError(op, s.path(storeFile), offset, err)
	if s.fault != nil {
		s.fault(s.err)
	}
	return s.err
}

// rewrite puts the memory's contents into a new file and that in the place of the old one.
func (s *store) rewrite() error {
	if s.err != nil {
		return s.err
	}
	if s.fs == nil {
		return nil
	}
	s.buf = s.image(append(s.buf[:0], fileHeader...))
	f, err := s.create(s.buf)
	if err != nil {
		return s.fail("rewrite", 0, err)
	}
	if s.file != nil {
		_ = s.file.Close() // replaced; nothing in it matters any more
	}
	s.file, s.size, s.synced = f, int64(len(s.buf)), true
	if cap(s.buf) > keepBuffer {
		s.buf = nil
	}
	return nil
}

// create writes a synced file under the store's name.
func (s *store) create(content []byte) (vfs.File, error) {
	switch err := s.fs.Mkdir(s.dir); {
	case err == nil:
		// The directory it is in may be as new, and a flush of its empty log does not make it durable.
		for _, dir := range []string{path.Dir(s.dir), path.Dir(path.Dir(s.dir))} {
			if err := s.fs.SyncDir(dir); err != nil {
				return nil, err
			}
		}
	case !errors.Is(err, fs.ErrExist):
		return nil, err
	}
	return createSynced(s.fs, s.dir, storeFile, storeFileNew, content)
}

func storageError(op, file string, offset int64, err error) error {
	return fmt.Errorf("%w: %s %s at %d: %w", protocol.KafkaStorageError, op, file, offset, err)
}
