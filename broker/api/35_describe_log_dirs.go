package api

import (
	"context"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/storage"
)

// DescribeLogDirs 1 to 5 (KIP-113).
//
//   - Null topics means all, no topics means none; partitions that are not here are left out. v3: an error for
//     the whole; v4: size of the volume (KIP-827); v5: cordoned directories (KIP-1066).
//   - A directory that failed is named with KAFKA_STORAGE_ERROR and nothing else.
func (h *handlers) describeLogDirs(_ context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.DescribeLogDirsRequest)
	resp := r.ResponseKind().(*kmsg.DescribeLogDirsResponse)
	logs := h.describedLogs(r)
	cordoned := h.cordonedDirs()
	for _, d := range h.LogDirs.Dirs() {
		out := kmsg.NewDescribeLogDirsResponseDir()
		out.Dir, out.TotalBytes, out.UsableBytes = d.Path, -1, -1
		if d.Err != nil {
			out.ErrorCode = int16(protocol.KafkaStorageError)
			resp.Dirs = append(resp.Dirs, out)
			continue
		}
		out.IsCordoned = slices.Contains(cordoned, d.ID)
		if h.VolumeSize != nil {
			out.TotalBytes, out.UsableBytes = h.VolumeSize(d.Path)
		}
		for _, l := range logs {
			if l.DirID() == d.ID {
				addDescribedLog(&out, l)
			}
		}
		resp.Dirs = append(resp.Dirs, out)
	}
	return Body(resp), nil
}

func (h *handlers) cordonedDirs() []protocol.UUID {
	if b := h.Metadata().Broker(h.NodeID); b != nil {
		return b.CordonedDirs
	}
	return nil
}

// describedLogs are the logs that the request asks for, by topic and partition.
func (h *handlers) describedLogs(r *kmsg.DescribeLogDirsRequest) []*storage.Log {
	var logs []*storage.Log
	if r.Topics == nil {
		logs = h.LogDirs.Logs()
	} else {
		for _, t := range r.Topics {
			for _, n := range t.Partitions {
				if l := h.LogDirs.Get(protocol.TopicPartition{Topic: t.Topic, Partition: n}); l != nil {
					logs = append(logs, l)
				}
			}
		}
	}
	slices.SortFunc(logs, func(a, b *storage.Log) int { return a.TopicPartition().Compare(b.TopicPartition()) })
	return slices.Compact(logs)
}

// addDescribedLog relies on logs coming sorted by topic.
func addDescribedLog(out *kmsg.DescribeLogDirsResponseDir, l *storage.Log) {
	tp := l.TopicPartition()
	if n := len(out.Topics); n == 0 || out.Topics[n-1].Topic != tp.Topic {
		t := kmsg.NewDescribeLogDirsResponseDirTopic()
		t.Topic = tp.Topic
		out.Topics = append(out.Topics, t)
	}
	p := kmsg.NewDescribeLogDirsResponseDirTopicPartition()
	p.Partition, p.Size = tp.Partition, l.Size()
	p.OffsetLag = max(0, l.HighWatermark()-l.LogEndOffset())
	t := &out.Topics[len(out.Topics)-1]
	t.Partitions = append(t.Partitions, p)
}
