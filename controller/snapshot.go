package controller

import (
	"bufio"
	"context"
	"fmt"
	"path"
	"strings"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/metadata/loader"
)

// Kafka's defaults of metadata.log.max.record.bytes.between.snapshots, metadata.log.max.snapshot.interval.ms,
// metadata.max.retention.bytes and .ms.
const (
	defaultBytesBetween  = 20 << 20
	defaultTimeBetween   = time.Hour
	defaultRetentionSize = 100 << 20
	defaultRetentionTime = 7 * 24 * time.Hour
)

const partSuffix = ".part"

// retryAfter is the pause when a snapshot is due and cannot be taken yet.
const retryAfter = time.Minute

// snapshotter writes snapshots of the metadata log and drops what they make unnecessary. A snapshot is written by a
// goroutine of its own that lives as long; between snapshots there is at most a timer.
type snapshotter struct {
	o      SnapshotOptions
	loader *loader.Loader
	fault  func(error)
	log    *zap.Logger
	ctx    context.Context // ends with close
	cancel context.CancelFunc

	mu      sync.Mutex
	base    int64 // bytes the loader had been offered at the last snapshot
	timer   *time.Timer
	running bool
	closed  bool
	work    sync.WaitGroup
}

func newSnapshotter(o SnapshotOptions, l *loader.Loader, fault func(error), log *zap.Logger) *snapshotter {
	for _, d := range []struct {
		to *int64
		or int64
	}{{&o.BytesBetween, defaultBytesBetween}, {&o.RetentionSize, defaultRetentionSize}} {
		if *d.to <= 0 {
			*d.to = d.or
		}
	}
	if o.TimeBetween <= 0 {
		o.TimeBetween = defaultTimeBetween
	}
	if o.RetentionTime <= 0 {
		o.RetentionTime = defaultRetentionTime
	}
	s := &snapshotter{o: o, loader: l, fault: fault, log: log}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// committed looks whether it is time for a snapshot: called after each commit.
func (s *snapshotter) committed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	if s.timer == nil {
		s.timer = time.AfterFunc(s.o.TimeBetween, s.due)
	}
	if s.loader.OfferedBytes()-s.base >= s.o.BytesBetween {
		s.startLocked()
	}
}

func (s *snapshotter) due() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer = nil; !s.closed {
		s.startLocked()
	}
}

// startLocked writes a snapshot in the background unless one is being written: its end looks again.
func (s *snapshotter) startLocked() {
	if s.running {
		return
	}
	s.running = true
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	s.work.Add(1)
	go func() {
		defer s.work.Done()
		s.ended(s.snapshot())
	}()
}

// ended is the end of a snapshot; one that could not be taken within a transaction is tried again.
func (s *snapshotter) ended(taken bool, err error) {
	s.mu.Lock()
	s.running = false
	if !taken && err == nil && !s.closed && s.timer == nil {
		s.timer = time.AfterFunc(retryAfter, s.due)
	}
	s.mu.Unlock()
	if err != nil {
		s.fault(err)
	}
}

func (s *snapshotter) close() {
	s.mu.Lock()
	s.closed = true
	s.cancel()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.mu.Unlock()
	s.work.Wait()
}

// snapshot waits until what the loader was offered is applied, and writes the image of it.
func (s *snapshotter) snapshot() (taken bool, err error) {
	bytes := s.loader.OfferedBytes()
	if _, _, err := s.loader.Settle(s.ctx, s.loader.NextOffset()-1); err != nil {
		return true, nil // the node is stopping, or has been told why the loader ended
	}
	image := s.loader.Aligned()
	if image == nil {
		return false, nil
	}
	if image.Offset < 0 {
		return true, nil
	}
	s.mu.Lock()
	s.base = bytes
	s.mu.Unlock()
	began, id := time.Now(), image.ID()
	if err := s.write(image); err != nil {
		return true, fmt.Errorf("metadata snapshot %s: %w", id.Name(), err)
	}
	s.log.Info("Wrote a metadata snapshot", zap.String("snapshot", id.Name()), zap.Duration("took", time.Since(began)))
	if err := s.clean(began); err != nil {
		return true, fmt.Errorf("cleaning up metadata snapshots in %s: %w", s.o.Dir, err)
	}
	return true, nil
}

// write makes the file durable under another name before it gets its own.
func (s *snapshotter) write(image *metadata.Image) error {
	name := path.Join(s.o.Dir, image.ID().Name())
	if _, err := s.o.FS.Stat(name); err == nil {
		return nil
	}
	f, err := s.o.FS.Create(name + partSuffix)
	if err != nil {
		return err
	}
	if err := s.fill(f, image); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := s.o.FS.Rename(name+partSuffix, name); err != nil {
		return err
	}
	return s.o.FS.SyncDir(s.o.Dir)
}

func (s *snapshotter) fill(f vfs.File, image *metadata.Image) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	w := bufio.NewWriterSize(&appender{f: f}, 64<<10)
	if err := metadata.WriteSnapshot(w, image); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Sync()
}

// appender is a file as a Writer.
type appender struct {
	f  vfs.File
	at int64
}

func (a *appender) Write(b []byte) (int, error) {
	n, err := a.f.WriteAt(b, a.at)
	a.at += int64(n)
	return n, err
}

// stored is a snapshot in the directory.
type stored struct {
	id   metadata.SnapshotID
	info vfs.Info
}

// clean removes the oldest snapshots, and the log below the oldest one kept, while they are too many bytes or too old.
// The newest snapshot stays.
func (s *snapshotter) clean(now time.Time) error {
	list, total, err := s.list()
	if err != nil {
		return err
	}
	kept := list
	for len(kept) > 1 && (total > s.o.RetentionSize || now.Sub(kept[0].info.ModTime) > s.o.RetentionTime) {
		// The log goes first: a log without its snapshot cannot be read, a snapshot without its log can.
		if s.o.DeleteBefore != nil {
			if err := s.o.DeleteBefore(kept[1].id.EndOffset); err != nil {
				return err
			}
		}
		if err := s.o.FS.Remove(path.Join(s.o.Dir, kept[0].info.Name)); err != nil {
			return err
		}
		kept = kept[1:]
		if _, total, err = s.list(); err != nil {
			return err
		}
	}
	if len(kept) < len(list) {
		return s.o.FS.SyncDir(s.o.Dir)
	}
	return nil
}

// list is the snapshots by end offset, and the bytes of log and snapshots.
func (s *snapshotter) list() (list []stored, total int64, err error) {
	entries, err := s.o.FS.List(s.o.Dir)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		if id, ok := metadata.ParseSnapshotName(e.Name); ok {
			list = append(list, stored{id, e})
			total += e.Size
		} else if strings.HasSuffix(e.Name, ".log") {
			total += e.Size
		}
	}
	return list, total, nil // List sorts by name, which is by end offset
}
