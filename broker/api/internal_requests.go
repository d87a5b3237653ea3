package api

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// WriteTxnMarkers answers this broker's own transaction coordinator, as the request handler would.
func WriteTxnMarkers(ctx context.Context, d *Deps, req *kmsg.WriteTxnMarkersRequest) *kmsg.WriteTxnMarkersResponse {
	return (&handlers{Deps: d}).writeMarkers(ctx, req)
}

// AddPartitionsToTxn answers this broker's own partitions, as the request handler would.
func AddPartitionsToTxn(ctx context.Context, d *Deps, req *kmsg.AddPartitionsToTxnRequest) *kmsg.AddPartitionsToTxnResponse {
	return (&handlers{Deps: d}).addPartitions(ctx, req)
}
