package storage

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"

	"github.com/ottla/ottla/internal/vfs"
	"github.com/ottla/ottla/protocol"
)

// Offset checkpoints are text: a version line "0", a line with the number of entries,
// then "<topic> <partition> <offset>" lines. A file that is empty or holds only the
// version has no entries; anything else amiss makes the whole file unusable.

// checkpointMax bounds what is read of one: a million partitions with long names.
const checkpointMax = 256 << 20

// offsets are the entries of one checkpoint file.
type offsets map[protocol.TopicPartition]int64

func encodeOffsets(o offsets) []byte {
	b := make([]byte, 0, 16+32*len(o))
	b = append(b, "0\n"...)
	b = append(strconv.AppendInt(b, int64(len(o)), 10), '\n')
	for _, tp := range slices.SortedFunc(maps.Keys(o), protocol.TopicPartition.Compare) {
		b = append(append(b, tp.Topic...), ' ')
		b = append(strconv.AppendInt(b, int64(tp.Partition), 10), ' ')
		b = append(strconv.AppendInt(b, o[tp], 10), '\n')
	}
	return b
}

func decodeOffsets(text []byte) (offsets, error) {
	lines, count, err := checkpointLines(text)
	if err != nil {
		return nil, err
	}
	o := make(offsets, count)
	for i, line := range lines {
		f := bytes.Fields(line)
		if len(f) != 3 {
			return nil, fmt.Errorf("entry %d: %q has %d fields, 3 expected", i, line, len(f))
		}
		p, err := strconv.ParseInt(string(f[1]), 10, 32)
		if err != nil {
			return nil, fmt.Errorf("entry %d: partition: %w", i, err)
		}
		off, err := strconv.ParseInt(string(f[2]), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("entry %d: offset: %w", i, err)
		}
		o[protocol.TopicPartition{Topic: string(f[0]), Partition: int32(p)}] = off
	}
	return o, nil
}

// checkpointLines checks version and count and returns the entries' lines.
func checkpointLines(text []byte) (lines [][]byte, count int, err error) {
	line := func() ([]byte, bool) {
		if len(text) == 0 {
			return nil, false
		}
		l, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		return bytes.TrimSuffix(l, []byte("\r")), true
	}
	version, ok := line()
	if !ok {
		return nil, 0, nil
	}
	if string(version) != "0" {
		return nil, 0, fmt.Errorf("version %q, 0 expected", version)
	}
	first, ok := line()
	if !ok {
		return nil, 0, nil
	}
	count, err = strconv.Atoi(string(first))
	if err != nil || count < 0 {
		return nil, 0, fmt.Errorf("number of entries %q is none", first)
	}
	for {
		l, ok := line()
		if !ok {
			break
		}
		lines = append(lines, l)
	}
	if len(lines) != count {
		return nil, 0, fmt.Errorf("%d entries, %d announced", len(lines), count)
	}
	return lines, count, nil
}

// readOffsets reads a checkpoint file; a missing one has no entries.
func readOffsets(fsys vfs.FS, name string) (offsets, error) {
	text, err := readFile(fsys, name, checkpointMax)
	if errors.Is(err, fs.ErrNotExist) {
		return offsets{}, nil
	}
	if err != nil {
		return nil, err
	}
	o, err := decodeOffsets(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return o, nil
}

func writeOffsets(fsys vfs.FS, name string, o offsets) error {
	return writeAtomic(fsys, name, encodeOffsets(o))
}
