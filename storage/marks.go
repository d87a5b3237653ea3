package storage

import "sync"

// marks remember where recent reads ended: the next fetch of the same reader begins
// there, and a follower's fetch makes it the high watermark. A hit saves index and scan.
type marks struct {
	mu      sync.Mutex
	cuts    uint32 // truncations so far; a mark from before one is not to be trusted
	cutting int    // truncations under way
	ring    *[markCount]mark
	next    uint8
}

const markCount = 8

type mark struct {
	offset int64
	pos    int64
	seg    *segment
}

// generation is to be taken before the view that a mark comes from.
func (m *marks) generation() uint32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cuts
}

func (m *marks) find(offset int64) (mark, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ring == nil {
		return mark{}, false
	}
	for i := range m.ring {
		if e := m.ring[i]; e.seg != nil && e.offset == offset && !e.seg.gone.Load() {
			return e, true
		}
	}
	return mark{}, false
}

func (m *marks) add(e mark, generation uint32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cuts != generation {
		return
	}
	if m.ring == nil {
		m.ring = new([markCount]mark)
	}
	for i := range m.ring {
		if m.ring[i].offset == e.offset && m.ring[i].seg == e.seg {
			return
		}
	}
	m.ring[m.next] = e
	m.next = (m.next + 1) % markCount
}

// beginCut forgets everything: the log is being truncated. endCut follows, under the same hold of the log's lock.
func (m *marks) beginCut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cutting++
	m.ring = nil
}

// endCut also forgets what readers noted meanwhile.
func (m *marks) endCut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.cutting--
	m.cuts++
	m.ring = nil
}

// unsettled says that a truncation is under way: what a view says may not be in the files any more.
func (m *marks) unsettled() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cutting > 0
}
