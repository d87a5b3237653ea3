package storage

import "sync"

// failure holds the first error that took a log or a directory offline.
type failure struct {
	mu  sync.RWMutex
	err error
}

func (f *failure) get() error {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.err
}

func (f *failure) set(err error) { f.first(err) }

// first reports whether err is the one that counts.
func (f *failure) first(err error) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return false
	}
	f.err = err
	return true
}
