package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/protocol"
)

// DescribeProducers 0 (KIP-664): the producers a partition's leader remembers, by id.
func (h *handlers) describeProducers(_ context.Context, _ *Call, req kmsg.Request) (Reply, error) {
	r := req.(*kmsg.DescribeProducersRequest)
	resp := r.ResponseKind().(*kmsg.DescribeProducersResponse)
	for i := range r.Topics {
		in := &r.Topics[i]
		out := kmsg.NewDescribeProducersResponseTopic()
		out.Topic = in.Topic
		for _, n := range in.Partitions {
			o := kmsg.NewDescribeProducersResponseTopicPartition()
			o.Partition = n
			if err := h.addProducers(protocol.TopicPartition{Topic: in.Topic, Partition: n}, &o); err != nil {
				o.ErrorCode, o.ErrorMessage = int16(protocol.CodeOf(err)), protocol.MessageOf(err)
			}
			out.Partitions = append(out.Partitions, o)
		}
		resp.Topics = append(resp.Topics, out)
	}
	return Body(resp), nil
}

func (h *handlers) addProducers(tp protocol.TopicPartition, out *kmsg.DescribeProducersResponseTopicPartition) error {
	if err := protocol.CheckTopicName(tp.Topic); err != nil {
		return err
	}
	if h.Metadata().Topic(tp.Topic) == nil {
		return &protocol.Fault{Code: protocol.UnknownTopicOrPartition, Message: "there is no topic of this name"}
	}
	part, err := h.partition(tp)
	if err != nil {
		return err
	}
	producers, err := part.Producers()
	for _, p := range producers {
		a := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
		a.ProducerID, a.ProducerEpoch, a.LastSequence, a.LastTimestamp = p.ProducerID, int32(p.Epoch), p.LastSequence, p.LastTimestamp
		a.CoordinatorEpoch, a.CurrentTxnStartOffset = p.CoordinatorEpoch, p.CurrentTxnStartOffset
		out.ActiveProducers = append(out.ActiveProducers, a)
	}
	return err
}
