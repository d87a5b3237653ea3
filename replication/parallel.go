package replication

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// each calls f for every element, several at a time if there are many: most of a call is waiting for
// the disk.
func each[T any](list []T, f func(T)) {
	const few = 8
	if len(list) <= few {
		for _, e := range list {
			f(e)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(len(list), 4*runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(list)); i = next.Add(1) - 1 {
				f(list[i])
			}
		})
	}
	wg.Wait()
}
