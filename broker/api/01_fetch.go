package api

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/broker/api/fetchsession"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/replication"
	"github.com/ottla/ottla/storage"
)

// Fetch 4 to 18, from consumers.
//
//   - v7: sessions (KIP-227); v9: leader epochs of the client (KIP-320); v10: zstd is allowed (KIP-110); v11: the
//     client's rack (KIP-392), of which nothing follows with one replica; v12: where the client's log diverges
//     (KIP-595); v13: topics by id (KIP-516); v16: where the leader went (KIP-951). v15, v17 and v18 are about replicas.
//   - The first partition that has data gives at least one whole batch, whatever the limits; the others keep
//     within them. Records are sent as they lie in the log, whole batches only.
//   - Long poll: with fewer than min bytes and no error the request waits on all its partitions at once, is
//     woken when enough was appended or a leader changed, and reads again from scratch. Min bytes counts
//     up to the request's max bytes. Partitions that do not exist do not end the wait, an error in reading does.
//   - read_committed ends at the last stable offset and names aborted transactions; read_uncommitted has a
//     null list.
func (h *handlers) fetch(ctx context.Context, c *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.FetchRequest)
	if r.ReplicaID >= 0 || r.ReplicaState.ID >= 0 {
		return Reply{}, errors.New("a replica fetches, and partitions have one replica only")
	}
	bound, ok := boundOf(r.IsolationLevel)
	if !ok {
		return fetchRefusal(r, protocol.UnknownServerError, failedParts(r, protocol.UnknownServerError)), nil
	}
	f := h.fetchPool.get()
	defer h.fetchPool.put(f)
	f.begin(h, c, r, bound)
	if code := f.openSession(); code != protocol.None {
		return fetchRefusal(r, code, nil), nil
	}
	f.resolve()
	f.readUntil(ctx, c.Received.Add(time.Duration(r.MaxWaitMillis)*time.Millisecond))
	return f.answer(), nil
}

// boundOf is how far an isolation level may see.
func boundOf(isolation int8) (storage.Bound, bool) {
	switch isolation {
	case 0:
		return storage.HighWatermark, true
	case 1:
		return storage.LastStable, true
	}
	return 0, false
}

// fetchRefusal answers the whole request with a code, as version 7 and later can.
func fetchRefusal(r *kmsg.FetchRequest, code protocol.ErrorCode, parts []fetched) Reply {
	e := newFetchEncoder(r.Version)
	e.encode(code, fetchsession.NoSession, parts, nil)
	return e.Reply()
}

// failedParts repeats a code for every partition, as below version 13 an answer to what failed altogether does.
func failedParts(r *kmsg.FetchRequest, code protocol.ErrorCode) []fetched {
	if r.Version >= 13 {
		return nil
	}
	var parts []fetched
	for i := range r.Topics {
		for j := range r.Topics[i].Partitions {
			out := noOffsets(code)
			out.committed = true // an empty list of aborted transactions
			out.topic, out.partition = r.Topics[i].Topic, r.Topics[i].Partitions[j].Partition
			parts = append(parts, out)
		}
	}
	return parts
}

// resolve finds the partitions that are wanted, as the metadata is now.
func (f *fetching) resolve() {
	image := f.hints.image
	byID := f.req.Version >= 13
	for i := range f.wants {
		w := &f.wants[i]
		w.part, w.topic, w.code = nil, nil, protocol.None
		if byID && w.name == "" {
			w.code = protocol.UnknownTopicID
			continue
		}
		w.topic = image.Topic(w.name)
		switch {
		case w.topic.Partition(w.partition) == nil:
			w.code = protocol.UnknownTopicOrPartition
			continue
		case byID && w.topic.ID != w.id:
			w.code = protocol.InconsistentTopicID
		default:
			part, err := f.h.Partitions.Partition(protocol.TopicPartition{Topic: w.topic.Name, Partition: w.partition})
			w.part, w.code = part, protocol.CodeOf(err)
		}
		if w.code != protocol.None {
			f.failed = true
		}
	}
}

// readUntil reads, and while that gives too little waits for more, until the deadline.
func (f *fetching) readUntil(ctx context.Context, deadline time.Time) {
	limit := max(0, min(int(f.req.MaxBytes), int(f.h.Config().Broker().Int("fetch.max.bytes"))))
	enough := min(int(f.req.MinBytes), limit)
	for {
		ready, failed := f.read(limit)
		if ready >= enough || failed || len(f.interests) == 0 || !time.Now().Before(deadline) || ctx.Err() != nil {
			return
		}
		f.release()
		if !f.park(ctx, deadline, enough-ready) {
			f.read(limit)
			return
		}
	}
}

// read reads every partition once; what was read before must have been released. ready is what counts for
// MinBytes: where there is more than was read, because of a limit or the end of a segment, as much as was
// allowed. failed: a partition gave an error, which the client is told at once.
func (f *fetching) read(limit int) (ready int, failed bool) {
	got := 0
	f.interests = f.interests[:0]
	failed = f.failed
	for i := range f.wants {
		w := &f.wants[i]
		w.out = noOffsets(w.code)
		w.out.committed = w.topic.Partition(w.partition) == nil // then Kafka has an empty list of aborted transactions
		if w.code == protocol.None {
			more, err := f.readOne(w, limit-got, got == 0)
			if ready += w.out.size; more {
				ready += max(0, min(int(w.want.MaxBytes), limit-got)-w.out.size)
			}
			if err != nil {
				w.out = noOffsets(protocol.CodeOf(err))
				failed = true
			}
			failed = failed || w.out.diverging != nil
		}
		got += w.out.size
		w.out.topic, w.out.topicID, w.out.partition = w.name, w.id, w.partition
	}
	return ready, failed
}

// readOne says whether there is more than it read.
func (f *fetching) readOne(w *wanted, room int, first bool) (more bool, err error) {
	if f.req.Version < 10 && w.part.Config().CompressionType == "zstd" {
		return false, protocol.UnsupportedCompressionType
	}
	maxBytes := max(0, min(int(w.want.MaxBytes), room))
	read, err := w.part.Fetch(replication.FetchOptions{
		Offset: w.want.Offset, MaxBytes: maxBytes, MinOne: first, Bound: f.bound,
		LeaderEpoch: w.want.LeaderEpoch, LastFetchedEpoch: w.want.LastEpoch,
	})
	if err != nil {
		return false, err
	}
	o := &w.out
	o.highWatermark, o.lastStableOffset, o.logStartOffset = read.HighWatermark, read.LastStableOffset, read.LogStartOffset
	o.slices, o.size, o.diverging = read.Slices, read.Size, read.Diverging
	if f.bound == storage.LastStable {
		o.committed, o.aborted = true, read.Aborted
	}
	seen := read.HighWatermark
	if f.bound == storage.LastStable {
		seen = read.LastStableOffset
	}
	f.interest(w.part, seen)
	return read.Diverging == nil && read.NextOffset < seen, nil
}

// answer encodes what was read. In a session only what changed is sent.
func (f *fetching) answer() Reply {
	code, id := f.closeRound()
	e := newFetchEncoder(f.req.Version)
	if code != protocol.None {
		f.release()
		e.encode(code, fetchsession.NoSession, nil, nil)
		return e.Reply()
	}
	for i := range f.wants {
		w := &f.wants[i]
		if !w.send { // it has no records
			continue
		}
		if f.req.Version >= 12 && w.topic != nil {
			w.out.leader = f.hints.of(w.topic, w.partition, w.out.code)
		}
		if w.out.code == protocol.KafkaStorageError && f.req.Version < 6 {
			w.out.code = protocol.NotLeaderOrFollower // older clients do not know the other
		}
		f.parts = append(f.parts, w.out)
	}
	e.encode(protocol.None, id, f.parts, f.hints.nodes)
	return e.Reply()
}
