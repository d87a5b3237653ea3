package api

import (
	"context"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/replication"
	"github.com/ottla/ottla/storage"
)

// WriteTxnMarkers 1 and 2, from transaction coordinators and operators. v2: the transaction.version of each marker,
// by which its epoch is judged (KIP-1228).
//
//   - Each partition gets a control batch and is answered when all in-sync replicas have it. A partition that is not on
//     this broker is UNKNOWN_TOPIC_OR_PARTITION.
//   - Partitions of __consumer_offsets go through the group coordinator, so that committed offsets count at once.
func (h *handlers) writeTxnMarkers(ctx context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	return Body(h.writeMarkers(ctx, req.(*kmsg.WriteTxnMarkersRequest))), nil
}

func (h *handlers) writeMarkers(ctx context.Context, r *kmsg.WriteTxnMarkersRequest) *kmsg.WriteTxnMarkersResponse {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(h.Config().Broker().Int("request.timeout.ms"))*time.Millisecond)
	defer cancel()
	resp := r.ResponseKind().(*kmsg.WriteTxnMarkersResponse)
	resp.Markers = make([]kmsg.WriteTxnMarkersResponseMarker, len(r.Markers))
	w := markerWriter{h: h}
	for i := range r.Markers {
		in, out := &r.Markers[i], &resp.Markers[i]
		m := storage.Marker{ProducerID: in.ProducerID, Epoch: in.ProducerEpoch, Commit: in.Committed, CoordinatorEpoch: in.CoordinatorEpoch}
		if r.Version >= 2 {
			m.TransactionVersion = int16(in.TransactionVersion)
		}
		out.ProducerID = in.ProducerID
		out.Topics = make([]kmsg.WriteTxnMarkersResponseMarkerTopic, len(in.Topics))
		for j, t := range in.Topics {
			ot := &out.Topics[j]
			ot.Topic, ot.Partitions = t.Topic, make([]kmsg.WriteTxnMarkersResponseMarkerTopicPartition, len(t.Partitions))
			for k, p := range t.Partitions {
				ot.Partitions[k].Partition = p
				w.write(ctx, protocol.TopicPartition{Topic: t.Topic, Partition: p}, m, &ot.Partitions[k].ErrorCode)
			}
		}
	}
	w.await(ctx)
	return resp
}

// markerWriter appends markers, and waits for all of them together.
type markerWriter struct {
	h     *handlers
	waits []markerWait
}

// markerWait is a marker that is not on all in-sync replicas yet.
type markerWait struct {
	partition *replication.Partition
	offset    int64
	code      *int16
}

func (w *markerWriter) write(ctx context.Context, tp protocol.TopicPartition, m storage.Marker, code *int16) {
	if m.ProducerID < 0 || m.Epoch < 0 {
		*code = int16(protocol.UnknownServerError) // Kafka stumbles over it
		return
	}
	part, err := w.h.Partitions.Partition(tp)
	if err != nil {
		*code = int16(protocol.UnknownTopicOrPartition) // not here; the coordinator looks for the leader again
		return
	}
	if tp.Topic == protocol.ConsumerOffsetsTopic {
		*code = int16(markerCode(w.h.Groups.CompleteTransaction(ctx, tp.Partition, m)))
		return
	}
	done, err := part.AppendMarker(m, replication.AnyEpoch)
	switch {
	case err != nil:
		*code = int16(protocol.CodeOf(err))
	case !done.Replicated:
		w.waits = append(w.waits, markerWait{part, done.AwaitOffset, code})
	}
}

// markerCode is the group coordinator's answer in the words of a partition's leader.
func markerCode(code protocol.ErrorCode) protocol.ErrorCode {
	switch code {
	case protocol.CoordinatorNotAvailable, protocol.CoordinatorLoadInProgress, protocol.NotCoordinator:
		return protocol.NotLeaderOrFollower
	}
	return code
}

// await fills in the codes of those that were not replicated yet; REQUEST_TIMED_OUT when the time is up.
func (w *markerWriter) await(ctx context.Context) {
	type result struct {
		i   int
		err error
	}
	results := make(chan result, len(w.waits))
	tickets := make([]replication.Ticket, len(w.waits))
	for i, x := range w.waits {
		*x.code = int16(protocol.RequestTimedOut)
		tickets[i] = x.partition.Await(x.offset, func(err error) { results <- result{i, err} })
	}
	for range w.waits {
		select {
		case r := <-results:
			*w.waits[r.i].code = int16(protocol.CodeOf(r.err))
		case <-ctx.Done():
			for i, x := range w.waits {
				x.partition.Forget(tickets[i])
			}
			return
		}
	}
}
