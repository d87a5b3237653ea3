package catalog

import (
	"strconv"

	"github.com/ottla/ottla/config"
	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol/msg"
)

func isMarker(r metadata.Record) bool {
	switch r.(type) {
	case *msg.BeginTransactionRecord, *msg.EndTransactionRecord, *msg.AbortTransactionRecord:
		return true
	}
	return false
}

// Activation is what a controller writes when it becomes active: it aborts a transaction that its predecessor left
// open, and gives an empty log its first records, in a transaction where metadata.version allows it.
func (c *Catalog) Activation(bootstrap []metadata.Record, openTransaction bool) Result {
	image := c.settle()
	var out []metadata.Record
	if openTransaction {
		reason := "Controller failover"
		out = append(out, &msg.AbortTransactionRecord{Reason: &reason})
	}
	if image.HasMetadataVersion() {
		return Result{Records: out}
	}
	if len(bootstrap) == 0 {
		bootstrap = Bootstrap(c.o.Supported)
	}
	levels := map[string]int16{}
	for _, r := range bootstrap {
		if f, ok := r.(*msg.FeatureLevelRecord); ok {
			levels[f.Name] = f.FeatureLevel
		}
	}
	inTransaction := levels[metadata.MetadataVersion] >= metadata.TransactionsLevel
	if inTransaction {
		name := "Bootstrap records"
		out = append(out, &msg.BeginTransactionRecord{Name: &name})
	}
	out = append(out, bootstrap...)
	if levels[metadata.ELRVersion] > 0 {
		out = append(out, c.clusterMinISR())
	}
	if inTransaction {
		out = append(out, &msg.EndTransactionRecord{})
	}
	return Result{Records: out}
}

// clusterMinISR fixes min.insync.replicas for the whole cluster, as eligible leader replicas need it.
func (c *Catalog) clusterMinISR() metadata.Record {
	static := config.Layers{Static: c.o.Static}.Broker().Int("min.insync.replicas")
	value := strconv.Itoa(int(static))
	return &msg.ConfigRecord{ResourceType: int8(metadata.BrokerResource), Name: "min.insync.replicas", Value: &value}
}

// Bootstrap finalises the highest level of every supported feature, metadata.version first. kraft.version is not
// a record, but a control record that the quorum writes.
func Bootstrap(supported []metadata.VersionRange) []metadata.Record {
	var out []metadata.Record
	for _, f := range supported {
		r := &msg.FeatureLevelRecord{Name: f.Feature, FeatureLevel: f.Max}
		switch {
		case f.Feature == metadata.MetadataVersion:
			out = append([]metadata.Record{r}, out...)
		case f.Max > 0 && f.Feature != metadata.KRaftVersion:
			out = append(out, r)
		}
	}
	return out
}
