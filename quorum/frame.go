package quorum

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"time"

	"github.com/hashicorp/raft"
)

// The file of a store: 8 bytes that name the format, then frames to the end. Integers are big-endian.
//
//	frame     size uint32 (of what the checksum covers), CRC-32C uint32, kind uint8, body
//	value     1: key length uint8, key, value
//	entry     2: index uint64, term uint64, type uint8, appended at int64 (ns since 1970, 0: unknown), data
//	drop      3: first index uint64, last index uint64 (inclusive)
//	snapshot  4: index uint64, term uint64, configuration index uint64, configuration size uint32,
//	             configuration (Raft's own encoding), state
//
// Later frames win. The file is rewritten as a whole when most of it is dead.
const (
	fileHeader = "ottRaft\x01"
	frameHead  = 8
	frameMax   = MaxBatchBytes + 64<<10
)

type frameKind uint8

const (
	frameValue frameKind = iota + 1
	frameEntry
	frameDrop
	frameSnapshot
)

const entryHead = 8 + 8 + 1 + 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// beginFrame leaves room for the head; endFrame fills it in.
func beginFrame(b []byte, k frameKind) (frame []byte, at int) {
	at = len(b)
	return append(b, 0, 0, 0, 0, 0, 0, 0, 0, byte(k)), at
}

func endFrame(b []byte, at int) []byte {
	body := b[at+frameHead:]
	binary.BigEndian.PutUint32(b[at:], uint32(len(body)))
	binary.BigEndian.PutUint32(b[at+4:], crc32.Checksum(body, castagnoli))
	return b
}

func appendValue(b []byte, key string, value []byte) []byte {
	b, at := beginFrame(b, frameValue)
	b = append(b, byte(len(key)))
	b = append(b, key...)
	b = append(b, value...)
	return endFrame(b, at)
}

func appendEntry(b []byte, l *raft.Log) []byte {
	b, at := beginFrame(b, frameEntry)
	b = binary.BigEndian.AppendUint64(b, l.Index)
	b = binary.BigEndian.AppendUint64(b, l.Term)
	b = append(b, byte(l.Type))
	var ns int64
	if !l.AppendedAt.IsZero() {
		ns = l.AppendedAt.UnixNano()
	}
	b = binary.BigEndian.AppendUint64(b, uint64(ns))
	b = append(b, l.Data...)
	return endFrame(b, at)
}

func appendDrop(b []byte, first, last uint64) []byte {
	b, at := beginFrame(b, frameDrop)
	b = binary.BigEndian.AppendUint64(b, first)
	b = binary.BigEndian.AppendUint64(b, last)
	return endFrame(b, at)
}

func appendSnapshot(b []byte, s *snapshot) []byte {
	b, at := beginFrame(b, frameSnapshot)
	b = binary.BigEndian.AppendUint64(b, s.index)
	b = binary.BigEndian.AppendUint64(b, s.term)
	b = binary.BigEndian.AppendUint64(b, s.configIndex)
	configuration := raft.EncodeConfiguration(s.configuration)
	b = binary.BigEndian.AppendUint32(b, uint32(len(configuration)))
	b = append(b, configuration...)
	b = append(b, s.state...)
	return endFrame(b, at)
}

// image appends frames that rebuild the memory of the store.
func (s *store) image(b []byte) []byte {
	for _, key := range sortedKeys(s.values) {
		b = appendValue(b, key, s.values[key])
	}
	if s.snap.index > 0 {
		b = appendSnapshot(b, &s.snap)
	}
	for i := range s.entries {
		b = appendEntry(b, &s.entries[i])
	}
	return b
}

// replay rebuilds the memory from a file and returns where its last whole frame ends. An error is a frame that
// is whole but says what cannot be.
func (s *store) replay(file []byte) (good int, err error) {
	good = len(fileHeader)
	for {
		body, size := nextFrame(file[good:])
		if size == 0 {
			return good, nil
		}
		if err := s.replayFrame(frameKind(body[0]), body[1:]); err != nil {
			return good, err
		}
		good += size
	}
}

// nextFrame is the body of the first frame and the size of the whole; 0 if it is not whole.
func nextFrame(b []byte) (body []byte, size int) {
	if len(b) <= frameHead {
		return nil, 0
	}
	n := int64(binary.BigEndian.Uint32(b))
	if n < 1 || n > frameMax || n > int64(len(b)-frameHead) {
		return nil, 0
	}
	body = b[frameHead : frameHead+n]
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(b[4:]) {
		return nil, 0
	}
	return body, frameHead + int(n)
}

func (s *store) replayFrame(k frameKind, b []byte) error {
	switch k {
	case frameValue:
		if len(b) < 1 || len(b) < 1+int(b[0]) {
			return fmt.Errorf("value frame of %d bytes", len(b))
		}
		n := 1 + int(b[0])
		s.values[string(b[1:n])] = bytes.Clone(b[n:])
	case frameEntry:
		if len(b) < entryHead {
			return fmt.Errorf("entry frame of %d bytes, need %d", len(b), entryHead)
		}
		return s.keepEntry(decodeEntry(b))
	case frameDrop:
		if len(b) != 16 {
			return fmt.Errorf("drop frame of %d bytes, need 16", len(b))
		}
		s.dropEntries(binary.BigEndian.Uint64(b), binary.BigEndian.Uint64(b[8:]))
	case frameSnapshot:
		return s.replaySnapshot(b)
	default:
		return fmt.Errorf("frame of unknown kind %d", k)
	}
	return nil
}

func decodeEntry(b []byte) raft.Log {
	l := raft.Log{
		Index: binary.BigEndian.Uint64(b),
		Term:  binary.BigEndian.Uint64(b[8:]),
		Type:  raft.LogType(b[16]),
		Data:  b[entryHead:len(b):len(b)],
	}
	if ns := int64(binary.BigEndian.Uint64(b[17:])); ns != 0 {
		l.AppendedAt = time.Unix(0, ns)
	}
	return l
}

func (s *store) replaySnapshot(b []byte) error {
	const head = 8 + 8 + 8 + 4
	if len(b) < head {
		return fmt.Errorf("snapshot frame of %d bytes, need %d", len(b), head)
	}
	n := int64(binary.BigEndian.Uint32(b[24:]))
	if n > int64(len(b)-head) {
		return fmt.Errorf("configuration of %d bytes in %d", n, len(b)-head)
	}
	configuration, err := decodeConfiguration(b[head : head+n])
	if err != nil {
		return err
	}
	s.snap = snapshot{
		index:         binary.BigEndian.Uint64(b),
		term:          binary.BigEndian.Uint64(b[8:]),
		configIndex:   binary.BigEndian.Uint64(b[16:]),
		configuration: configuration,
		state:         bytes.Clone(b[head+n:]),
	}
	return nil
}

// decodeConfiguration turns the library's panic on bytes it cannot read into an error.
func decodeConfiguration(b []byte) (c raft.Configuration, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("configuration: %v", r)
		}
	}()
	return raft.DecodeConfiguration(b), nil
}

func putUint64(v uint64) []byte { return binary.BigEndian.AppendUint64(nil, v) }
