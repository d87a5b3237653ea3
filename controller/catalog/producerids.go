package catalog

import (
	"math"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

// producerIDBlock is how many producer ids a broker gets at a time.
const producerIDBlock = 1000

// AllocateProducerIds 0 (KIP-730).
func (c *Catalog) AllocateProducerIds(r *kmsg.AllocateProducerIDsRequest) (*kmsg.AllocateProducerIDsResponse, Result, error) {
	if _, err := c.checkEpoch(r.BrokerID, r.BrokerEpoch); err != nil {
		return nil, Result{}, err
	}
	first := c.settle().NextProducerID()
	if first > math.MaxInt64-producerIDBlock {
		return nil, Result{}, fault(protocol.UnknownServerError, "All producer ids have been given out")
	}
	resp := r.ResponseKind().(*kmsg.AllocateProducerIDsResponse)
	resp.ProducerIDStart, resp.ProducerIDLen = first, producerIDBlock
	rec := &msg.ProducerIdsRecord{BrokerID: r.BrokerID, BrokerEpoch: r.BrokerEpoch, NextProducerID: first + producerIDBlock}
	return resp, Result{Records: []metadata.Record{rec}}, nil
}
