package ottla

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"go.uber.org/zap"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/controller"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/metadata/loader"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/record"
	"github.com/ottla/ottla/quorum"
	"github.com/ottla/ottla/storage"
)

// metadataTopic is KRaft's log of everything the controllers decided.
var metadataTopic = protocol.TopicPartition{Topic: "__cluster_metadata", Partition: 0}

// metadataReadBytes is read of the metadata log at a time at start.
const metadataReadBytes = 1 << 20

// openMetadata opens the metadata log and Raft's store, which brings them into
// agreement, and then reads the newest snapshot and the log behind it.
func (n *node) openMetadata(context.Context) error {
	dir := filepath.Join(n.o.Config.MetadataLogDir, metadataTopic.String())
	snapshot, err := n.newestSnapshot(dir)
	if err != nil {
		return err
	}
	n.metadataLog, err = storage.OpenLog(storage.LogOptions{
		FS: n.files, Dir: dir, TopicPartition: metadataTopic, TopicID: protocol.MetadataTopicID,
		Config: metadataLogConfig(n.settings.broker()), LogStartOffset: snapshot.EndOffset, Logger: n.log.Named("metadata log"),
	})
	if err != nil {
		return err
	}
	n.onStop(func(context.Context) error { return n.metadataLog.Close() })
	if err := n.restore(dir, snapshot); err != nil {
		return err
	}
	n.controller = controller.New(n.controllerOptions(dir))
	o := quorum.Options{
		Self: n.voter(), StaticVoters: len(n.o.Config.Voters) > 0, FS: n.files, Dir: dir, Log: n.metadataLog, Listener: metadataLink{n.loader, n.controller},
		Fault: n.fault, Logger: n.log.Named("quorum"),
	}
	if n.o.Memory {
		o.FS = nil
	}
	if n.quorum, err = quorum.Open(o); err != nil {
		return err
	}
	return n.replay()
}

// newestSnapshot is the snapshot with the highest end offset; zero without one.
func (n *node) newestSnapshot(dir string) (metadata.SnapshotID, error) {
	var newest metadata.SnapshotID
	entries, err := n.files.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return newest, nil
	}
	if err != nil {
		return newest, err
	}
	for _, e := range entries {
		if id, ok := metadata.ParseSnapshotName(e.Name); ok && id.EndOffset >= newest.EndOffset {
			newest = id
		}
	}
	return newest, nil
}

// restore gives the loader the snapshot, the bootstrap snapshot 0-0 of a formatted directory included.
func (n *node) restore(dir string, id metadata.SnapshotID) error {
	f, err := n.files.OpenRead(filepath.Join(dir, id.Name()))
	if errors.Is(err, fs.ErrNotExist) && id == (metadata.SnapshotID{}) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		return err
	}
	return n.loader.Restore(io.NewSectionReader(f, 0, size), id.EndOffset, id.Epoch)
}

// replay reads the log behind the snapshot.
func (n *node) replay() error {
	log := n.metadataLog
	for offset := log.LogStartOffset(); offset < log.LogEndOffset(); {
		r, err := log.Read(offset, metadataReadBytes, true, storage.LogEnd)
		if err != nil {
			return err
		}
		buf := make([]byte, 0, r.Size)
		for _, s := range r.Slices {
			at := len(buf)
			buf = buf[:at+s.Length]
			if err := s.ReadFull(buf[at:]); err != nil {
				r.Release()
				return err
			}
		}
		r.Release()
		for len(buf) > 0 {
			b, rest, err := record.Next(buf)
			if err != nil {
				return fmt.Errorf("offset %d: %w", offset, err)
			}
			n.loader.Offer(b)
			offset, buf = b.LastOffset()+1, rest
		}
	}
	return nil
}

// metadataLogConfig is how the metadata log rolls: it is cut by snapshots, not by retention.
func metadataLogConfig(v config.Values) storage.LogConfig {
	c := storage.DefaultLogConfig()
	c.SegmentBytes = v.Int("metadata.log.segment.bytes")
	c.SegmentMs = v.Long("metadata.log.segment.ms")
	c.RetentionMs, c.RetentionBytes = -1, -1
	c.MaxMessageBytes = quorum.MaxBatchBytes
	return c
}

// metadataLink hands what the quorum commits to the loader, and to the controller.
type metadataLink struct {
	loader *loader.Loader
	*controller.Service
}

func (l metadataLink) Committed(b record.Batch) {
	l.loader.Offer(b)
	l.Service.Committed(b)
}

// startController joins the quorum and waits until this node is its active controller.
func (n *node) startController(ctx context.Context) error {
	n.onStop(func(context.Context) error {
		return errors.Join(n.quorum.Close(), n.controller.Close())
	})
	n.controller.Start(n.quorum)
	if err := n.quorum.Start(); err != nil {
		return err
	}
	began := time.Now()
	if err := n.controller.WaitActive(ctx); err != nil {
		return err
	}
	n.log.Debug("Active controller", zap.Duration("after", time.Since(began)))
	return nil
}
