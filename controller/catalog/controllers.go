package catalog

import (
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/ottla/ottla/metadata"
	"github.com/ottla/ottla/protocol"
	"github.com/ottla/ottla/protocol/msg"
)

// ControllerRegistration 0 (KIP-919): a controller says where it listens and what it supports.
func (c *Catalog) ControllerRegistration(r *kmsg.ControllerRegistrationRequest) (*kmsg.ControllerRegistrationResponse, Result, error) {
	if c.settle().MetadataVersion() < metadata.ControllerRegistrationLevel {
		return nil, Result{}, fault(protocol.UnsupportedVersion, "metadata.version %d has no controller registrations", c.settle().MetadataVersion())
	}
	rec := msg.NewRegisterControllerRecord()
	rec.ControllerID, rec.IncarnationID = r.ControllerID, r.IncarnationID
	for _, l := range r.Listeners {
		rec.EndPoints = append(rec.EndPoints, msg.RegisterControllerRecordControllerEndpoint{
			Name: strings.Clone(l.Name), Host: strings.Clone(l.Host), Port: l.Port, SecurityProtocol: l.SecurityProtocol,
		})
	}
	for _, f := range r.Features {
		rec.Features = append(rec.Features, msg.RegisterControllerRecordControllerFeature{
			Name: strings.Clone(f.Name), MinSupportedVersion: f.MinSupportedVersion, MaxSupportedVersion: f.MaxSupportedVersion,
		})
	}
	return r.ResponseKind().(*kmsg.ControllerRegistrationResponse), Result{Records: []metadata.Record{rec}}, nil
}
