package vfs

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync/atomic"
)

// Op names an operation for Hook.
type Op string

// The operations. Each call of FS and File is one, RemoveAll and MkdirAll are
// several; Close, Size and Usage are none.
const (
	OpOpen     Op = "open"
	OpCreate   Op = "create"
	OpRename   Op = "rename"
	OpRemove   Op = "remove"
	OpMkdir    Op = "mkdir"
	OpList     Op = "list"
	OpStat     Op = "stat"
	OpSetTime  Op = "chtimes"
	OpSyncDir  Op = "syncdir"
	OpRead     Op = "read"
	OpWrite    Op = "write"
	OpTruncate Op = "truncate"
	OpSync     Op = "sync"
)

// Changes reports whether the operation may change what a crash leaves.
func (o Op) Changes() bool {
	switch o {
	case OpOpen, OpList, OpStat, OpRead:
		return false
	}
	return true
}

// Hook is called before each operation. An error fails the operation; a write that
// fails has written half. It may call Crash, but no other method.
type Hook func(op Op, name string) error

type hookHolder struct{ f atomic.Pointer[Hook] }

func (h *hookHolder) call(op Op, name string) error {
	if f := h.f.Load(); f != nil {
		return (*f)(op, name)
	}
	return nil
}

// SetHook installs h; nil takes it away.
func (m *Mem) SetHook(h Hook) {
	if h == nil {
		m.hook.f.Store(nil)
		return
	}
	m.hook.f.Store(&h)
}

// FailAt makes the n-th operation from now (the first is 1) fail with err, and all
// after it too if the disk is to stay broken.
func (m *Mem) FailAt(n int, err error, forever bool) {
	var count atomic.Int64
	m.SetHook(func(Op, string) error {
		c := count.Add(1)
		if c == int64(n) || forever && c > int64(n) {
			return err
		}
		return nil
	})
}

// dirOp is a change of names: n gets the entry to in newDir, loses from in oldDir.
// A nil directory has no part in it.
type dirOp struct {
	n              *node
	oldDir, newDir *node
	from, to       string
}

func (o *dirOp) apply(entries func(*node) map[string]*node) {
	if o.oldDir != nil {
		if e := entries(o.oldDir); e[o.from] == o.n {
			delete(e, o.from)
		}
	}
	if o.newDir != nil {
		entries(o.newDir)[o.to] = o.n
	}
}

func (m *Mem) link(dir *node, name string, n *node) {
	m.change(dirOp{n: n, newDir: dir, to: name})
}

func (m *Mem) unlink(dir *node, name string) {
	n := dir.entries[name]
	if n.entries == nil {
		m.space.free(n)
	}
	m.change(dirOp{n: n, oldDir: dir, from: name})
}

func (m *Mem) move(from *node, oldName string, to *node, newName string, n *node) {
	m.change(dirOp{n: n, oldDir: from, from: oldName, newDir: to, to: newName})
}

func (m *Mem) change(o dirOp) {
	o.apply(func(d *node) map[string]*node { return d.entries })
	if m.crashable {
		m.journal = append(m.journal, o)
	}
}

// SyncDir implements FS: what was renamed, made and removed in the directory stays
// so after a crash.
func (m *Mem) SyncDir(name string) error {
	if err := m.hook.call(OpSyncDir, name); err != nil {
		return pathError("syncdir", name, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, err := m.find(elements(name))
	if err != nil {
		return pathError("syncdir", name, err)
	}
	m.journal = slices.DeleteFunc(m.journal, func(o dirOp) bool {
		if o.oldDir != dir && o.newDir != dir {
			return false
		}
		o.apply(func(d *node) map[string]*node { return d.durable })
		return true
	})
	return nil
}

// sectorSize is what a disk writes whole or not at all.
const sectorSize = 512

// Crash is what a machine finds when it comes up after losing power now: what was
// synced, and any of the rest: each later change of names, each later written
// sector, each file's length made it or not, as rng says; in one case of four
// nothing did and in another one everything. m itself goes on undisturbed, and the
// clone shares no state with it, has no locks, no hook, and can crash again.
func (m *Mem) Crash(rng *rand.Rand) *Mem {
	if !m.crashable {
		panic("vfs: Crash of a Mem that is not crashable")
	}
	var keep func() bool
	switch rng.IntN(4) {
	case 0:
		keep = func() bool { return false }
	case 1:
		keep = func() bool { return true }
	default:
		keep = func() bool { return rng.IntN(2) == 0 }
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	after := map[*node]map[string]*node{}
	entries := func(d *node) map[string]*node {
		e, ok := after[d]
		if !ok {
			e = maps.Clone(d.durable)
			after[d] = e
		}
		return e
	}
	for i := range m.journal {
		if keep() {
			m.journal[i].apply(entries)
		}
	}
	c := &crasher{keep: keep, rng: rng, entries: entries, made: map[*node]*node{}}
	clone := NewCrashable()
	clone.root = c.node(m.root)
	clone.space.capacity.Store(m.space.capacity.Load())
	clone.space.used.Store(c.used)
	return clone
}

// crasher copies the tree that survives.
type crasher struct {
	keep    func() bool
	rng     *rand.Rand
	entries func(*node) map[string]*node
	made    map[*node]*node // a file may survive under two names
	used    int64
}

func (c *crasher) node(n *node) *node {
	if done, ok := c.made[n]; ok {
		return done
	}
	if n.entries == nil {
		f := c.file(n)
		c.made[n] = f
		return f
	}
	d := newDir(true)
	c.made[n] = d
	e := c.entries(n)
	for _, name := range slices.Sorted(maps.Keys(e)) {
		d.entries[name] = c.node(e[name])
	}
	d.durable = maps.Clone(d.entries)
	return d
}

func (c *crasher) file(n *node) *node {
	n.mu.Lock()
	defer n.mu.Unlock()
	data := n.synced.share()
	now := &n.data
	if c.keep() {
		data.truncate(now.size)
	} else if now.size > data.size && c.rng.IntN(2) == 0 {
		data.truncate(data.size + c.rng.Int64N(now.size-data.size+1))
	}
	var a, b [sectorSize]byte
	for at := int64(0); at < data.size; at += sectorSize {
		have, want := a[:data.readAt(a[:], at)], b[:now.readAt(b[:], at)]
		want = want[:min(len(want), len(have))]
		if string(have[:len(want)]) != string(want) && c.keep() {
			data.writeAt(want, at)
		}
	}
	c.used += data.size
	f := &node{data: data, modTime: n.modTime}
	f.synced = f.data.share()
	return f
}
