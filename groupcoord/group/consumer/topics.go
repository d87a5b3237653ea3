package consumer

import (
	"encoding/binary"
	"iter"
	"regexp"
	"slices"
	"unicode/utf16"

	"github.com/zeebo/xxh3"

	"github.com/ottla/ottla/protocol"
)

// Topic is a topic as far as groups look at it.
type Topic struct {
	Name       string
	ID         protocol.UUID
	Partitions int32
}

// Topics is the cluster's metadata at one moment.
type Topics interface {
	ByName(name string) (Topic, bool)
	ByID(id protocol.UUID) (Topic, bool)
	// Names are all topics' names in order.
	Names() iter.Seq[string]
	// Racks are the racks of a partition's replicas, as far as these have one.
	Racks(t Topic, partition int32) []string
	// Version grows with every change; the same version is the same metadata.
	Version() int64
}

// compile reads a pattern of a subscription, which has to match the whole of a topic's name (RE2).
func compile(pattern string) (*regexp.Regexp, error) {
	if pattern == "" {
		return nil, nil
	}
	if _, err := regexp.Compile(pattern); err != nil {
		return nil, err // before it is put in brackets, so that it closes what it opens
	}
	return regexp.Compile("^(?:" + pattern + ")$")
}

// regexMinInterval is the least time between two looks at all topics for one group, beside new patterns.
const regexMinInterval = 10_000 // ms

// resolve brings the patterns up to date: a new one at once, the others when topics have changed. True when the topics
// that members subscribe to by pattern have changed.
func (h *change) resolve(ms []*Member) (changed bool) {
	g := h.g
	h.regexes = g.regexes
	patterns := map[string]bool{}
	for _, m := range ms {
		if m.Regex != "" {
			patterns[m.Regex] = true
		}
	}
	var gone, due []string
	for p := range g.regexes {
		if !patterns[p] {
			gone = append(gone, p)
		}
	}
	for p := range patterns {
		if h.dueRegex(p) {
			due = append(due, p)
		}
	}
	if len(gone)+len(due) == 0 {
		return false
	}
	slices.Sort(gone)
	slices.Sort(due)
	h.regexes = make(map[string]*Regex, len(patterns))
	for p, r := range g.regexes {
		if patterns[p] {
			h.regexes[p] = r
		}
	}
	for _, p := range gone {
		h.o.Records = append(h.o.Records, g.regexTombstone(p))
	}
	for _, p := range due {
		r := h.match(p)
		old := h.regexes[p]
		if old != nil && slices.Equal(old.Topics, r.Topics) {
			g.patternSeen[p] = r.Version
			continue
		}
		h.regexes[p], changed = r, true
		h.o.Records = append(h.o.Records, g.regexRecord(p, r))
	}
	return changed
}

// dueRegex says whether a pattern is to be matched again.
func (h *change) dueRegex(p string) bool {
	r := h.g.regexes[p]
	if r == nil {
		return true
	}
	return max(h.g.patternSeen[p], r.Version) < h.Topics.Version() && h.Now.UnixMilli()-r.Timestamp >= regexMinInterval
}

func (h *change) match(pattern string) *Regex {
	r := &Regex{Topics: []string{}, Version: h.Topics.Version(), Timestamp: h.Now.UnixMilli()}
	re, err := compile(pattern)
	if err != nil {
		return r // stored by another version; it stands for nothing
	}
	for name := range h.Topics.Names() {
		if re.MatchString(name) {
			r.Topics = append(r.Topics, name)
		}
	}
	return r
}

// metadataHash stands for all that an assignment depends on of these topics (sorted): their ids, partitions and
// racks. It is Kafka's, so that a group does not rebalance because another server has taken it over.
func metadataHash(topics Topics, names []string) int64 {
	var of []byte
	for _, name := range names {
		if t, ok := topics.ByName(name); ok {
			of = binary.LittleEndian.AppendUint64(of, topicHash(topics, t))
		}
	}
	if len(of) == 0 {
		return 0
	}
	return int64(xxh3.Hash(of))
}

func topicHash(topics Topics, t Topic) uint64 {
	b := []byte{0} // version of the scheme
	b = binary.LittleEndian.AppendUint64(b, binary.BigEndian.Uint64(t.ID[:8]))
	b = binary.LittleEndian.AppendUint64(b, binary.BigEndian.Uint64(t.ID[8:]))
	b = appendText(b, t.Name)
	b = binary.LittleEndian.AppendUint32(b, uint32(t.Partitions))
	for p := range t.Partitions {
		b = binary.LittleEndian.AppendUint32(b, uint32(p))
		racks := slices.Clone(topics.Racks(t, p))
		slices.Sort(racks)
		for _, r := range racks {
			b = binary.LittleEndian.AppendUint32(b, uint32(len(utf16.Encode([]rune(r)))))
			b = appendText(b, r)
		}
	}
	return xxh3.Hash(b)
}

// appendText appends UTF-16 units and their count.
func appendText(b []byte, s string) []byte {
	units := utf16.Encode([]rune(s))
	for _, u := range units {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return binary.LittleEndian.AppendUint32(b, uint32(len(units)))
}
