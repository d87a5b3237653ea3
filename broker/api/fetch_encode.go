package api

import (
	"encoding/binary"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/storage"
)

// fetched is the answer for one partition of a Fetch.
type fetched struct {
	topic     string
	topicID   protocol.UUID
	partition int32

	code             protocol.ErrorCode
	highWatermark    int64
	lastStableOffset int64
	logStartOffset   int64
	aborted          []storage.AbortedTxn
	committed        bool // read_committed: the list of aborted transactions is there, if empty
	preferred        int32
	leader           currentLeader // with an error that says that it moved
	diverging        *storage.EpochEnd
	slices           []storage.FileSlice
	size             int // of slices
}

// noOffsets is an answer that carries a code and nothing else.
func noOffsets(code protocol.ErrorCode) fetched {
	return fetched{code: code, highWatermark: -1, lastStableOffset: -1, logStartOffset: -1, preferred: -1, leader: noLeader}
}

// fetchEncoder writes a Fetch response body, by hand so that records stay in their files.
type fetchEncoder struct {
	*Frames
	version  int16
	flexible bool
}

func newFetchEncoder(version int16) fetchEncoder {
	return fetchEncoder{NewFrames(), version, version >= 12}
}

// encode writes the response. The slices of parts go over to the frames.
func (e fetchEncoder) encode(code protocol.ErrorCode, sessionID int32, parts []fetched, nodes []endpoint) {
	e.int32(0) // throttle time
	if e.version >= 7 {
		e.int16(int16(code))
		e.int32(sessionID)
	}
	topics := 0
	for i := range parts {
		if i == 0 || !sameTopic(&parts[i], &parts[i-1]) {
			topics++
		}
	}
	e.arrayLen(topics)
	for i := 0; i < len(parts); {
		n := 1
		for i+n < len(parts) && sameTopic(&parts[i], &parts[i+n]) {
			n++
		}
		e.topic(parts[i : i+n])
		i += n
	}
	e.nodes(nodes)
}

func sameTopic(a, b *fetched) bool { return a.topicID == b.topicID && a.topic == b.topic }

func (e fetchEncoder) topic(parts []fetched) {
	if e.version >= 13 {
		e.Bytes = append(e.Bytes, parts[0].topicID[:]...)
	} else {
		e.string(parts[0].topic)
	}
	e.arrayLen(len(parts))
	for i := range parts {
		e.partition(&parts[i])
	}
	e.noTags()
}

func (e fetchEncoder) partition(p *fetched) {
	e.int32(p.partition)
	e.int16(int16(p.code))
	e.int64(p.highWatermark)
	e.int64(p.lastStableOffset)
	if e.version >= 5 {
		e.int64(p.logStartOffset)
	}
	if !p.committed {
		e.nullArray()
	} else {
		e.arrayLen(len(p.aborted))
		for _, a := range p.aborted {
			e.int64(a.ProducerID)
			e.int64(a.FirstOffset)
			e.noTags()
		}
	}
	if e.version >= 11 {
		e.int32(p.preferred)
	}
	if e.flexible {
		e.Bytes = binary.AppendUvarint(e.Bytes, uint64(p.size)+1)
	} else {
		e.int32(int32(p.size))
	}
	for _, s := range p.slices {
		e.AppendFile(s)
	}
	if !e.flexible {
		return
	}
	e.partitionTags(p)
}

// partitionTags writes DivergingEpoch (0) and CurrentLeader (1), where they are set.
func (e fetchEncoder) partitionTags(p *fetched) {
	n := byte(0)
	if p.diverging != nil {
		n++
	}
	if p.leader.epoch >= 0 {
		n++
	}
	e.Bytes = append(e.Bytes, n)
	if d := p.diverging; d != nil {
		e.Bytes = append(e.Bytes, 0, 4+8+1)
		e.int32(d.Epoch)
		e.int64(d.Offset)
		e.noTags()
	}
	if p.leader.epoch >= 0 {
		e.Bytes = append(e.Bytes, 1, 4+4+1)
		e.int32(p.leader.id)
		e.int32(p.leader.epoch)
		e.noTags()
	}
}

// nodes writes the tags at the end, of which NodeEndpoints (v16) is the only one.
func (e fetchEncoder) nodes(nodes []endpoint) {
	if !e.flexible {
		return
	}
	if e.version < 16 || len(nodes) == 0 {
		e.noTags()
		return
	}
	e.Bytes = append(e.Bytes, 1, 0)
	e.Bytes = binary.AppendUvarint(e.Bytes, uint64(sizeOfNodes(nodes)))
	e.arrayLen(len(nodes))
	for _, n := range nodes {
		e.int32(n.id)
		e.string(n.host)
		e.int32(n.port)
		if n.rack == nil {
			e.Bytes = append(e.Bytes, 0)
		} else {
			e.string(*n.rack)
		}
		e.noTags()
	}
}

func sizeOfNodes(nodes []endpoint) int {
	n := uvarintLen(len(nodes) + 1)
	for _, e := range nodes {
		n += 4 + uvarintLen(len(e.host)+1) + len(e.host) + 4 + 1 + 1
		if e.rack != nil {
			n += uvarintLen(len(*e.rack)+1) + len(*e.rack) - 1
		}
	}
	return n
}

func uvarintLen(v int) int {
	n := 1
	for ; v >= 0x80; v >>= 7 {
		n++
	}
	return n
}

func (e fetchEncoder) int16(v int16) { e.Bytes = binary.BigEndian.AppendUint16(e.Bytes, uint16(v)) }
func (e fetchEncoder) int32(v int32) { e.Bytes = binary.BigEndian.AppendUint32(e.Bytes, uint32(v)) }
func (e fetchEncoder) int64(v int64) { e.Bytes = binary.BigEndian.AppendUint64(e.Bytes, uint64(v)) }

func (e fetchEncoder) string(s string) {
	if e.flexible {
		e.Bytes = binary.AppendUvarint(e.Bytes, uint64(len(s))+1)
	} else {
		e.int16(int16(len(s)))
	}
	e.Bytes = append(e.Bytes, s...)
}

func (e fetchEncoder) arrayLen(n int) {
	if e.flexible {
		e.Bytes = binary.AppendUvarint(e.Bytes, uint64(n)+1)
	} else {
		e.int32(int32(n))
	}
}

func (e fetchEncoder) nullArray() {
	if e.flexible {
		e.Bytes = append(e.Bytes, 0)
	} else {
		e.int32(-1)
	}
}

func (e fetchEncoder) noTags() {
	if e.flexible {
		e.Bytes = append(e.Bytes, 0)
	}
}
