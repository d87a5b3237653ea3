package storage

import (
	"errors"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/ottla/ottla/internal/vfs"
)

// Flush makes everything below the log end at the time of the call durable.
func (l *Log) Flush() error { return l.flushTo(l.LogEndOffset()) }

// flushTo makes everything below offset durable and moves the recovery point. Who
// waits for another's flush often finds its work done.
//
// Recovery reads the segment that holds the recovery point anew and those after it, so
// of the active segment only the batches matter; of older ones the indexes as well.
func (l *Log) flushTo(offset int64) error {
	l.flushMu.Lock()
	defer l.flushMu.Unlock()
	if l.isClosed() {
		return errClosed(l.tp)
	}
	if l.recoveryPoint.Load() >= offset {
		return nil
	}
	return l.flushLocked(false)
}

// flushRolled makes a segment durable that was closed: the recovery point alone does not
// say whether its indexes are.
func (l *Log) flushRolled() error {
	l.flushMu.Lock()
	defer l.flushMu.Unlock()
	if l.isClosed() {
		return nil
	}
	return l.flushLocked(false)
}

// flushJob is what one flush has to sync.
type flushJob struct {
	end      int64
	active   *segment
	cuts     uint32
	segments []segmentSync
	files    unsyncedFiles
	epochs   []byte
	mark     uint64
	dir      bool
}

type segmentSync struct {
	s                    *segment
	log, index, time, tx bool
}

// flushLocked syncs what is not synced; everything includes the active segment's
// indexes. l.flushMu is held, l.mu is not.
func (l *Log) flushLocked(everything bool) error {
	for {
		job, err := l.flushJob(everything)
		if err != nil {
			return err
		}
		if err := l.sync(&job); err != nil {
			if l.isClosed() {
				return errClosed(l.tp)
			}
			return l.failed("flushing", err)
		}
		l.epochs.wrote(job.mark)
		if l.flushed(&job) {
			return nil
		}
	}
}

// flushed moves the recovery point, unless the job is out of date: the log was cut and
// written anew since, or the segment that was active is not any more, so that its
// indexes are wanted too.
func (l *Log) flushed(job *flushJob) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if (l.active() != job.active || l.marks.generation() != job.cuts) && !l.closed {
		return false
	}
	if job.end > l.recoveryPoint.Load() {
		l.recoveryPoint.Store(job.end)
	}
	l.lastFlush = time.Now()
	return true
}

// flushJob collects what to sync, and counts it as synced: if that fails the directory
// is not used any more.
func (l *Log) flushJob(everything bool) (flushJob, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.env.offline(); err != nil {
		return flushJob{}, l.storageError(err)
	}
	job := flushJob{end: l.vis.end, active: l.active(), cuts: l.marks.generation(), files: l.toSync}
	keep := l.unsynced[:0]
	for _, s := range l.unsynced {
		if s.gone.Load() {
			continue
		}
		indexes := everything || s != job.active
		if indexes {
			if err := s.writeIndexes(); err != nil {
				return job, l.failed("writing indexes", err)
			}
		}
		job.dir = job.dir || s.unlisted
		job.segments = append(job.segments, s.toSync(indexes))
		if s == job.active {
			keep = append(keep, s)
		}
	}
	clear(l.unsynced[len(keep):])
	l.unsynced = keep
	l.toSync = unsyncedFiles{}
	job.dir = job.dir || job.files.metadata || job.files.names || len(job.files.snapshots) > 0
	job.epochs, job.mark, _ = l.epochs.pending()
	return job, nil
}

// toSync is what has to be synced of a segment, and counts it as synced.
func (s *segment) toSync(indexes bool) segmentSync {
	y := segmentSync{s: s, log: s.dirty}
	s.dirty, s.unlisted = false, false
	if indexes {
		s.mu.Lock()
		y.index = s.offsets.exists && !s.offsets.synced
		y.time = s.times.exists && !s.times.synced
		s.offsets.synced, s.times.synced = true, true
		s.mu.Unlock()
		y.tx, s.txnDirty = s.txnDirty, false
	}
	return y
}

// sync does a job's I/O.
func (l *Log) sync(job *flushJob) error {
	for _, y := range job.segments {
		if err := y.run(); err != nil {
			return err
		}
	}
	if err := l.syncSnapshots(job.files.snapshots); err != nil {
		return err
	}
	if job.epochs != nil {
		// This syncs the directory as well.
		if err := writeAtomic(l.fs, l.file(epochFile), job.epochs); err != nil {
			return err
		}
		job.dir = false
	}
	return l.syncNames(job.files.metadata, job.dir)
}

func (l *Log) syncSnapshots(offsets []int64) error {
	for _, o := range offsets {
		if err := ignoreMissing(syncFile(l.fs, l.file(offsetName(o, snapshotSuffix)))); err != nil {
			return err
		}
	}
	return nil
}

// syncNames makes partition.metadata and the directory's entries durable.
func (l *Log) syncNames(metadata, dir bool) error {
	if metadata && !l.topicID.IsZero() {
		if err := syncFile(l.fs, l.file(partitionMetadataFile)); err != nil {
			return err
		}
	}
	if dir {
		if err := l.fs.SyncDir(l.dir()); err != nil {
			return err
		}
	}
	if metadata {
		return l.fs.SyncDir(filepath.Dir(l.dir()))
	}
	return nil
}

func (y *segmentSync) run() error {
	s := y.s
	for _, f := range []struct {
		wanted bool
		file   *cachedFile
		suffix string
	}{{y.log, &s.logFile, logSuffix}, {y.index, &s.indexFile, indexSuffix}, {y.time, &s.timeFile, timeSuffix}, {y.tx, &s.txnFile, txnSuffix}} {
		if !f.wanted {
			continue
		}
		ref, err := s.open(f.file, f.suffix, false)
		if err == nil {
			err = ref.file.Sync()
			ref.Release()
		}
		if errors.Is(err, errSegmentGone) || s.gone.Load() {
			return nil // deleted meanwhile
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// syncMetadata makes a new partition's directory and partition.metadata durable.
func (l *Log) syncMetadata() error {
	l.flushMu.Lock() // a flush that finds nothing to do here may rely on it
	defer l.flushMu.Unlock()
	l.mu.Lock()
	if err := l.usable(); err != nil || !l.toSync.metadata {
		l.mu.Unlock()
		return err
	}
	l.toSync.metadata = false
	l.mu.Unlock()
	if err := l.syncNames(true, true); err != nil && !l.isClosed() {
		return l.failed("syncing "+partitionMetadataFile, err)
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func removeIfThere(fsys vfs.FS, name string) error { return ignoreMissing(fsys.Remove(name)) }
