package metadata

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ottla/ottla/protocol/msg"
	"github.com/ottla/ottla/protocol/record"
)

// SnapshotID names a snapshot: everything below EndOffset, whose last record has Epoch.
type SnapshotID struct {
	EndOffset int64
	Epoch     int32
}

// SnapshotSuffix ends the name of a snapshot's file.
const SnapshotSuffix = ".checkpoint"

// Name is the snapshot's file name.
func (s SnapshotID) Name() string {
	return fmt.Sprintf("%020d-%010d%s", s.EndOffset, s.Epoch, SnapshotSuffix)
}

// ParseSnapshotName is the inverse; ok is false for a name that is not a snapshot's.
func ParseSnapshotName(name string) (id SnapshotID, ok bool) {
	offset, epoch, found := strings.Cut(strings.TrimSuffix(name, SnapshotSuffix), "-")
	if !found || !strings.HasSuffix(name, SnapshotSuffix) || len(offset) != 20 || len(epoch) != 10 {
		return id, false
	}
	o, err1 := strconv.ParseUint(offset, 10, 63)
	e, err2 := strconv.ParseUint(epoch, 10, 31)
	return SnapshotID{int64(o), int32(e)}, err1 == nil && err2 == nil
}

// Bounds of one batch of a snapshot.
const (
	snapshotBatchRecords = 1024
	snapshotBatchBytes   = 1 << 20
	maxBatchBytes        = 256 << 20 // a longer length field is damage
)

// ID is the name of a snapshot of the image.
func (i *Image) ID() SnapshotID { return SnapshotID{i.Offset + 1, i.Epoch} }

// WriteSnapshot writes the image in the format of Kafka's .checkpoint files: a control batch with the header (and
// kraft.version and voters, if there are), the records, a control batch with the footer.
func WriteSnapshot(w io.Writer, i *Image) error {
	s := &snapshotWriter{w: w, image: i, b: record.NewBuilder(record.NewOptions())}
	return s.write()
}

type snapshotWriter struct {
	w      io.Writer
	image  *Image
	b      *record.Builder
	offset int64
	value  []byte
}

func (s *snapshotWriter) begin(control bool) {
	o := record.NewOptions()
	o.BaseOffset, o.PartitionLeaderEpoch, o.Control = s.offset, s.image.Epoch, control
	s.b.Reset(o)
}

func (s *snapshotWriter) flush() error {
	b := s.b.Build()
	if b == nil {
		return nil
	}
	s.offset = b.NextOffset()
	_, err := s.w.Write(b)
	return err
}

func (s *snapshotWriter) write() error {
	if err := s.header(); err != nil {
		return err
	}
	s.begin(false)
	for r := range s.image.Records() {
		if err := s.record(r); err != nil {
			return err
		}
	}
	if err := s.flush(); err != nil {
		return err
	}
	s.begin(true)
	if err := AppendControl(s.b, s.image.Timestamp, record.SnapshotFooter, &msg.SnapshotFooterRecord{}, 0); err != nil {
		return err
	}
	return s.flush()
}

func (s *snapshotWriter) header() error {
	s.begin(true)
	ts := s.image.Timestamp
	err := AppendControl(s.b, ts, record.SnapshotHeader, &msg.SnapshotHeaderRecord{LastContainedLogTimestamp: ts}, 0)
	if err != nil {
		return err
	}
	if v := s.image.kraftVersion; v > 0 {
		if err := AppendControl(s.b, ts, record.KRaftVersion, &msg.KRaftVersionRecord{KRaftVersion: v}, 0); err != nil {
			return err
		}
		if err := AppendControl(s.b, ts, record.KRaftVoters, &msg.VotersRecord{Voters: s.image.voters}, 0); err != nil {
			return err
		}
	}
	return s.flush()
}

func (s *snapshotWriter) record(r Record) error {
	if s.b.Count() >= snapshotBatchRecords || s.b.Size() >= snapshotBatchBytes {
		if err := s.flush(); err != nil {
			return err
		}
		s.begin(false)
	}
	value, err := EncodeRecord(s.value[:0], r, VersionFor(r, s.image.MetadataVersion()))
	if err != nil {
		return err
	}
	s.b.Append(s.image.Timestamp, nil, value)
	s.value = value
	return nil
}

// ReadSnapshot reads a snapshot to the end. A file without its footer is an error: it was not finished.
func ReadSnapshot(r io.Reader, id SnapshotID) (*Image, error) {
	image, err := readSnapshot(bufio.NewReaderSize(r, 64<<10), id)
	if err != nil {
		return nil, fmt.Errorf("snapshot %s: %w", id.Name(), err)
	}
	return image, nil
}

func readSnapshot(r *bufio.Reader, id SnapshotID) (*Image, error) {
	s := snapshotReader{d: NewDelta(New())}
	var buf []byte
	for {
		var err error
		buf, err = readBatch(r, buf)
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("batch at offset %d: %w", s.next, err)
		}
		if err := s.batch(record.Batch(buf)); err != nil {
			return nil, err
		}
	}
	if !s.footer {
		return nil, fmt.Errorf("%w: it ends after offset %d without a footer", io.ErrUnexpectedEOF, s.next)
	}
	return s.d.Apply(id.EndOffset-1, id.Epoch, s.timestamp)
}

type snapshotReader struct {
	d              *Delta
	next           int64
	timestamp      int64
	header, footer bool
}

func (s *snapshotReader) batch(b record.Batch) error {
	if !b.VerifyCRC() {
		return fmt.Errorf("batch at offset %d: its CRC is wrong", s.next)
	}
	entries, err := DecodeBatch(b)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := s.entry(e); err != nil {
			return fmt.Errorf("offset %d: %w", e.Offset, err)
		}
	}
	s.next = b.NextOffset()
	return nil
}

func (s *snapshotReader) entry(e Entry) error {
	if s.footer {
		return errors.New("a record after the footer")
	}
	switch m := e.Control.(type) {
	case nil:
		if !s.header {
			return errors.New("a record before the header")
		}
		if s.orphan(e.Record) {
			return nil
		}
		return s.d.Replay(e.Record)
	case *msg.SnapshotHeaderRecord:
		s.header, s.timestamp = true, m.LastContainedLogTimestamp
	case *msg.SnapshotFooterRecord:
		s.footer = true
	case *msg.KRaftVersionRecord:
		s.d.ReplayKRaftVersion(m)
	case *msg.VotersRecord:
		s.d.ReplayVoters(m)
	default:
		return fmt.Errorf("a %s in a snapshot", m.Schema())
	}
	return nil
}

// orphan: settings of a topic that is not there. Kafka 4.4 leaves them in a snapshot when the topic was made and
// deleted between two of its images; a later topic of that name must not inherit them. Topics come before settings.
func (s *snapshotReader) orphan(r Record) bool {
	c, ok := r.(*msg.ConfigRecord)
	return ok && ResourceType(c.ResourceType) == TopicResource && s.d.topicNamed(c.ResourceName) == nil
}

// readBatch reads the next batch into buf, grown as bytes arrive.
func readBatch(r *bufio.Reader, buf []byte) ([]byte, error) {
	head, err := r.Peek(record.HeaderSize)
	if err == io.EOF && len(head) > 0 {
		return buf, io.ErrUnexpectedEOF
	}
	if err != nil {
		return buf, err
	}
	size, err := record.SizeOf(head)
	if err != nil {
		return buf, err
	}
	if head[16] != record.Magic2 || size < record.HeaderSize || size > maxBatchBytes {
		return buf, fmt.Errorf("magic %d, %d bytes: not a batch", head[16], size)
	}
	buf = buf[:0]
	for len(buf) < size {
		n := min(size-len(buf), 1<<20)
		buf = append(buf, make([]byte, n)...)
		if _, err := io.ReadFull(r, buf[len(buf)-n:]); err != nil {
			return buf, io.ErrUnexpectedEOF
		}
	}
	return buf, nil
}
