package storage

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"maps"
	"slices"
)

// A producer snapshot, N.snapshot, is the producer state before offset N:
//
//	int16 version 1, uint32 CRC-32C of what follows it, int32 count, then per producer
//	int64 id, int16 epoch, int32 last sequence, int64 last offset (-1: no batch kept),
//	int32 last - first offset, int64 timestamp, int32 coordinator epoch,
//	int64 first offset of the open transaction (-1: none)
const (
	snapshotVersion   = 1
	snapshotHeader    = 10
	snapshotEntrySize = 46
	snapshotCRCAt     = 2
	snapshotCountAt   = 6
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func encodeSnapshot(producers map[int64]*producer) []byte {
	b := make([]byte, snapshotHeader, snapshotHeader+snapshotEntrySize*len(producers))
	binary.BigEndian.PutUint16(b, snapshotVersion)
	binary.BigEndian.PutUint32(b[snapshotCountAt:], uint32(len(producers)))
	for _, id := range slices.Sorted(maps.Keys(producers)) {
		p := producers[id]
		last := sentBatch{lastSequence: noSequence, lastOffset: noOffset}
		if l := p.last(); l != nil {
			last = *l
		}
		b = binary.BigEndian.AppendUint64(b, uint64(p.id))
		b = binary.BigEndian.AppendUint16(b, uint16(p.epoch))
		b = binary.BigEndian.AppendUint32(b, uint32(last.lastSequence))
		b = binary.BigEndian.AppendUint64(b, uint64(last.lastOffset))
		b = binary.BigEndian.AppendUint32(b, uint32(last.offsetDelta))
		b = binary.BigEndian.AppendUint64(b, uint64(p.lastTimestamp))
		b = binary.BigEndian.AppendUint32(b, uint32(p.coordinatorEpoch))
		b = binary.BigEndian.AppendUint64(b, uint64(p.txnFirstOffset))
	}
	binary.BigEndian.PutUint32(b[snapshotCRCAt:], crc32.Checksum(b[snapshotCountAt:], castagnoli))
	return b
}

func decodeSnapshot(b []byte) ([]producer, error) {
	if len(b) < snapshotHeader {
		return nil, fmt.Errorf("snapshot header: %d bytes, %d needed", len(b), snapshotHeader)
	}
	if v := binary.BigEndian.Uint16(b); v != snapshotVersion {
		return nil, fmt.Errorf("snapshot version %d, %d expected", v, snapshotVersion)
	}
	count := int64(int32(binary.BigEndian.Uint32(b[snapshotCountAt:])))
	if need := snapshotHeader + snapshotEntrySize*count; count < 0 || need != int64(len(b)) {
		return nil, fmt.Errorf("snapshot of %d entries: %d bytes, %d needed", count, len(b), need)
	}
	want := binary.BigEndian.Uint32(b[snapshotCRCAt:])
	if have := crc32.Checksum(b[snapshotCountAt:], castagnoli); have != want {
		return nil, fmt.Errorf("snapshot checksum %08x, %08x expected", have, want)
	}
	producers := make([]producer, 0, count)
	for e := b[snapshotHeader:]; len(e) > 0; e = e[snapshotEntrySize:] {
		p := newProducer(int64(binary.BigEndian.Uint64(e)))
		p.epoch = int16(binary.BigEndian.Uint16(e[8:]))
		last := sentBatch{
			lastSequence: int32(binary.BigEndian.Uint32(e[10:])),
			lastOffset:   int64(binary.BigEndian.Uint64(e[14:])),
			offsetDelta:  int32(binary.BigEndian.Uint32(e[22:])),
			timestamp:    int64(binary.BigEndian.Uint64(e[26:])),
		}
		if last.lastOffset >= 0 {
			p.add(last)
		}
		p.lastTimestamp = last.timestamp
		p.coordinatorEpoch = int32(binary.BigEndian.Uint32(e[34:]))
		p.txnFirstOffset = int64(binary.BigEndian.Uint64(e[38:]))
		producers = append(producers, p)
	}
	return producers, nil
}
