package metadata

import (
	"encoding/binary"
	"iter"

	iradix "github.com/hashicorp/go-immutable-radix/v2"

	"github.com/ottla/ottla/protocol"
)

// table is a persistent map in the order of its keys' bytes: changing one entry costs the length of its key,
// whatever the size, and leaves every older table as it was. The zero value is empty.
type table[V any] struct{ tree *iradix.Tree[V] }

func (t table[V]) len() int {
	if t.tree == nil {
		return 0
	}
	return t.tree.Len()
}

func (t table[V]) get(key []byte) (v V, ok bool) {
	if t.tree == nil {
		return v, false
	}
	return t.tree.Get(key)
}

// all yields the values in order.
func (t table[V]) all() iter.Seq[V] { return t.under(nil) }

// under yields the values whose key starts with prefix, in order.
func (t table[V]) under(prefix []byte) iter.Seq[V] {
	return func(yield func(V) bool) {
		if t.tree == nil {
			return
		}
		it := t.tree.Root().Iterator()
		it.SeekPrefix(prefix)
		for _, v, ok := it.Next(); ok; _, v, ok = it.Next() {
			if !yield(v) {
				return
			}
		}
	}
}

// edit is a table being changed. Until the first change it costs nothing.
type edit[V any] struct {
	base table[V]
	txn  *iradix.Txn[V]
}

func (e *edit[V]) get(key []byte) (V, bool) {
	if e.txn == nil {
		return e.base.get(key)
	}
	return e.txn.Get(key)
}

func (e *edit[V]) begin() {
	if e.txn != nil {
		return
	}
	if e.base.tree == nil {
		e.base.tree = iradix.New[V]()
	}
	e.txn = e.base.tree.Txn()
}

func (e *edit[V]) set(key []byte, v V) { e.begin(); e.txn.Insert(key, v) }
func (e *edit[V]) delete(key []byte)   { e.begin(); e.txn.Delete(key) }

func (e *edit[V]) commit() table[V] {
	if e.txn == nil {
		return e.base
	}
	e.base, e.txn = table[V]{e.txn.CommitOnly()}, nil
	return e.base
}

func uuidKey(u protocol.UUID) []byte { return u[:] }

// idKey orders node ids, which are not negative.
func idKey(id int32) []byte { return binary.BigEndian.AppendUint32(nil, uint32(id)) }

// typedKey is a kind followed by a name.
func typedKey(kind int8, name string) []byte { return append([]byte{byte(kind)}, name...) }
