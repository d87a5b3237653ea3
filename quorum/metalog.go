package quorum

import (
	"fmt"

	"github.com/ottla/ottla/storage"
)

// metaLog is what the quorum does with the log of `__cluster_metadata-0`.
type metaLog interface {
	LogStartOffset() int64
	LogEndOffset() int64
	// LatestEpoch is the highest leader epoch the log knows, -1 if none.
	LatestEpoch() int32
	SetHighWatermark(offset int64) int64
	// Flush syncs everything appended so far.
	Flush() error
	// appendBatches writes whole batches as they are, at the end.
	appendBatches(batches []byte, epoch int32) error
	// readBatches copies about maxBytes of whole batches from the one that holds offset on, at least one; none at the end.
	readBatches(offset int64, maxBytes int) ([]byte, error)
}

// kafkaLog is the real one.
type kafkaLog struct{ *storage.Log }

func (l kafkaLog) appendBatches(batches []byte, epoch int32) error {
	info, err := l.AppendAsFollower(batches, epoch)
	if err == nil && info.Bytes != len(batches) {
		err = fmt.Errorf("the metadata log took %d of %d bytes at offset %d", info.Bytes, len(batches), l.LogEndOffset())
	}
	return err
}

func (l kafkaLog) readBatches(offset int64, maxBytes int) ([]byte, error) {
	r, err := l.Read(offset, maxBytes, true, storage.LogEnd)
	if err != nil {
		return nil, err
	}
	defer r.Release()
	b := make([]byte, r.Size)
	at := 0
	for _, s := range r.Slices {
		if err := s.ReadFull(b[at : at+s.Length]); err != nil {
			return nil, err
		}
		at += s.Length
	}
	return b, nil
}
