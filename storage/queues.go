package storage

import (
	"container/heap"
	"sync"
	"time"
)

// deletions are files and directories to be removed when their time has come.
type deletions struct {
	mu   sync.Mutex
	list deletionHeap
	wake chan struct{} // there may be an earlier one
}

type deletion struct {
	at    time.Time
	dir   *dir
	paths []string
}

type deletionHeap []deletion

func (h deletionHeap) Len() int           { return len(h) }
func (h deletionHeap) Less(i, j int) bool { return h[i].at.Before(h[j].at) }
func (h deletionHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *deletionHeap) Push(x any)        { *h = append(*h, x.(deletion)) }
func (h *deletionHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	old[len(old)-1] = deletion{}
	*h = old[:len(old)-1]
	return x
}

func (q *deletions) add(after time.Duration, d *dir, paths []string) {
	q.mu.Lock()
	heap.Push(&q.list, deletion{time.Now().Add(after), d, paths})
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// next takes out a deletion that is due; else it says how long there is to wait, and ok
// is false. Nothing queued: wait is negative.
func (q *deletions) next(now time.Time) (d deletion, wait time.Duration, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.list) == 0 {
		return d, -1, false
	}
	if wait := q.list[0].at.Sub(now); wait > 0 {
		return d, wait, false
	}
	return heap.Pop(&q.list).(deletion), 0, true
}

// flushKind says what of a log is to be made durable.
type flushKind uint8

const (
	flushMetadata flushKind = 1 << iota // partition.metadata
	flushRolled                         // a segment was closed
)

// flushQueue are the logs that wait for the flusher. Each is in it once.
type flushQueue struct {
	mu    sync.Mutex
	wants map[*Log]flushKind
	order []*Log
	wake  chan struct{}
}

func (q *flushQueue) init() {
	q.wants = map[*Log]flushKind{}
	q.wake = make(chan struct{}, 1)
}

func (q *flushQueue) add(l *Log, k flushKind) {
	q.mu.Lock()
	if q.wants[l] == 0 {
		q.order = append(q.order, l)
	}
	q.wants[l] |= k
	q.mu.Unlock()
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

func (q *flushQueue) next() (*Log, flushKind) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.order) == 0 {
		q.order = nil
		return nil, 0
	}
	l := q.order[0]
	q.order[0] = nil
	q.order = q.order[1:]
	k := q.wants[l]
	delete(q.wants, l)
	return l, k
}
