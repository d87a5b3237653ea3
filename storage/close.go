package storage

// Close makes the log complete on disk: indexes trimmed, everything synced, a producer
// snapshot at its end. Only for logs of OpenLog; a Manager closes its own.
func (l *Log) Close() error { return l.close() }

func (l *Log) close() error {
	l.flushMu.Lock()
	defer l.flushMu.Unlock()
	if err := l.finish(); err != nil {
		return err
	}
	if err := l.flushLocked(true); err != nil {
		return err
	}
	l.letGo()
	return nil
}

// finish stops appends and completes the active segment.
func (l *Log) finish() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.usable(); err != nil {
		return err
	}
	l.closed = true
	s := l.active()
	if err := s.closeOut(); err != nil {
		return l.failed("closing the active segment", err)
	}
	l.watch(s)
	if err := l.takeSnapshot(); err != nil {
		return l.failed("writing a producer snapshot", err)
	}
	return nil
}

// abandon stops all use of the log without writing anything: it is deleted, or its
// directory failed.
func (l *Log) abandon() {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.letGo()
}

// letGo sends readers away and closes the files.
func (l *Log) letGo() {
	l.vis.mu.Lock()
	l.vis.closed = true
	segments := l.vis.segments
	l.vis.mu.Unlock()
	for _, s := range segments {
		for _, f := range s.handles() {
			l.place.files.forget(f)
		}
	}
}
