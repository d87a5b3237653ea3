package vfs

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Mem is a file system in memory. Files are kept in chunks, so appending copies
// only what is appended.
//
// One made by NewCrashable also remembers what was synced, so that Crash can show
// what a machine would find after losing power. Hook lets a test see, and fail,
// every operation.
type Mem struct {
	mu    sync.Mutex // the tree: nodes' entries, locks, journal
	root  *node
	locks map[string]bool

	crashable bool
	journal   []dirOp // entries' changes that no SyncDir covers yet, oldest first

	space space
	hook  hookHolder
}

// node is a file or a directory. Its identity is what an open file holds on to.
type node struct {
	entries map[string]*node // of a directory, guarded by Mem.mu; nil for a file
	durable map[string]*node // entries after a crash, journal apart; crashable only

	mu      sync.RWMutex // the rest, of a file
	data    content
	synced  content // crashable only
	modTime time.Time
}

// NewMem makes an empty file system that cannot crash: nothing is kept for it.
func NewMem() *Mem {
	return &Mem{root: newDir(false), locks: map[string]bool{}}
}

// NewCrashable makes an empty file system whose Crash works.
func NewCrashable() *Mem {
	m := NewMem()
	m.crashable = true
	m.root = newDir(true)
	return m
}

func newDir(crashable bool) *node {
	n := &node{entries: map[string]*node{}, modTime: time.Now()}
	if crashable {
		n.durable = map[string]*node{}
	}
	return n
}

// SetCapacity bounds the bytes of all files; more is ENOSPC. 0 is unbounded.
func (m *Mem) SetCapacity(bytes int64) { m.space.capacity.Store(bytes) }

// Usage answers the capacity, or as good as infinity without one.
func (m *Mem) Usage(string) (total, free int64, err error) {
	total = m.space.capacity.Load()
	if total == 0 {
		total = math.MaxInt64
	}
	return total, max(0, total-m.space.used.Load()), nil
}

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

func elements(name string) []string {
	name = strings.Trim(path.Clean("/"+name), "/")
	if name == "" {
		return nil
	}
	return strings.Split(name, "/")
}

// find walks to a node; m.mu is held.
func (m *Mem) find(elems []string) (*node, error) {
	n := m.root
	for _, e := range elems {
		if n.entries == nil {
			return nil, syscall.ENOTDIR
		}
		next, ok := n.entries[e]
		if !ok {
			return nil, fs.ErrNotExist
		}
		n = next
	}
	return n, nil
}

// parent walks to the directory that holds name; m.mu is held.
func (m *Mem) parent(name string) (dir *node, last string, err error) {
	elems := elements(name)
	if len(elems) == 0 {
		return nil, "", fs.ErrInvalid
	}
	dir, err = m.find(elems[:len(elems)-1])
	if err == nil && dir.entries == nil {
		err = syscall.ENOTDIR
	}
	return dir, elems[len(elems)-1], err
}

// Open implements FS.
func (m *Mem) Open(name string) (File, error) { return m.open("open", name, false, false) }

// OpenRead implements FS.
func (m *Mem) OpenRead(name string) (File, error) { return m.open("open", name, false, true) }

// Create implements FS.
func (m *Mem) Create(name string) (File, error) { return m.open("create", name, true, false) }

func (m *Mem) open(op, name string, create, readOnly bool) (File, error) {
	if err := m.hook.call(Op(op), name); err != nil {
		return nil, pathError(op, name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, last, err := m.parent(name)
	if err != nil {
		return nil, pathError(op, name, err)
	}
	n, ok := dir.entries[last]
	switch {
	case ok && n.entries != nil:
		return nil, pathError(op, name, syscall.EISDIR)
	case !ok && !create:
		return nil, pathError(op, name, fs.ErrNotExist)
	case !ok:
		n = &node{modTime: time.Now()}
		m.link(dir, last, n)
	}
	return &memFile{fs: m, node: n, name: name, readOnly: readOnly}, nil
}

// Rename implements FS.
func (m *Mem) Rename(oldName, newName string) error {
	if err := m.hook.call(OpRename, oldName); err != nil {
		return pathError("rename", oldName, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	from, oldLast, err := m.parent(oldName)
	if err != nil {
		return pathError("rename", oldName, err)
	}
	to, newLast, err := m.parent(newName)
	if err != nil {
		return pathError("rename", newName, err)
	}
	n, ok := from.entries[oldLast]
	if !ok {
		return pathError("rename", oldName, fs.ErrNotExist)
	}
	if there, ok := to.entries[newLast]; ok && there != n {
		if there.entries != nil && (n.entries == nil || len(there.entries) > 0) {
			return pathError("rename", newName, fs.ErrExist)
		}
		m.space.free(there)
	}
	m.move(from, oldLast, to, newLast, n)
	return nil
}

// Remove implements FS.
func (m *Mem) Remove(name string) error {
	if err := m.hook.call(OpRemove, name); err != nil {
		return pathError("remove", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, last, err := m.parent(name)
	if err != nil {
		return pathError("remove", name, err)
	}
	n, ok := dir.entries[last]
	if !ok {
		return pathError("remove", name, fs.ErrNotExist)
	}
	if len(n.entries) > 0 {
		return pathError("remove", name, syscall.ENOTEMPTY)
	}
	m.unlink(dir, last)
	return nil
}

// RemoveAll implements FS, as one operation for each file.
func (m *Mem) RemoveAll(name string) error {
	i, err := m.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if i.Dir {
		list, err := m.List(name)
		if err != nil {
			return err
		}
		for _, e := range list {
			if err := m.RemoveAll(path.Join(name, e.Name)); err != nil {
				return err
			}
		}
	}
	return m.Remove(name)
}

// Mkdir implements FS.
func (m *Mem) Mkdir(name string) error {
	if err := m.hook.call(OpMkdir, name); err != nil {
		return pathError("mkdir", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, last, err := m.parent(name)
	if err != nil {
		return pathError("mkdir", name, err)
	}
	if _, ok := dir.entries[last]; ok {
		return pathError("mkdir", name, fs.ErrExist)
	}
	m.link(dir, last, newDir(m.crashable))
	return nil
}

// MkdirAll implements FS.
func (m *Mem) MkdirAll(name string) error {
	elems := elements(name)
	for i := range elems {
		p := strings.Join(elems[:i+1], "/")
		info, err := m.Stat(p)
		switch {
		case err != nil:
			err = m.Mkdir(p)
		case !info.Dir:
			err = pathError("mkdir", p, syscall.ENOTDIR)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// List implements FS.
func (m *Mem) List(name string) ([]Info, error) {
	if err := m.hook.call(OpList, name); err != nil {
		return nil, pathError("list", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, err := m.find(elements(name))
	if err != nil {
		return nil, pathError("list", name, err)
	}
	if dir.entries == nil {
		return nil, pathError("list", name, syscall.ENOTDIR)
	}
	infos := make([]Info, 0, len(dir.entries))
	for e, n := range dir.entries {
		infos = append(infos, n.info(e))
	}
	slices.SortFunc(infos, func(a, b Info) int { return strings.Compare(a.Name, b.Name) })
	return infos, nil
}

// Stat implements FS.
func (m *Mem) Stat(name string) (Info, error) {
	if err := m.hook.call(OpStat, name); err != nil {
		return Info{}, pathError("stat", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n, err := m.find(elements(name))
	if err != nil {
		return Info{}, pathError("stat", name, err)
	}
	return n.info(path.Base(name)), nil
}

func (n *node) info(name string) Info {
	if n.entries != nil {
		return Info{Name: name, ModTime: n.modTime, Dir: true}
	}
	n.mu.RLock()
	defer n.mu.RUnlock()
	return Info{Name: name, Size: n.data.size, ModTime: n.modTime}
}

// SetModTime implements FS.
func (m *Mem) SetModTime(name string, t time.Time) error {
	if err := m.hook.call(OpSetTime, name); err != nil {
		return pathError("chtimes", name, err)
	}
	m.mu.Lock()
	n, err := m.find(elements(name))
	m.mu.Unlock()
	if err != nil {
		return pathError("chtimes", name, err)
	}
	n.mu.Lock()
	n.modTime = t
	n.mu.Unlock()
	return nil
}

// Lock implements FS.
func (m *Mem) Lock(name string) (io.Closer, error) {
	f, err := m.Create(name)
	if err != nil {
		return nil, err
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := path.Clean("/" + name)
	if m.locks[key] {
		return nil, pathError("lock", name, ErrLocked)
	}
	m.locks[key] = true
	return &memLock{m, key}, nil
}

type memLock struct {
	fs   *Mem
	name string
}

func (l *memLock) Close() error {
	l.fs.mu.Lock()
	defer l.fs.mu.Unlock()
	delete(l.fs.locks, l.name)
	return nil
}
